"""Exporting: a trace of a module, walked node by node, as an ONNX model."""

from __future__ import annotations

import contextlib
import inspect
from collections.abc import Iterator, Sequence
from typing import Any

from ..nn.module import Module
from ..tensor import Tensor
from .convert import CONVERSIONS, Writer

OPSET = 18
"""The version of ONNX's operators that files are written in (18 is from 2022 and understood by every current runtime)."""


class OnnxExporterError(RuntimeError):
    """A module that cannot be written as ONNX."""


_exporting = False


def is_in_onnx_export() -> bool:
    """Whether a module is being exported now."""
    return _exporting


@contextlib.contextmanager
def _running() -> Iterator[None]:
    global _exporting
    before, _exporting = _exporting, True
    try:
        yield
    finally:
        _exporting = before


class ONNXProgram:
    """An exported module. `model_proto` is the ONNX model."""

    def __init__(self, model: Any):
        self.model_proto = model

    def save(self, destination: Any, **unused: Any) -> None:
        """Write the model to a file (a name or a binary file)."""
        text = self.model_proto.SerializeToString()
        if hasattr(destination, "write"):
            destination.write(text)
        else:
            with open(destination, "wb") as file:
                file.write(text)

    def __repr__(self) -> str:
        g = self.model_proto.graph
        return f"ONNXProgram({len(g.node)} nodes, inputs {[i.name for i in g.input]}, outputs {[o.name for o in g.output]})"


def _onnx() -> Any:
    try:
        import onnx
    except ImportError:
        raise OnnxExporterError(
            'torch.onnx needs the package onnx: install it with pip install "tapescope[onnx]"'
        ) from None
    return onnx


def export(
    model: Any,
    args: Any = (),
    f: Any = None,
    *,
    kwargs: dict[str, Any] | None = None,
    verbose: bool | None = None,
    input_names: Sequence[str] | None = None,
    output_names: Sequence[str] | None = None,
    opset_version: int | None = None,
    dynamo: bool = True,
    dynamic_axes: Any = None,
    dynamic_shapes: Any = None,
    export_params: bool = True,
    do_constant_folding: bool = True,
    **unused: Any,
) -> ONNXProgram:
    """Write a module as ONNX, traced on `args`, to the file `f` (where given); returns it as `ONNXProgram`.

    `dynamic_axes` (or `dynamic_shapes`) names the dimensions of inputs whose size stays open: `{"x": {0: "batch"}}`, or `{"x": [0]}`;
    the others are those of the examples. Raises OnnxExporterError naming an operator that has no ONNX form, and for a module in
    training mode that draws random numbers.
    """
    onnx = _onnx()
    inputs = (args,) if isinstance(args, (Tensor, dict)) else tuple(args)
    signature = _arguments(model)
    names = list(input_names or signature[: len(inputs)])
    names += [f"input_{i}" for i in range(len(names), len(inputs))]
    leaves = [i for i in inputs if isinstance(i, Tensor)]
    if len(leaves) != len(inputs):
        raise OnnxExporterError(
            "torch.onnx.export takes tensors as inputs, not " + ", ".join(type(i).__name__ for i in inputs)
        )
    labels = _open_sizes(dynamic_axes or dynamic_shapes, names, signature)
    with _running():
        graph = _graph(model, inputs, kwargs or {}, labels)
    writer = Writer(onnx, opset_version or OPSET)
    _write(writer, graph, names, labels, list(output_names or []))
    made = onnx.helper.make_model(
        onnx.helper.make_graph(writer.nodes, type(model).__name__, writer.inputs, writer.outputs, writer.initializers),
        opset_imports=[onnx.helper.make_opsetid("", writer.opset)],
        producer_name="tapescope",
    )
    made.ir_version = 9
    onnx.checker.check_model(made)
    program = ONNXProgram(made)
    if f is not None:
        program.save(f)
    return program


def _arguments(model: Any) -> list[str]:
    function = model.forward if isinstance(model, Module) else model
    return list(inspect.signature(function).parameters)


def _open_sizes(given: Any, names: list[str], signature: list[str]) -> dict[int, dict[int, str]]:
    """By input, the dimensions whose size stays open, with their labels."""
    out: dict[int, dict[int, str]] = {}
    if given is None:
        return out
    entries = given.items() if isinstance(given, dict) else zip(names, given)
    for name, dims in entries:
        place = names.index(name) if name in names else signature.index(name) if name in signature else None
        if place is None:
            continue  # the name of an output: its sizes follow from those of the inputs
        if isinstance(dims, dict):
            out[place] = {d: str(getattr(label, "__name__", label) or f"{name}_{d}") for d, label in dims.items()}
        elif dims is not None:
            out[place] = {d: f"{name}_{d}" for d in dims if isinstance(d, int)}
    return out


def _graph(model: Any, inputs: tuple[Any, ...], named: dict[str, Any], labels: dict[int, dict[int, str]]) -> Any:
    from ..compile.aot.trace import make_fx
    from ..compile.fake.symbolic import DataDependent

    function: Any = model
    if named:
        function = _WithNamed(model, named)
    try:
        return make_fx(function, decompose=False, dynamic={i: list(d) for i, d in labels.items()})(*inputs)
    except DataDependent as error:
        raise OnnxExporterError(f"the module looks at the values of tensors, which a file cannot: {error}") from error


class _WithNamed(Module):
    """A module called with some arguments by name."""

    def __init__(self, module: Module, named: dict[str, Any]):
        super().__init__()
        self.module = module
        self.__dict__["named"] = named

    def forward(self, *args: Any) -> Any:
        return self.module(*args, **self.__dict__["named"])


def _write(
    writer: Writer, graph: Any, names: list[str], labels: dict[int, dict[int, str]], output_names: list[str]
) -> None:
    for node, name in zip(graph.placeholders(), names):
        place = names.index(name)
        shape = [
            labels.get(place, {}).get(d, s if isinstance(s, int) and type(s) is int else f"{name}_{d}")
            for d, s in enumerate(node.val.shape)
        ]
        writer.add_input(node, name, shape)
    for node in graph.graph.nodes:
        if node.op == "placeholder":
            continue
        if node.op == "get_attr":
            writer.add_constant(node, graph.constants[node.target])
            continue
        if node.op == "output":
            _outputs(writer, node.args[0], output_names)
            continue
        name = getattr(node.target, "name", None) or getattr(node.target, "__name__", str(node.target))
        convert = CONVERSIONS.get(name)
        if convert is None:
            source = node.meta.get("source")
            where = f", called at {source.file}:{source.line}" if source is not None else ""
            advice = "; put the module in evaluation mode with .eval()" if name == "draw" else ""
            raise OnnxExporterError(f"the operator {name} has no ONNX form here{where}{advice}")
        convert(writer, node)


def _outputs(writer: Writer, value: Any, names: list[str]) -> None:
    flat: list[Any] = []

    def walk(v: Any) -> None:
        if isinstance(v, (tuple, list)):
            for x in v:
                walk(x)
        elif isinstance(v, dict):
            for x in v.values():
                walk(x)
        elif v is not None:
            flat.append(v)

    walk(value)
    for i, v in enumerate(flat):
        if not hasattr(v, "meta"):
            raise OnnxExporterError(f"output {i} is {v!r}, which is no tensor")
        writer.add_output(v, names[i] if i < len(names) else "output" if len(flat) == 1 else f"output_{i}")


__all__ = ["ONNXProgram", "OnnxExporterError", "export", "is_in_onnx_export"]
