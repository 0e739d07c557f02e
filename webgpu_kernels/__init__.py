"""WGSL kernels: their text, their parameters and their launch geometry.

Everything here is text and arithmetic: no tensors, no device, no import of the rest of the project.  A caller asks a
family (`pointwise`, `reduce`, `matmul`, ...) for a `Kernel`, compiles its source, and launches it with the parameter
words that the family's functions pack.
"""
