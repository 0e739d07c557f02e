"""Images as half blocks: each character shows two pixels, one above the other, in true colour.

Where the terminal can draw more (graphics.py), an image is made as many pixels as its place has.

PNG is decoded here, since that is what notebooks hold (matplotlib's figures, for one); other forms need Pillow, which
is used where it is installed.  numpy is imported when the first image is drawn.
"""

from __future__ import annotations

import struct
import zlib
from typing import TYPE_CHECKING, Any

from rich.color import Color as RichColor
from rich.style import Style
from rich.text import Text

if TYPE_CHECKING:
    import numpy as np

    from .graphics import Pixels

__all__ = ["CannotDecode", "decode_png", "draw_image", "fit_image", "half_blocks"]

MAX_PIXELS = 40_000_000
MAX_ROWS = 40
_SIGNATURE = b"\x89PNG\r\n\x1a\n"
_CHANNELS = {0: 1, 2: 3, 3: 1, 4: 2, 6: 4}


class CannotDecode(Exception):
    """An image that cannot be shown here; the text is a sentence."""


def draw_image(raw: bytes, width: int, background: str, rows: int = MAX_ROWS) -> list[Text]:
    """The image in at most `width` columns and `rows` rows, on `background` ("#rrggbb"). Raises CannotDecode."""
    colour = _on_ground(raw, background)
    height, across = colour.shape[:2]
    # A character is about twice as tall as wide, so that half of one is a square.
    scale = min(width / across, 2 * rows / height, 1.0 if max(across, height) > 16 else 4.0)
    columns, lines = max(1, round(across * scale)), max(2, 2 * round(height * scale / 2))
    return half_blocks(colour, columns, lines // 2)


def half_blocks(colour: np.ndarray, columns: int, rows: int) -> list[Text]:
    """Colours (height x width x 3) in exactly so many columns and rows of characters."""
    import numpy as np

    lines = 2 * rows
    small = _resized(colour, columns, lines).astype(np.uint8)
    out = []
    for y in range(0, lines, 2):
        text = Text(end="", no_wrap=True)
        upper, lower = small[y].tolist(), small[y + 1].tolist()
        start = 0
        while start < columns:
            pair = (upper[start], lower[start])
            stop = start + 1
            while stop < columns and (upper[stop], lower[stop]) == pair:
                stop += 1
            style = Style(color=RichColor.from_rgb(*pair[0]), bgcolor=RichColor.from_rgb(*pair[1]))
            text.append("▀" * (stop - start), style)
            start = stop
        out.append(text)
    return out


def fit_image(raw: bytes, width: int, background: str, cell: tuple[int, int], rows: int = MAX_ROWS) -> Pixels:
    """The image in real pixels, in at most `width` columns and `rows` rows of characters of `cell` pixels.

    What is left of the last column and row has the colour of the background. Raises CannotDecode.
    """
    import numpy as np

    from .graphics import Pixels

    colour = _on_ground(raw, background)
    height, across = colour.shape[:2]
    most = 1.0 if max(across, height) > 16 else float(cell[1])  # an icon, or a matrix: a pixel becomes a square
    scale = min(width * cell[0] / across, rows * cell[1] / height, most)
    wide, high = max(1, round(across * scale)), max(1, round(height * scale))
    columns, lines = -(-wide // cell[0]), -(-high // cell[1])
    out = np.empty((lines * cell[1], columns * cell[0], 3), dtype=np.uint8)
    out[:] = _rgb(background)
    out[:high, :wide] = _resized(colour, wide, high).astype(np.uint8)
    return Pixels(out, columns, lines)


def _rgb(colour: str) -> list[int]:
    return [int(colour[n : n + 2], 16) for n in (1, 3, 5)]


def _on_ground(raw: bytes, background: str) -> np.ndarray:
    """The colours of an image (height x width x 3, floats), what is transparent mixed with the background."""
    import numpy as np

    pixels = decode_png(raw) if raw[:8] == _SIGNATURE else _decode_other(raw)
    ground = np.array(_rgb(background), dtype=np.float32)
    colour = pixels[..., :3].astype(np.float32)
    if pixels.shape[2] == 4:
        alpha = pixels[..., 3:].astype(np.float32) / 255
        colour = colour * alpha + ground * (1 - alpha)
    return colour


def _resized(pixels: np.ndarray, columns: int, lines: int) -> np.ndarray:
    """Averages over the areas that become one pixel; nearest pixels where the image grows."""
    import numpy as np

    height, width = pixels.shape[:2]
    if lines >= height or columns >= width:
        rows = np.arange(lines) * height // lines
        cols = np.arange(columns) * width // columns
        return pixels[rows][:, cols]
    row_edges = np.arange(lines) * height // lines
    col_edges = np.arange(columns) * width // columns
    sums = np.add.reduceat(np.add.reduceat(pixels, row_edges, axis=0), col_edges, axis=1)
    tall = np.diff(row_edges.tolist(), append=height).reshape(-1, 1, 1)
    wide = np.diff(col_edges.tolist(), append=width).reshape(1, -1, 1)
    return sums / tall / wide


def _decode_other(raw: bytes) -> np.ndarray:
    import io

    import numpy as np

    try:
        from PIL import Image  # pyright: ignore[reportMissingImports]
    except ImportError:
        raise CannotDecode(
            "Only PNG images are drawn in the terminal; with Pillow installed others are, too."
        ) from None
    try:
        image: Any = Image.open(io.BytesIO(raw))
        if image.width * image.height > MAX_PIXELS:
            raise CannotDecode("It is too large to be drawn here.")
        return np.asarray(image.convert("RGBA"))
    except CannotDecode:
        raise
    except Exception as error:
        raise CannotDecode(f"It cannot be decoded ({error}).") from error


def decode_png(raw: bytes) -> np.ndarray:
    """A PNG's pixels as bytes, height x width x 3 or 4 channels. Raises CannotDecode."""
    import numpy as np

    try:
        width, height, depth, kind, _, _, interlaced = struct.unpack(">IIBBBBB", raw[16:29])
        if raw[:8] != _SIGNATURE or raw[12:16] != b"IHDR" or kind not in _CHANNELS or depth not in (1, 2, 4, 8, 16):
            raise CannotDecode("It is no valid PNG.")
        if interlaced:
            raise CannotDecode("Interlaced PNG images are not drawn in the terminal.")
        if not 0 < width * height <= MAX_PIXELS:
            raise CannotDecode("It is too large to be drawn here.")
        palette, transparent, packed = b"", b"", []
        place = 8
        while place + 8 <= len(raw):
            length, name = struct.unpack(">I4s", raw[place : place + 8])
            body = raw[place + 8 : place + 8 + length]
            if name == b"PLTE":
                palette = body
            elif name == b"tRNS":
                transparent = body
            elif name == b"IDAT":
                packed.append(body)
            elif name == b"IEND":
                break
            place += 12 + length
        channels = _CHANNELS[kind]
        stride = (width * channels * depth + 7) // 8
        decoder = zlib.decompressobj()
        data = decoder.decompress(b"".join(packed), height * (stride + 1))
        rows = np.frombuffer(data, dtype=np.uint8)[: height * (stride + 1)].reshape(height, stride + 1)
    except CannotDecode:
        raise
    except (struct.error, zlib.error, ValueError) as error:
        raise CannotDecode(f"It is no valid PNG ({error}).") from error
    lines = _unfiltered(rows, max(1, channels * depth // 8))
    if depth == 16:
        lines = lines[:, ::2]
    elif depth < 8:
        bits = np.unpackbits(lines, axis=1)[:, : width * channels * depth].reshape(height, -1, depth)
        weights = 1 << np.arange(depth - 1, -1, -1)
        lines = (bits * weights).sum(axis=2).astype(np.uint8)
        if kind == 0:
            lines = (lines.astype(np.uint16) * 255 // ((1 << depth) - 1)).astype(np.uint8)
    pixels = lines.reshape(height, width, channels)
    if kind == 3:
        table = np.zeros((256, 4), dtype=np.uint8)
        entries = np.frombuffer(palette[: len(palette) // 3 * 3], dtype=np.uint8).reshape(-1, 3)
        table[: len(entries), :3] = entries
        table[:, 3] = 255
        table[: len(transparent), 3] = np.frombuffer(transparent, dtype=np.uint8)[:256]
        return table[pixels[..., 0]]
    if kind in (0, 4):
        grey = np.repeat(pixels[..., :1], 3, axis=2)
        return np.concatenate([grey, pixels[..., 1:]], axis=2) if kind == 4 else grey
    return pixels


def _unfiltered(rows: np.ndarray, step: int) -> np.ndarray:
    """Undo the filter of each row. `step` is the bytes of a pixel."""
    import numpy as np

    height, stride = rows.shape[0], rows.shape[1] - 1
    out = np.zeros((height, stride), dtype=np.uint8)
    above = np.zeros(stride, dtype=np.uint8)
    for y in range(height):
        kind, line = int(rows[y, 0]), rows[y, 1:]
        if kind == 0:
            out[y] = line
        elif kind == 1:
            padded = np.zeros(-(-stride // step) * step, dtype=np.uint8)
            padded[:stride] = line
            out[y] = np.cumsum(padded.reshape(-1, step), axis=0, dtype=np.uint8).reshape(-1)[:stride]
        elif kind == 2:
            out[y] = line + above
        elif kind in (3, 4):
            out[y] = _slow(line.tolist(), above.tolist(), step, kind)
        else:
            raise CannotDecode("It is no valid PNG (an unknown filter).")
        above = out[y]
    return out


def _slow(line: list[int], above: list[int], step: int, kind: int) -> list[int]:
    """The filters whose bytes each depend on the one before: the average, and Paeth's predictor (PNG, section 9)."""
    made = [0] * len(line)
    for n, value in enumerate(line):
        left = made[n - step] if n >= step else 0
        up = above[n]
        if kind == 3:
            made[n] = (value + (left + up) // 2) & 255
            continue
        corner = above[n - step] if n >= step else 0
        guess = left + up - corner
        a, b, c = abs(guess - left), abs(guess - up), abs(guess - corner)
        nearest = left if a <= b and a <= c else up if b <= c else corner
        made[n] = (value + nearest) & 255
    return made
