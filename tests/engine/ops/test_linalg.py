"""Linear algebra against numpy, and by what defines it: products of factors, equations, invariants."""

from __future__ import annotations

import numpy as np
import pytest

from tapescope import engine as torch

DTYPES = ("float32", "float64", "complex64", "complex128")
RNG = np.random.default_rng(7)


def matrices(*shape, dtype="float64"):
    a = RNG.standard_normal(shape)
    if dtype.startswith("complex"):
        a = a + 1j * RNG.standard_normal(shape)
    return torch.from_numpy(a.astype(dtype))


def near(a, b, dtype="float64"):
    tolerance = 2e-3 if dtype in ("float32", "complex64") else 1e-9
    a, b = (x.numpy() if isinstance(x, torch.Tensor) else x for x in (a, b))
    assert a.shape == b.shape
    np.testing.assert_allclose(a, b, rtol=tolerance, atol=tolerance)


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("shape", [(3, 3), (2, 5, 3), (4, 7), (2, 3, 70, 70), (0, 3), (2, 0, 0)])
def test_lu(shape, dtype):
    a = matrices(*shape, dtype=dtype)
    p, low, up = torch.linalg.lu(a)
    near(p @ low @ up, a, dtype)
    assert (
        (low.triu(1) == 0).all()
        and (up.tril(-1) == 0).all()
        and (low.abs() <= 1 + 1e-5).all() | dtype.startswith("complex")
    )


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("upper", [True, False])
@pytest.mark.parametrize("n", [1, 5, 130])
def test_triangular_systems(n, upper, dtype):
    a = matrices(2, n, n, dtype=dtype) / n + 2 * torch.eye(n)
    b = matrices(n, 3, dtype=dtype)
    half = a.triu() if upper else a.tril()
    near(half @ torch.linalg.solve_triangular(a, b, upper=upper), b.expand(2, n, 3), dtype)
    near(torch.linalg.solve_triangular(a, b.mT, upper=upper, left=False) @ half, b.mT.expand(2, 3, n), dtype)


@pytest.mark.parametrize("dtype", DTYPES)
def test_factors_multiply_to_the_matrix(dtype):
    a = matrices(2, 5, 3, dtype=dtype)
    q, r = torch.linalg.qr(a)
    near(q @ r, a, dtype)
    near(q.mH @ q, torch.eye(3).to(q.dtype).expand(2, 3, 3), dtype)
    h, tau = torch.geqrf(a)
    near(torch.linalg.householder_product(h, tau), q, dtype)
    near(
        torch.ormqr(h, tau, matrices(2, 5, 2, dtype=dtype) * 0 + 1),
        torch.linalg.qr(a, mode="complete").Q.sum(-1, keepdim=True).expand(2, 5, 2),
        dtype,
    )
    u, s, vh = torch.linalg.svd(a, full_matrices=False)
    near(u @ torch.diag_embed(s).to(u.dtype) @ vh, a, dtype)
    square = a.mH @ a + torch.eye(3)
    low = torch.linalg.cholesky(square)
    near(low @ low.mH, square, dtype)
    near(torch.cholesky_inverse(low), np.linalg.inv(square.numpy()), dtype)
    values, vectors = torch.linalg.eigh(square)
    near(vectors @ torch.diag_embed(values).to(vectors.dtype) @ vectors.mH, square, dtype)
    general = matrices(2, 4, 4, dtype=dtype)
    values, vectors = torch.linalg.eig(general)
    near(vectors @ torch.diag_embed(values), general.to(vectors.dtype) @ vectors, dtype)


@pytest.mark.parametrize("hermitian", [True, False])
@pytest.mark.parametrize("n", [1, 2, 6, 11])
def test_ldl(n, hermitian):
    a = matrices(3, n, n, dtype="complex128")
    a = a + (a.mH if hermitian else a.mT)
    b = matrices(3, n, 2, dtype="complex128")
    x = torch.linalg.ldl_solve(*torch.linalg.ldl_factor(a, hermitian=hermitian), b, hermitian=hermitian)
    near(a @ x, b)


@pytest.mark.parametrize("dtype", DTYPES)
def test_against_numpy(dtype):
    a, b = matrices(2, 4, 4, dtype=dtype), matrices(2, 4, 2, dtype=dtype)
    x, y = a.numpy(), b.numpy()
    near(torch.linalg.inv(a), np.linalg.inv(x), dtype)
    near(torch.linalg.solve(a, b), np.linalg.solve(x, y), dtype)
    near(torch.linalg.det(a), np.linalg.det(x), dtype)
    sign, logabsdet = torch.linalg.slogdet(a)
    near(sign, np.linalg.slogdet(x)[0], dtype)
    near(logabsdet, np.linalg.slogdet(x)[1], dtype)
    near(torch.linalg.pinv(b), np.linalg.pinv(y), dtype)
    near(torch.linalg.svdvals(b), np.linalg.svd(y, compute_uv=False), dtype)
    near(torch.linalg.matrix_power(a, 5), np.linalg.matrix_power(x, 5), "float32")
    near(torch.kron(a[0], b[0]), np.kron(x[0], y[0]), dtype)
    near(torch.tensordot(a, b, ([0, 1], [0, 1])), np.tensordot(x, y, ([0, 1], [0, 1])), dtype)
    for order in (2, 1, np.inf, -np.inf, "fro", "nuc", -1, -2):
        near(torch.linalg.matrix_norm(a, order), np.linalg.norm(x, order, axis=(-2, -1)), dtype)
        if not isinstance(order, str):
            near(torch.linalg.vector_norm(a, order, 1), np.linalg.norm(x, order, axis=1), dtype)
    for driver in ("gels", "gelsd"):
        near(
            torch.linalg.lstsq(b[0], a[0][:, :1], driver=driver).solution,
            np.linalg.lstsq(y[0], x[0][:, :1], rcond=None)[0],
            dtype,
        )


def test_the_exponential_of_a_matrix():
    a = matrices(3, 4, 4)
    for scale in (1e-9, 1e-4, 1e-2, 0.2, 1.0, 30.0):
        values, vectors = np.linalg.eig(scale * a.numpy())
        exact = (vectors * np.exp(values)[:, None, :]) @ np.linalg.inv(vectors)
        got = torch.linalg.matrix_exp(scale * a).numpy()
        np.testing.assert_allclose(got, exact.real, rtol=1e-8, atol=1e-9 * np.abs(exact).max())


EQUATIONS = [
    ("ij,jk->ik", (3, 4), (4, 5)), ("bij,bjk->bik", (2, 3, 4), (2, 4, 5)), ("ij,ij->", (3, 4), (3, 4)), ("i,j->ij", (3,), (4,)),
    ("...ij,...jk->...ik", (2, 1, 3, 4), (5, 4, 2)), ("ii->i", (3, 3)), ("ijj->ji", (2, 3, 3)), ("ij,kj,kl->il", (3, 4), (5, 4), (5, 2)),
    ("ab...,b...->a...", (2, 3, 4), (3, 4)), ("ij,jk", (3, 4), (4, 5)), ("i,ij,j->", (3,), (3, 4), (4,)),
    ("bhqd,bhkd->bhqk", (2, 2, 3, 4), (2, 2, 5, 4)),
]  # fmt: skip


@pytest.mark.parametrize("case", EQUATIONS, ids=lambda c: c[0])
def test_einsum_against_numpy(case):
    equation, *shapes = case
    operands = [matrices(*s) for s in shapes]
    near(torch.einsum(equation, *operands), np.einsum(equation, *[o.numpy() for o in operands]))


def test_singular_matrices_are_named_by_their_place():
    stack = torch.stack([torch.eye(3), torch.zeros(3, 3)])
    for function in (torch.linalg.inv, lambda a: torch.linalg.solve(a, torch.ones(2, 3, 1))):
        with pytest.raises(torch.linalg.LinAlgError, match=r"\(Batch element 1\)"):
            function(stack)
    assert torch.linalg.inv_ex(stack).info.tolist() == [0, 1]
    assert torch.linalg.cholesky_ex(-stack).info.tolist() == [1, 1]
    assert torch.linalg.lu_factor_ex(stack).info.tolist() == [0, 1]


def test_gradients_reach_singular_and_repeated_cases():
    zero = torch.zeros(2, 2, dtype=torch.float64, requires_grad=True)
    torch.linalg.det(zero + torch.diag(torch.tensor([0.0, 3.0], dtype=torch.float64))).backward()
    assert zero.grad.tolist() == [[3.0, 0.0], [0.0, 0.0]]
    unit = torch.eye(3, dtype=torch.float64, requires_grad=True)
    torch.linalg.svd(unit).S.sum().backward()  # equal singular values: only what was used is differentiated
    assert unit.grad.isfinite().all() and torch.linalg.svdvals(unit).sum().item() == 3
    nothing = torch.zeros(3, dtype=torch.float64, requires_grad=True)
    torch.linalg.vector_norm(nothing).backward()
    assert nothing.grad.tolist() == [0, 0, 0]


def test_importable_as_modules():
    import importlib

    for name in ("linalg", "fft", "signal.windows"):
        module = importlib.import_module(f"tapescope.engine.{name}")
        assert module.__all__ == sorted(module.__all__)
    assert torch.linalg.inv is importlib.import_module("tapescope.engine.linalg").inv
