"""L-BFGS (Liu and Nocedal, 1989), with a strong-Wolfe line search on request (Nocedal and Wright, algorithm 3.5)."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

from ..autograd.grad_mode import enable_grad, no_grad
from ..tensor import Tensor
from .optimizer import Optimizer, check_lr, number

Point = tuple[float, float, Any, float]
"""A place on the line: its step, the loss, the gradient there, and the slope along the line."""


def _cubic_minimum(
    x1: float, f1: float, g1: float, x2: float, f2: float, g2: float, bounds: tuple[float, float] | None = None
) -> float:
    """Where the cubic through two points with these values and slopes is least, within bounds."""
    low, high = bounds if bounds is not None else (x1, x2) if x1 <= x2 else (x2, x1)
    d1 = g1 + g2 - 3 * (f1 - f2) / (x1 - x2)
    square = d1**2 - g1 * g2
    if square < 0:
        return (low + high) / 2.0
    d2 = square**0.5
    if x1 <= x2:
        least = x2 - (x2 - x1) * ((g2 + d2 - d1) / (g2 - g1 + 2 * d2))
    else:
        least = x1 - (x1 - x2) * ((g1 + d2 - d1) / (g1 - g2 + 2 * d2))
    return min(max(least, low), high)


def _strong_wolfe(
    evaluate: Callable[[float], tuple[float, Tensor]],
    t: float,
    direction: Tensor,
    f: float,
    g: Tensor,
    slope: float,
    c1: float = 1e-4,
    c2: float = 0.9,
    tolerance: float = 1e-9,
    most: int = 25,
) -> tuple[float, Tensor, float, int]:
    """A step that meets the strong Wolfe conditions: its loss, gradient, size, and the evaluations it took."""
    extent = direction.abs().max().item()
    g = g.clone()

    def at(step: float) -> Point:
        loss, gradient = evaluate(step)
        return step, loss, gradient.clone(), gradient.dot(direction).item()

    previous: Point = (0.0, f, g, slope)
    here = at(t)
    evaluations, tries, done = 1, 0, False
    bracket: list[Point] = []
    while tries < most:
        step, loss, _, rise = here
        if loss > f + c1 * step * slope or (tries > 1 and loss >= previous[1]):
            bracket = [previous, here]
            break
        if abs(rise) <= -c2 * slope:
            bracket, done = [here], True
            break
        if rise >= 0:
            bracket = [previous, here]
            break
        least, most_step = step + 0.01 * (step - previous[0]), step * 10
        following = _cubic_minimum(previous[0], previous[1], previous[3], step, loss, rise, (least, most_step))
        previous, here = here, at(following)
        evaluations += 1
        tries += 1
    if tries == most:
        bracket = [(0.0, f, g, slope), here]

    stuck = False
    low, high = (0, 1) if bracket[0][1] <= bracket[-1][1] else (1, 0)
    while not done and tries < most:
        if abs(bracket[1][0] - bracket[0][0]) * extent < tolerance:
            break
        (x1, f1, _, s1), (x2, f2, _, s2) = bracket
        t = _cubic_minimum(x1, f1, s1, x2, f2, s2)
        left, right = min(x1, x2), max(x1, x2)
        margin = 0.1 * (right - left)
        # Twice close to an end means little progress: then the step goes a tenth inside.
        if min(right - t, t - left) < margin:
            if stuck or t >= right or t <= left:
                t = right - margin if abs(t - right) < abs(t - left) else left + margin
                stuck = False
            else:
                stuck = True
        else:
            stuck = False
        point = at(t)
        evaluations += 1
        tries += 1
        _, loss, _, rise = point
        if loss > f + c1 * t * slope or loss >= bracket[low][1]:
            bracket[high] = point
            low, high = (0, 1) if bracket[0][1] <= bracket[1][1] else (1, 0)
        else:
            if abs(rise) <= -c2 * slope:
                done = True
            elif rise * (bracket[high][0] - bracket[low][0]) >= 0:
                bracket[high] = bracket[low]
            bracket[low] = point
    best = bracket[low] if len(bracket) > 1 else bracket[0]
    return best[1], best[2], best[0], evaluations


class LBFGS(Optimizer):
    """Quasi-Newton steps from the last `history_size` changes of parameters and gradients, for all parameters as one.

    `step` needs a closure that computes the loss anew; one step makes up to `max_iter` iterations and `max_eval` calls
    (`max_iter` * 5 / 4). It ends where the gradient is under `tolerance_grad` or the change under `tolerance_change`.
    `line_search_fn` is None or "strong_wolfe". Raises ValueError for more than one group of parameters.
    """

    def __init__(
        self,
        params: Any,
        lr: Any = 1,
        max_iter: int = 20,
        max_eval: int | None = None,
        tolerance_grad: float = 1e-7,
        tolerance_change: float = 1e-9,
        history_size: int = 100,
        line_search_fn: str | None = None,
    ) -> None:
        check_lr(lr)
        if max_eval is None:
            max_eval = max_iter * 5 // 4
        super().__init__(params, {
            "lr": lr, "max_iter": max_iter, "max_eval": max_eval, "tolerance_grad": tolerance_grad,
            "tolerance_change": tolerance_change, "history_size": history_size, "line_search_fn": line_search_fn,
        })  # fmt: skip
        if len(self.param_groups) != 1:
            raise ValueError("LBFGS doesn't support per-parameter options (parameter groups)")
        self._params = self.param_groups[0]["params"]

    def _gradient(self) -> Tensor:
        from .. import cat

        return cat([
            p.new_zeros(p.numel()) if p.grad is None else p.grad.reshape(-1) for p in self._params
        ])  # fmt: skip

    def _try(self, closure: Any, start: list[Tensor], direction: Tensor, step: float) -> tuple[float, Tensor]:
        """Loss and gradient after a step that is taken back."""
        self._move(step, direction)
        loss, gradient = float(closure()), self._gradient()
        for p, s in zip(self._params, start, strict=True):
            p.copy_(s)
        return loss, gradient

    def _move(self, t: float, direction: Tensor) -> None:
        offset = 0
        for p in self._params:
            n = p.numel()
            p.add_(direction[offset : offset + n].view_as(p), alpha=t)
            offset += n

    def _direction(self, state: dict[str, Any], gradient: Tensor) -> Tensor:
        """The negative gradient times the inverse Hessian's approximation, by the two-loop recursion."""
        changes, moves, scales = state["old_dirs"], state["old_stps"], state["ro"]
        memory = state.setdefault("al", [None] * self.param_groups[0]["history_size"])
        q = gradient.neg()
        for i in range(len(changes) - 1, -1, -1):
            memory[i] = moves[i].dot(q) * scales[i]
            q.add_(changes[i], alpha=-memory[i].item())
        r = q.mul(state["H_diag"])
        for i in range(len(changes)):
            r.add_(moves[i], alpha=(memory[i] - changes[i].dot(r) * scales[i]).item())
        return r

    def _remember(self, state: dict[str, Any], gradient: Tensor, t: Any) -> None:
        change = gradient.sub(state["prev_flat_grad"])
        move = state["d"].mul(t)
        product = change.dot(move)
        if product > 1e-10:
            if len(state["old_dirs"]) == self.param_groups[0]["history_size"]:
                for name in ("old_dirs", "old_stps", "ro"):
                    state[name].pop(0)
            state["old_dirs"].append(change)
            state["old_stps"].append(move)
            state["ro"].append(1.0 / product)
            state["H_diag"] = product / change.dot(change)

    @no_grad()
    def step(self, closure: Any) -> Any:  # type: ignore[override]
        """Several iterations; `closure` computes loss and gradients anew. Returns the first loss."""
        group = self.param_groups[0]
        lr, change_limit = number(group["lr"]), group["tolerance_change"]
        closure = enable_grad()(closure)
        state = self.state[self._params[0]]
        state.setdefault("func_evals", 0)
        state.setdefault("n_iter", 0)
        first = closure()
        loss = float(first)
        evaluations = 1
        state["func_evals"] += 1
        gradient = self._gradient()
        if gradient.abs().max() <= group["tolerance_grad"]:
            return first
        t = state.get("t")
        iterations = 0
        while iterations < group["max_iter"]:
            iterations += 1
            state["n_iter"] += 1
            if state["n_iter"] == 1:
                direction = gradient.neg()
                state["old_dirs"], state["old_stps"], state["ro"], state["H_diag"] = [], [], [], 1
            else:
                self._remember(state, gradient, t)
                direction = self._direction(state, gradient)
            state["d"] = direction
            if state.get("prev_flat_grad") is None:
                state["prev_flat_grad"] = gradient.clone()
            else:
                state["prev_flat_grad"].copy_(gradient)
            previous_loss = loss
            t = min(1.0, 1.0 / gradient.abs().sum().item()) * lr if state["n_iter"] == 1 else lr
            slope = gradient.dot(direction)
            if slope > -change_limit:
                break
            calls = 0
            if group["line_search_fn"] is not None:
                if group["line_search_fn"] != "strong_wolfe":
                    raise RuntimeError("only 'strong_wolfe' is supported")
                start = [p.clone() for p in self._params]
                evaluate = functools.partial(self._try, closure, start, direction)
                loss, gradient, t, calls = _strong_wolfe(
                    evaluate, t, direction, loss, gradient, slope.item(), most=group["max_eval"] - evaluations
                )
                self._move(t, direction)
                small = gradient.abs().max() <= group["tolerance_grad"]
            else:
                self._move(t, direction)
                small = False
                if iterations != group["max_iter"]:
                    with enable_grad():
                        loss = float(closure())
                    gradient = self._gradient()
                    small = gradient.abs().max() <= group["tolerance_grad"]
                    calls = 1
            evaluations += calls
            state["func_evals"] += calls
            if iterations == group["max_iter"] or evaluations >= group["max_eval"] or small:
                break
            if direction.mul(t).abs().max() <= change_limit or abs(loss - previous_loss) < change_limit:
                break
        state["t"], state["prev_loss"] = t, previous_loss
        return first
