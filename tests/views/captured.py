"""Captures and kernels that the tests of the views draw, written by hand in the forms of `engine.observe`.

`break_in_loop` is a function that prints in a loop, `recompile` one that saw two batch sizes, `training_step` the kernels
of a small training step.
"""

from __future__ import annotations

from typing import Any

from tapescope.engine.observe import Source, capture_json, kernels_json


def source(file: str, line: int, column: int = 4, end: int = 30, function: str = "forward") -> Source:
    return Source(file, line, line, column, end, function)


class Segment:
    """Writes down the nodes of one segment; methods return the new node's name."""

    def __init__(self, number: int, file: str, function: str, line: int, backend: str = "inductor") -> None:
        self.file, self.function = file, function
        self.names: dict[str, int] = {}
        self.record: dict[str, Any] = {
            "id": str(number), "entry": {"function": function, "source": source(file, line, function=function).to_json()},
            "backend": backend, "inputs": [], "nodes": [], "outputs": [], "guards": [], "effects": [], "exit": {},
            "code": "", "seconds": 0.012, "calls": 1, "kernels": None,
        }  # fmt: skip

    def _name(self, stem: str) -> str:
        self.names[stem] = self.names.get(stem, -1) + 1
        return f"{stem}_{self.names[stem]}" if self.names[stem] else stem

    def input(self, expression: str, *shape: int | str, dtype: str = "float32") -> str:
        name = self._name(expression.replace(".", "_").replace("[", "_").replace("]", ""))
        tensor = {"shape": list(shape), "dtype": dtype, "device": "cpu"}
        self.record["inputs"].append({"name": name, "source": expression, **tensor})
        self.record["nodes"].append(
            {
                "name": name,
                "op": "placeholder",
                "target": name,
                "inputs": [],
                **tensor,
                "bytes": 0,
                "source": None,
                "module": "",
            }
        )
        return name

    def op(
        self,
        target: str,
        inputs: list[str],
        shape: list[int | str],
        line: int,
        module: str = "",
        column: int = 4,
        constants: tuple[str, ...] = (),
    ) -> str:
        name = self._name(target)
        size = 4
        for n in shape:
            size *= n if isinstance(n, int) else 1
        self.record["nodes"].append(
            {
                "name": name, "op": "call_function", "target": target, "inputs": inputs, "shape": shape, "dtype": "float32",
                "constants": list(constants), "bytes": size, "module": module,
                "source": source(self.file, line, column, column + 20, self.function).to_json(),
            }
        )  # fmt: skip
        return name

    def guard(self, text: str, expression: str, why: str = "its size was read") -> None:
        self.record["guards"].append({"text": text, "source": expression, "why": why})

    def end(
        self, kind: str, outputs: list[str], follow: list[str] | None = None, broken: dict[str, Any] | None = None
    ) -> dict[str, Any]:
        self.record["outputs"] = outputs
        self.record["exit"] = {"kind": kind, "break": broken, "next": follow or []}
        return self.record


def break_in_loop() -> dict[str, Any]:
    """Three turns with a `print` in each: the segment after the break leads back to itself."""
    file = "<cell 5:1>"
    a = Segment(0, file, "train", 3)
    x, w = a.input("x", 64, 32), a.input("self.fc.weight", 32, 32)
    a.guard("x.shape == (64, 32)", "x")
    a.guard("x.dtype is torch.float32", "x")
    h = a.op("linear", [x, w], [64, 32], 5, "net.fc")
    h = a.op("relu", [h], [64, 32], 5, "net")
    m = a.op("mean", [h], [], 6)
    broken = {
        "id": "print", "category": "side effect", "reason": "print() needs the value of a tensor that is still being captured",
        "hint": "print after the loop, or return the value and print it outside", "values": ["mean"],
        "source": source(file, 6, 8, 24, "train").to_json(),
    }  # fmt: skip
    first = a.end("break", [h, m], ["1"], broken)
    b = Segment(1, file, "train", 7)
    h, w = b.input("h", 64, 32), b.input("self.fc.weight", 32, 32)
    b.guard("h.shape == (64, 32)", "h")
    scale = b.op("tensor", [], [], 7, constants=("0.5",))
    g = b.op("mul", [h, scale], [64, 32], 7)
    h2 = b.op("linear", [g, w], [64, 32], 5, "net.fc")
    h2 = b.op("relu", [h2], [64, 32], 5, "net")
    m = b.op("mean", [h2], [], 6)
    second = b.end("break", [h2, m], ["1", "2"], broken)
    second["calls"] = 9
    c = Segment(2, file, "train", 8)
    h = c.input("h", 64, 32)
    third = c.end("return", [c.op("sum", [h], [], 8)])
    return capture_json("train", source(file, 2, 0, 20, "train"), [first, second, third])


def recompile() -> dict[str, Any]:
    """A batch of 64, then one of 128: the size is dynamic from the second on."""
    file = "model.py"
    segments = []
    for number, rows in ((0, 64), (1, "s0")):
        s = Segment(number, file, "predict", 10)
        x, w, b = s.input("x", rows, 784), s.input("self.fc1.weight", 256, 784), s.input("self.fc1.bias", 256)
        s.guard("x.shape[0] == 64" if number == 0 else "2 <= x.shape[0]", "x")
        s.guard("x.shape[1] == 784", "x")
        h = s.op("linear", [x, w, b], [rows, 256], 12, "net.fc1")
        h = s.op("relu", [h], [rows, 256], 12, "net")
        h = s.op("softmax", [h], [rows, 256], 13, "net", constants=("-1",))
        segments.append(s.end("return", [h]))
    again = {
        "segment": "1", "instead_of": "0", "guard": "x.shape[0] == 64", "old": "64", "new": "128",
        "source": source(file, 11, 8, 14, "predict").to_json(), "dimension": ["x", 0],
    }  # fmt: skip
    return capture_json("predict", source(file, 10, 0, 30, "predict"), segments, [again])


def kernel(number: int, nodes: list[str], lines: list[list[Any]], **more: Any) -> dict[str, Any]:
    stem = "_".join(n.rpartition("_")[0] if n[-1].isdecimal() else n for n in nodes[:3])
    made = {
        "id": str(number), "name": f"k{number}_{stem}", "language": "wgsl", "text": "// text\n" * 12, "nodes": nodes,
        "segment": "0", "tape": [], "sources": [], "lines": lines, "launch": {"grid": [64, 1, 1], "block": [256, 1, 1]},
        "inputs": [], "outputs": [], "bytes": 262_144, "operations": 65_536, "seconds": 2.1e-5, "ceiling": 1.5e-5, "launches": 10,
    }  # fmt: skip
    return made | more


def training_step() -> dict[str, Any]:
    """A captured step with four kernels: a library call, two fused ones, and one that stays alone."""
    file = "step.py"
    s = Segment(0, file, "step", 3)
    x, w, y = s.input("x", 256, 64), s.input("self.fc.weight", 64, 64), s.input("y", 256, 64)
    h = s.op("linear", [x, w], [256, 64], 4, "net.fc")
    g = s.op("gelu", [h], [256, 64], 4, "net")
    r = s.op("add", [g, x], [256, 64], 5, "net")
    d = s.op("sub", [r, y], [256, 64], 6)
    q = s.op("mul", [d, d], [256, 64], 6, column=9)
    loss = s.op("mean", [q], [], 6, column=2)
    top = s.op("argmax", [r], [256], 7)
    segment = s.end("return", [loss, top])

    def tensor(name: str, *shape: int) -> dict[str, Any]:
        return {"name": name, "shape": list(shape), "dtype": "float32"}

    lines = {n["name"]: n["source"] for n in segment["nodes"] if n["source"]}
    kernels = [
        kernel(0, [h], [], language="library", name="matmul", text="", seconds=8.4e-5, ceiling=7.9e-5, operations=2_097_152,
               sources=[lines[h]], outputs=[tensor(h, 256, 64)], inputs=[tensor(x, 256, 64), tensor(w, 64, 64)]),
        kernel(1, [g, r], [[5, [g]], [6, [g]], [8, [r]]], sources=[lines[g], lines[r]], inputs=[tensor(h, 256, 64)],
               outputs=[tensor(r, 256, 64)]),
        kernel(2, [d, q, loss], [[3, [d]], [4, [q]], [7, [loss]], [8, [loss]]], sources=[lines[d], lines[loss]],
               inputs=[tensor(r, 256, 64), tensor(y, 256, 64)], outputs=[tensor(loss)], seconds=4.7e-5, ceiling=1.1e-5),
        kernel(3, [top], [[2, [top]]], sources=[lines[top]], inputs=[tensor(r, 256, 64)], outputs=[tensor(top, 256)],
               seconds=1.2e-5),
    ]  # fmt: skip
    refused = [
        {"first": "0", "second": "1", "reason": "a matmul is a library call and takes no epilogue here"},
        {"first": r, "second": d, "reason": "add is read by two kernels, so its result is written once"},
    ]
    passes = [{"name": "common subexpressions", "rewrites": 2}, {"name": "dead code", "rewrites": 0}]
    segment["kernels"] = kernels_json(
        "Test GPU", kernels, refused, peak_bytes=327_680, eager_peak_bytes=458_752, passes=passes
    )
    return capture_json("step", source(file, 3, 0, 20, "step"), [segment])
