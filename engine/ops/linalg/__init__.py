"""Linear algebra: `torch.linalg` and its relatives, by numpy.linalg and, where that has nothing, by numpy kernels of our own.

Importing this package fills the operator table. Matrices are the last two dimensions, all dimensions before them are batches.
"""

from . import (
    determinants,
    einstein,
    factorisations,
    least_squares,
    low_rank,
    matrix_functions,
    norms,
    products,
    removed,
    solves,
    spectra,
)

__all__ = [
    "determinants",
    "einstein",
    "factorisations",
    "least_squares",
    "low_rank",
    "matrix_functions",
    "norms",
    "products",
    "removed",
    "solves",
    "spectra",
]
