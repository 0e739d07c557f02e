"""Fourier transforms against numpy.fft, in PyTorch's dtypes, and short-time transforms there and back."""

from __future__ import annotations

import numpy as np
import pytest

from tapescope import engine as torch

RNG = np.random.default_rng(3)
ONE = ("fft", "ifft", "rfft", "irfft", "hfft", "ihfft")
SEVERAL = ("fft2", "ifft2", "rfft2", "irfft2", "fftn", "ifftn", "rfftn", "irfftn")


def signal(name, *shape):
    a = RNG.standard_normal(shape)
    return a if name.startswith(("rfft", "ihfft")) else a + 1j * RNG.standard_normal(shape)


@pytest.mark.parametrize("name", ONE)
@pytest.mark.parametrize("norm", [None, "backward", "ortho", "forward"])
@pytest.mark.parametrize("n", [None, 4, 9])
def test_one_dimension(name, norm, n):
    a = signal(name, 3, 6)
    for axis in (0, -1):
        got = getattr(torch.fft, name)(torch.from_numpy(a), n=n, dim=axis, norm=norm).numpy()
        np.testing.assert_allclose(got, getattr(np.fft, name)(a, n=n, axis=axis, norm=norm), rtol=1e-9, atol=1e-12)


@pytest.mark.parametrize("name", SEVERAL)
@pytest.mark.parametrize("norm", [None, "ortho", "forward"])
@pytest.mark.parametrize("s", [None, (3, 5)])
def test_several_dimensions(name, norm, s):
    a = signal(name, 2, 4, 6)
    dims = (-2, -1)
    got = getattr(torch.fft, name)(torch.from_numpy(a), s=s, dim=dims, norm=norm).numpy()
    np.testing.assert_allclose(got, getattr(np.fft, name)(a, s=s, axes=dims, norm=norm), rtol=1e-9, atol=1e-12)


def test_hermitian_transforms_of_several_dimensions():
    a = torch.from_numpy(RNG.standard_normal((4, 6)))
    half = torch.fft.ihfftn(a)
    assert half.shape == (4, 4) and torch.allclose(torch.fft.hfftn(half, s=(4, 6)), a)
    assert torch.allclose(torch.fft.hfft2(torch.fft.ihfft2(a), s=(4, 6)), a)


@pytest.mark.parametrize(
    "given, made",
    [
        ("float32", "complex64"),
        ("float64", "complex128"),
        ("int64", "complex64"),
        ("bool", "complex64"),
        ("complex64", "complex64"),
    ],
)
def test_dtypes(given, made):
    x = torch.ones(4).to(getattr(torch, given))
    assert torch.fft.fft(x).dtype is getattr(torch, made)
    assert torch.fft.irfft(x).dtype is getattr(torch, made).to_real()


@pytest.mark.parametrize("n", [5, 6])
def test_the_whole_spectrum_of_a_real_signal(n):
    a = RNG.standard_normal((3, n)).astype(np.float32)
    for axis in (0, 1):
        np.testing.assert_allclose(
            torch.fft.fft(torch.from_numpy(a), dim=axis).numpy(), np.fft.fft(a, axis=axis), rtol=1e-5, atol=1e-5
        )


def test_frequencies_and_shifts():
    for n in (1, 4, 5):
        np.testing.assert_allclose(torch.fft.fftfreq(n, 0.5, dtype=torch.float64).numpy(), np.fft.fftfreq(n, 0.5))
        np.testing.assert_allclose(torch.fft.rfftfreq(n, 0.5, dtype=torch.float64).numpy(), np.fft.rfftfreq(n, 0.5))
        a = np.arange(n * 3).reshape(n, 3)
        np.testing.assert_array_equal(torch.fft.fftshift(torch.from_numpy(a)).numpy(), np.fft.fftshift(a))
        np.testing.assert_array_equal(torch.fft.ifftshift(torch.from_numpy(a), 0).numpy(), np.fft.ifftshift(a, 0))


@pytest.mark.parametrize("onesided", [True, False])
@pytest.mark.parametrize("normalized", [True, False])
@pytest.mark.parametrize("hop, length", [(2, 8), (3, 6), (8, 8)])
def test_short_time_transforms_invert(hop, length, onesided, normalized):
    x = torch.from_numpy(RNG.standard_normal((2, 50)))
    window = torch.hamming_window(length, dtype=torch.float64)
    made = torch.stft(x, 8, hop, length, window, normalized=normalized, onesided=onesided, return_complex=True)
    assert made.shape == (2, 5 if onesided else 8, 50 // hop + 1)
    back = torch.istft(made, 8, hop, length, window, normalized=normalized, onesided=onesided, length=48)
    assert torch.allclose(back, x[:, :48])


def test_windows_that_leave_gaps_are_refused():
    made = torch.stft(torch.ones(40), 8, 8, window=torch.hann_window(8), return_complex=True)
    with pytest.raises(RuntimeError, match="window overlap add min"):
        torch.istft(made, 8, 8, window=torch.hann_window(8))
