"""Numpy kernels of matrix factorisations that numpy.linalg lacks: LU, triangular systems, Cholesky with the place it fails, LDL.

All work on stacks of matrices at once. They step over columns, in blocks, so that most of the work is matrix products.
References: G. Golub, C. Van Loan, "Matrix Computations", 4th ed.: 3.1 (triangular systems), 3.2 (blocked LU), 4.2 (Cholesky).
"""

from __future__ import annotations

from typing import Any

import numpy as np

Array = Any
"""A numpy array; its attributes depend on a dtype that no checker knows."""
_BLOCK = 64


def _adjoint(a: Array) -> Array:
    return np.swapaxes(a, -1, -2).conj()


def _stack(a: Array) -> Array:
    """The matrices in one stack."""
    return a.reshape(int(np.prod(a.shape[:-2], dtype=np.int64)), *a.shape[-2:])


# -- triangular systems -------------------------------------------------------------------------


def solve_triangular(a: Array, b: Array, upper: bool, left: bool, unitriangular: bool) -> Array:
    """X of `A X = B` (`X A = B` unless `left`) for triangular A; batches broadcast. Zeros on the diagonal give infinities."""
    if not left:
        turned = solve_triangular(np.swapaxes(a, -1, -2), np.swapaxes(b, -1, -2), not upper, True, unitriangular)
        return np.ascontiguousarray(np.swapaxes(turned, -1, -2))
    lead = np.broadcast_shapes(a.shape[:-2], b.shape[:-2])
    out = np.array(np.broadcast_to(b, (*lead, *b.shape[-2:])), order="C")
    if out.size:
        _substitute(np.broadcast_to(a, (*lead, *a.shape[-2:])), out, upper, unitriangular)
    return out


def _substitute(a: Array, x: Array, upper: bool, unit: bool) -> None:
    """Overwrite x with the solution: halves are solved one after the other, the second without what the first explains."""
    n = a.shape[-1]
    if n > _BLOCK:
        half = n // 2
        first, second = slice(0, half), slice(half, n)
        if upper:
            first, second = second, first
        _substitute(a[..., first, first], x[..., first, :], upper, unit)
        x[..., second, :] -= a[..., second, first] @ x[..., first, :]
        _substitute(a[..., second, second], x[..., second, :], upper, unit)
        return
    for i in range(n - 1, -1, -1) if upper else range(n):
        row = x[..., i, :]
        if not unit:
            row /= a[..., i, i, None]
        rest = slice(0, i) if upper else slice(i + 1, n)
        x[..., rest, :] -= a[..., rest, i, None] * row[..., None, :]


# -- LU -----------------------------------------------------------------------------------------


def lu_factor(a: Array, pivot: bool = True) -> tuple[Array, Array, Array]:
    """L (below the diagonal, which is of ones) and U in one matrix, the rows exchanged (from 1 on), and the first zero pivot (or 0).

    Rows are exchanged for the largest element of the column, as LAPACK's getrf does.
    """
    lead, (m, n) = a.shape[:-2], a.shape[-2:]
    lu = _stack(np.array(a, order="C"))
    count, k = lu.shape[0], min(m, n)
    pivots = np.empty((count, k), np.int32)
    info = np.zeros(count, np.int32)
    for start in range(0, k, _BLOCK):
        stop = min(start + _BLOCK, k)
        panel = np.array(lu[:, start:, start:stop], order="C")
        for j in range(stop - start):
            _eliminate(panel, j, start, pivot, pivots, info)
        if pivot:
            order = permutation(pivots[:, start:stop] - start, m - start)
            if (order != np.arange(m - start)).any():
                lu[:, start:] = np.take_along_axis(lu[:, start:], order[..., None], axis=1)
        lu[:, start:, start:stop] = panel
        if stop < n:
            _substitute(panel[:, : stop - start], lu[:, start:stop, stop:], False, True)
            lu[:, stop:, stop:] -= panel[:, stop - start :] @ lu[:, start:stop, stop:]
    return lu.reshape(a.shape), pivots.reshape(*lead, k), info.reshape(lead)


def _eliminate(panel: Array, j: int, start: int, pivot: bool, pivots: Array, info: Array) -> None:
    """One column of a panel that begins at `start`: exchange rows, scale, and take its multiples from the columns behind."""
    which = np.arange(panel.shape[0])
    best = np.full(panel.shape[0], j)
    if pivot:
        column = panel[:, j:, j]
        size = np.abs(column.real) + np.abs(column.imag) if column.dtype.kind == "c" else np.abs(column)
        best = j + np.argmax(size, axis=1)
        lower = panel[which, best]
        panel[which, best] = panel[:, j]
        panel[:, j] = lower
    pivots[:, start + j] = start + best + 1
    diagonal = panel[:, j, j]
    zero = diagonal == 0
    if zero.any():
        info[zero & (info == 0)] = start + j + 1
        diagonal = np.where(zero, 1, diagonal)
    panel[:, j + 1 :, j] /= diagonal[:, None]
    panel[:, j + 1 :, j + 1 :] -= panel[:, j + 1 :, j, None] * panel[:, None, j, j + 1 :]


def permutation(pivots: Array, rows: int) -> Array:
    """Where each row comes from after the exchanges: `A[permutation]` is `L U`. [..., rows]."""
    flat = pivots.reshape(int(np.prod(pivots.shape[:-1], dtype=np.int64)), pivots.shape[-1])
    order = np.tile(np.arange(rows), (flat.shape[0], 1))
    which = np.arange(flat.shape[0])
    for i in range(flat.shape[1]):
        other = flat[:, i] - 1
        mine = order[:, i].copy()
        order[:, i] = order[which, other]
        order[which, other] = mine
    return order.reshape(*pivots.shape[:-1], rows)


# -- Cholesky -----------------------------------------------------------------------------------


def cholesky(a: Array) -> tuple[Array, Array]:
    """L of `A = L L^H` from A's lower triangle, and for each matrix the order of the first minor that is not positive (or 0)."""
    try:
        return np.linalg.cholesky(a), np.zeros(a.shape[:-2], np.int32)
    except np.linalg.LinAlgError:
        return _cholesky_by_columns(a)


def _cholesky_by_columns(a: Array) -> tuple[Array, Array]:
    low = _stack(np.tril(a))
    info = np.zeros(low.shape[0], np.int32)
    for j in range(low.shape[-1]):
        square = low[:, j, j].real
        bad = ~(square > 0)
        info[bad & (info == 0)] = j + 1
        root = np.sqrt(np.where(bad, 1, square))
        low[:, j, j] = np.where(bad, low[:, j, j], root)
        low[:, j + 1 :, j] /= root[:, None]
        low[:, j + 1 :, j + 1 :] -= np.tril(low[:, j + 1 :, j, None] * low[:, None, j + 1 :, j].conj())
    return low.reshape(a.shape), info.reshape(a.shape[:-2])


# -- Householder reflections --------------------------------------------------------------------


def geqrf(a: Array) -> tuple[Array, Array]:
    """R and, below the diagonal, the vectors of the reflections whose product is Q; and their factors (LAPACK's geqrf)."""
    h, tau = np.linalg.qr(a, mode="raw")
    return np.ascontiguousarray(np.swapaxes(h, -1, -2)), tau


# -- symmetric indefinite matrices --------------------------------------------------------------

_ALPHA = (1 + 17**0.5) / 8


def ldl_factor(a: Array, hermitian: bool) -> tuple[Array, Array, Array]:
    """The Bunch-Kaufman factorisation of symmetric (Hermitian) matrices from their lower triangles, as LAPACK's sytrf stores it.

    Returns L and D in one matrix, the pivots (negative in pairs for blocks of two), and the first zero pivot (or 0).
    """
    flat = _stack(np.tril(a))
    pivots = np.zeros(flat.shape[:2], np.int32)
    info = np.zeros(flat.shape[0], np.int32)
    for b in range(flat.shape[0]):
        info[b] = _bunch_kaufman(flat[b], pivots[b], hermitian)
    return flat.reshape(a.shape), pivots.reshape(a.shape[:-1]), info.reshape(a.shape[:-2])


def _size(x: Any) -> Any:
    return np.abs(x.real) + np.abs(x.imag)


def _bunch_kaufman(a: Array, pivots: Array, hermitian: bool) -> int:
    """One matrix in place (Golub & Van Loan 4.4; LAPACK sytf2 and hetf2 with the lower triangle)."""
    n, k, info = a.shape[0], 0, 0
    flip = np.conj if hermitian else (lambda x: x)
    while k < n:
        step, other = 1, k
        here = abs(a[k, k].real) if hermitian else _size(a[k, k])
        biggest, at = 0.0, k
        if k + 1 < n:
            at = k + 1 + int(np.argmax(_size(a[k + 1 :, k])))
            biggest = _size(a[at, k])
        if max(here, biggest) == 0:
            info = info or k + 1
            pivots[k] = k + 1
            k += 1
            continue
        if here < _ALPHA * biggest:
            row = _size(np.concatenate([a[at, k:at], a[at + 1 :, at]]))
            widest = row.max() if row.size else 0.0
            corner = abs(a[at, at].real) if hermitian else _size(a[at, at])
            if here * widest >= _ALPHA * biggest * biggest:
                other = k
            elif corner >= _ALPHA * widest:
                other = at
            else:
                other, step = at, 2
        edge = k + step - 1
        if other != edge:
            a[other + 1 :, [edge, other]] = a[other + 1 :, [other, edge]]
            between = a[edge + 1 : other, edge].copy()
            a[edge + 1 : other, edge] = flip(a[other, edge + 1 : other])
            a[other, edge + 1 : other] = flip(between)
            a[other, edge] = flip(a[other, edge])
            a[[edge, other], [edge, other]] = a[[other, edge], [other, edge]]
            if step == 2:
                a[[k + 1, other], k] = a[[other, k + 1], k]
        if hermitian:
            a[edge, edge] = a[edge, edge].real
            a[k, k] = a[k, k].real
        if step == 1:
            if k + 1 < n:
                column = a[k + 1 :, k].copy()
                a[k + 1 :, k + 1 :] -= np.tril(np.outer(column, flip(column)) / a[k, k])
                a[k + 1 :, k] = column / a[k, k]
            pivots[k] = other + 1
        else:
            if k + 2 < n:
                block = np.array([[a[k, k], flip(a[k + 1, k])], [a[k + 1, k], a[k + 1, k + 1]]])
                columns = a[k + 2 :, k : k + 2].copy()
                weights = columns @ np.linalg.inv(block)
                a[k + 2 :, k + 2 :] -= np.tril(weights @ flip(columns).T)
                a[k + 2 :, k : k + 2] = weights
            pivots[k : k + 2] = -(other + 1)
        k += step
    return info


def unpack_ldl(ld: Array, pivots: Array) -> tuple[Array, Array, Array]:
    """The order of the rows, L with all exchanges done, and D with its blocks, from what `ldl_factor` stores."""
    n = ld.shape[-1]
    flat = _stack(ld)
    steps = pivots.reshape(flat.shape[0], n)
    low = np.tril(flat, -1)
    middle = np.zeros_like(flat)
    orders = np.tile(np.arange(n), (flat.shape[0], 1))
    for b in range(flat.shape[0]):
        k = 0
        while k < n:
            pair = steps[b, k] < 0
            mine, other = k + int(pair), abs(int(steps[b, k])) - 1
            if other != mine:
                orders[b, [mine, other]] = orders[b, [other, mine]]
                low[b, [mine, other], :k] = low[b, [other, mine], :k]
            middle[b, k, k] = flat[b, k, k]
            if pair:
                middle[b, k + 1, k + 1] = flat[b, k + 1, k + 1]
                middle[b, k + 1, k] = middle[b, k, k + 1] = flat[b, k + 1, k]
                low[b, k + 1, k] = 0
            k += 1 + int(pair)
    return orders.reshape(pivots.shape), low.reshape(ld.shape), middle.reshape(ld.shape)
