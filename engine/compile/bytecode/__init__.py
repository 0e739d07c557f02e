"""The bytecode of CPython 3.11 to 3.14 as one canonical instruction set. Knows nothing of tensors."""

from .decode import Instruction, Program, decode
