"""Order the elements of a layered drawing within their layers, and give them places across.

A `Net` holds elements with a width in layers, and pieces of lines between neighbouring layers.  `order_layers` sweeps
against crossings with barycentres, `place_layers` then moves elements towards their neighbours without changing the
order; in each layer that is a weighted isotonic regression, solved exactly by pooling adjacent violators.
This file knows nothing of graphs, frames or pictures.
"""

from __future__ import annotations

from bisect import bisect_right, insort
from dataclasses import dataclass

_SWEEPS = 6
_COUNTED = 4_000
"""Crossings are counted, to keep the best sweep, in nets of up to this many pieces; beyond, the last sweep is kept."""

_PLACED, _MOST_SWEEPS = 12_000, 40
"""Small nets are placed with more sweeps, up to this many pieces in all, since sweeps move chains only bit by bit."""

_CHAIN = 6.0
"""How much more a piece without branches is kept vertical than others."""


@dataclass(slots=True)
class Piece:
    """A piece of a line from element `above` to element `below` in the next layer.

    `leaves` and `enters` are where it touches them, from their left edge.
    """

    above: int
    below: int
    leaves: float
    enters: float
    weight: float


class Net:
    """Elements by number: their `layer`, `width`, least distance `gap` to the left neighbour, and left edge `x`."""

    def __init__(self) -> None:
        self.layer: list[int] = []
        self.width: list[float] = []
        self.gap: list[float] = []
        self.x: list[float] = []
        self.pieces: list[Piece] = []
        self.into: list[list[Piece]] = []
        self.out_of: list[list[Piece]] = []
        self.layers: list[list[int]] = []

    def add(self, layer: int, width: float, gap: float) -> int:
        """A new element; returns its number."""
        self.layer.append(layer)
        self.width.append(width)
        self.gap.append(gap)
        self.x.append(0.0)
        self.into.append([])
        self.out_of.append([])
        return len(self.layer) - 1

    def join(self, above: int, below: int, leaves: float | None, enters: float | None, *, weight: float) -> int:
        """A piece between neighbouring layers, at the middle of an element where no place is given; its number."""
        piece = Piece(
            above,
            below,
            self.width[above] / 2 if leaves is None else leaves,
            self.width[below] / 2 if enters is None else enters,
            weight,
        )
        self.pieces.append(piece)
        self.into[below].append(piece)
        self.out_of[above].append(piece)
        return len(self.pieces) - 1

    def extent(self) -> tuple[float, float]:
        """The leftmost and the rightmost x."""
        if not self.x:
            return 0.0, 0.0
        return min(self.x), max(x + w for x, w in zip(self.x, self.width, strict=True))

    def gaps(self, rows: int, base: float, slope: float, steepest: float, track: float = 0) -> list[float]:
        """The distance below each of the first `rows - 1` layers: larger where a line goes far sideways.

        With `track`, larger by as much for each track that the lines running sideways there need.
        """
        aside = [0.0] * max(1, rows - 1)
        ways: list[dict[int, tuple[float, float]]] = [{} for _ in aside]
        for p in self.pieces:
            row = self.layer[p.above]
            start, end = self.x[p.above] + p.leaves, self.x[p.below] + p.enters
            aside[row] = max(aside[row], abs(end - start))
            if track and abs(end - start) > 0.5:
                left, right = ways[row].get(p.above, (start, start))  # the lines of one value share a track
                ways[row][p.above] = (min(left, end), max(right, end))
        tracks = [max(assign_tracks(list(w.values())), default=-1) + 1 for w in ways]
        return [base + min(steepest, slope * step) + track * n for step, n in zip(aside, tracks, strict=True)]

    def spread(self, elements: set[int], slot: float) -> dict[int, float]:
        """Where each piece enters these elements from above, by its number: side by side around the middle, `slot` apart at most."""
        entering: dict[int, list[tuple[float, int]]] = {}
        for number, p in enumerate(self.pieces):
            if p.below in elements:
                entering.setdefault(p.below, []).append((self.x[p.above] + p.leaves, number))
        slots: dict[int, float] = {}
        for element, pieces in entering.items():
            width = self.width[element]
            step = min(slot, width / (len(pieces) + 1))
            for place, (_, number) in enumerate(sorted(pieces)):
                slots[number] = width / 2 + (place - (len(pieces) - 1) / 2) * step
        return slots


def assign_tracks(ways: list[tuple[float, float]]) -> list[int]:
    """A track for each stretch (left, right), counted from 0, so that no two on one track touch; as few as possible."""
    tracks = [0] * len(ways)
    ends: list[float] = []  # of each track
    for number in sorted(range(len(ways)), key=lambda n: ways[n]):
        left, right = ways[number]
        for track, end in enumerate(ends):
            if end < left - 1:
                tracks[number], ends[track] = track, right
                break
        else:
            tracks[number] = len(ends)
            ends.append(right)
    return tracks


# -- order ------------------------------------------------------------------------------------------


def order_layers(net: Net) -> None:
    """Fill `net.layers`: the elements of each layer from left to right, with few crossings."""
    layers: list[list[int]] = [[] for _ in range(max(net.layer, default=-1) + 1)]
    for element, layer in enumerate(net.layer):
        layers[layer].append(element)
    spot = [0.0] * len(net.layer)
    for layer in layers:
        _number(layer, spot)
    counted = len(net.pieces) <= _COUNTED
    net.layers = layers
    least: int | None = None
    for sweep in range(_SWEEPS):
        down = sweep % 2 == 0
        layers = [list(layer) for layer in layers]
        for layer in layers if down else reversed(layers):
            keys = {}
            for element in layer:
                pieces = net.into[element] if down else net.out_of[element]
                keys[element] = _barycentre(net, pieces, spot, down=down) if pieces else spot[element]
            layer.sort(key=lambda element: (keys[element], spot[element]))
            _number(layer, spot)
        crossings = _crossings(net, layers, spot) if counted else 0
        if least is None or not counted or crossings < least:
            least, net.layers = crossings, layers
        if counted and not crossings:
            break


def _number(layer: list[int], spot: list[float]) -> None:
    """Note each element's place in its layer, counted from the layer's middle."""
    middle = (len(layer) - 1) / 2
    for place, element in enumerate(layer):
        spot[element] = place - middle


def _barycentre(net: Net, pieces: list[Piece], spot: list[float], *, down: bool) -> float:
    total = 0.0
    for p in pieces:
        other, at = (p.above, p.leaves) if down else (p.below, p.enters)
        # lines at a wide element keep the order of their ports
        total += spot[other] + (at / net.width[other] - 0.5 if net.width[other] else 0.0)
    return total / len(pieces)


def _crossings(net: Net, layers: list[list[int]], spot: list[float]) -> int:
    """How many pairs of pieces cross: inversions among the lower ends, sorted by the upper ones."""
    count = 0
    for layer in layers:
        pieces = sorted(
            ((spot[p.above], p.leaves), (spot[p.below], p.enters)) for element in layer for p in net.out_of[element]
        )
        seen: list[tuple[float, float]] = []
        for _, below in pieces:
            count += len(seen) - bisect_right(seen, below)
            insort(seen, below)
    return count


# -- places -----------------------------------------------------------------------------------------


def place_layers(net: Net) -> None:
    """Set `net.x`: in each layer as close to the neighbours as the order and the gaps allow."""
    for layer in net.layers:
        width = sum(net.width[e] for e in layer) + sum(net.gap[e] for e in layer[1:])
        x = -width / 2
        for place, element in enumerate(layer):
            x += net.gap[element] if place else 0.0
            net.x[element] = x
            x += net.width[element]
    # a piece that is the only one at both of its ends is part of a chain, and chains should be straight
    for p in net.pieces:
        if len(net.into[p.below]) == len(net.out_of[p.above]) == 1:
            p.weight *= _CHAIN
    for sweep in range(max(_SWEEPS, min(_MOST_SWEEPS, _PLACED // (len(net.pieces) + 1)))):
        last = sweep >= _SWEEPS - 2
        for layer in net.layers if sweep % 2 == 0 else reversed(net.layers):
            _place(net, layer, upper=last or sweep % 2 == 0, lower=last or sweep % 2 == 1)


def _place(net: Net, layer: list[int], *, upper: bool, lower: bool) -> None:
    """Minimise the weighted squared distances of one layer's elements from where their lines want them."""
    blocks: list[tuple[float, float, int]] = []  # mean wish, weight, how many elements
    offset = 0.0
    offsets: list[float] = []
    for place, element in enumerate(layer):
        if place:
            offset += net.width[layer[place - 1]] + net.gap[element]
        offsets.append(offset)
        total = weight = 0.0
        for p in net.into[element] if upper else ():
            total += p.weight * (net.x[p.above] + p.leaves - p.enters)
            weight += p.weight
        for p in net.out_of[element] if lower else ():
            total += p.weight * (net.x[p.below] + p.enters - p.leaves)
            weight += p.weight
        wish, weight = (total / weight, weight) if weight else (net.x[element], 0.1)
        block = (wish - offset, weight, 1)
        while blocks and blocks[-1][0] >= block[0]:
            mean, other, count = blocks.pop()
            together = other + block[1]
            block = ((mean * other + block[0] * block[1]) / together, together, count + block[2])
        blocks.append(block)
    place = 0
    for mean, _, count in blocks:
        for _ in range(count):
            net.x[layer[place]] = mean + offsets[place]
            place += 1
