"""The tapes that the tests of the views draw: written by hand here, stored in `tapes/` as the engine would send them.

`python tests/views/recorded.py` writes `tapes/*.json` anew, with `--golden` also what the views make of them and of the
captures in `captured.py` (`golden/*.txt`, `.cells`, `.dot`, `.svg`, and the pictures of `docs/views.md`); look at the
difference before you commit it.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

HERE = Path(__file__).resolve().parent
TAPES = HERE / "tapes"
GOLDEN = HERE / "golden"
PICTURES = HERE.parent.parent / "docs" / "images" / "views"
SHOWN = ("mlp", "attention_x12", "shape_error", "break_in_loop", "recompile", "kernels")
"""The graphs whose pictures stand in `docs/views.md`."""


class Recorder:
    """Writes down tape records one after the other; every method returns the id of the new record."""

    def __init__(self, file: str = "lesson.py", cell: str = "", dtype: str = "float32") -> None:
        self.nodes: list[dict[str, Any]] = []
        self.file, self.cell, self.dtype = file, cell, dtype

    def _add(self, **fields: Any) -> int:
        number = len(self.nodes) + 1
        self.nodes.append({"id": number, **fields})
        return number

    def leaf(self, label: str, *shape: int) -> int:
        outputs = [{"shape": list(shape), "dtype": self.dtype, "device": "cpu"}]
        return self._add(
            kind="leaf", op="leaf", name="AccumulateGrad", label=label, inputs=[], outputs=outputs, module="",
            source=None, saved=[], grad=None,
        )  # fmt: skip

    def op(
        self,
        op: str,
        inputs: list[int],
        shape: list[int],
        module: str = "",
        line: int = 1,
        *,
        column: int = 4,
        saved: dict[str, list[int]] | None = None,
        grad: float | None = None,
    ) -> int:
        outputs = [{"shape": shape, "dtype": self.dtype, "device": "cpu"}]
        source: dict[str, Any] = {
            "file": self.file, "line": line, "end_line": line, "column": column, "end_column": 20, "function": "forward",
        }  # fmt: skip
        if self.cell:
            source |= {"cell": self.cell, "revision": 2}
        kept = []
        for name, sizes in (saved or {}).items():
            size = 4
            for n in sizes:
                size *= n
            # its own result, or what an input has this shape; another tensor is not on the tape
            made = [i for i in inputs if self.nodes[i - 1]["outputs"][0]["shape"] == sizes]
            maker = len(self.nodes) + 1 if name == "result" else made[0] if made else None
            kept.append({"name": name, "shape": sizes, "dtype": self.dtype, "bytes": size, "node": maker})
        return self._add(
            kind="op", op=op, name="".join(p.title() for p in op.split("_")) + "Backward0", label="", inputs=inputs,
            outputs=outputs, module=module, source=source, saved=kept,
            grad=None if grad is None else {"shape": shape, "dtype": self.dtype, "norm": grad},
        )  # fmt: skip

    def snapshot(self, *roots: int, dropped: int = 0) -> dict[str, Any]:
        return {"version": 1, "roots": list(roots), "nodes": self.nodes, "dropped": dropped}


def mlp() -> dict[str, Any]:
    """Two layers and a loss in a cell, after backward."""
    r = Recorder("<cell 3>", cell="3")
    x = r.op("linear", [r.leaf("fc1.weight", 32, 64), r.leaf("fc1.bias", 32)], [100, 32], "net.fc1", 8,
             saved={"input": [100, 64]}, grad=0.0312)  # fmt: skip
    x = r.op("relu", [x], [100, 32], "net", 8, saved={"result": [100, 32]}, grad=0.021)
    x = r.op("linear", [x, r.leaf("fc2.weight", 10, 32), r.leaf("fc2.bias", 10)], [100, 10], "net.fc2", 9,
             saved={"input": [100, 32], "weight": [10, 32]}, grad=0.0875)  # fmt: skip
    loss = r.op("cross_entropy", [x], [], "", 14, saved={"log_probabilities": [100, 10]}, grad=1.0)
    return r.snapshot(loss)


def residual_cnn() -> dict[str, Any]:
    """A stem, two residual blocks (one with a projected shortcut) and a classifier."""
    r = Recorder("resnet.py")

    def conv(x: list[int], module: str, before: int, after: int, line: int) -> int:
        name = module.removeprefix("net.")
        y = r.op("conv2d", [*x, r.leaf(f"{name}.conv.weight", after, before, 3, 3)], [8, after, 16, 16],
                 f"{module}.conv", line, saved={"input": [8, before, 16, 16]})  # fmt: skip
        scale, shift = r.leaf(f"{name}.bn.weight", after), r.leaf(f"{name}.bn.bias", after)
        return r.op("batch_norm", [y, scale, shift], [8, after, 16, 16], f"{module}.bn", line + 1)

    x = r.op("relu", [conv([], "net.stem", 3, 16, 10)], [8, 16, 16, 16], "net.stem", 12)
    for number, (before, after) in enumerate([(16, 16), (16, 32)], 1):
        block = f"net.layer{number}"
        y = r.op("relu", [conv([x], f"{block}.a", before, after, 20)], [8, after, 16, 16], block, 22)
        y = conv([y], f"{block}.b", after, after, 23)
        if before != after:
            shortcut = r.leaf(f"layer{number}.shortcut.weight", after, before, 1, 1)
            x = r.op("conv2d", [x, shortcut], [8, after, 16, 16], f"{block}.shortcut", 25,
                     saved={"input": [8, before, 16, 16]})  # fmt: skip
        x = r.op("relu", [r.op("add", [y, x], [8, after, 16, 16], block, 26)], [8, after, 16, 16], block, 26,
                 saved={"result": [8, after, 16, 16]})  # fmt: skip
    x = r.op("mean", [x], [8, 32], "net", 30)
    x = r.op("linear", [x, r.leaf("fc.weight", 10, 32), r.leaf("fc.bias", 10)], [8, 10], "net.fc", 31)
    return r.snapshot(r.op("cross_entropy", [x], [], "", 40))


def blocks_x12() -> dict[str, Any]:
    """Twelve equal blocks, then a recurrent cell called twelve times in a row."""
    r = Recorder("deep.py")
    x = r.op("embedding", [r.leaf("tokens.weight", 1000, 64)], [16, 64], "net.tokens", 5)
    for n in range(12):
        block = f"net.blocks.{n}"
        name = f"blocks.{n}"
        y = r.op("layer_norm", [x, r.leaf(f"{name}.norm.weight", 64)], [16, 64], f"{block}.norm", 11)
        y = r.op("linear", [y, r.leaf(f"{name}.up.weight", 256, 64)], [16, 256], f"{block}.up", 12)
        y = r.op("gelu", [y], [16, 256], block, 12, saved={"input": [16, 256]})
        y = r.op("linear", [y, r.leaf(f"{name}.down.weight", 64, 256)], [16, 64], f"{block}.down", 13)
        x = r.op("add", [x, y], [16, 64], block, 14)
    weight = r.leaf("cell.weight", 64, 64)
    for _ in range(12):
        x = r.op("tanh", [r.op("linear", [x, weight], [16, 64], "net.cell", 20)], [16, 64], "net.cell", 21)
    return r.snapshot(r.op("sum", [x], [], "", 30), dropped=3)


def two_losses() -> dict[str, Any]:
    """A generator's and a discriminator's loss; the discriminator is called twice."""
    r = Recorder("gan.py")
    weight, score = r.leaf("discriminator.body.weight", 32, 64), r.leaf("discriminator.score.weight", 1, 32)

    def judge(x: list[int], line: int) -> int:
        y = r.op("linear", [*x, weight], [16, 32], "discriminator.body", 11)
        y = r.op("leaky_relu", [y], [16, 32], "discriminator", 12)
        y = r.op("linear", [y, score], [16, 1], "discriminator.score", 13)
        return r.op("binary_cross_entropy_with_logits", [y], [], "", line)

    fake = r.op("linear", [r.leaf("generator.fc.weight", 64, 8)], [16, 64], "generator.fc", 5)
    fake = r.op("tanh", [fake], [16, 64], "generator", 6)
    generated = judge([fake], 30)
    real = judge([], 31)
    return r.snapshot(generated, r.op("add", [generated, real], [], "", 32))


def attention_x12() -> dict[str, Any]:
    """Twelve attention blocks with residual connections, each as the engine records it, before backward."""
    r = Recorder("model.py")
    x = r.op("embedding", [r.leaf("embed.weight", 1000, 64)], [8, 16, 64], "net.embed", 5)

    def linear(x: int, module: str, before: int, after: int, line: int) -> int:
        name = module.removeprefix("net.")
        flat = r.op("view", [x], [128, before], module, line)
        turned = r.op("t", [r.leaf(f"{name}.weight", after, before)], [before, after], module, line)
        y = r.op("addmm", [r.leaf(f"{name}.bias", after), flat, turned], [128, after], module, line,
                 saved={"mat1": [128, before], "mat2": [before, after]})  # fmt: skip
        return r.op("view", [y], [8, 16, after], module, line)

    for n in range(12):
        block = f"net.blocks.{n}"
        y = r.op("layer_norm", [x, r.leaf(f"blocks.{n}.norm1.weight", 64)], [8, 16, 64], f"{block}.norm1", 11)
        q, k, v = (linear(y, f"{block}.attn.{name}", 64, 64, 20 + i) for i, name in enumerate("qkv"))
        scores = r.op("matmul", [q, r.op("transpose", [k], [8, 64, 16], f"{block}.attn", 24, column=20)], [8, 16, 16],
                      f"{block}.attn", 24)  # fmt: skip
        weights = r.op("softmax", [scores], [8, 16, 16], f"{block}.attn", 25, saved={"result": [8, 16, 16]})
        mixed = r.op("matmul", [weights, v], [8, 16, 64], f"{block}.attn", 26, saved={"self": [8, 16, 16]})
        x = r.op("add", [x, linear(mixed, f"{block}.attn.out", 64, 64, 27)], [8, 16, 64], block, 12)
        y = r.op("layer_norm", [x, r.leaf(f"blocks.{n}.norm2.weight", 64)], [8, 16, 64], f"{block}.norm2", 13)
        y = linear(y, f"{block}.up", 64, 256, 14)
        y = r.op("gelu", [y], [8, 16, 256], block, 14, saved={"input": [8, 16, 256]})
        x = r.op("add", [x, linear(y, f"{block}.down", 256, 64, 15)], [8, 16, 64], block, 15)
    return r.snapshot(r.op("mean", [x], [], "", 40))


def rnn() -> dict[str, Any]:
    """Twenty turns of a loop over time: a step of the input, two products, a sum, an activation."""
    r = Recorder("<cell 7:3>", cell="7")
    inside, across = r.leaf("inside.weight", 32, 8), r.leaf("across.weight", 32, 32)
    h: list[int] = []
    for _ in range(20):
        a = r.op("linear", [inside], [4, 32], "net.inside", 12)
        b = r.op("linear", [*h, across], [4, 32], "net.across", 12)
        h = [r.op("tanh", [r.op("add", [a, b], [4, 32], "net", 12)], [4, 32], "net", 13, saved={"result": [4, 32]})]
    y = r.op("linear", [*h, r.leaf("head.weight", 3, 32), r.leaf("head.bias", 3)], [4, 3], "net.head", 15)
    return r.snapshot(r.op("cross_entropy", [y], [], "", 20))


def custom_function() -> dict[str, Any]:
    """A function with a backward of its own between ordinary operators, after backward."""
    r = Recorder("lesson.py")
    x = r.op("mul", [r.leaf("x", 16, 8)], [16, 8], "", 30, saved={"other": [16, 8]}, grad=0.5)
    x = r.op("Quantize", [x], [16, 8], "", 31, saved={"mask": [16, 8]}, grad=0.25)
    r.nodes[-1]["name"] = "QuantizeBackward"
    return r.snapshot(
        r.op("sum", [r.op("relu", [x], [16, 8], "", 32, saved={"result": [16, 8]}, grad=1.0)], [], "", 33, grad=1.0)
    )


def double_backward() -> dict[str, Any]:
    """A gradient penalty: the gradient is recorded itself, and goes into the loss."""
    r = Recorder("penalty.py")
    x, w = r.leaf("x", 8, 4), r.leaf("critic.weight", 4)
    product = r.op("mul", [x, w], [8, 4], "critic", 5, saved={"self": [8, 4], "other": [4]})
    score = r.op("tanh", [product], [8, 4], "critic", 6, saved={"result": [8, 4]})
    total = r.op("sum", [score], [], "", 12)
    slope = r.op("tanh_backward", [score], [8, 4], "", 13, saved={"result": [8, 4]})
    grad = r.op("mul", [slope, w], [8, 4], "", 13, saved={"self": [8, 4], "other": [4]})
    length = r.op("norm", [grad], [8], "", 14, saved={"self": [8, 4]})
    penalty = r.op(
        "mean", [r.op("pow", [r.op("sub", [length], [8], "", 15)], [8], "", 15, saved={"self": [8]})], [], "", 15
    )
    return r.snapshot(r.op("add", [total, penalty], [], "", 16))


def stress() -> dict[str, Any]:
    """10,000 nodes of a deep network with a long line from every second one; not stored."""
    r = Recorder("deep.py")
    x = r.op("embedding", [], [4, 8], "net.embed", 1)
    held = [x]
    for n in range(1, 2000):
        block = f"net.stage{n // 100}.block{n}"
        y = r.op("layer_norm", [x], [4, 8], block, 5)
        y = r.op("linear", [y, held[(n * 7919) % len(held)]], [4, 8], block, 6)
        y = r.op("relu", [y], [4, 8], block, 6)
        y = r.op("linear", [y, held[(n * 104729) % len(held)]], [4, 8], block, 7)
        x = r.op("add", [x, y], [4, 8], block, 8)
        held.append(x)
    for _ in range(4):
        x = r.op("mean", [x], [4, 8], "", 20)
    return r.snapshot(x)


def shape_error() -> dict[str, Any]:
    """A forward pass that ends in the middle: the second layer expects 64 inputs and gets 32."""
    r = Recorder("<cell 4:1>", cell="4")
    x = r.op("linear", [r.leaf("fc1.weight", 32, 64), r.leaf("fc1.bias", 32)], [100, 32], "net.fc1", 8,
             saved={"input": [100, 64]})  # fmt: skip
    x = r.op("relu", [x], [100, 32], "net", 8, saved={"result": [100, 32]})
    inputs = [
        {"name": "input", "node": x, "shape": [100, 32], "dtype": "float32", "device": "cpu", "disagrees": True},
        {"name": "fc2.weight", "node": None, "shape": [10, 64], "dtype": "float32", "device": "cpu", "disagrees": True},
        {"name": "fc2.bias", "node": None, "shape": [10], "dtype": "float32", "device": "cpu", "disagrees": False},
    ]
    error = {
        "op": "linear", "message": "mat1 and mat2 shapes cannot be multiplied (100x32 and 64x10)", "module": "net.fc2",
        "source": r.nodes[-1]["source"] | {"line": 9, "end_line": 9}, "inputs": inputs,
    }  # fmt: skip
    return {**r.snapshot(), "error": error}


def hostile_labels() -> dict[str, Any]:
    """Strings that a terminal, a browser or Graphviz would act on, and some that are very wide."""
    r = Recorder("<script>alert('file')</script>.py")
    a = r.leaf('"quoted" \\N \\G \\\\ back\\', 2, 3)
    b = r.leaf("\x1b[31mred\x1b[0m \x1b]8;;http://example.org\x07link\x1b]8;;\x07 \x9b2J", 3)
    c = r.leaf("line\nbreak\r\n\ttab \x00 \u2028 \u202egnp.exe \ud800 \ufffe", 1)
    d = r.leaf("張量" * 40 + " e\u0301 👩\u200d🔬", 4)
    x = r.op("<b>mul</b> &lt; &amp; ]]> --> <!--", [a, b], [2, 3], 'net."; } digraph evil { a->b; }', 1)
    x = r.op("add\x1b[2J\n<img src=x onerror=alert(1)>", [x, c, d], [2, 3], "net.</style></svg><script>", 2)
    x = r.op("wide " + "宽" * 100, [x], [2, 3], "net." + "a" * 300, 3)
    return r.snapshot(r.op("sum", [x], [], "", 4))


def every() -> dict[str, dict[str, Any]]:
    """All tapes, by name."""
    makers = (
        mlp,
        residual_cnn,
        blocks_x12,
        two_losses,
        attention_x12,
        rnn,
        custom_function,
        double_backward,
        shape_error,
        hostile_labels,
    )
    return {f.__name__: f() for f in makers}


def load(name: str) -> dict[str, Any]:
    """A stored tape."""
    return json.loads((TAPES / f"{name}.json").read_text(encoding="ascii"))


def to_text(tape: dict[str, Any]) -> str:
    """A tape as JSON with one record a line."""
    nodes = ",\n  ".join(json.dumps(node) for node in tape["nodes"])
    head = ", ".join(
        f'"{key}": {json.dumps(tape[key])}' for key in ("version", "roots", "dropped", "error") if key in tape
    )
    return f'{{{head}, "nodes": [\n  {nodes}\n]}}\n'


def graphs() -> dict[str, Callable[[], Any]]:
    """What makes the graphs of the golden files, by name: of every stored tape, of captures and kernels, of the stress."""
    from views import captured

    from tapescope.graphviz_views.capture import build_capture
    from tapescope.graphviz_views.kernels import build_kernels
    from tapescope.graphviz_views.tape import build_tape

    found: dict[str, Callable[[], Any]] = {name: lambda name=name: build_tape(load(name)) for name in every()}
    for make in (captured.break_in_loop, captured.recompile, captured.training_step):
        found[make.__name__] = lambda make=make: build_capture(make())
    found["kernels"] = lambda: build_kernels(captured.training_step())
    found["stress"] = lambda: build_tape(stress())
    return found


def renders(graph: Any) -> dict[str, str]:
    """What the views make of a graph, by the ending of the golden file."""
    from tapescope.graphviz_views.browse import GraphView

    view = GraphView(graph)
    made = {"dot": view.dot(), "svg": view.svg(), "cells": view.cells().text(), "chips": view.cells("chips").text()}
    return made if len(graph.nodes) > 1_000 else {"txt": view.outline.text(), **made}


if __name__ == "__main__":
    for name, tape in every().items():
        (TAPES / f"{name}.json").write_text(to_text(tape), encoding="ascii")
    if "--golden" in sys.argv:
        sys.path.insert(0, str(HERE.parent))
        for name, make in graphs().items():
            for ending, text in renders(make()).items():
                (GOLDEN / f"{name}.{ending}").write_text(text, encoding="utf-8")
                if ending == "svg" and name in SHOWN:
                    (PICTURES / f"{name}.svg").write_text(text, encoding="utf-8")
