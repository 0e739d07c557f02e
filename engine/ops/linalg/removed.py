"""Functions that PyTorch had once: calling one says what to call instead."""

from __future__ import annotations

from typing import Any, NoReturn

from ..declare import operator

_SUCCESSORS = {
    "solve": "torch.linalg.solve(A, B)` (with its arguments the other way round, and without the LU factorisation; see `torch.linalg.lu_factor",
    "lstsq": "torch.linalg.lstsq(A, B)` (with its arguments the other way round, and without the QR factorisation; see `torch.linalg.qr",
    "eig": "torch.linalg.eig` (which returns complex tensors) or `torch.linalg.eigvals",
    "symeig": "torch.linalg.eigh` or `torch.linalg.eigvalsh` (which read the lower triangle unless UPLO='U'); see `torch.linalg.eigh",
    "matrix_rank": "torch.linalg.matrix_rank` (whose parameter 'symmetric' is 'hermitian'); see `torch.linalg.matrix_rank",
}


def _removed(name: str, successor: str) -> None:
    def function(*args: Any, **kwargs: Any) -> NoReturn:
        raise RuntimeError(
            f"This function was deprecated since version 1.9 and is now removed. `torch.{name}` is deprecated in favor of `{successor}`."
        )

    function.__name__ = name
    function.__doc__ = f"Removed from PyTorch: use `{successor}`."
    operator(name=name, method=name != "matrix_rank")(function)


for _name, _successor in _SUCCESSORS.items():
    _removed(_name, _successor)
