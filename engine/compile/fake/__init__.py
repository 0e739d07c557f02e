"""Tensors without values: a backend that only follows shapes, and sizes that are symbols."""
