"""From primitives to ONNX operators: one entry a primitive in `CONVERSIONS`, and the writer that collects what they make.

Operators and their meaning: the ONNX operator specification, https://onnx.ai/onnx/operators/. Shapes with open sizes become small
computations on the shapes of the inputs.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from ..compile.graph.node import Node, TensorSpec


class Writer:
    """Collects the nodes, inputs, outputs and constants of one model; knows the ONNX name of every node's value."""

    def __init__(self, onnx: Any, opset: int):
        self.onnx, self.opset = onnx, opset
        self.nodes: list[Any] = []
        self.inputs: list[Any] = []
        self.outputs: list[Any] = []
        self.initializers: list[Any] = []
        self.names: dict[Any, Any] = {}
        self._sizes: dict[str, str] = {}  # symbolic sizes as ONNX values
        self._kept: dict[Any, str] = {}
        self._count = 0

    # -- names and values -----------------------------------------------------------------------

    def fresh(self, hint: str = "v") -> str:
        """A name that nothing has."""
        self._count += 1
        return f"{hint}_{self._count}"

    def element(self, dtype: Any) -> int:
        """ONNX's number for an element type."""
        if dtype.name == "bfloat16":
            return self.onnx.TensorProto.BFLOAT16
        return self.onnx.helper.np_dtype_to_tensor_dtype(np.dtype(dtype.numpy))

    def add_input(self, node: Node, name: str, shape: list[Any]) -> None:
        """An input of the model."""
        self.inputs.append(self.onnx.helper.make_tensor_value_info(name, self.element(node.val.dtype), shape))
        self.names[node] = name
        for d, size in enumerate(node.val.shape):
            symbol = getattr(size, "symbol_name", None)
            if symbol is not None and symbol() is not None and symbol() not in self._sizes:
                shape_of = self.make("Shape", [name], hint="shape")
                self._sizes[symbol()] = self.make(
                    "Gather", [shape_of, self.const(np.array([d], np.int64))], axis=0, hint="size"
                )

    def add_constant(self, node: Node, value: Any) -> None:
        """A parameter or another constant of the module, under its own name."""
        self.names[node] = self.const(np.array(value.detach().cpu()._host()), name=str(node.target))

    def add_output(self, node: Node, name: str) -> None:
        """An output of the model."""
        spec: TensorSpec = node.val
        shape = [s if type(s) is int else str(s) for s in spec.shape]
        self.make("Identity", [self.names[node]], out=name)
        self.outputs.append(self.onnx.helper.make_tensor_value_info(name, self.element(spec.dtype), shape))

    def const(self, array: Any, name: str = "") -> str:
        """A constant tensor."""
        array = np.asarray(array)
        key = (array.dtype.str, array.shape, array.tobytes()) if array.size <= 64 and not name else None
        if key is not None and key in self._kept:
            return self._kept[key]
        label = name or self.fresh("const")
        self.initializers.append(
            self.onnx.numpy_helper.from_array(np.ascontiguousarray(array).reshape(array.shape), label)
        )
        if key is not None:
            self._kept[key] = label
        return label

    def make(
        self, op: str, inputs: list[str], *, out: str = "", outputs: int = 1, hint: str = "", **attributes: Any
    ) -> Any:
        """An ONNX node; returns the name of its output, or the names."""
        names = [out or self.fresh(hint or op.lower())] + [self.fresh(op.lower()) for _ in range(outputs - 1)]
        self.nodes.append(self.onnx.helper.make_node(op, inputs, names, **attributes))
        return names[0] if outputs == 1 else names

    def put(self, node: Node, value: Any) -> None:
        """Say which ONNX value a node is."""
        self.names[node] = value

    # -- arguments ------------------------------------------------------------------------------

    def value(self, v: Any, dtype: Any = None) -> str:
        """An argument (a node or a number) as an ONNX value, cast to `dtype` where that is given and another."""
        if isinstance(v, Node):
            name = self.names[v]
            if dtype is not None and v.val.dtype is not dtype:
                return self.make("Cast", [name], to=self.element(dtype))
            return name
        if _symbolic(v):
            size = self.make("Squeeze", [self.size(v), self.const(np.array([0], np.int64))])
            return self.make("Cast", [size], to=self.element(dtype)) if dtype is not None else size
        kind = np.dtype(dtype.numpy) if dtype is not None else None
        return self.const(np.array(v, kind))

    def size(self, v: Any) -> str:
        """A size as a vector of one int64."""
        if not _symbolic(v):
            return self.const(np.array([int(v)], np.int64))
        import ast

        return self._computed(ast.parse(v.code(), mode="eval").body)

    def _computed(self, tree: Any) -> str:
        import ast

        if isinstance(tree, ast.Name):
            return self._sizes[tree.id]
        if isinstance(tree, ast.Constant):
            return self.const(np.array([tree.value], np.int64))
        if isinstance(tree, ast.UnaryOp):
            return self.make("Neg", [self._computed(tree.operand)])
        if isinstance(tree, ast.BinOp):
            op = {ast.Add: "Add", ast.Sub: "Sub", ast.Mult: "Mul", ast.FloorDiv: "Div", ast.Mod: "Mod"}[type(tree.op)]
            return self.make(op, [self._computed(tree.left), self._computed(tree.right)])
        if isinstance(tree, ast.Call) and isinstance(tree.func, ast.Name):
            return self.make({"min": "Min", "max": "Max"}[tree.func.id], [self._computed(a) for a in tree.args])
        raise ValueError(f"a size that ONNX cannot compute: {ast.unparse(tree)}")

    def shape(self, sizes: Any) -> str:
        """A shape as a vector of int64."""
        if not any(_symbolic(s) for s in sizes):
            return self.const(np.array([int(s) for s in sizes], np.int64))
        return self.make("Concat", [self.size(s) for s in sizes], axis=0, hint="shape")


def _symbolic(v: Any) -> bool:
    return hasattr(v, "free_symbols")


def _ints(values: Any) -> Any:
    return np.array([int(v) for v in values], np.int64)


def _compute_dtype(node: Node) -> Any:
    """The dtype in which a pointwise primitive computes: its operands' promoted one."""
    from ..dispatch import result_type
    from ..dtypes import promote_types

    tensors = [a.val for a in node.args if isinstance(a, Node)]
    wide = [t.dtype for t in tensors if t.shape] or [t.dtype for t in tensors]
    out = wide[0]
    for d in wide[1:]:
        out = promote_types(out, d)
    numbers = [a for a in node.args if isinstance(a, (bool, int, float)) and not isinstance(a, Node)]
    if numbers and not out.is_floating_point and any(isinstance(n, float) for n in numbers):
        out = result_type(*[n for n in numbers if isinstance(n, float)])
    return out


Conversion = Callable[[Writer, Node], None]
CONVERSIONS: dict[str, Conversion] = {}
"""What writes a primitive, by its name."""


def _simple(op: str, **attributes: Any) -> Conversion:
    """One ONNX operator with the same operands, all of the dtype of the result (or of the promoted operands for comparisons)."""

    def convert(w: Writer, n: Node) -> None:
        dtype = _compute_dtype(n) if n.val.dtype.name == "bool" else n.val.dtype
        count = len(n.target.tensors)
        w.put(n, w.make(op, [w.value(a, dtype) for a in n.args[:count]], **attributes))

    return convert


for _name, _op in {
    "mul": "Mul", "div": "Div", "neg": "Neg", "abs": "Abs", "exp": "Exp", "log": "Log", "sqrt": "Sqrt", "reciprocal": "Reciprocal", "tanh": "Tanh",
    "sigmoid": "Sigmoid", "relu": "Relu", "pow": "Pow", "maximum": "Max", "minimum": "Min", "eq": "Equal", "lt": "Less", "le": "LessOrEqual",
    "gt": "Greater", "ge": "GreaterOrEqual", "logical_not": "Not", "logical_and": "And", "logical_or": "Or", "logical_xor": "Xor", "sin": "Sin",
    "cos": "Cos", "tan": "Tan", "asin": "Asin", "acos": "Acos", "atan": "Atan", "sinh": "Sinh", "cosh": "Cosh", "asinh": "Asinh", "acosh": "Acosh",
    "atanh": "Atanh", "erf": "Erf", "floor": "Floor", "ceil": "Ceil", "sign": "Sign", "isnan": "IsNaN", "isinf": "IsInf", "mm": "MatMul",
    "bmm": "MatMul", "mv": "MatMul", "dot": "MatMul", "bitwise_not": "Not",
}.items():  # fmt: skip
    CONVERSIONS[_name] = _simple(_op)


def _conversion(*names: str) -> Callable[[Conversion], Conversion]:
    def put(function: Conversion) -> Conversion:
        for name in names:
            CONVERSIONS[name] = function
        return function

    return put


@_conversion("add", "sub")
def _add(w: Writer, n: Node) -> None:
    a, b, alpha = n.args
    right = w.value(b, n.val.dtype)
    if alpha != 1:
        right = w.make("Mul", [right, w.value(alpha, n.val.dtype)])
    w.put(n, w.make("Add" if n.target.name == "add" else "Sub", [w.value(a, n.val.dtype), right]))


@_conversion("ne")
def _ne(w: Writer, n: Node) -> None:
    dtype = _compute_dtype(n)
    w.put(n, w.make("Not", [w.make("Equal", [w.value(a, dtype) for a in n.args])]))


@_conversion("rsqrt")
def _rsqrt(w: Writer, n: Node) -> None:
    w.put(n, w.make("Reciprocal", [w.make("Sqrt", [w.value(n.args[0], n.val.dtype)])]))


@_conversion("expm1", "log1p")
def _shifted(w: Writer, n: Node) -> None:
    x, one = w.value(n.args[0], n.val.dtype), w.value(1, n.val.dtype)
    w.put(
        n,
        w.make("Sub", [w.make("Exp", [x]), one])
        if n.target.name == "expm1"
        else w.make("Log", [w.make("Add", [x, one])]),
    )


@_conversion("silu")
def _silu(w: Writer, n: Node) -> None:
    x = w.value(n.args[0], n.val.dtype)
    w.put(n, w.make("Mul", [x, w.make("Sigmoid", [x])]))


@_conversion("hardswish")
def _hardswish(w: Writer, n: Node) -> None:
    w.put(n, w.make("HardSwish", [w.value(n.args[0], n.val.dtype)]))


@_conversion("hardsigmoid")
def _hardsigmoid(w: Writer, n: Node) -> None:
    w.put(n, w.make("HardSigmoid", [w.value(n.args[0], n.val.dtype)], alpha=1 / 6, beta=0.5))


@_conversion("mish")
def _mish(w: Writer, n: Node) -> None:
    w.put(n, w.make("Mish", [w.value(n.args[0], n.val.dtype)]))


@_conversion("square")
def _square(w: Writer, n: Node) -> None:
    x = w.value(n.args[0], n.val.dtype)
    w.put(n, w.make("Mul", [x, x]))


@_conversion("gelu")
def _gelu(w: Writer, n: Node) -> None:
    """x * (1 + erf(x / sqrt 2)) / 2."""
    x, dtype = w.value(n.args[0], n.val.dtype), n.val.dtype
    inner = w.make("Erf", [w.make("Mul", [x, w.value(0.5**0.5, dtype)])])
    w.put(n, w.make("Mul", [w.make("Mul", [x, w.make("Add", [inner, w.value(1, dtype)])]), w.value(0.5, dtype)]))


@_conversion("leaky_relu")
def _leaky(w: Writer, n: Node) -> None:
    w.put(n, w.make("LeakyRelu", [w.value(n.args[0], n.val.dtype)], alpha=float(n.args[1])))


@_conversion("softplus")
def _softplus(w: Writer, n: Node) -> None:
    x, beta = n.args[0], float(n.args[1])
    scaled = w.make("Mul", [w.value(x, n.val.dtype), w.value(beta, n.val.dtype)])
    w.put(n, w.make("Div", [w.make("Softplus", [scaled]), w.value(beta, n.val.dtype)]))


@_conversion("hardtanh")
def _hardtanh(w: Writer, n: Node) -> None:
    x, low, high = n.args
    w.put(n, w.make("Clip", [w.value(v, n.val.dtype) for v in (x, low, high)]))


@_conversion("clamp_numbers")
def _clamp(w: Writer, n: Node) -> None:
    value = w.value(n.args[0], n.val.dtype)
    for bound, op in zip(n.args[1:], ("Max", "Min")):
        if bound is not None:
            value = w.make(op, [value, w.value(bound, n.val.dtype)])
    w.put(n, value)


@_conversion("clamp_tensors")
def _clamp_tensors(w: Writer, n: Node) -> None:
    x, low, high = (w.value(a, n.val.dtype) for a in n.args)
    w.put(n, w.make("Min", [w.make("Max", [x, low]), high]))


@_conversion("elu")
def _elu(w: Writer, n: Node) -> None:
    x, alpha, scale, inner = (n.args[0], *map(float, n.args[1:4]))
    if inner != 1:
        raise ValueError("elu with an input scale has no ONNX form here")
    made = w.make("Elu", [w.value(x, n.val.dtype)], alpha=alpha)
    w.put(n, made if scale == 1 else w.make("Mul", [made, w.value(scale, n.val.dtype)]))


@_conversion("where")
def _where(w: Writer, n: Node) -> None:
    condition, a, b = n.args
    w.put(n, w.make("Where", [w.value(condition), w.value(a, n.val.dtype), w.value(b, n.val.dtype)]))


@_conversion("addmm", "baddbmm")
def _addmm(w: Writer, n: Node) -> None:
    bias, a, b, beta, alpha = n.args
    product = w.make("MatMul", [w.value(a), w.value(b)])
    if alpha != 1:
        product = w.make("Mul", [product, w.value(alpha, n.val.dtype)])
    if beta == 0:
        w.put(n, product)
        return
    added = w.value(bias, n.val.dtype)
    if beta != 1:
        added = w.make("Mul", [added, w.value(beta, n.val.dtype)])
    w.put(n, w.make("Add", [product, added]))


@_conversion("t")
def _t(w: Writer, n: Node) -> None:
    x = n.args[0]
    w.put(n, w.value(x) if x.val.ndim < 2 else w.make("Transpose", [w.value(x)], perm=[1, 0]))


@_conversion("transpose")
def _transpose(w: Writer, n: Node) -> None:
    x, a, b = n.args
    order = list(range(x.val.ndim))
    order[a], order[b] = order[b], order[a]
    w.put(n, w.make("Transpose", [w.value(x)], perm=order))


@_conversion("permute")
def _permute(w: Writer, n: Node) -> None:
    x, dims = n.args
    w.put(n, w.make("Transpose", [w.value(x)], perm=[d % x.val.ndim for d in dims]))


@_conversion("view", "unsafe_view", "unsqueeze", "squeeze")
def _view(w: Writer, n: Node) -> None:
    w.put(n, w.make("Reshape", [w.value(n.args[0]), w.shape(n.val.shape)], allowzero=1))


@_conversion("expand")
def _expand(w: Writer, n: Node) -> None:
    w.put(n, w.make("Expand", [w.value(n.args[0]), w.shape(n.val.shape)]))


@_conversion("select")
def _select(w: Writer, n: Node) -> None:
    x, dim, index = n.args
    w.put(n, w.make("Gather", [w.value(x), w.const(np.array(int(index), np.int64))], axis=int(dim)))


@_conversion("unbind")
def _unbind(w: Writer, n: Node) -> None:
    _select(w, n)


@_conversion("slice", "split", "split_with_sizes", "unsafe_split", "unsafe_split_with_sizes")
def _slice(w: Writer, n: Node) -> None:
    x, dim, start, end, step = n.args
    last = 2**62 if end is None else end
    places = [w.size(start or 0), w.size(last), w.const(_ints([dim])), w.size(step)]
    w.put(n, w.make("Slice", [w.value(x), *places]))


@_conversion("alias", "clone", "contiguous", "fresh", "to_device")
def _same(w: Writer, n: Node) -> None:
    w.put(n, w.value(n.args[0]))


@_conversion("to_dtype")
def _cast(w: Writer, n: Node) -> None:
    w.put(n, w.make("Cast", [w.value(n.args[0])], to=w.element(n.val.dtype)))


@_conversion("cat")
def _cat(w: Writer, n: Node) -> None:
    tensors, dim = n.args
    w.put(n, w.make("Concat", [w.value(t, n.val.dtype) for t in tensors], axis=int(dim)))


@_conversion("stack")
def _stack(w: Writer, n: Node) -> None:
    tensors, dim = n.args
    axis = w.const(_ints([dim]))
    w.put(n, w.make("Concat", [w.make("Unsqueeze", [w.value(t, n.val.dtype), axis]) for t in tensors], axis=int(dim)))


def _reduction(op: str, axes_as_input: bool) -> Conversion:
    def convert(w: Writer, n: Node) -> None:
        x, dims, keepdim = n.args
        axes = list(range(x.val.ndim)) if not dims else [int(d) % x.val.ndim for d in dims]
        value = w.value(x, n.val.dtype)
        if axes_as_input:
            w.put(n, w.make(op, [value, w.const(_ints(axes))], keepdims=int(bool(keepdim))))
        else:
            w.put(n, w.make(op, [value], axes=axes, keepdims=int(bool(keepdim))))

    return convert


for _name, _op in {
    "sum": "ReduceSum",
    "mean": "ReduceMean",
    "prod": "ReduceProd",
    "amax": "ReduceMax",
    "amin": "ReduceMin",
}.items():
    CONVERSIONS[_name] = _reduction(_op, True)


@_conversion("argmax", "argmin")
def _arg(w: Writer, n: Node) -> None:
    x, dim, keepdim = n.args
    value = w.value(x)
    if dim is None:
        value, dim = w.make("Reshape", [value, w.const(_ints([-1]))]), 0
    out = w.make(
        "ArgMax" if n.target.name == "argmax" else "ArgMin", [value], axis=int(dim), keepdims=int(bool(keepdim))
    )
    w.put(n, out)


@_conversion("softmax", "log_softmax")
def _softmax(w: Writer, n: Node) -> None:
    x, dim = n.args
    w.put(
        n, w.make("Softmax" if n.target.name == "softmax" else "LogSoftmax", [w.value(x, n.val.dtype)], axis=int(dim))
    )


@_conversion("native_layer_norm")
def _layer_norm(w: Writer, n: Node) -> None:
    x, weight, bias, rank, eps = n.args
    spec = n.val[0]
    scale = (
        w.value(weight)
        if weight is not None
        else w.const(np.ones([int(s) for s in x.val.shape[-rank:]], spec.dtype.numpy))
    )
    inputs = [w.value(x), scale] + ([w.value(bias)] if bias is not None else [])
    w.put(n, w.make("LayerNormalization", inputs, outputs=3, axis=-int(rank), epsilon=float(eps)))


@_conversion("batch_norm_with_statistics")
def _batch_norm(w: Writer, n: Node) -> None:
    x, weight, bias, mean, variance, eps = n.args
    kind = n.val.dtype.numpy
    channels = int(x.val.shape[1])
    scale = w.value(weight) if weight is not None else w.const(np.ones(channels, kind))
    shift = w.value(bias) if bias is not None else w.const(np.zeros(channels, kind))
    w.put(
        n,
        w.make("BatchNormalization", [w.value(x), scale, shift, w.value(mean), w.value(variance)], epsilon=float(eps)),
    )


@_conversion("getitem")
def _getitem(w: Writer, n: Node) -> None:
    value, index = n.args
    found = w.names[value]
    w.put(n, found[index] if isinstance(found, list) else found)


@_conversion("convolution")
def _convolution(w: Writer, n: Node) -> None:
    x, weight, bias, stride, padding, dilation, transposed, output_padding, groups = n.args
    pads = [int(p) for p in padding] * 2
    common: dict[str, Any] = {
        "strides": list(map(int, stride)),
        "pads": pads,
        "dilations": list(map(int, dilation)),
        "group": int(groups),
    }
    inputs = [w.value(x), w.value(weight)] + ([w.value(bias)] if bias is not None else [])
    if transposed:
        w.put(n, w.make("ConvTranspose", inputs, output_padding=list(map(int, output_padding)), **common))
    else:
        w.put(n, w.make("Conv", inputs, **common))


@_conversion("max_pool2d_with_indices", "max_pool3d_with_indices")
def _max_pool(w: Writer, n: Node) -> None:
    x, kernel, stride, padding, dilation, ceil_mode = n.args
    if any(user.args[1:2] != (0,) for user in n.users):
        raise ValueError("the indices of max pooling have no ONNX form here")
    attributes: dict[str, Any] = {
        "kernel_shape": list(map(int, kernel)),
        "strides": list(map(int, stride or kernel)),
        "dilations": list(map(int, dilation)),
    }
    w.put(
        n,
        w.make(
            "MaxPool", [w.value(x)], pads=[int(p) for p in padding] * 2, ceil_mode=int(bool(ceil_mode)), **attributes
        ),
    )


@_conversion("avg_pool2d", "avg_pool3d")
def _avg_pool(w: Writer, n: Node) -> None:
    x, kernel, stride, padding, ceil_mode, include, divisor = n.args
    if divisor is not None:
        raise ValueError("average pooling with divisor_override has no ONNX form")
    attributes: dict[str, Any] = {
        "kernel_shape": list(map(int, kernel)),
        "strides": list(map(int, stride or kernel)),
        "count_include_pad": int(bool(include)),
    }
    w.put(
        n,
        w.make(
            "AveragePool",
            [w.value(x)],
            pads=[int(p) for p in padding] * 2,
            ceil_mode=int(bool(ceil_mode)),
            **attributes,
        ),
    )


@_conversion("index_select")
def _index_select(w: Writer, n: Node) -> None:
    x, index, dim = n.args
    w.put(n, w.make("Gather", [w.value(x), w.value(index)], axis=int(dim)))


@_conversion("gather")
def _gather(w: Writer, n: Node) -> None:
    x, index, dim = n.args
    w.put(n, w.make("GatherElements", [w.value(x), w.value(index)], axis=int(dim)))


@_conversion("constant_pad_nd")
def _pad(w: Writer, n: Node) -> None:
    x, pad, value = n.args
    ndim = x.val.ndim
    before, after = [0] * ndim, [0] * ndim
    for i in range(len(pad) // 2):
        before[ndim - 1 - i], after[ndim - 1 - i] = int(pad[2 * i]), int(pad[2 * i + 1])
    w.put(n, w.make("Pad", [w.value(x), w.const(_ints(before + after)), w.value(value, n.val.dtype)]))


@_conversion("cumsum")
def _cumsum(w: Writer, n: Node) -> None:
    x, dim = n.args
    w.put(n, w.make("CumSum", [w.value(x, n.val.dtype), w.const(np.array(int(dim), np.int64))]))


@_conversion("tril", "triu")
def _triangle(w: Writer, n: Node) -> None:
    x, diagonal = n.args
    w.put(
        n, w.make("Trilu", [w.value(x), w.const(np.array(int(diagonal), np.int64))], upper=int(n.target.name == "triu"))
    )


@_conversion("repeat")
def _repeat(w: Writer, n: Node) -> None:
    x, repeats = n.args
    value = w.value(x)
    if len(repeats) > x.val.ndim:
        value = w.make("Reshape", [value, w.shape([1] * (len(repeats) - x.val.ndim) + list(x.val.shape))])
    w.put(n, w.make("Tile", [value, w.shape(repeats)]))


@_conversion("full")
def _full(w: Writer, n: Node) -> None:
    shape, value, dtype, _ = n.args
    if not any(_symbolic(s) for s in shape):
        w.put(n, w.const(np.full([int(s) for s in shape], value, dtype.numpy)))
    else:
        w.put(n, w.make("Expand", [w.const(np.full((1,) * len(shape), value, dtype.numpy)), w.shape(shape)]))


@_conversion("arange")
def _arange(w: Writer, n: Node) -> None:
    first, step, count, dtype, _ = n.args
    zero = w.const(np.array(0, np.int64))
    index = w.make("Range", [zero, w.value(count), w.const(np.array(1, np.int64))])
    scaled = w.make(
        "Add", [w.make("Mul", [index, w.const(np.array(int(step), np.int64))]), w.const(np.array(int(first), np.int64))]
    )
    w.put(n, w.make("Cast", [scaled], to=w.element(dtype)))
