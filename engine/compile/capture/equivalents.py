"""Functions of Python's library that are written in C, as Python: interpreted in their place while capturing.

Only functions whose C form does nothing that these do not; what they look at and change is seen like any other code of a program.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from heapq import _siftdown, _siftup  # type: ignore[attr-defined]  # the same in every version, and in Python
from typing import Any


def count_elements(mapping: Any, iterable: Any) -> None:
    """`collections._count_elements`."""
    for item in iterable:
        mapping[item] = mapping.get(item, 0) + 1


def heappush(heap: list[Any], item: Any) -> None:
    """`heapq.heappush`."""
    heap.append(item)
    _siftdown(heap, 0, len(heap) - 1)


def heappop(heap: list[Any]) -> Any:
    """`heapq.heappop`."""
    last = heap.pop()
    if not heap:
        return last
    first, heap[0] = heap[0], last
    _siftup(heap, 0)
    return first


def heapreplace(heap: list[Any], item: Any) -> Any:
    """`heapq.heapreplace`."""
    first, heap[0] = heap[0], item
    _siftup(heap, 0)
    return first


def heappushpop(heap: list[Any], item: Any) -> Any:
    """`heapq.heappushpop`."""
    if heap and heap[0] < item:
        item, heap[0] = heap[0], item
        _siftup(heap, 0)
    return item


def heapify(heap: list[Any]) -> None:
    """`heapq.heapify`."""
    for i in reversed(range(len(heap) // 2)):
        _siftup(heap, i)


class Compared:
    """What `functools.cmp_to_key` makes of a value: `by` is the function that compares two."""

    __slots__ = ("by", "value")

    def __init__(self, by: Callable[[Any, Any], Any], value: Any) -> None:
        self.by, self.value = by, value

    def __lt__(self, other: Compared) -> bool:
        return self.by(self.value, other.value) < 0


def until(function: Callable[[], Any], sentinel: Any) -> Iterator[Any]:
    """`iter(function, sentinel)`."""
    while True:
        value = function()
        if value == sentinel:
            return
        yield value


__all__ = ["Compared", "count_elements", "heapify", "heappop", "heappush", "heappushpop", "heapreplace", "until"]
