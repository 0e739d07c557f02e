"""`torch.utils.checkpoint`: run a function without keeping what backward needs, and run it again when backward comes.

Saved tensors are replaced by numbers (through the saved-tensor hooks); the first one that backward asks for runs the function again, with
the random state of the first time, and keeps what is saved then.  Both of PyTorch's variants are this one; the reentrant one only differs
in what it demands of its inputs.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable
from typing import Any

from .. import random
from ..autograd import enable_grad, graph
from ..state import state
from ..tensor import Tensor


class CheckpointError(RuntimeError):
    """The second run saved other tensors than the first."""


class _Recording:
    """One checkpointed call: what it saved, once it has been run again."""

    def __init__(self, function: Callable[..., Any], args: tuple[Any, ...], kwargs: dict[str, Any], keep_random: bool):
        self.function, self.args, self.kwargs = function, args, kwargs
        self.random_state = random.get_rng_state() if keep_random else None
        self.modes = state.modes
        self.metas: list[tuple[Any, Any]] = []
        self.again: list[Tensor] | None = None

    def pack(self, t: Tensor) -> int:
        """The number of a saved tensor, in its place."""
        self.metas.append((tuple(t.shape), t.dtype))
        return len(self.metas) - 1

    def unpack(self, number: int) -> Tensor:
        """The tensor of that number, from the second run."""
        if self.again is None:
            self.again = self._run_again()
        if number >= len(self.again):
            raise CheckpointError(
                "torch.utils.checkpoint: A different number of tensors was saved during the original forward and recomputation. "
                f"Number of tensors saved during forward: {len(self.metas)}, during recomputation: {len(self.again)}"
            )
        t = self.again[number]
        if (tuple(t.shape), t.dtype) != self.metas[number]:
            raise CheckpointError(
                "torch.utils.checkpoint: Recomputed values for the following tensors have different metadata than during the forward "
                f"pass: position {number}: saved {self.metas[number]}, recomputed {(tuple(t.shape), t.dtype)}"
            )
        return t

    def _run_again(self) -> list[Tensor]:
        kept: list[Tensor] = []

        def keep(t: Tensor) -> int:
            kept.append(t)
            return len(kept) - 1

        before = random.get_rng_state() if self.random_state is not None else None
        modes = state.modes
        try:
            if self.random_state is not None:
                random.set_rng_state(self.random_state)
            state.modes = self.modes
            with enable_grad(), graph.saved_tensors_hooks(keep, lambda n: kept[n]):
                self.function(*self.args, **self.kwargs)
        finally:
            state.modes = modes
            if before is not None:
                random.set_rng_state(before)
        return kept


def checkpoint(
    function: Callable[..., Any],
    *args: Any,
    use_reentrant: bool | None = None,
    context_fn: Callable[[], tuple[Any, Any]] | None = None,
    determinism_check: str = "default",
    debug: bool = False,
    early_stop: bool = True,
    preserve_rng_state: bool = True,
    **kwargs: Any,
) -> Any:
    """`function(*args, **kwargs)`, recorded without keeping tensors for backward; they are computed again then.

    Raises CheckpointError in backward where the second run differs from the first.
    """
    if use_reentrant is None:
        warnings.warn(
            "torch.utils.checkpoint: the use_reentrant parameter should be passed explicitly. Use use_reentrant=False, or =True for the older "
            "variant.",
            stacklevel=2,
        )
    if use_reentrant:
        if kwargs:
            raise ValueError("Unexpected keyword arguments: " + ",".join(kwargs))
        if state.grad_enabled and not any(isinstance(a, Tensor) and a.requires_grad for a in args):
            warnings.warn("None of the inputs have requires_grad=True. Gradients will be None", stacklevel=2)
    if not state.grad_enabled:
        return function(*args, **kwargs)
    recording = _Recording(function, args, kwargs, preserve_rng_state)
    with graph.saved_tensors_hooks(recording.pack, recording.unpack):
        return function(*args, **kwargs)


def checkpoint_sequential(
    functions: Any, segments: int, input: Any, use_reentrant: bool | None = None, **kwargs: Any
) -> Any:
    """A sequence of modules run in `segments` checkpointed parts; the last part is run as usual."""
    parts = list(functions.children()) if hasattr(functions, "children") else list(functions)
    size = len(parts) // segments

    def run(start: int, end: int) -> Callable[[Any], Any]:
        def forward(x: Any) -> Any:
            for part in parts[start:end]:
                x = part(x)
            return x

        return forward

    end = 0
    for i in range(segments - 1):
        end = (i + 1) * size
        input = checkpoint(run(i * size, end), input, use_reentrant=use_reentrant, **kwargs)
    return run(end, len(parts))(input)


def set_checkpoint_debug_enabled(enabled: bool | None) -> None:
    """Accepted for compatibility."""
