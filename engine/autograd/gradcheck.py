"""Comparing gradients with finite differences: `gradcheck` and `gradgradcheck`.

Central differences in double precision; complex numbers count as two real ones each, on both sides.  The analytic
Jacobian is read column by column through backward.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable
from typing import Any

import numpy as np

from ..tensor import Tensor


class GradcheckError(RuntimeError):
    """The two Jacobians differ."""


def _tensors(x: Any) -> list[Tensor]:
    if isinstance(x, Tensor):
        return [x]
    return [t for part in x for t in _tensors(part)] if isinstance(x, (list, tuple)) else []


def _real(array: np.ndarray) -> np.ndarray:
    """The elements as one row of real numbers: real parts, then imaginary parts where there are any."""
    flat = array.reshape(-1)
    return np.concatenate([np.real(flat), np.imag(flat)]) if np.iscomplexobj(flat) else flat


def _numeric(
    function: Callable[..., Any], inputs: tuple[Any, ...], x: Tensor, count: int, eps: float
) -> list[np.ndarray]:
    """d outputs / d x by central differences, over real parts; one matrix [inputs, outputs] for each output."""
    host = x._storage.backend.is_host
    array = x._data if host else x._host()
    columns: list[list[np.ndarray]] = [[] for _ in range(count)]

    def outputs() -> list[np.ndarray]:
        if not host:
            x._storage.backend.copy(x._data, x._storage.backend.upload(array, x.dtype))
        return [_real(np.array(t.detach_shallow()._host())) for t in _differentiable(function(*inputs))]

    for step in (eps, 1j * eps) if x.dtype.is_complex else (eps,):
        for at in np.ndindex(array.shape):
            kept = array[at]
            array[at] = kept + step
            high = outputs()
            array[at] = kept - step
            low = outputs()
            array[at] = kept
            if not host:
                x._storage.backend.copy(x._data, x._storage.backend.upload(array, x.dtype))
            for i in range(count):
                columns[i].append((high[i] - low[i]) / (2 * eps))
    return [np.array(c) for c in columns]


def _differentiable(out: Any) -> list[Tensor]:
    return [t for t in _tensors(out) if t.dtype.is_floating_point or t.dtype.is_complex]


def gradcheck(
    func: Callable[..., Any], inputs: Any, *, eps: float = 1e-6, atol: float = 1e-5, rtol: float = 1e-3, raise_exception: bool = True,
    nondet_tol: float = 0.0, check_undefined_grad: bool = True, check_grad_dtypes: bool = False, check_batched_grad: bool = False,
    check_batched_forward_grad: bool = False, check_forward_ad: bool = False, check_backward_ad: bool = True, fast_mode: bool = False,
    masked: Any = None,
) -> bool:  # fmt: skip
    """Whether backward through `func(*inputs)` agrees with finite differences.

    Inputs that need a gradient should be double (a warning otherwise). Raises GradcheckError where it disagrees, or returns
    False without `raise_exception`; ValueError where no input needs a gradient.
    """
    args = (inputs,) if isinstance(inputs, Tensor) else tuple(inputs)
    checked = [t for t in _tensors(args) if t.requires_grad]
    if not checked:
        raise ValueError(
            "gradcheck expects at least one input tensor to require gradient, but none of the them have requires_grad=True."
        )
    for i, t in enumerate(checked):
        if t.dtype.name not in ("float64", "complex128"):
            warnings.warn(
                f"Input #{i} requires gradient and is not a double precision floating point or complex.", stacklevel=2
            )
    try:
        _compare(func, args, checked, eps, atol, rtol)
    except GradcheckError:
        if raise_exception:
            raise
        return False
    return True


def _compare(
    func: Callable[..., Any], args: tuple[Any, ...], checked: list[Tensor], eps: float, atol: float, rtol: float
) -> None:
    from . import grad

    outs = _differentiable(func(*args))
    numeric = [_numeric(func, args, x, len(outs), eps) for x in checked]
    for o, out in enumerate(outs):
        found = [np.zeros(n[o].shape) for n in numeric]
        if out.requires_grad:
            size = out.numel()
            # A seed of 1 asks for the gradient of a real part, one of 1j for that of an imaginary part.
            for k, part in enumerate((1.0, 1j) if out.dtype.is_complex else (1.0,)):
                for j in range(size):
                    seed = np.zeros(size, out.dtype.numpy)
                    seed[j] = part
                    start = out.new_tensor(seed.reshape(tuple(out.shape)))
                    got = grad([out], checked, [start], retain_graph=True, allow_unused=True)
                    for i, g in enumerate(got):
                        if g is not None:
                            found[i][:, k * size + j] = _real(np.array(g._host()))
        for i in range(len(checked)):
            want = numeric[i][o]
            if not np.allclose(found[i], want, rtol=rtol, atol=atol, equal_nan=True):
                raise GradcheckError(
                    f"Jacobian mismatch for output {o} with respect to input {i},\nnumerical:{want}\nanalytical:{found[i]}\n"
                )


def gradgradcheck(
    func: Callable[..., Any], inputs: Any, grad_outputs: Any = None, *, eps: float = 1e-6, atol: float = 1e-5, rtol: float = 1e-3,
    gen_non_contig_grad_outputs: bool = False, raise_exception: bool = True, nondet_tol: float = 0.0, check_undefined_grad: bool = True,
    check_grad_dtypes: bool = False, check_batched_grad: bool = False, check_fwd_over_rev: bool = False, check_rev_over_rev: bool = True,
    fast_mode: bool = False, masked: bool = False,
) -> bool:  # fmt: skip
    """Whether the gradient of the gradient agrees with finite differences; arguments as for `gradcheck`."""
    from . import grad

    args = (inputs,) if isinstance(inputs, Tensor) else tuple(inputs)
    count = len(args)
    outs = _differentiable(func(*args))
    if grad_outputs is None:
        starts = [_start(o) for o in outs]
    else:
        starts = list(_tensors(grad_outputs))
    checked = [t for t in _tensors(args) if t.requires_grad]

    def first(*given: Any) -> Any:
        made = _differentiable(func(*given[:count]))
        used = [(m, g) for m, g in zip(made, given[count:], strict=True) if m.requires_grad]
        got = grad([m for m, _ in used], checked, [g for _, g in used], create_graph=True, allow_unused=True)
        return tuple(g for g in got if g is not None)

    return gradcheck(first, (*args, *starts), eps=eps, atol=atol, rtol=rtol, raise_exception=raise_exception)


def _start(out: Tensor) -> Tensor:
    rng = np.random.default_rng(0)
    values = rng.standard_normal(tuple(out.shape))
    if out.dtype.is_complex:
        values = values + 1j * rng.standard_normal(tuple(out.shape))
    return out.new_tensor(values).requires_grad_()
