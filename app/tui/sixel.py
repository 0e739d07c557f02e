"""RGB pixels as sixels: a palette of the image's own colours, and bands of six rows, run-length coded.

The format is DEC's (VT330/VT340 Programmer Reference Manual, volume 2, chapter 14).
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import numpy as np

__all__ = ["palette", "sixel"]


def sixel(pixels: np.ndarray, most: int = 256) -> str:
    """The sequence that draws RGB bytes (rows x columns x 3) in at most `most` colours; what lies below the last row stays as it is."""
    import numpy as np

    height, width = pixels.shape[:2]
    indices, colours = palette(pixels, most)
    parts = [f'\x1bP0;1;0q"1;1;{width};{height}']
    parts += [
        f"#{n};2;" + ";".join(str(round(v * 100 / 255)) for v in colour) for n, colour in enumerate(colours.tolist())
    ]
    weights = np.array([1, 2, 4, 8, 16, 32], dtype=np.uint8)
    for top in range(0, height, 6):
        band = indices[top : top + 6]
        weight = weights[: len(band), None]
        rows = []
        for colour in np.unique(band).tolist():
            bits = ((band == colour) * weight).sum(axis=0, dtype=np.uint8) + 63
            rows.append(f"#{colour}{_runs(bits)}")
        parts.append("$".join(rows) + "-")
    return "".join(parts) + "\x1b\\"


def _runs(bits: np.ndarray) -> str:
    """Sixels as characters, `!` and a count where one repeats."""
    import numpy as np

    edges = np.flatnonzero(np.diff(bits)) + 1
    starts = [0, *edges.tolist()]
    ends = [*edges.tolist(), len(bits)]
    out = []
    for start, end in zip(starts, ends):
        sign, count = chr(bits[start]), end - start
        out.append(f"!{count}{sign}" if count > 3 else sign * count)
    if out and bits[-1] == 63:  # nothing of this colour to the right
        out.pop()
    return "".join(out)


def palette(pixels: np.ndarray, most: int = 256) -> tuple[np.ndarray, np.ndarray]:
    """(the number of each pixel's colour, the colours): at most `most`, those that occur or, of more, means of boxes.

    Boxes are halved at the median of their longest side (Heckbert's median cut), those that are full and long first.
    """
    import numpy as np

    flat = pixels.reshape(-1, 3).astype(np.uint32)
    packed = flat[:, 0] << 16 | flat[:, 1] << 8 | flat[:, 2]
    unique, inverse, counts = np.unique(packed, return_inverse=True, return_counts=True)
    values = np.stack([unique >> 16, unique >> 8 & 255, unique & 255], axis=1).astype(np.int32)
    inverse = inverse.reshape(pixels.shape[:2])
    if len(values) <= most:
        return inverse, values
    boxes = [np.arange(len(values))]
    weights = [1.0]
    while len(boxes) < most:
        place = int(np.argmax(weights))
        box = boxes[place]
        if weights[place] <= 0:
            break
        side = int(np.argmax(np.ptp(values[box], axis=0)))
        box = box[np.argsort(values[box, side], kind="stable")]
        total = np.cumsum(counts[box])
        cut = int(np.clip(np.searchsorted(total, total[-1] / 2), 1, len(box) - 1))
        boxes[place : place + 1] = [box[:cut], box[cut:]]
        weights[place : place + 1] = [_weight(values[part], counts[part]) for part in (box[:cut], box[cut:])]
    number = np.zeros(len(values), dtype=np.int64)
    colours = np.zeros((len(boxes), 3), dtype=np.int32)
    for n, box in enumerate(boxes):
        number[box] = n
        colours[n] = np.average(values[box], axis=0, weights=counts[box]).round()
    return number[inverse], colours


def _weight(values: np.ndarray, counts: np.ndarray) -> float:
    """How much a box is worth halving; 0 for a single colour."""
    import numpy as np

    return float(counts.sum() * np.ptp(values, axis=0).max() ** 2) if len(values) > 1 else 0.0
