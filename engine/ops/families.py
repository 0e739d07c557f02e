"""All families of operators. Importing this file fills the operator table."""

from . import (
    activation,
    compound,
    creation,
    error_function,
    indexing,
    joining,
    loss,
    matmul,
    nonlinear,
    pointwise,
    random,
    reduction,
    selection,
    views,
)

__all__ = [
    "activation",
    "compound",
    "creation",
    "error_function",
    "indexing",
    "joining",
    "loss",
    "matmul",
    "nonlinear",
    "pointwise",
    "random",
    "reduction",
    "selection",
    "views",
]
