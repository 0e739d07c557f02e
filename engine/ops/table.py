"""The operator table: one entry an operator, from which everything else follows.

A *primitive* (`Op`) has kernels and a gradient; an *operator function* is what a user calls, either made from a
primitive or written with other operators.  `FUNCTIONS` holds the latter with where they appear: `torch.NAME`,
a Tensor method, an in-place method `NAME_`, a namespace such as `nn.functional`.  This file declares; it runs nothing.

Gradients are functions whose *parameter names* say what backward needs, so that nothing else is kept::

    grads={"input": lambda g, other: g * other}       # keeps `other`, and only if `input` needs a gradient

The names may be the primitive's tensors, its static arguments, `result` (the output; `results` where there are
several), `NAME_shape`, `needs` (which of several inputs want a gradient), and `defined` (which of several outputs were used: the
gradients of the others are zeros).  A key may be a tuple of inputs; its function then returns a tuple.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

Grad = Callable[..., Any]

KINDS = (
    "pointwise",
    "reduction",
    "view",
    "cast",
    "matmul",
    "index",
    "create",
    "random",
    "scan",
    "linalg",
    "fused",
    "custom",
)


@dataclass(frozen=True, slots=True)
class Rule:
    """One gradient rule: which inputs it serves, the function, and the names it reads after `g`."""

    inputs: tuple[int, ...]
    single: bool
    function: Grad
    names: tuple[str, ...]


class Op:
    """A primitive.

    `tensors` are the names of tensor arguments (a name with `*` in front takes a list of tensors), `statics` those of
    the plain arguments after them. `cpu` is the numpy kernel, `expr` (pointwise operators) the scalar description that
    the kernel printers share: a Python expression over the argument names. `result` says the dtype of a pointwise
    result ("same", "bool", "real": the real type of a complex one, "float": the promoted type, with integers becoming
    the default float, "float real": both; with `wide` integers are computed in double precision and rounded), `accepts`
    which categories it computes in, and `refusals` what is said of the others (a sentence by category letter; "" is
    PyTorch's name of the kernel, where that is not NAME_cpu). `guard` is asked about arguments of different dtypes
    before they are promoted. `shape` is the rule for the output's shape (one tuple, or a list of them where there are
    several outputs), given the inputs' shapes and the statics. `geometry` is the rule of a view. `backward` is
    PyTorch's name for the node, without its trailing "Backward0"; `overload(tensors, statics)` gives the number in the
    place of 0 (or the whole name), for operators that PyTorch has several forms of. What is not `listed` is never called: it
    stands on the tape for calls of the listed one of its name.
    """

    __slots__ = (
        "accepts", "backward", "cpu", "dtype", "expr", "fits", "floats", "geometry", "guard", "keeps_dtype", "kind", "list_input", "multi", "name",
        "overload", "plans", "refusals", "result", "rules", "shape", "statics", "tensors", "wide",
    )  # fmt: skip

    def __init__(
        self,
        name: str,
        tensors: str,
        statics: str = "",
        *,
        kind: str,
        cpu: Callable[..., Any] | None = None,
        expr: str | None = None,
        result: str = "same",
        accepts: str = "bifc",
        grads: dict[str | tuple[str, ...], Grad] | None = None,
        shape: Callable[..., Any] | None = None,
        dtype: Callable[..., Any] | None = None,
        geometry: Callable[..., Any] | None = None,
        backward: str | None = None,
        overload: Callable[[tuple[Any, ...], tuple[Any, ...]], int | str] | None = None,
        refusals: dict[str, str] | None = None,
        guard: Callable[..., None] | None = None,
        wide: bool = False,
        multi: bool = False,
        listed: bool = True,
    ):
        if kind not in KINDS:
            raise ValueError(f"operator {name}: no kind {kind!r}")
        names = tensors.split()
        self.list_input = bool(names) and names[0].startswith("*")
        self.name = name
        self.tensors = tuple(n.lstrip("*") for n in names)
        self.statics = tuple(statics.split())
        self.kind, self.cpu, self.expr, self.result, self.accepts = kind, cpu, expr, result, accepts
        self.shape, self.dtype, self.geometry, self.multi = shape, dtype, geometry, multi
        self.overload, self.refusals, self.guard = overload, refusals or {}, guard
        self.floats, self.wide = result.startswith("float"), wide
        self.keeps_dtype = result in ("same", "float")
        self.fits = tuple(c in accepts for c in "bifc")
        self.backward = backward or "".join(p.capitalize() for p in name.split("_"))
        self.rules = tuple(self._rule(k, f) for k, f in (grads or {}).items())
        self.plans: dict[Any, Any] = {}
        if listed:
            if name in OPS:
                raise ValueError(f"operator {name} is declared twice")
            OPS[name] = self

    def _rule(self, key: str | tuple[str, ...], function: Grad) -> Rule:
        inputs = (key,) if isinstance(key, str) else key
        places = tuple(self.tensors.index(i) for i in inputs)
        names = tuple(inspect.signature(function).parameters)[1:]
        known = {
            *self.tensors,
            *self.statics,
            "result",
            "results",
            "needs",
            "defined",
            *(f"{t}_shape" for t in self.tensors),
        }
        unknown = [n for n in names if n not in known]
        if unknown:
            raise ValueError(f"operator {self.name}: its gradient asks for {unknown[0]!r}, which it has not")
        return Rule(places, isinstance(key, str), function, names)

    def __repr__(self) -> str:
        return f"<primitive {self.name}>"

    def node_name(self, overload: int | str = 0) -> str:
        """PyTorch's name of the tape node."""
        return f"{self.backward}Backward{overload}" if isinstance(overload, int) else overload


OPS: dict[str, Op] = {}
"""All primitives by name."""


@dataclass(slots=True)
class Function:
    """An operator as users see it. `spaces` are the namespaces it stands in ("torch", "nn.functional", ...)."""

    name: str
    call: Callable[..., Any]
    spaces: tuple[str, ...]
    method: bool
    inplace: Callable[..., Any] | None
    op: Op | None = None
    aliases: tuple[str, ...] = ()
    extra: dict[str, Any] = field(default_factory=dict)


FUNCTIONS: dict[str, Function] = {}
"""All operator functions by their dotted name ("add", "nn.functional.linear")."""


def put(
    name: str,
    call: Callable[..., Any],
    *,
    spaces: Sequence[str] = ("torch",),
    method: bool = True,
    inplace: Callable[..., Any] | None = None,
    op: Op | None = None,
    aliases: Sequence[str] = (),
) -> None:
    """Enter an operator function into the table; raises ValueError where the name is taken in that namespace."""
    key = name if spaces and spaces[0] == "torch" else ".".join([*spaces[:1], name])
    if key in FUNCTIONS:
        raise ValueError(f"operator function {key} is declared twice")
    FUNCTIONS[key] = Function(name, call, tuple(spaces), method, inplace, op, tuple(aliases))
