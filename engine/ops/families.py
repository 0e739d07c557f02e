"""All families of operators. Importing this file fills the operator table."""

from . import activation, creation, indexing, joining, loss, matmul, pointwise, random, reduction, selection, views

__all__ = [
    "activation",
    "creation",
    "indexing",
    "joining",
    "loss",
    "matmul",
    "pointwise",
    "random",
    "reduction",
    "selection",
    "views",
]
