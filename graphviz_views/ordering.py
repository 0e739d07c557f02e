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
_STILL = 0.05
"""Once no place moves by more than this in a sweep, they are where they will stay."""
_PATIENCE = 5
_EXCHANGES = 6
"""Sweeps without a better order after which there will be none, and passes in which neighbours change places."""

_COUNTED = 4_000
"""Crossings are counted, to keep the best sweep, in nets of up to this many pieces; beyond, the last sweep is kept."""

_PLACED, _MOST_SWEEPS = 12_000, 40
"""Small nets are placed with more sweeps, up to this many pieces in all, since sweeps move chains only bit by bit."""

_CHAIN = 30.0
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
        self.fixed: dict[int, float] = {}
        """Elements whose order among each other is given, by where they want to be."""

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
        ways: list[dict[int, tuple[float, float]]] = [{} for _ in aside] if track else []
        for p in self.pieces:
            row = self.layer[p.above]
            start, end = self.x[p.above] + p.leaves, self.x[p.below] + p.enters
            step = abs(end - start)
            if step > aside[row]:
                aside[row] = step
            if track and step > 0.5:
                left, right = ways[row].get(p.above, (start, start))  # the lines of one value share a track
                ways[row][p.above] = (min(left, end), max(right, end))
        gaps = [base + min(steepest, slope * step) for step in aside]
        for row, way in enumerate(ways):
            gaps[row] += track * (max(assign_tracks(list(way.values())), default=-1) + 1)
        return gaps

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


def order_layers(net: Net, sweeps: int = _SWEEPS, *, exchange: bool = False) -> int:
    """Fill `net.layers`: the elements of each layer from left to right, with few crossings; returns how many are left.

    With `exchange`, neighbours in a layer also change places where that takes crossings away, and a second start is
    tried: it costs several times as much and pays in small nets.
    """
    layers: list[list[int]] = [[] for _ in range(max(net.layer, default=-1) + 1)]
    for element, layer in enumerate(net.layer):
        layers[layer].append(element)
    held: set[int] = set()
    if net.fixed:
        for number, layer in enumerate(layers):
            if any(e in net.fixed for e in layer):
                layer.sort(key=lambda e: net.fixed.get(e, 0.0))
                held.add(number)
    net.layers = layers
    if all(len(layer) < 2 for layer in layers):  # nothing to order, but lines may cross between the ports of frames
        return _crossings(net, layers, [0.0] * len(net.layer)) if exchange else 0
    least = _swept(net, layers, held, sweeps, None, exchange=exchange)
    if exchange and least:
        turned = [layer if n in held else layer[::-1] for n, layer in enumerate(layers)]
        least = min(least, _swept(net, turned, held, sweeps, least, exchange=True))
    return least


def _swept(net: Net, layers: list[list[int]], held: set[int], sweeps: int, least: int | None, *, exchange: bool) -> int:
    """Sweep from this start; `net.layers` becomes the best order found if it has less than `least` crossings.

    Layers in `held` keep their order.  Returns the crossings of what `net.layers` holds then.
    """
    spot = [0.0] * len(net.layer)
    for layer in layers:
        _number(layer, spot)
    counted = len(net.pieces) <= _COUNTED
    idle = 0
    for sweep in range(sweeps):
        down = sweep % 2 == 0
        layers = [list(layer) for layer in layers]
        for number in range(len(layers)) if down else reversed(range(len(layers))):
            layer = layers[number]
            if len(layer) < 2 or number in held:
                continue
            keys = {}
            for element in layer:
                pieces = net.into[element] if down else net.out_of[element]
                keys[element] = _barycentre(net, pieces, spot, down=down) if pieces else spot[element]
            # every other pair of sweeps turns ties around, so that they do not keep a bad order
            tie = -1.0 if exchange and sweep % 4 > 1 else 1.0
            layer.sort(key=lambda element: (keys[element], tie * spot[element]))
            _number(layer, spot)
        if exchange:
            _exchange(net, layers, held, spot)
        crossings = _crossings(net, layers, spot) if counted else 0
        if least is None or not counted or crossings < least:
            least, net.layers, idle = crossings, layers, 0
        else:
            idle += 1
        if counted and (not crossings or idle > _PATIENCE):
            break
    return least or 0


def _exchange(net: Net, layers: list[list[int]], held: set[int], spot: list[float]) -> None:
    """Let neighbours in a layer change places as long as that takes crossings away, in a few passes."""
    for turn in range(_EXCHANGES):
        changed = False
        for number in range(len(layers)) if turn % 2 == 0 else reversed(range(len(layers))):
            layer = layers[number]
            if len(layer) < 2 or number in held:
                continue
            ends = {e: (_ends(net, net.into[e], spot, True), _ends(net, net.out_of[e], spot, False)) for e in layer}
            for place in range(len(layer) - 1):
                left, right = layer[place], layer[place + 1]
                kept = turned = 0
                for ours, theirs in zip(ends[left], ends[right], strict=True):
                    for a in ours:
                        for b in theirs:
                            kept += a > b
                            turned += a < b
                if turned < kept:
                    layer[place], layer[place + 1] = right, left
                    spot[left], spot[right] = spot[right], spot[left]
                    changed = True
        if not changed:
            return


def _ends(net: Net, pieces: list[Piece], spot: list[float], upper: bool) -> list[float]:
    """Where the other ends of pieces are in the order of their layer."""
    if upper:
        return [spot[p.above] + p.leaves / (net.width[p.above] or 1.0) * 0.5 for p in pieces]
    return [spot[p.below] + p.enters / (net.width[p.below] or 1.0) * 0.5 for p in pieces]


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


def place_layers(net: Net, most: int = _MOST_SWEEPS, snap: float = 0.0) -> None:
    """Set `net.x`: in each layer as close to the neighbours as the order and the gaps allow, in `most` sweeps or fewer.

    Chains that are off by less than `snap` become straight where there is room.
    """
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
    # first each layer follows the one it comes from, which brings news far; then both neighbours pull
    for sweep in range(max(_SWEEPS, min(most, _PLACED // (len(net.pieces) + 1)))):
        both, down = sweep >= _SWEEPS - 2, sweep % 2 == 0
        moved = 0.0
        for layer in net.layers if down else reversed(net.layers):
            moved = max(moved, _place(net, layer, upper=both or down, lower=both or not down))
        if both and moved < _STILL:
            break
    if snap:
        _straighten(net, snap)


def _straighten(net: Net, snap: float) -> None:
    """Move elements by less than `snap` so that the pieces of chains are vertical, from the top down."""
    for layer in net.layers:
        for place, element in enumerate(layer):
            if len(net.into[element]) != 1:
                continue
            piece = net.into[element][0]
            if len(net.out_of[piece.above]) != 1:
                continue
            x = net.x[piece.above] + piece.leaves - piece.enters
            if not 0.0 < abs(x - net.x[element]) < snap:
                continue
            if place:
                left = layer[place - 1]
                x = max(x, net.x[left] + net.width[left] + net.gap[element])
            if place + 1 < len(layer):
                right = layer[place + 1]
                x = min(x, net.x[right] - net.gap[right] - net.width[element])
            if abs(x - net.x[element]) < snap:
                net.x[element] = x


def _place(net: Net, layer: list[int], *, upper: bool, lower: bool) -> float:
    """Minimise the weighted squared distances of one layer's elements from where their lines want them.

    Returns how far the element moved that moved farthest.
    """
    if len(layer) == 1:  # most layers of a chain
        element = layer[0]
        total = weight = 0.0
        x = net.x
        if upper:
            for p in net.into[element]:
                total += p.weight * (x[p.above] + p.leaves - p.enters)
                weight += p.weight
        if lower:
            for p in net.out_of[element]:
                total += p.weight * (x[p.below] + p.enters - p.leaves)
                weight += p.weight
        if not weight:
            return 0.0
        before = x[element]
        x[element] = total / weight
        return abs(x[element] - before)
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
    moved = 0.0
    for mean, _, count in blocks:
        for _ in range(count):
            element, x = layer[place], mean + offsets[place]
            moved = max(moved, abs(x - net.x[element]))
            net.x[element] = x
            place += 1
    return moved
