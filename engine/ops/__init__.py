"""The operators, by families of mathematics. Importing this package fills the operator table.

`table.py` says what an entry is, `declare.py` turns declarations into functions; the other files are the families.
"""

from . import activation, creation, indexing, joining, loss, matmul, pointwise, random, reduction, selection, views

__all__ = [
    "activation", "creation", "indexing", "joining", "loss", "matmul", "pointwise", "random", "reduction", "selection", "views",
]  # fmt: skip
