"""Gradient samples of linear algebra, each with a real and a complex matrix where the operator takes both.

What is defined up to a sign or phase only (singular vectors, eigenvectors) is looked at through products that are free of it.
"""

from __future__ import annotations

from tapescope import engine as torch

from ..gradient_samples import call


def pair(function):
    """A function of a real matrix, and of the complex one with another real matrix as its imaginary part."""

    def both(x, y, *rest):
        z = torch.complex(x, y)
        out = [*function(x), *[torch.view_as_real(o) if o.is_complex() else o for o in function(z)]]
        return tuple(out)

    return both


def positive(a):
    """A positive-definite matrix."""
    return a @ a.mH + torch.eye(a.shape[-1], dtype=a.dtype)


def steep(a):
    """A matrix that is easily inverted, with eigenvalues apart from each other."""
    return a + torch.diag(torch.arange(1.0, a.shape[-1] + 1, dtype=torch.float64)).to(a.dtype)


def hermitian(a):
    return steep(a) + steep(a).mH


def first(name, *statics):
    return lambda *tensors: call(name, *statics)(*tensors)[0]


def two(t, *shape):
    return [t(*shape), t(*shape, seed=1)]


def svd(full):
    def run(a):
        u, s, vh = call("linalg_svd", full)(a)
        k = s.shape[-1]
        return s, u[..., :k] @ vh[..., :k, :], u.abs() if not full else s, vh.abs() if not full else s

    return run


def eig(a):
    values, vectors = call("linalg_eig")(steep(a))
    return torch.view_as_real(values), vectors.abs()


def eigh(uplo):
    def run(a):
        values, vectors = call("linalg_eigh", uplo)(hermitian(a))
        return values, vectors.abs()

    return run


def lstsq(a, b):
    x, residuals, _, _ = call("linalg_lstsq", 1e-12, "gelsd")(a, b)
    return x, residuals


def weighted(outs):
    """Several outputs in one, so that fewer numbers are differentiated."""
    return (sum((i + 1) * o for i, o in enumerate(outs)),)


def hold(function):
    return lambda a: (function(a),)


SAMPLES = {
    "linalg_cross": lambda t: (
        lambda x, y: torch.view_as_real(call("linalg_cross", 1)(torch.complex(x, x * x), torch.complex(y, y * 2))), [t(2, 3), t(2, 3, seed=1)]
    ),
    "trace": lambda t: (call("trace"), [t(3, 4)]),
    "vdot": lambda t: (
        lambda x, y: torch.view_as_real(call("vdot")(torch.complex(x, y), torch.complex(y, x * x))), two(t, 3)
    ),
    "baddbmm": lambda t: (call("baddbmm", 0.5, 2.0), [t(2), t(2, 2, 3, seed=1), t(2, 3, 2, seed=2)]),
    "addbmm": lambda t: (call("addbmm", 0.5, 2.0), [t(2), t(2, 2, 3, seed=1), t(2, 3, 2, seed=2)]),
    "addmv": lambda t: (call("addmv", 0.5, 2.0), [t(2), t(2, 3, seed=1), t(3, seed=2)]),
    "addr": lambda t: (call("addr", 0.5, 2.0), [t(2, 3), t(2, seed=1), t(3, seed=2)]),
    "linalg_solve_triangular": lambda t: (
        pair(lambda a: weighted([
            call("linalg_solve_triangular", upper, left, unit)(steep(a), a * 2)
            for upper in (True, False) for left in (True, False) for unit in (True, False)
        ])),
        two(t, 2, 2),
    ),
    "linalg_solve_ex": lambda t: (
        pair(lambda a: (
            first("linalg_solve_ex", True, False)(steep(a), a[..., :2]), first("linalg_solve_ex", False, False)(steep(a), a[..., :2, :]),
            first("linalg_solve_ex", True, True)(steep(a), a[..., 0]),
        )),
        two(t, 2, 2, 2),
    ),
    "linalg_inv_ex": lambda t: (pair(lambda a: (first("linalg_inv_ex")(steep(a)),)), two(t, 3, 3)),
    "linalg_det": lambda t: (pair(hold(call("linalg_det"))), two(t, 2, 3, 3)),
    "linalg_slogdet": lambda t: (pair(lambda a: call("linalg_slogdet")(steep(a))), two(t, 3, 3)),
    "linalg_cholesky_ex": lambda t: (
        pair(lambda a: (first("linalg_cholesky_ex", False)(positive(a)), first("linalg_cholesky_ex", True)(positive(a)))), two(t, 3, 3)
    ),
    "cholesky_solve": lambda t: (
        pair(lambda a: (call("cholesky_solve", False)(a, steep(a).tril()), call("cholesky_solve", True)(a[..., :1], steep(a).triu()))),
        two(t, 3, 3),
    ),
    "cholesky_inverse": lambda t: (pair(lambda a: (call("cholesky_inverse", False)(steep(a).tril()),)), two(t, 3, 3)),
    "linalg_lu_factor_ex": lambda t: (
        lambda x, y, z, w: (
            *pair(lambda a: (first("linalg_lu_factor_ex")(steep(a)),))(x, y), first("linalg_lu_factor_ex")(z), first("linalg_lu_factor_ex")(w)
        ),
        [*two(t, 2, 2), t(2, 3, seed=2), t(3, 2, seed=3)],
    ),
    "linalg_qr": lambda t: (
        lambda x, y, z, w: (
            *pair(lambda a: call("linalg_qr", "reduced")(steep(a)))(x, y), *call("linalg_qr", "complete")(z), *call("linalg_qr", "reduced")(w)
        ),
        [*two(t, 3, 3), t(2, 4, seed=2), t(4, 2, seed=3)],
    ),
    "linalg_svd": lambda t: (
        lambda x, y, z, w: (*pair(svd(False))(x, y), *svd(False)(z), *svd(True)(w)),
        [*two(t, 2, 2), t(2, 3, seed=2), t(3, 2, seed=3)],
    ),
    "linalg_eigh": lambda t: (lambda x, y: (*pair(eigh("L"))(x, y), *eigh("U")(x)), two(t, 3, 3)),
    "linalg_eig": lambda t: (pair(eig), two(t, 3, 3)),
    "linalg_pinv": lambda t: (
        lambda x, y: (*pair(lambda a: (torch.linalg.pinv(a),))(x, y), torch.linalg.pinv(x.mT), torch.linalg.pinv(x[:2] @ x[:2].mT, hermitian=True)),
        two(t, 3, 2),
    ),
    "linalg_lstsq": lambda t: (lstsq, [t(4, 2), t(4, 3, seed=1)]),
    "linalg_vector_norm": lambda t: (
        pair(lambda a: weighted([
            call("linalg_vector_norm", order, (1,), False)(a) for order in (2.0, 1.0, 0.5, 1.5, 3.0, float("inf"), float("-inf"), 0.0, -1.0)
        ])),
        two(t, 2, 3),
    ),
    "linalg_matrix_exp": lambda t: (pair(hold(call("linalg_matrix_exp"))), two(t, 2, 2)),
}  # fmt: skip
SINGLE: set[str] = set()
