"""Maximum flow and minimum cut of a small directed network.

Dinic's algorithm: E. A. Dinic, "Algorithm for solution of a problem of maximum flow in networks with power estimation", Soviet
Mathematics Doklady 11 (1970): phases of breadth-first levels, each with a blocking flow found depth-first. By the theorem of Ford
and Fulkerson (1956) the vertices that the rest network still reaches from the source are one side of a minimum cut.
"""

from __future__ import annotations

from collections import deque

INFINITE = float("inf")


class Network:
    """Vertices are numbers from 0; edges have capacities."""

    def __init__(self, vertices: int):
        self.out: list[list[int]] = [[] for _ in range(vertices)]
        self.target: list[int] = []
        self.left: list[float] = []

    def add(self, a: int, b: int, capacity: float) -> None:
        """An edge from `a` to `b`."""
        for x, y, c in ((a, b, capacity), (b, a, 0.0)):
            self.out[x].append(len(self.target))
            self.target.append(y)
            self.left.append(c)

    def _levels(self, source: int) -> list[int]:
        level = [-1] * len(self.out)
        level[source] = 0
        queue = deque([source])
        while queue:
            v = queue.popleft()
            for e in self.out[v]:
                w = self.target[e]
                if self.left[e] > 0 and level[w] < 0:
                    level[w] = level[v] + 1
                    queue.append(w)
        return level

    def cut(self, source: int, sink: int) -> set[int]:
        """The vertices on the source's side of a minimum cut; raises ValueError where it would be infinite."""
        while True:
            level = self._levels(source)
            if level[sink] < 0:
                return {v for v, depth in enumerate(level) if depth >= 0}
            at = [0] * len(self.out)
            while True:
                pushed = self._push(source, sink, level, at)
                if pushed == INFINITE:
                    raise ValueError("the cut is infinite: something that cannot be saved must be")
                if not pushed:
                    break

    def _push(self, source: int, sink: int, level: list[int], at: list[int]) -> float:
        """Send flow along one path of the level network; 0 where there is none left."""
        path: list[int] = []
        v = source
        while v != sink:
            edges = self.out[v]
            while at[v] < len(edges):
                e = edges[at[v]]
                w = self.target[e]
                if self.left[e] > 0 and level[w] == level[v] + 1:
                    path.append(e)
                    v = w
                    break
                at[v] += 1
            else:
                if not path:
                    return 0.0
                e = path.pop()
                v = self.target[e ^ 1]
                at[v] += 1
        flow = min(self.left[e] for e in path)
        if flow == INFINITE:
            return INFINITE
        for e in path:
            self.left[e] -= flow
            self.left[e ^ 1] += flow
        return flow
