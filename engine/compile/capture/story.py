"""What was captured of a function, as data and as text: segments, graphs, guards, effects, breaks, and why it was captured again."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any
from weakref import ref

from ...device import device as Device
from ...dtypes import dtype as DType
from ...observe import capture_json
from ..fake import SymFloat, SymInt
from ..graph import Node, TensorSpec
from ..graph.printing import target_text
from .runtime import Compiled, CompiledFunction
from .segments import Entry


def _size(n: Any) -> Any:
    return n if type(n) is int else str(n)


def _tensor(val: Any) -> dict[str, Any]:
    if isinstance(val, TensorSpec):
        sizes = [_size(n) for n in val.shape]
        count = 1
        for n in val.shape:
            count *= n if type(n) is int else n.hint
        return {"shape": sizes, "dtype": val.dtype.name, "device": val.device, "bytes": count * val.dtype.itemsize}
    if isinstance(val, (tuple, list)) and val and isinstance(val[0], TensorSpec):
        return _tensor(val[0])
    kind = "int" if type(val) is SymInt else "float" if type(val) is SymFloat else ""
    return {"shape": [], "dtype": kind, "device": "", "bytes": 0}


_CONSTANTS, _WIDEST = 8, 40
"""So many plain arguments of a node are told, each in so many characters."""


def _constants(node: Node) -> list[str]:
    """Its arguments that are no nodes, as Python text: "2", "dim=-1"."""
    if not node.op.startswith("call"):
        return []
    named = [("", v) for v in node.args] + list(node.kwargs.items())
    found = []
    for name, value in named:
        if (text := _constant(value)) is not None:
            text = text if len(text) <= _WIDEST else text[: _WIDEST - 1] + "…"
            found.append(f"{name}={text}" if name else text)
    return found[:_CONSTANTS]


def _constant(value: Any) -> str | None:
    """A number, a name or a tuple of them as text; None for what holds tensors, or says nothing."""
    if value is None or isinstance(value, (bool, int, float, complex, str)):
        return None if value is None else repr(value)
    if isinstance(value, (DType, Device, SymInt, SymFloat)):
        return str(value)
    if isinstance(value, slice):
        parts = ["" if v is None else _constant(v) for v in (value.start, value.stop, value.step)]
        told = [p for p in parts if p is not None]
        return ":".join(told[:2] if not told[-1] else told) if len(told) == 3 else None
    if isinstance(value, (list, tuple)) and value:
        inner = [_constant(v) for v in value]
        told = [v for v in inner if v is not None]
        if len(told) == len(inner):
            return f"[{', '.join(told)}]" if isinstance(value, list) else f"({', '.join(told)}{',' * (len(told) == 1)})"
    return None


def _node(node: Node) -> dict[str, Any]:
    source = node.meta.get("source")
    target = str(node.target)
    if node.op.startswith("call"):
        text = target_text(node)
        # a function made inside of another one is called by its own name
        target = str(getattr(node.target, "__name__", text)) if "<locals>" in text else text.rpartition(".")[2]
    return {
        "name": node.name, "op": node.op, "target": target, "inputs": [n.name for n in node.all_input_nodes], **_tensor(node.meta.get("val")),
        "constants": _constants(node), "source": source.to_json() if source is not None else None, "module": node.meta.get("module") or "",
    }  # fmt: skip


def segment_json(compiled: Compiled, entry: Entry) -> dict[str, Any]:
    """One segment in the form that `observe.capture_json` describes."""
    gm = entry.graph
    nodes = [_node(n) for n in gm.graph if n.op != "output"] if gm is not None else []
    outputs = [n.name for n in gm.graph.output_node.all_input_nodes] if gm is not None else []
    inputs = []
    for i in entry.inputs:
        facts = _tensor(i.node.meta.get("val"))
        inputs.append(
            {"name": i.node.name, "source": i.source.label, **{k: facts[k] for k in ("shape", "dtype", "device")}}
        )
    guards = [{"text": g.text, "source": g.source.label, "why": g.why} for g in entry.guards]
    for text in entry.relations:
        guards.append({"text": text, "source": "", "why": "a relation of sizes"})
    e = entry.exit
    told = None
    if e.kind in ("break", "raise", "turn") and e.break_id:
        told = {
            "id": e.break_id, "category": e.category, "reason": e.reason, "hint": e.hint, "source": e.source.to_json() if e.source else None,
            "values": list(e.values),
        }  # fmt: skip
    kind = "branch" if e.break_id == "branch" and e.kind == "break" else "break" if e.kind == "turn" else e.kind
    if e.kind == "turn":
        told = None
    kernels = getattr(entry.compiled, "kernels_json", None)
    return {
        "id": entry.id, "entry": {"function": entry.function_name, "source": entry.source.to_json() if entry.source else None},
        "backend": compiled.options.backend_name, "inputs": inputs, "nodes": nodes, "outputs": outputs, "guards": guards,
        "effects": list(entry.effects), "exit": {"kind": kind, "break": told, "next": list(entry.following)},
        "code": gm.code if gm is not None else "", "seconds": entry.seconds, "calls": entry.calls,
        "kernels": kernels() if kernels is not None else None,
    }  # fmt: skip


class Latest:
    """Tells a segment again once something has been added to it: a segment that follows, or kernels.

    The function is kept alive until it has been asked once: one that is called and dropped in a line has kernels as well.
    """

    def __init__(self, compiled: Compiled, entry: Entry) -> None:
        self._kept: Compiled | None = compiled
        self._compiled, self._id = ref(compiled), entry.id
        self._told = self._state(entry)

    @staticmethod
    def _state(entry: Entry) -> tuple[int, int]:
        segments = getattr(entry.compiled, "segments", None)
        return len(entry.following), len(segments()) if segments is not None else 0

    def __call__(self) -> dict[str, Any] | None:
        compiled, self._kept = self._compiled(), None
        entry = compiled.by_id.get(self._id) if compiled is not None else None
        if compiled is None or entry is None or (now := self._state(entry)) == self._told:
            return None
        self._told = now
        return segment_json(compiled, entry)


class Explanation:
    """What was captured of one function.

    `segments` are its captured pieces in order of capture, `breaks` where and why graphs ended, `guards` what each piece assumes,
    `graphs` their graph modules, `recompiles` which guard failed when a piece was captured again. `result` is what the call returned.
    """

    def __init__(self, compiled: Compiled, result: Any = None) -> None:
        self._compiled, self.result = compiled, result

    @property
    def entries(self) -> list[Entry]:
        """The captured pieces themselves."""
        return list(self._compiled.by_id.values())

    @property
    def segments(self) -> list[dict[str, Any]]:
        """The captured pieces as data."""
        return [segment_json(self._compiled, e) for e in self.entries]

    @property
    def breaks(self) -> list[dict[str, Any]]:
        """Each place where a graph breaks: id, category, reason, hint, source, values."""
        out, seen = [], set()
        for e in self.entries:
            x = e.exit
            if x.kind == "break" and (x.break_id, x.source) not in seen:
                seen.add((x.break_id, x.source))
                out.append(
                    {
                        "id": x.break_id, "category": x.category, "reason": x.reason, "hint": x.hint, "source": x.source,
                        "values": list(x.values), "segment": e.id,
                    }
                )  # fmt: skip
        return out

    break_reasons = breaks

    @property
    def graphs(self) -> list[Any]:
        """The graph modules."""
        return [e.graph for e in self.entries if e.graph is not None]

    @property
    def forms(self) -> list[dict[str, str]]:
        """Every form that each graph went through on its way to kernels: {"segment", "form", "part", "language", "text"}, where "form" is
        captured, primitives, partition, values, steps, loops or kernels. All but kernels are valid Python with shapes in comments."""
        out: list[dict[str, str]] = []
        for e in self.entries:
            if e.graph is None:
                continue
            own = {"form": "captured", "part": "", "language": "python", "text": e.graph.code}
            ask = getattr(e.compiled, "forms", None)
            out += [{"segment": e.id, **f} for f in (own, *(ask() if ask is not None else ()))]
        return out

    @property
    def graph_count(self) -> int:
        """How many graphs there are."""
        return len(self.graphs)

    @property
    def graph_break_count(self) -> int:
        """How many places break a graph."""
        return len(self.breaks)

    @property
    def op_count(self) -> int:
        """How many calls of operators all graphs have."""
        return sum(1 for g in self.graphs for n in g.graph if n.op.startswith("call"))

    @property
    def guards(self) -> dict[str, list[str]]:
        """What each segment assumes, by its id."""
        return {e.id: [g.text for g in e.guards] + list(e.relations) for e in self.entries}

    out_guards = guards

    @property
    def recompiles(self) -> list[dict[str, Any]]:
        """Which guard failed when a place was captured again."""
        return list(self._compiled.recompiles)

    @property
    def eager(self) -> list[str]:
        """Why places run eagerly, where some do."""
        out = [p.eager for p in self._compiled.places.values() if p.eager]
        return [self._compiled.native_reason, *out] if self._compiled.native_reason else out

    def to_json(self) -> dict[str, Any]:
        """Everything in the form that `observe.capture_json` describes."""
        return records(self._compiled)

    def _tapescope_records_(self) -> tuple[str, dict[str, Any]]:
        return "capture", self.to_json()

    def _repr_mimebundle_(self, include: Any = None, exclude: Any = None) -> dict[str, Any]:
        from ...display import bundle

        return bundle("capture", self.to_json, str(self))

    def __str__(self) -> str:
        c = self._compiled
        n, b = self.graph_count, self.graph_break_count
        lines = [f"{c.name}: {_count(n, 'graph')}, {_count(b, 'break')}, {_count(self.op_count, 'operator')}"]
        for reason in self.eager:
            lines.append(f"  runs eagerly: {reason}")
        for e in self.entries:
            where = f", line {e.source.line}" if e.source is not None else ""
            ops = sum(1 for x in e.graph.graph if x.op.startswith("call")) if e.graph is not None else 0
            lines.append(
                f"segment {e.id} ({e.function_name}{where}): {_count(ops, 'operator')}, "
                f"{_count(len(e.guards) + len(e.relations), 'guard')}, ran {_count(e.calls, 'time')}"
            )
            for told in e.effects:
                lines.append(f"  effect: {told}")
            lines += _kernels_told(e)
            x = e.exit
            if x.kind == "return":
                lines.append("  returns")
            elif x.kind == "turn":
                lines.append(
                    "  goes on with the next turn of the loop" + (f" at line {x.source.line}" if x.source else "")
                )
            else:
                at = f"{x.source.file.rpartition('/')[2]}:{x.source.line}" if x.source else "?"
                lines.append(f"  {'raises' if x.kind == 'raise' else 'breaks'} at {at} [{x.break_id}]: {x.reason}")
                if x.hint and x.kind == "break":
                    lines.append(f"    {x.hint}")
            if e.following:
                lines.append(f"  then segment {', '.join(e.following)}")
        for r in self.recompiles:
            lines.append(
                f"segment {r['segment']} was captured because {r['guard']} did not hold: {r['old']} became {r['new']}"
            )
        return "\n".join(lines)

    __repr__ = __str__


def _count(n: int, what: str) -> str:
    return f"{n} {what}" if n == 1 else f"{n} {what}s"


def _kernels_told(entry: Any) -> list[str]:
    """Lines on the generated code of a segment: kernels, memory beside eager's, fusions refused, what was tuned."""
    ask = getattr(entry.compiled, "kernels_json", None)
    told = ask() if ask is not None else None
    if not told:
        return []
    count, refused = len(told["kernels"]), len(told["refused"])
    line = f"  {_count(count, 'kernel')}, {_count(refused, 'fusion')} refused"
    planned, eager = told["peak_bytes"], told["eager_peak_bytes"]
    if eager:
        line += f"; at most {planned or 0:,} bytes beside the arguments, where eager holds {eager:,}"
    lines = [line]
    done: dict[str, list[str]] = {}
    for p in told["passes"]:
        done.setdefault(p["pass"], []).append(f"{p['name']} {p['rewrites']}")
    lines += [f"  {name}: {', '.join(rules)}" for name, rules in done.items()]
    for t in told.get("tuning", ()):
        lines.append(
            f"  tuned: {t['chosen']}, of {len(t['tried'])} forms" + ("" if t["settled"] else " (still measuring)")
        )
    each = [k["tuned"] for k in told["kernels"] if k.get("tuned")]
    if each:
        other = sum(t["chosen"] != "usual" for t in each)
        lines.append(f"  measured alone: {_count(len(each), 'kernel')}, of which {other} otherwise than usual")
    return lines


def records(compiled: Compiled) -> dict[str, Any]:
    """All that was captured of a function, in the form of `observe.capture_json`."""
    from .capture import source_of_code

    segments = [segment_json(compiled, e) for e in compiled.by_id.values()]
    return capture_json(compiled.name, source_of_code(compiled.function.__code__), segments, list(compiled.recompiles))


def compiled_of(f: Any) -> Compiled | None:
    """The compiled function behind what `torch.compile` returned, None for anything else."""
    from .modules import OptimizedModule

    if isinstance(f, OptimizedModule):
        return type(f)._module_call.compiled
    return getattr(f, "_compiled", None)


def explain(f: Any) -> Callable[..., Explanation]:
    """`explain(f)(*args)`: call it compiled and tell what was captured. What is compiled already keeps what it has."""

    def call(*args: Any, **kwargs: Any) -> Explanation:
        from ..api import compile
        from .modules import OptimizedModule

        known = f if isinstance(f, (CompiledFunction, OptimizedModule)) or hasattr(f, "_compiled") else compile(f)
        result = known(*args, **kwargs)
        compiled = compiled_of(known)
        if compiled is None:
            raise TypeError(f"a {type(f).__name__} cannot be explained: it is not compiled")
        return Explanation(compiled, result)

    return call


__all__ = ["Explanation", "compiled_of", "explain", "records", "segment_json"]
