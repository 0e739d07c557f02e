"""Kernels as blocked numpy programs."""
