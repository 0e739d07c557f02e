"""Kernels as WGSL, and their launches."""
