"""Functions given to vmap, cond and their like, captured as graphs of their own: one node of the outer graph calls them.

A function is interpreted once on fakes into a second recorder; tensors of the outer graph that it uses become further inputs.  Effects
and breaks in it end the outer graph before the call.
"""

from __future__ import annotations

import sys
from typing import Any

from ...func.trees import flatten
from ...tensor import Tensor
from ..control import cond, scan, switch, while_loop
from ..graph import GraphModule, spec_of
from ..interpreter.frame import Frame
from . import graph_calls
from .entries import entry
from .recorder import Recorder
from .stops import Stop, name_of
from .tables import Dirty
from .values import Obj, facet

_vmap: Any = graph_calls._vmap


class Sub:
    """A function as a graph: the module, the outer tensors it uses, its results, and how they are put together."""

    __slots__ = ("build", "gm", "leaves", "lifted")

    def __init__(self, gm: GraphModule, lifted: list[Any], leaves: list[Any], build: Any) -> None:
        self.gm, self.lifted, self.leaves, self.build = gm, lifted, leaves, build


class SubRecorder(Recorder):
    """Writes the graph of an inner function. Tensors of the outer graph become inputs when they are used."""

    def __init__(self, outer: Recorder) -> None:
        super().__init__()
        self.outer = outer
        self.backends, self.env, self.place, self.flag = outer.backends, outer.env, outer.place, outer.flag
        self.step = outer.step
        self.symbols, self.numbers = outer.symbols, outer.numbers
        self.lifted: list[Any] = []

    def node_of(self, value: Any) -> Any:
        found = super().node_of(value)
        if found is None and isinstance(value, Tensor) and self.outer.node_of(value) is not None:
            found = self.add(value, "outer")
            self.lifted.append(value)
        return found

    def add(self, fake: Any, name: str) -> Any:
        """An input."""
        node = self._place_input(name)
        node.meta["val"] = spec_of(fake)
        self.nodes[id(fake)] = (fake, node)
        return node


def trace(domain: Any, who: str, f: Any, args: list[Any], kwargs: dict[str, Any], inputs: list[Any]) -> Sub:
    """Interpret `f(*args, **kwargs)` into a graph whose inputs are the fakes `inputs`, then those it uses of the outer graph."""
    outer, world = domain.recorder, domain.world
    sub = SubRecorder(outer)
    for i, fake in enumerate(inputs):
        sub.add(fake, f"arg{i}")
    writes, hung = world.changes(), dict(domain.tensor_written)
    domain.recorder = sub
    try:
        out = domain.nested(f, args, kwargs)
        leaves, build = flatten(_native(domain, out))
        leaves = [domain.read(v) for v in leaves]
        nodes = [sub.node_of(v) if isinstance(v, Tensor) else v for v in leaves]
    except Dirty as dirty:
        if dirty.stop.id == "exception":
            raise
        raise Dirty(Stop("transform", who)) from None
    finally:
        domain.recorder = outer
    if (
        world.changed_since(writes)
        or _hung_since(domain.tensor_written, hung)
        or any(isinstance(v, Tensor) and n is None for v, n in zip(leaves, nodes, strict=True))
    ):
        raise Dirty(Stop("transform", who))
    sub.graph.output(tuple(nodes))
    sub.graph.eliminate_dead_code()
    return Sub(GraphModule(sub.graph, sub.constants), sub.lifted, leaves, build)


def _hung_since(now: dict[Any, Any], before: dict[Any, Any]) -> bool:
    return len(now) != len(before) or any(now[k][1] is not v for k, (_, v) in before.items())


def _native(domain: Any, value: Any) -> Any:
    value = domain.read(value)
    if type(value) is Obj:
        part = facet(value)
        return part.native() if part is not None else value
    return value


def node(domain: Any, frame: Frame, f: Any, args: list[Any]) -> Any:
    """Run one of `graph_calls` on fakes, and its node."""
    return domain.leaf(frame, f, args, {})


# -- vmap -------------------------------------------------------------------------------------------


@entry(_vmap._one)
def _one(domain: Any, frame: Frame, args: list[Any], kwargs: Any) -> Any:
    func, build, leaves, places, kw_build, kw_leaves, kw_places, size, randomness, out_dims = (
        domain.read(a) for a in args
    )
    leaves, kw_leaves, places, kw_places = (
        [domain.settle(v) for v in domain.elements(frame, vs)] for vs in (leaves, kw_leaves, places, kw_places)
    )
    inputs: list[Any] = []
    dims: list[Any] = []

    def example(v: Any, d: Any) -> Any:
        if not isinstance(v, Tensor):
            return v
        inner = v if d is None else domain.run_leaf(_select, [v, d], {})
        if d is not None:
            inputs.append(inner)
            dims.append((v, d))
        return inner

    given = domain.nested(build, [[example(v, d) for v, d in zip(leaves, places, strict=True)]], {})
    named = domain.nested(kw_build, [[example(v, d) for v, d in zip(kw_leaves, kw_places, strict=True)]], {})
    sub = trace(domain, "vmap", func, list(given), dict(named), inputs)
    if not all(isinstance(v, Tensor) for v in sub.leaves):
        raise Dirty(Stop("exception", "vmap of a function that returns something else than tensors"))
    out_places = _vmap._spread_dims(domain.settle(out_dims), len(sub.leaves), name_of(func))
    tensors = [v for v, _ in dims] + sub.lifted
    where = [d for _, d in dims] + [None] * len(sub.lifted)
    out = node(
        domain, frame, graph_calls.run_vmap, [sub.gm, tuple(where), tuple(out_places), size, randomness, *tensors]
    )
    return sub.build(list(out))


def _select(v: Tensor, d: int) -> Tensor:
    out = v.detach().select(d, 0).clone()
    return out.requires_grad_() if v.requires_grad else out


# -- branches and loops -----------------------------------------------------------------------------


def _operands(domain: Any, frame: Frame, operands: Any) -> list[Any]:
    return [domain.read(v) for v in domain.elements(frame, operands)]


def _tensors(values: list[Any]) -> list[Any]:
    return [v for v in values if isinstance(v, Tensor)]


@entry(cond)
def _cond(domain: Any, frame: Frame, args: list[Any], kwargs: Any) -> Any:
    pred, true_fn, false_fn, operands = _bound(cond, args, kwargs)
    pred = domain.read(pred)
    if not isinstance(pred, Tensor):
        return domain.call(
            frame, true_fn if domain.truth_of(pred) else false_fn, _operands(domain, frame, operands), {}
        )
    values = _operands(domain, frame, operands)
    inputs = _tensors(values)
    a = trace(domain, "cond", true_fn, values, {}, inputs)
    b = trace(domain, "cond", false_fn, values, {}, inputs)
    _alike("cond", a, b)
    out = _run(
        domain,
        frame,
        graph_calls.run_cond,
        [pred, a.gm, b.gm, len(inputs), len(a.lifted), *inputs, *a.lifted, *b.lifted],
        a,
    )
    return a.build(out)


@entry(switch)
def _switch(domain: Any, frame: Frame, args: list[Any], kwargs: Any) -> Any:
    index, branches, operands = _bound(switch, args, kwargs)
    index, branches = domain.read(index), _operands(domain, frame, branches)
    values = _operands(domain, frame, operands)
    if not isinstance(index, Tensor):
        return domain.call(frame, branches[min(max(domain.concrete(index), 0), len(branches) - 1)], values, {})
    inputs = _tensors(values)
    subs = [trace(domain, "switch", f, values, {}, inputs) for f in branches]
    for other in subs[1:]:
        _alike("switch", subs[0], other)
    lifted = [t for s in subs for t in s.lifted]
    out = _run(
        domain, frame, graph_calls.run_switch,
        [index, tuple(s.gm for s in subs), tuple(len(s.lifted) for s in subs), len(inputs), *inputs, *lifted], subs[0],
    )  # fmt: skip
    return subs[0].build(out)


@entry(while_loop)
def _while(domain: Any, frame: Frame, args: list[Any], kwargs: Any) -> Any:
    cond_fn, body_fn, carried = _bound(while_loop, args, kwargs)
    values = _operands(domain, frame, carried)
    if not all(isinstance(v, Tensor) for v in values):
        raise Stop("transform", "while_loop")
    test = trace(domain, "while_loop", cond_fn, values, {}, values)
    body = trace(domain, "while_loop", body_fn, values, {}, values)
    if len(body.leaves) != len(values) or not all(isinstance(v, Tensor) for v in (*test.leaves, *body.leaves)):
        raise Dirty(Stop("transform", "while_loop"))
    out = _run(
        domain, frame, graph_calls.run_while,
        [test.gm, body.gm, len(values), len(test.lifted), *values, *test.lifted, *body.lifted], body,
    )  # fmt: skip
    return tuple(out)


@entry(scan)
def _scan(domain: Any, frame: Frame, args: list[Any], kwargs: Any) -> Any:
    combine, init, xs, dim, reverse = _bound(scan, args, kwargs)
    dim, reverse = domain.concrete(domain.read(dim)), domain.truth_of(reverse)
    carry, build_carry = flatten(_native(domain, init))
    leaves, build = flatten(_native(domain, xs))
    carry, leaves = [domain.read(v) for v in carry], [domain.read(v) for v in leaves]
    if not all(isinstance(v, Tensor) for v in (*carry, *leaves)):
        raise Stop("transform", "scan")
    rows = [domain.run_leaf(_select, [x, dim], {}) for x in leaves]
    sub = trace(domain, "scan", combine, [build_carry(carry), build(rows)], {}, [*carry, *rows])
    if not all(isinstance(v, Tensor) for v in sub.leaves):
        raise Dirty(Stop("transform", "scan"))
    out = node(
        domain,
        frame,
        graph_calls.run_scan,
        [sub.gm, len(carry), dim, reverse, len(leaves), *carry, *leaves, *sub.lifted],
    )
    return sub.build(list(out))


def _run(domain: Any, frame: Frame, f: Any, args: list[Any], like: Sub) -> list[Any]:
    """The node of a choice that data makes: its results are like those of one of the graphs."""
    recorder = domain.recorder
    domain.where = frame
    nodes = tuple([recorder.argument(a, domain.foreign) for a in args])
    grads = any(v.requires_grad for v in args if isinstance(v, Tensor)) or any(
        isinstance(v, Tensor) and v.requires_grad for v in like.leaves
    )
    tensors = [v for v in like.leaves if isinstance(v, Tensor)]
    out = iter(domain.run_leaf(_fresh, [tensors, grads], {}))
    made = [next(out) if isinstance(v, Tensor) else v for v in like.leaves]
    recorder.call(f, nodes, {}, tuple(made))
    return made


def _fresh(tensors: list[Tensor], grads: bool) -> list[Tensor]:
    """Fakes like others; part of the tape where a gradient may flow."""
    out = []
    for t in tensors:
        new = t.detach().clone()
        if grads and new.dtype.is_floating_point:
            new = new.requires_grad_() * 1
        out.append(new)
    return out


def _alike(who: str, a: Sub, b: Sub) -> None:
    """End the graph where two branches do not return the same kinds of tensors."""
    same = len(a.leaves) == len(b.leaves) and all(
        (isinstance(x, Tensor) and isinstance(y, Tensor) and tuple(x.shape) == tuple(y.shape) and x.dtype is y.dtype)
        or (not isinstance(x, Tensor) and not isinstance(y, Tensor) and x == y)
        for x, y in zip(a.leaves, b.leaves, strict=True)
    )
    if not same:
        raise Dirty(Stop("transform", f"{who}, whose branches return different kinds of values,"))


def _bound(f: Any, args: list[Any], kwargs: dict[str, Any]) -> list[Any]:
    """The arguments of a call in the order of the signature."""
    import inspect

    bound = inspect.signature(f).bind(*args, **kwargs)
    bound.apply_defaults()
    return list(bound.arguments.values())


__all__ = ["Sub", "trace"]
_ = sys
