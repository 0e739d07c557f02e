"""Short-time Fourier transforms: a signal cut into overlapping frames, each weighted by a window and transformed, and back."""

from __future__ import annotations

import warnings

import numpy as np

from .. import dispatch, dtypes
from ..tensor import Tensor
from .complex_numbers import view_as_real
from .creation import of_array
from .declare import operator
from .fourier import C2C, C2R, R2C
from .joining import cat
from .linalg.checks import readable
from .padding import pad as pad_signal


def _label(function: str, input: Tensor, settings: str) -> str:
    return f"{function}(torch.{dispatch.type_name(input._dtype)}Tensor{list(input.shape)}, {settings}) : "


def _window(label: str, window: Tensor | None, like: Tensor, length: int, n_fft: int) -> Tensor | None:
    """The window with zeros on both sides up to `n_fft`; None where there is none and none is needed."""
    if window is not None and (window.ndim != 1 or window.shape[0] != length):
        raise RuntimeError(
            f"{label}expected a 1D window tensor of size equal to win_length={length}, but got window with size {list(window.shape)}"
        )
    if length == n_fft:
        return window
    weights = like.new_ones(length) if window is None else window
    left = (n_fft - length) // 2
    return cat([weights.new_zeros(left), weights, weights.new_zeros(n_fft - length - left)])


def _no_window(name: str) -> None:
    warnings.warn(
        "A window was not provided. A rectangular window will be applied,which is known to cause spectral leakage. Other windows such as "
        "torch.hann_window or torch.hamming_window are recommended to reduce spectral leakage.To suppress this warning and use a "
        "rectangular window, explicitly set `window=torch.ones(n_fft, device=<device>)`.",
        stacklevel=5,
    )


@operator()
def stft(
    input: Tensor, n_fft: int, hop_length: int | None = None, win_length: int | None = None, window: Tensor | None = None,
    center: bool = True, pad_mode: str = "reflect", normalized: bool = False, onesided: bool | None = None,
    return_complex: bool | None = None, align_to_window: bool | None = None,
) -> Tensor:  # fmt: skip
    """The Fourier transforms of frames of `n_fft` points, `hop_length` apart (a quarter of it where not given).

    The signal is [time] or [batch, time], the result [..., frequencies, frames], complex unless `return_complex` is False (then with a
    last dimension of 2). With `center`, frames are centred on their time and the signal is padded by `pad_mode`. `win_length` points of
    `window` weigh a frame. `onesided` gives the half of the frequencies that a real signal needs. Raises RuntimeError for what does not fit.
    """
    hop = n_fft // 4 if hop_length is None else hop_length
    length = n_fft if win_length is None else win_length
    settings = f"n_fft={n_fft}, hop_length={hop}, win_length={length}, window={'None' if window is None else 'Tensor'}"
    label = _label("stft", input, settings)
    if window is None:
        _no_window("stft")
    if return_complex is None:
        if not (input._dtype.is_complex or (window is not None and window._dtype.is_complex)):
            raise RuntimeError(
                "stft requires the return_complex parameter be given for real inputs, and will further require that return_complex=True "
                "in a future PyTorch release."
            )
        return_complex = True
    if not return_complex:
        warnings.warn(
            "stft with return_complex=False is deprecated. In a future pytorch release, stft will return complex tensors for all inputs, "
            "and return_complex=False will raise an error.\nNote: you can still call torch.view_as_real on the complex output to recover "
            "the old return format.",
            stacklevel=4,
        )
    if input._dtype.category < dtypes.FLOATING:
        raise RuntimeError(f"{label}expected a tensor of floating point or complex values")
    if not 1 <= input.ndim <= 2:
        raise RuntimeError(f"{label}expected a 1D or 2D tensor")
    if center and align_to_window is not None:
        raise RuntimeError("stft align_to_window should only be set when center = false")
    single = input.ndim == 1
    signal = input.unsqueeze(0) if single else input
    if center:
        half = n_fft // 2
        signal = pad_signal(signal.unsqueeze(1), [half, half], pad_mode).squeeze(1)
    points = signal.shape[1]
    if not 0 < n_fft <= points:
        raise RuntimeError(f"{label}expected 0 < n_fft < {points}, but got n_fft={length}")
    if hop <= 0:
        raise RuntimeError(f"{label}expected hop_length > 0, but got hop_length={hop}")
    if not 0 < length <= n_fft:
        raise RuntimeError(f"{label}expected 0 < win_length <= n_fft, but got win_length={length}")
    weights = _window(label, window, signal, length, n_fft)
    if align_to_window:
        left = (n_fft - length) // 2
        signal = pad_signal(signal, [left, n_fft - length - left])
    frames = signal.unfold(1, n_fft, hop)
    if weights is not None:
        frames = frames * weights
    wide = frames._dtype.is_complex
    half_only = not wide if onesided is None else onesided
    if wide and half_only:
        raise RuntimeError("Cannot have onesided output if window or input is complex")
    scale = int(bool(normalized))
    out = (
        dispatch.call(C2C, (frames,), ((2,), scale, True))
        if wide
        else dispatch.call(R2C, (frames,), ((2,), scale, half_only))
    )
    out = out.transpose(1, 2)
    out = out.squeeze(0) if single else out
    return out if return_complex else view_as_real(out)


def _overlapped(frames: Tensor, hop: int) -> Tensor:
    """Frames [batch, frames, points], each `hop` later than the one before, added up."""
    batch, count, points = frames.shape
    places = (np.arange(count) * hop)[:, None] + np.arange(points)
    index = of_array(places.reshape(-1), dtypes.int64, frames.device)
    return frames.new_zeros(batch, points + hop * (count - 1)).index_add(1, index, frames.reshape(batch, -1))


@operator()
def istft(
    input: Tensor, n_fft: int, hop_length: int | None = None, win_length: int | None = None, window: Tensor | None = None,
    center: bool = True, normalized: bool = False, onesided: bool | None = None, length: int | None = None,
    return_complex: bool = False,
) -> Tensor:  # fmt: skip
    """The signal whose `stft` with the same arguments is `input`, [frequencies, frames] or [batch, frequencies, frames], complex.

    `length` cuts the signal off, or fills it up. Raises RuntimeError where the squares of the windows do not overlap everywhere.
    """
    hop = n_fft // 4 if hop_length is None else hop_length
    points = n_fft if win_length is None else win_length
    settings = (
        f"n_fft={n_fft}, hop_length={hop}, win_length={points}, window={'None' if window is None else 'Tensor'}, "
        f"center={int(center)}, normalized={int(normalized)}, onesided={'None' if onesided is None else int(onesided)}, "
        f"length={'None' if length is None else length}, return_complex={int(return_complex)}"
    )
    label = _label("istft", input, settings)
    if window is None:
        _no_window("istft")
    if not input._dtype.is_complex:
        raise RuntimeError(
            "istft requires a complex-valued input tensor matching the output from stft with return_complex=True."
        )
    if input.numel() == 0:
        raise RuntimeError(f"{label}input tensor cannot be empty.")
    if input.ndim not in (2, 3):
        raise RuntimeError(f"{label}expected a tensor with 3 or 4 dimensions, but got {input.ndim + 1}")
    single = input.ndim == 2
    spectra = input.unsqueeze(0) if single else input
    frequencies = spectra.shape[1]
    half_only = onesided if onesided is not None else frequencies != n_fft
    wanted = n_fft // 2 + 1 if half_only else n_fft
    if frequencies != wanted:
        formula = (
            f"n_fft / 2 + 1 when onesided=True, but got {frequencies}"
            if half_only
            else f"n_fft when onesided=False, but got {frequencies}"
        )
        raise RuntimeError(
            f"{label}expected the frequency dimension (3rd to the last) of the input tensor to match {formula}"
        )
    if not 0 < hop <= points:
        raise RuntimeError(f"{label}expected 0 < hop_length <= win_length")
    if not 0 < points <= n_fft:
        raise RuntimeError(f"{label}expected 0 < win_length <= n_fft")
    if half_only and (return_complex or (window is not None and window._dtype.is_complex)):
        raise RuntimeError("Cannot have onesided output if window or input is complex")
    kind = spectra._dtype.to_real()
    weights = _window(label, window, spectra.new_ones(0, dtype=kind), points, n_fft)
    if weights is None:
        weights = spectra.new_ones(n_fft, dtype=kind)
    rows = spectra.transpose(1, 2)
    scale = 1 if normalized else 2
    if return_complex:
        frames = dispatch.call(C2C, (rows,), ((2,), scale, False))
    else:
        if not half_only:
            rows = rows[..., : n_fft // 2 + 1]
        frames = dispatch.call(C2R, (rows,), ((2,), scale, n_fft))
    count = rows.shape[1]
    signal = _overlapped(frames * weights, hop)
    envelope = _overlapped((weights * weights).expand(1, count, n_fft), hop)
    start = n_fft // 2 if center else 0
    full = signal.shape[1]
    stop = full - n_fft // 2 if center else full
    if length is not None:
        stop = start + length
    signal, envelope = signal[:, start:stop], envelope[:, start:stop]
    if not envelope.numel() or (readable(envelope) and float(envelope.detach().abs().amin().item()) < 1e-11):
        raise RuntimeError(f"{label}window overlap add min: 1")
    out = signal / envelope
    if length is not None and stop > full:
        warnings.warn(
            "The length of signal is shorter than the length parameter. Result is being padded with zeros in the tail. Please check your "
            "center, hop_length",
            stacklevel=4,
        )
        out = cat([out, out.new_zeros(out.shape[0], stop - full)], 1)
    return out.squeeze(0) if single else out
