"""Graphs of primitives: tracing on fake tensors, functionalisation, backward ahead of time, and what is saved for it."""
