"""A node of a graph, and what is known of the tensor it stands for.

`Node` has the shape of PyTorch's FX node: a kind (`op`), a target, arguments that nest other nodes, a name, and `meta`.
It knows its users and its place in its graph; the order itself, and the printing, are `graph.py`'s and `printing.py`'s.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from .graph import Graph

KINDS = ("placeholder", "get_attr", "call_function", "call_method", "call_module", "output")
"""What a node may be (`call_module` in graphs of `torch.fx` alone). Level-2 graphs call functions only: their targets are primitives (`Op`)."""


@dataclass(frozen=True, slots=True)
class TensorSpec:
    """A tensor without its values. `shape` and `strides` (in elements) hold ints or SymInts; `dtype` is the engine's.

    `device` is the device's name ("cpu").
    """

    shape: tuple[Any, ...]
    strides: tuple[Any, ...]
    dtype: Any
    device: str = "cpu"
    requires_grad: bool = False

    @property
    def ndim(self) -> int:
        """The number of dimensions."""
        return len(self.shape)

    def numel(self) -> Any:
        """The number of elements (an int or SymInt)."""
        n: Any = 1
        for s in self.shape:
            n = n * s
        return n

    def nbytes(self) -> Any:
        """Bytes of the elements."""
        return self.numel() * self.dtype.itemsize

    def is_contiguous(self) -> bool:
        """Whether the strides are row-major without gaps."""
        step: Any = 1
        for size, stride in zip(reversed(self.shape), reversed(self.strides), strict=True):
            if size == 0:
                return True
            if size != 1:
                if stride != step:
                    return False
                step = step * size
        return True

    def __str__(self) -> str:
        return f"{short_name(self.dtype)}[{', '.join(map(str, self.shape))}]"


def spec_of(t: Any) -> TensorSpec:
    """The spec of a tensor, real or fake."""
    return TensorSpec(tuple(t._data.shape), tuple(t.stride()), t._dtype, t._storage.backend.name, bool(t.requires_grad))


def short_name(dtype: Any) -> str:
    """A dtype as comments show it: "f32", "i64", "bf16", "b8"."""
    name = str(getattr(dtype, "name", dtype))
    for long, short in (
        ("bfloat", "bf"), ("float", "f"), ("uint", "u"), ("int", "i"), ("complex", "c"), ("bool", "b8"),
    ):  # fmt: skip
        if name.startswith(long):
            return short + name[len(long) :]
    return name


def map_nodes(value: Any, f: Callable[[Node], Any]) -> Any:
    """`value` with every node in it replaced by `f(node)`; tuples, lists, dicts and slices are rebuilt."""
    if isinstance(value, Node):
        return f(value)
    kind = type(value)
    if kind is tuple or kind is list:
        return kind([map_nodes(v, f) for v in value])
    if isinstance(value, tuple):  # named tuples, sizes, and other kinds of tuples
        parts = [map_nodes(v, f) for v in value]
        return kind(*parts) if hasattr(value, "_fields") else kind(parts)
    if kind is dict:
        return {k: map_nodes(v, f) for k, v in value.items()}
    if kind is slice:
        return slice(map_nodes(value.start, f), map_nodes(value.stop, f), map_nodes(value.step, f))
    return value


def nodes_in(value: Any) -> Iterator[Node]:
    """The nodes in a nest of arguments, in order, repeats included."""
    if isinstance(value, Node):
        yield value
    elif isinstance(value, (tuple, list)):
        for v in value:
            yield from nodes_in(v)
    elif isinstance(value, dict):
        for v in value.values():
            yield from nodes_in(v)
    elif isinstance(value, slice):
        for v in (value.start, value.stop, value.step):
            yield from nodes_in(v)


def _gather(value: Any, found: list[Node]) -> None:
    """Append the nodes in a nest of arguments (`nodes_in` without its generators)."""
    if isinstance(value, (tuple, list)):
        for v in value:
            kind = type(v)
            if kind is Node:
                found.append(v)
            elif kind is not int and kind is not float and v is not None:
                _gather(v, found)
    elif isinstance(value, Node):
        found.append(value)
    elif isinstance(value, dict):
        _gather(list(value.values()), found)
    elif isinstance(value, slice):
        _gather((value.start, value.stop, value.step), found)


class Node:
    """One step of a graph.

    ==============  ===================================  ==============================================
    op              target                               args
    ==============  ===================================  ==============================================
    placeholder     name of the parameter                ()
    get_attr        name of a constant of the module     ()
    call_function   the function, or a primitive `Op`    its arguments
    call_method     name of the method                   (object, *arguments)
    output          "output"                             (what is returned,)
    ==============  ===================================  ==============================================

    `meta["val"]` is what the step gives: a `TensorSpec`, a tuple or list of them, or a plain value (SymInt among them).
    `meta["source"]` is the `observe.Source` of the user's line, `meta["module"]` the dotted module path, `meta["tape"]` the
    sequence number of the tape node. A primitive's args are its tensors (a list where it takes a list), then its statics.
    """

    __slots__ = ("_args", "_inputs", "_kwargs", "_next", "_prev", "graph", "meta", "name", "op", "target", "users")

    def __init__(self, graph: Graph, name: str, op: str, target: Any, args: tuple[Any, ...], kwargs: dict[str, Any]):
        if op not in KINDS:
            raise ValueError(f"a node is one of {', '.join(KINDS)}, not {op!r}")
        self.graph = graph
        self.name = name
        self.op = op
        self.target = target
        self.users: dict[Node, None] = {}
        self.meta: dict[str, Any] = {}
        self._inputs: list[Node] = []
        self._args: tuple[Any, ...] = ()
        self._kwargs: dict[str, Any] = {}
        self._next: Node = self
        self._prev: Node = self
        self._set(tuple(args), dict(kwargs))

    @property
    def args(self) -> tuple[Any, ...]:
        """Positional arguments; assigning keeps the users of all nodes right."""
        return self._args

    @args.setter
    def args(self, value: tuple[Any, ...]) -> None:
        self._set(tuple(value), self._kwargs)

    @property
    def kwargs(self) -> dict[str, Any]:
        """Arguments by name; assigning keeps the users of all nodes right."""
        return self._kwargs

    @kwargs.setter
    def kwargs(self, value: dict[str, Any]) -> None:
        self._set(self._args, dict(value))

    def _set(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> None:
        for n in self._inputs:
            n.users.pop(self, None)
        self._args, self._kwargs = args, kwargs
        found: list[Node] = []
        _gather(args, found)
        if kwargs:
            _gather(kwargs, found)
        self._inputs = list(dict.fromkeys(found))
        for n in self._inputs:
            n.users[self] = None

    @property
    def all_input_nodes(self) -> list[Node]:
        """The nodes among the arguments, each once, in order."""
        return list(self._inputs)

    @property
    def next(self) -> Node:
        """The node after this one in its graph."""
        return self._next

    @property
    def prev(self) -> Node:
        """The node before this one in its graph."""
        return self._prev

    @property
    def val(self) -> Any:
        """`meta["val"]`, or None."""
        return self.meta.get("val")

    def replace_all_uses_with(
        self, other: Node, delete_user_cb: Callable[[Node], bool] = lambda user: True, *, propagate_meta: bool = False
    ) -> list[Node]:
        """Let the users of this node that `delete_user_cb` agrees to use `other` instead; returns those users."""
        if propagate_meta:
            other.meta.update(self.meta)
        users = [u for u in self.users if u is not other and delete_user_cb(u)]
        for user in users:
            user._set(*(map_nodes(a, lambda n: other if n is self else n) for a in (user._args, user._kwargs)))
        return users

    def replace_input_with(self, old: Node, new: Node) -> None:
        """Use `new` in the place of `old` here."""
        self._set(*(map_nodes(a, lambda n: new if n is old else n) for a in (self._args, self._kwargs)))

    def is_impure(self) -> bool:
        """Whether it does more than give a value (writes, draws random numbers, moves gradients), so that it must stay."""
        from .purity import is_impure

        return is_impure(self)

    def format_node(self) -> str:
        """One line that shows the node."""
        from .printing import target_text

        return f"%{self.name} : {self.op}[{target_text(self)}](args={self._args}, kwargs={self._kwargs})"

    def __repr__(self) -> str:
        return self.name
