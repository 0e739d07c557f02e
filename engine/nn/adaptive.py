"""A softmax for very many classes, of which the rare ones share small networks (Grave et al., 2017)."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

from ..tensor import Tensor
from . import functional as F
from .container import ModuleList, Sequential
from .linear import Linear
from .module import Module


class _ASMoutput(NamedTuple):
    output: Tensor
    loss: Any


class AdaptiveLogSoftmaxWithLoss(Module):
    """Log-probabilities of the targets, and their negative mean. Classes are numbered by falling frequency.

    Shapes: input (N, in_features) or (in_features), target (N) or (), to output (N) or () and a scalar. `cutoffs` are
    where
    clusters begin; each has a network `div_value` times narrower than the one before. Raises ValueError for cutoffs
    that do
    not rise.
    """

    def __init__(
        self,
        in_features: int,
        n_classes: int,
        cutoffs: Sequence[int],
        div_value: float = 4.0,
        head_bias: bool = False,
        device: Any = None,
        dtype: Any = None,
    ) -> None:
        super().__init__()
        cutoffs = list(cutoffs)
        if not cutoffs:
            raise ValueError("cutoffs should be a sequence of length larger than 0")
        if (
            cutoffs != sorted(cutoffs)
            or min(cutoffs) <= 0
            or max(cutoffs) > n_classes - 1
            or len(set(cutoffs)) != len(cutoffs)
            or any(int(c) != c for c in cutoffs)
        ):
            raise ValueError(
                "cutoffs should be a sequence of unique, positive integers sorted in an increasing order, where each "
                "value is "
                "between 1 and n_classes-1"
            )
        self.in_features = in_features
        self.n_classes = n_classes
        self.cutoffs = [*cutoffs, n_classes]
        self.div_value = div_value
        self.head_bias = head_bias
        self.shortlist_size = self.cutoffs[0]
        self.n_clusters = len(self.cutoffs) - 1
        self.head_size = self.shortlist_size + self.n_clusters
        where: dict[str, Any] = {"device": device, "dtype": dtype}
        self.head = Linear(in_features, self.head_size, bias=head_bias, **where)
        self.tail = ModuleList()
        for i in range(self.n_clusters):
            width = int(in_features // (div_value ** (i + 1)))
            size = self.cutoffs[i + 1] - self.cutoffs[i]
            self.tail.append(
                Sequential(Linear(in_features, width, bias=False, **where), Linear(width, size, bias=False, **where))
            )

    def reset_parameters(self) -> None:
        """Draw new starting values."""
        self.head.reset_parameters()
        for a, b in self.tail:
            a.reset_parameters()
            b.reset_parameters()

    def forward(self, input_: Tensor, target_: Tensor) -> _ASMoutput:
        if target_.dim() == 1:
            if input_.shape[0] != target_.shape[0]:
                raise RuntimeError("Input and target should have the same size in the batch dimension.")
            if input_.dim() != 2:
                raise RuntimeError(
                    "1D target tensor expects 2D input tensors, but found inputs with size", input_.size()
                )
        elif target_.dim() == 0:
            if input_.dim() != 1:
                raise RuntimeError(
                    "0D target tensor expects 1D input tensors, but found inputs with size", input_.size()
                )
        else:
            raise RuntimeError("0D or 1D target tensor expected, multi-target not supported")
        target = target_ if target_.dim() > 0 else target_.unsqueeze(0)
        if target.numel() and (int(target.min()) < 0 or int(target.max()) >= self.n_classes):
            raise RuntimeError(
                f"Target values should be in [0, {self.n_classes - 1}], but values in range [{int(target.min())}, "
                f"{int(target.max())}] were found. "
            )
        x = input_ if input_.dim() > 1 else input_.unsqueeze(0)
        head = F.log_softmax(self.head(x), 1)
        first = target.clamp(max=self.shortlist_size - 1)
        output = head.gather(1, first.unsqueeze(1)).squeeze(1)
        for i, (low, high) in enumerate(zip(self.cutoffs, self.cutoffs[1:], strict=False)):
            rows = ((target >= low) & (target < high)).nonzero().squeeze(1)
            if rows.numel() == 0:
                continue
            own = F.log_softmax(self.tail[i](x.index_select(0, rows)), 1)
            within = own.gather(1, (target.index_select(0, rows) - low).unsqueeze(1)).squeeze(1)
            cluster = head.index_select(0, rows)[:, self.shortlist_size + i]
            output = output.index_copy(0, rows, cluster + within)
        loss = (-output).mean()
        return _ASMoutput(output if target_.dim() > 0 else output.squeeze(0), loss)

    def log_prob(self, input: Tensor) -> Tensor:
        """Log-probabilities of all classes: (N, n_classes)."""
        from .. import cat

        head = F.log_softmax(self.head(input), 1)
        parts = [head[:, : self.shortlist_size]]
        for i in range(self.n_clusters):
            cluster = head[:, self.shortlist_size + i].unsqueeze(1)
            parts.append(F.log_softmax(self.tail[i](input), 1) + cluster)
        return cat(parts, 1)

    def predict(self, input: Tensor) -> Tensor:
        """The most probable class of each row: (N)."""
        return self.log_prob(input).argmax(1)
