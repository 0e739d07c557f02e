"""The tapes that the tests of the views draw: written by hand here, stored in `tapes/` as the engine would send them.

`python tests/views/recorded.py` writes `tapes/*.json` anew, with `--golden` also what the views make of them
(`golden/*.txt`, `.dot`, `.svg`); look at the difference before you commit it.
"""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

HERE = Path(__file__).resolve().parent
TAPES = HERE / "tapes"
GOLDEN = HERE / "golden"


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
        saved: dict[str, list[int]] | None = None,
        grad: float | None = None,
    ) -> int:
        outputs = [{"shape": shape, "dtype": self.dtype, "device": "cpu"}]
        source: dict[str, Any] = {
            "file": self.file, "line": line, "end_line": line, "column": 4, "end_column": 20, "function": "forward",
        }  # fmt: skip
        if self.cell:
            source |= {"cell": self.cell, "revision": 2}
        kept = []
        for name, sizes in (saved or {}).items():
            size = 4
            for n in sizes:
                size *= n
            kept.append({"name": name, "shape": sizes, "dtype": self.dtype, "bytes": size})
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
            x = r.op("conv2d", [x, shortcut], [8, after, 16, 16], f"{block}.shortcut", 25)
        x = r.op("relu", [r.op("add", [y, x], [8, after, 16, 16], block, 26)], [8, after, 16, 16], block, 26)
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
    return {f.__name__: f() for f in (mlp, residual_cnn, blocks_x12, two_losses, hostile_labels)}


def load(name: str) -> dict[str, Any]:
    """A stored tape."""
    return json.loads((TAPES / f"{name}.json").read_text(encoding="ascii"))


def to_text(tape: dict[str, Any]) -> str:
    """A tape as JSON with one record a line."""
    nodes = ",\n  ".join(json.dumps(node) for node in tape["nodes"])
    head = ", ".join(f'"{key}": {json.dumps(tape[key])}' for key in ("version", "roots", "dropped"))
    return f'{{{head}, "nodes": [\n  {nodes}\n]}}\n'


def renders(tape: dict[str, Any]) -> dict[str, str]:
    """What the views make of a tape, by the ending of the golden file."""
    from tapescope.graphviz_views.dot import tape_dot
    from tapescope.graphviz_views.outline import Outline
    from tapescope.graphviz_views.svg import tape_svg
    from tapescope.graphviz_views.tape import build_tape

    graph = build_tape(tape)
    return {"txt": Outline(graph).text(), "dot": tape_dot(graph), "svg": tape_svg(graph)}


if __name__ == "__main__":
    for name, tape in every().items():
        (TAPES / f"{name}.json").write_text(to_text(tape), encoding="ascii")
        if "--golden" in sys.argv:
            for ending, text in renders(load(name)).items():
                (GOLDEN / f"{name}.{ending}").write_text(text, encoding="utf-8")
