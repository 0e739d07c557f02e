"""Derivatives as functions of functions: grad, vjp, jvp, jacrev, jacfwd, hessian, linearize.

Each runs the function on aliases of its inputs and asks the tape, with the backward recorded, so that they nest.  Forward mode
is had from reverse mode twice: the product with the Jacobian is the derivative of the product with its transpose.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from .. import autograd
from ..autograd.run import AccumulateGrad
from ..ops import functions as F
from ..state import state
from ..tensor import Tensor, gradient_edge
from .trees import flatten, tensors_only
from .vmap import VmapMode, vmap


def _argnums(argnums: int | tuple[int, ...], count: int) -> tuple[int, ...]:
    chosen = (argnums,) if isinstance(argnums, int) else tuple(argnums)
    for a in chosen:
        if not -count <= a < count:
            raise RuntimeError(f"Got argnum={a}, but only {count} positional inputs")
    return tuple(a % count for a in chosen)


def fresh(t: Tensor) -> Tensor:
    """An alias that needs a gradient, tied to `t`'s own history so that outer derivatives pass through."""
    if not t.dtype.is_floating_point and not t.dtype.is_complex:
        raise RuntimeError("only Tensors of floating point dtype can require gradients")
    mode = state.modes[-1] if state.modes else None
    if isinstance(mode, VmapMode) and t._storage.backend is not mode.backend:
        # One level up, so that the tensors inside the batch do not record what only this derivative wants.
        return mode.wrap(t, False).requires_grad_()
    if t.requires_grad:
        with autograd.enable_grad():
            return t.alias()
    return t.detach_shallow().requires_grad_()


def _aliased(tree: Any) -> tuple[Any, list[Tensor]]:
    leaves, build = flatten(tree)
    made = [fresh(v) if isinstance(v, Tensor) else v for v in leaves]
    return build(made), [m for m in made if isinstance(m, Tensor)]


def _gradients(outs: list[Tensor], ins: list[Tensor], starts: list[Any] | None) -> list[Tensor]:
    """Gradients, zeros where an input has no part in an output."""
    used = [(o, None if starts is None else s) for o, s in zip(outs, starts or outs, strict=True) if o.requires_grad]
    if not used:
        return [F.zeros_like(i.detach()) for i in ins]
    got = autograd.grad([o for o, _ in used], ins, [s for _, s in used], create_graph=True, allow_unused=True)
    return [F.zeros_like(i.detach()) if g is None else g for g, i in zip(got, ins, strict=True)]


def _value(out: Any, who: str) -> Tensor:
    if not isinstance(out, Tensor):
        raise RuntimeError(f"{who}: Expected f(*args) to return a Tensor, got {type(out)}")
    if out.ndim:
        raise RuntimeError(
            f"{who}: Expected f(*args) to return a scalar Tensor, got tensor with {out.ndim} dims. Maybe you wanted to use "
            "the vjp or jacrev APIs instead?"
        )
    return out


def grad_and_value(
    func: Callable[..., Any], argnums: int | tuple[int, ...] = 0, has_aux: bool = False
) -> Callable[..., Any]:
    """A function of the same arguments that returns the gradient with respect to `argnums`, and the value (and aux)."""

    def wrapped(*args: Any, **kwargs: Any) -> Any:
        places = _argnums(argnums, len(args))
        recording = state.grad_enabled
        with autograd.enable_grad():
            given, inputs, builds = list(args), [], []
            for p in places:
                given[p], made = _aliased(args[p])
                tensors_only(made, "grad")
                inputs.append(made)
                builds.append(flatten(args[p])[1])
            out = func(*given, **kwargs)
            aux = None
            if has_aux:
                if not (isinstance(out, tuple) and len(out) == 2):
                    raise RuntimeError(
                        "grad_and_value(f)(*args): output of function f should be a tuple: (output, aux) if has_aux is True"
                    )
                out, aux = out
            value = _value(out, "grad_and_value(f)(*args)")
            flat = [t for made in inputs for t in made]
            grads = _gradients([value], flat, None)
        results, at = [], 0
        for made, build in zip(inputs, builds, strict=True):
            results.append(build(grads[at : at + len(made)]))
            at += len(made)
        gradient = settled(results[0] if isinstance(argnums, int) else tuple(results), flat, recording)
        value = settled(value, flat, recording)
        return (gradient, (value, settled(aux, flat, recording))) if has_aux else (gradient, value)

    return wrapped


def settled(tree: Any, own: list[Tensor], recording: bool) -> Any:
    """Results as the caller gets them: cut off the tape unless their history reaches something that is not `own`.

    What else it may reach is an outer transform's input, or a leaf that the function closes over.
    """
    mine = {id(t) for t in own}
    leaves, build = flatten(tree)
    return build([_settle(v, mine, recording) if isinstance(v, Tensor) and v.requires_grad else v for v in leaves])


def _settle(t: Tensor, mine: set[int], recording: bool) -> Tensor:
    if not recording:
        return t.detach()
    seen: set[int] = set()
    stack = [gradient_edge(t)[0]]
    while stack:
        node = stack.pop()
        if id(node) in seen:
            continue
        seen.add(id(node))
        if isinstance(node, AccumulateGrad) and id(node.variable) not in mine:
            return t
        stack += [e[0] for e in node.edges if e is not None]
    return t.detach()


def grad(func: Callable[..., Any], argnums: int | tuple[int, ...] = 0, has_aux: bool = False) -> Callable[..., Any]:
    """A function of the same arguments that returns the gradient of a scalar `func` with respect to `argnums`."""
    both = grad_and_value(func, argnums, has_aux)

    def wrapped(*args: Any, **kwargs: Any) -> Any:
        gradient, rest = both(*args, **kwargs)
        return (gradient, rest[1]) if has_aux else gradient

    return wrapped


def vjp(func: Callable[..., Any], *primals: Any, has_aux: bool = False) -> Any:
    """`func(*primals)` and a function from cotangents of the output to cotangents of the primals (and aux)."""
    return _vjp(func, primals, has_aux)[0]


def _vjp(func: Callable[..., Any], primals: tuple[Any, ...], has_aux: bool) -> tuple[Any, list[Tensor]]:
    """What `vjp` returns, and the aliases of the inputs that the tape was made with."""
    recording = state.grad_enabled
    with autograd.enable_grad():
        given, ins = _aliased(primals)
        out = func(*given)
        aux = None
        if has_aux:
            out, aux = out
    build = flatten(primals)[1]
    outs, rebuild = flatten(out)
    tensors_only(outs, "vjp(f, *primals)")

    def pull(*cotangents: Any, **_: Any) -> Any:
        starts = flatten(cotangents[0] if len(cotangents) == 1 else cotangents)[0]
        for o, s in zip(outs, starts, strict=True):
            if o.shape != s.shape:
                raise RuntimeError(f"Expected cotangent of shape {tuple(o.shape)} for the output, got {tuple(s.shape)}")
        with autograd.enable_grad():
            got = _gradients(outs, ins, starts)
        result = settled(build(got), ins, state.grad_enabled)
        return result[0] if len(primals) == 1 else tuple(result)

    value = settled(rebuild(outs), ins, recording)
    return ((value, pull, settled(aux, ins, recording)) if has_aux else (value, pull)), ins


def jvp(func: Callable[..., Any], primals: Any, tangents: Any, *, strict: bool = False, has_aux: bool = False) -> Any:
    """`func(*primals)` and the product of its Jacobian with `tangents` (and aux)."""
    if not isinstance(primals, tuple) or not primals:
        raise RuntimeError(
            "jvp(f, primals, tangents): Expected primals to be a tuple. E.g. it should be valid to call f(*primals)."
        )
    flat_in, flat_tangents = flatten(primals)[0], flatten(tangents)[0]
    if len(flat_in) != len(flat_tangents):
        raise RuntimeError(
            "jvp(f, primals, tangents): Expected primals and tangents to have the same python structure."
        )
    recording = state.grad_enabled
    with autograd.enable_grad():
        given, ins = _aliased(primals)
        out = func(*given)
        aux = None
        if has_aux:
            out, aux = out
        outs, rebuild = flatten(out)
        tensors_only(outs, "jvp(f, primals, tangents)")
        # The product with the Jacobian is the derivative of u -> J^T u, which is linear in u.
        weights = [F.zeros_like(o.detach()).requires_grad_() for o in outs]
        pushed = _gradients(_gradients(outs, ins, list(weights)), weights, flat_tangents)
    own = [*ins, *weights]
    value, tangent = settled(rebuild(outs), own, recording), settled(rebuild(pushed), own, recording)
    return (value, tangent, settled(aux, own, recording)) if has_aux else (value, tangent)


def linearize(func: Callable[..., Any], *primals: Any) -> tuple[Any, Callable[..., Any]]:
    """`func(*primals)`, and its linear part there: a function from tangents to tangents that runs `func` no more."""
    with autograd.enable_grad():
        given, ins = _aliased(primals)
        outs, rebuild = flatten(func(*given))
        weights = [F.zeros_like(o.detach()).requires_grad_() for o in outs]
        pulled = _gradients(outs, ins, list(weights))

    def push(*tangents: Any) -> Any:
        given = flatten(tangents)[0]
        if [t.shape for t in given] != [t.shape for t in ins]:
            raise RuntimeError("linearize: Expected the tangents to have the shapes of the primals")
        with autograd.enable_grad():
            got = _gradients(pulled, weights, given)
        return settled(rebuild(got), [*ins, *weights], state.grad_enabled)

    return rebuild([o.detach() for o in outs]), push


def jacrev(
    func: Callable[..., Any],
    argnums: int | tuple[int, ...] = 0,
    *,
    has_aux: bool = False,
    chunk_size: int | None = None,
    _preallocate_and_copy: bool = False,
) -> Callable[..., Any]:
    """A function that returns the Jacobian of `func`, row by row in reverse mode: output shape, then input shape."""

    def wrapped(*args: Any, **kwargs: Any) -> Any:
        places = _argnums(argnums, len(args))

        def chosen(*given: Any) -> Any:
            full = list(args)
            for p, g in zip(places, given, strict=True):
                full[p] = g
            return func(*full, **kwargs)

        recording = state.grad_enabled
        made, own = _vjp(chosen, tuple(args[p] for p in places), has_aux)
        out, pull = made[0], made[1]
        outs, rebuild = flatten(out)
        rows = []
        for i, o in enumerate(outs):
            size = o.numel()
            basis = F.eye(size, dtype=o.dtype, device=o.device).reshape(size, *o.shape)

            def one(b: Tensor, at: int = i) -> Any:
                starts = [b if j == at else F.zeros_like(other.detach()) for j, other in enumerate(outs)]
                got = pull(rebuild(starts))
                return got if len(places) > 1 else (got,)

            batches = settled(vmap(one, chunk_size=chunk_size)(basis), own, recording)
            rows.append(tuple(_shaped(b, tuple(o.shape), False) for b in batches))
        per_out = [r[0] if isinstance(argnums, int) else r for r in rows]
        result = rebuild(per_out)
        return (result, made[2]) if has_aux else result

    return wrapped


def _shaped(tree: Any, shape: tuple[int, ...], last: bool) -> Any:
    leaves, build = flatten(tree)
    if last:
        return build([F.movedim(v, 0, -1).reshape(*v.shape[1:], *shape) for v in leaves])
    return build([v.reshape(*shape, *v.shape[1:]) for v in leaves])


def jacfwd(
    func: Callable[..., Any],
    argnums: int | tuple[int, ...] = 0,
    has_aux: bool = False,
    *,
    randomness: str = "error",
    chunk_size: int | None = None,
) -> Callable[..., Any]:
    """A function that returns the Jacobian of `func`, column by column in forward mode."""

    def wrapped(*args: Any, **kwargs: Any) -> Any:
        places = _argnums(argnums, len(args))
        primals = tuple(args[p] for p in places)
        columns = []
        aux = None
        shape_out: Any = None
        for k, x in enumerate(primals):
            size = x.numel()
            basis = F.eye(size, dtype=x.dtype, device=x.device).reshape(size, *x.shape)

            def chosen(given: Any, at: int = k) -> Any:
                full = list(args)
                full[places[at]] = given
                return func(*full, **kwargs)

            def one(b: Tensor, f: Any = chosen, p: Tensor = x) -> Any:
                made = jvp(f, (p,), (b,), has_aux=has_aux)
                return (made[1], made[2]) if has_aux else made[1]

            got = vmap(one, randomness=randomness, chunk_size=chunk_size)(basis)
            if has_aux:
                got, aux = got
                aux = _first(aux)
            columns.append(_shaped(got, tuple(x.shape), True))
            shape_out = flatten(got)[1]
        if isinstance(argnums, int):
            result = columns[0]
        else:
            leaves = [flatten(c)[0] for c in columns]
            result = shape_out([tuple(parts) for parts in zip(*leaves, strict=True)])
        return (result, aux) if has_aux else result

    return wrapped


def _first(tree: Any) -> Any:
    leaves, build = flatten(tree)
    return build([v[0] if isinstance(v, Tensor) else v for v in leaves])


def hessian(func: Callable[..., Any], argnums: int | tuple[int, ...] = 0) -> Callable[..., Any]:
    """A function that returns the matrix of second derivatives: forward over reverse."""
    return jacfwd(jacrev(func, argnums), argnums)
