"""Kernels as C, and the C compiler."""
