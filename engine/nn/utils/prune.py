"""Pruning: parameters with elements, or whole channels, kept at zero.

A pruned parameter `weight` becomes `weight_orig`, its mask the buffer `weight_mask`, and `weight` their product, which
a
hook computes before each call.

Example::

    prune.l1_unstructured(net.fc1, "weight", amount=0.3)  # the smallest 30 percent
    prune.remove(net.fc1, "weight")  # for good
"""

from __future__ import annotations

import numbers
from abc import ABC, abstractmethod
from collections.abc import Iterable, Iterator
from typing import Any, ClassVar

from ...ops import functions as ops
from ...ops import random
from ...tensor import Tensor
from ..module import Module
from .convert_parameters import parameters_to_vector


class BasePruningMethod(ABC):
    """A rule for masks; a subclass has `compute_mask` and, for use in turn with others, `PRUNING_TYPE`.

    The type is "unstructured" (the rule sees elements that are left), "structured" (it sees channels that are left
    along
    its `dim`) or "global" (it sees everything).
    """

    PRUNING_TYPE: ClassVar[str]
    _tensor_name: Any

    def __call__(self, module: Module, inputs: Any) -> None:
        setattr(module, self._tensor_name, self.apply_mask(module))

    @abstractmethod
    def compute_mask(self, t: Tensor, default_mask: Tensor) -> Tensor:
        """The mask for scores `t`, on top of an earlier mask."""

    def apply_mask(self, module: Module) -> Tensor:
        """The product of the original and its mask."""
        if self._tensor_name is None:
            raise AssertionError(f"Module {module} has to be pruned")
        original = getattr(module, self._tensor_name + "_orig")
        return getattr(module, self._tensor_name + "_mask").to(dtype=original.dtype) * original

    @classmethod
    def apply(
        cls, module: Module, name: str, *args: Any, importance_scores: Tensor | None = None, **kwargs: Any
    ) -> Any:
        """Prune a parameter by this rule, on top of earlier ones; returns the hook.

        Scores say how much each element matters, and are the parameter itself where they are not given.
        """
        earlier = [number for number, hook in module._forward_pre_hooks.items() if _prunes(hook, name)]
        if len(earlier) > 1:
            raise AssertionError(
                f"Avoid adding multiple pruning hooks to the same tensor {name} of module {module}. Use a "
                "PruningContainer."
            )
        old = module._forward_pre_hooks.pop(earlier[0]) if earlier else None
        method: Any = cls(*args, **kwargs)
        method._tensor_name = name
        if old is not None:
            container = old if isinstance(old, PruningContainer) else PruningContainer(old)
            container.add_pruning_method(method)
            method = container

        value = getattr(module, name)
        scores = value if importance_scores is None else importance_scores
        if scores.shape != value.shape:
            raise AssertionError(
                f"importance_scores should have the same shape as parameter {name} of {module}, "
                f"got {scores.shape} vs {value.shape}"
            )
        if old is None:
            module.register_parameter(name + "_orig", value)
            del module._parameters[name]
            mask = ops.ones_like(value)
        else:
            mask = getattr(module, name + "_mask").detach().clone()
        try:
            module.register_buffer(name + "_mask", method.compute_mask(scores, default_mask=mask))
            setattr(module, name, method.apply_mask(module))
            module.register_forward_pre_hook(method)
        except Exception:
            if old is None:
                module.register_parameter(name, getattr(module, name + "_orig"))
                del module._parameters[name + "_orig"]
            raise
        return method

    def prune(self, t: Tensor, default_mask: Tensor | None = None, importance_scores: Tensor | None = None) -> Tensor:
        """A pruned copy of a tensor, without any module."""
        scores = t if importance_scores is None else importance_scores
        if scores.shape != t.shape:
            raise AssertionError(
                f"importance_scores should have the same shape as tensor t, got {scores.shape} vs {t.shape}"
            )
        return t * self.compute_mask(scores, default_mask=ops.ones_like(t) if default_mask is None else default_mask)

    def remove(self, module: Module) -> None:
        """Make the parameter an ordinary one again; what is pruned stays zero."""
        name = self._tensor_name
        if name is None:
            raise AssertionError(f"Module {module} has to be pruned before pruning can be removed")
        value = self.apply_mask(module)
        if hasattr(module, name):
            delattr(module, name)
        original: Any = module._parameters.pop(name + "_orig")
        original.data = value.data
        del module._buffers[name + "_mask"]
        setattr(module, name, original)


def _prunes(hook: Any, name: str) -> bool:
    return isinstance(hook, BasePruningMethod) and hook._tensor_name == name


class PruningContainer(BasePruningMethod):
    """Rules applied one after the other to one parameter; each acts on what the earlier ones left."""

    _pruning_methods: tuple[Any, ...]

    def __init__(self, *args: BasePruningMethod) -> None:
        self._pruning_methods = ()
        if len(args) == 1:
            self._tensor_name = args[0]._tensor_name
        for method in args:
            self.add_pruning_method(method)

    def add_pruning_method(self, method: Any) -> None:
        """Add a rule for the same parameter. Raises TypeError or ValueError for anything else."""
        if method is not None and not isinstance(method, BasePruningMethod):
            raise TypeError(f"{type(method)} is not a BasePruningMethod subclass")
        if method is not None and self._tensor_name != method._tensor_name:
            raise ValueError(
                f"Can only add pruning methods acting on the parameter named '{self._tensor_name}' to PruningContainer "
                f"{self}. Found '{method._tensor_name}'"
            )
        self._pruning_methods += (method,)

    def __len__(self) -> int:
        return len(self._pruning_methods)

    def __iter__(self) -> Iterator[Any]:
        return iter(self._pruning_methods)

    def __getitem__(self, index: Any) -> Any:
        return self._pruning_methods[index]

    def compute_mask(self, t: Tensor, default_mask: Tensor) -> Tensor:
        """The last rule's mask for what is left, set into the earlier mask."""
        method = self._pruning_methods[-1]
        part = _left_over(method, t, default_mask)
        mask = default_mask.to(dtype=t.dtype, copy=True)
        mask[part] = method.compute_mask(t[part], default_mask=default_mask[part]).to(dtype=mask.dtype)
        return mask


def _left_over(method: Any, t: Tensor, mask: Tensor) -> Any:
    """The index of what a rule may act on."""
    if method.PRUNING_TYPE == "global":
        return (slice(None),) * t.dim()
    if method.PRUNING_TYPE == "unstructured":
        return mask == 1
    if method.PRUNING_TYPE != "structured":
        raise ValueError(f"Unrecognized PRUNING_TYPE {method.PRUNING_TYPE}")
    if not hasattr(method, "dim"):
        raise AttributeError('Pruning methods of PRUNING_TYPE "structured" need to have the attribute `dim` defined.')
    dim = method.dim + t.dim() if method.dim < 0 else method.dim
    if dim < 0:
        raise IndexError(f"Index is out of bounds for tensor with dimensions {t.dim()}")
    index: list[Any] = [slice(None)] * t.dim()
    index[dim] = mask.sum(dim=[d for d in range(t.dim()) if d != dim]) != 0
    return tuple(index)


class Identity(BasePruningMethod):
    """Prunes nothing."""

    PRUNING_TYPE = "unstructured"

    def compute_mask(self, t: Tensor, default_mask: Tensor) -> Tensor:
        """The earlier mask."""
        return default_mask

    @classmethod
    def apply(cls, module: Module, name: str) -> Any:
        """Prune a parameter."""
        return super().apply(module, name)


class _ByAmount(BasePruningMethod):
    """Prunes a number of elements or channels, or a fraction of them."""

    def __init__(self, amount: Any) -> None:
        whole, real = isinstance(amount, numbers.Integral), isinstance(amount, numbers.Real)
        if not real:
            raise TypeError(f"Invalid type for amount: {amount}. Must be int or float.")
        if amount < 0 or (not whole and amount > 1):
            raise ValueError(f"amount={amount} should either be a float in the range [0, 1] or a non-negative integer")
        self.amount: Any = amount
        self._whole = whole

    def _count(self, size: int) -> int:
        count = self.amount if self._whole else round(self.amount * size)
        if count > size:
            raise ValueError(f"amount={count} should be smaller than the number of parameters to prune={size}")
        return count


class RandomUnstructured(_ByAmount):
    """Prunes elements drawn at random."""

    PRUNING_TYPE = "unstructured"

    def compute_mask(self, t: Tensor, default_mask: Tensor) -> Tensor:
        """Zeros where numbers drawn are smallest."""
        count = self._count(t.nelement())
        mask = default_mask.clone()
        if count:
            scores = random.rand_like(t)
            mask.view(-1)[ops.topk(scores.view(-1), k=count).indices] = 0
        return mask

    @classmethod
    def apply(cls, module: Module, name: str, amount: Any) -> Any:
        """Prune a parameter."""
        return super().apply(module, name, amount=amount)


class L1Unstructured(_ByAmount):
    """Prunes the elements of smallest magnitude."""

    PRUNING_TYPE = "unstructured"

    def compute_mask(self, t: Tensor, default_mask: Tensor) -> Tensor:
        """Zeros where magnitudes are smallest."""
        count = self._count(t.nelement())
        mask = default_mask.clone()
        if count:
            mask.view(-1)[ops.topk(t.abs().view(-1), k=count, largest=False).indices] = 0
        return mask

    @classmethod
    def apply(cls, module: Module, name: str, amount: Any, importance_scores: Tensor | None = None) -> Any:
        """Prune a parameter."""
        return super().apply(module, name, amount=amount, importance_scores=importance_scores)


class _Structured(_ByAmount):
    """Prunes whole channels along a dimension."""

    PRUNING_TYPE = "structured"

    def __init__(self, amount: Any, dim: int = -1) -> None:
        super().__init__(amount)
        self.dim = dim

    def compute_mask(self, t: Tensor, default_mask: Tensor) -> Tensor:
        """Ones in the channels that stay, where the earlier mask has ones too."""
        if t.dim() <= 1:
            raise ValueError(
                f"Structured pruning can only be applied to multidimensional tensors. Found tensor of shape {t.shape} "
                "with "
                f"{t.dim()} dims"
            )
        if self.dim >= t.dim():
            raise IndexError(f"Invalid index {self.dim} for tensor of size {t.shape}")
        count = self._count(t.shape[self.dim])
        if count == 0:
            return default_mask
        mask = ops.zeros_like(t)
        index: list[Any] = [slice(None)] * t.dim()
        index[self.dim] = self._channels(t, count)
        mask[tuple(index)] = 1
        mask *= default_mask.to(dtype=mask.dtype)
        return mask

    @abstractmethod
    def _channels(self, t: Tensor, count: int) -> Tensor:
        """An index of the channels that stay where `count` go."""


class RandomStructured(_Structured):
    """Prunes channels drawn at random."""

    def _channels(self, t: Tensor, count: int) -> Tensor:
        drawn = random.rand(t.shape[self.dim])
        return drawn > ops.kthvalue(drawn, k=count).values

    @classmethod
    def apply(cls, module: Module, name: str, amount: Any, dim: int = -1) -> Any:
        """Prune a parameter."""
        return super().apply(module, name, amount=amount, dim=dim)


class LnStructured(_Structured):
    """Prunes the channels of smallest n-norm."""

    def __init__(self, amount: Any, n: Any, dim: int = -1) -> None:
        super().__init__(amount, dim)
        self.n = n

    def _channels(self, t: Tensor, count: int) -> Tensor:
        dim = range(t.dim())[self.dim]
        norm = ops.norm(t, p=self.n, dim=[d for d in range(t.dim()) if d != dim])
        return ops.topk(norm, k=t.shape[dim] - count).indices

    @classmethod
    def apply(
        cls, module: Module, name: str, amount: Any, n: Any, dim: int, importance_scores: Tensor | None = None
    ) -> Any:
        """Prune a parameter."""
        return super().apply(module, name, amount=amount, n=n, dim=dim, importance_scores=importance_scores)


class CustomFromMask(BasePruningMethod):
    """Prunes where a given mask is zero."""

    PRUNING_TYPE = "global"

    def __init__(self, mask: Tensor) -> None:
        self.mask = mask

    def compute_mask(self, t: Tensor, default_mask: Tensor) -> Tensor:
        """The product of both masks."""
        if default_mask.shape != self.mask.shape:
            raise AssertionError(
                f"default_mask shape {default_mask.shape} must match self.mask shape {self.mask.shape}"
            )
        return default_mask * self.mask.to(dtype=default_mask.dtype)

    @classmethod
    def apply(cls, module: Module, name: str, mask: Tensor) -> Any:
        """Prune a parameter."""
        return super().apply(module, name, mask=mask)


def identity(module: Module, name: str) -> Module:
    """Give a parameter the form of a pruned one, without pruning; returns the module."""
    Identity.apply(module, name)
    return module


def random_unstructured(module: Module, name: str, amount: Any) -> Module:
    """Prune elements drawn at random: a number of them (int) or a fraction (float); returns the module."""
    RandomUnstructured.apply(module, name, amount)
    return module


def l1_unstructured(module: Module, name: str, amount: Any, importance_scores: Tensor | None = None) -> Module:
    """Prune the elements of smallest magnitude: a number (int) or a fraction (float); returns the module."""
    L1Unstructured.apply(module, name, amount=amount, importance_scores=importance_scores)
    return module


def random_structured(module: Module, name: str, amount: Any, dim: int) -> Module:
    """Prune channels along `dim` drawn at random: a number (int) or a fraction (float); returns the module."""
    RandomStructured.apply(module, name, amount, dim)
    return module


def ln_structured(
    module: Module, name: str, amount: Any, n: Any, dim: int, importance_scores: Tensor | None = None
) -> Module:
    """Prune the channels along `dim` of smallest n-norm: a number (int) or a fraction (float); returns the module."""
    LnStructured.apply(module, name, amount, n, dim, importance_scores=importance_scores)
    return module


def custom_from_mask(module: Module, name: str, mask: Tensor) -> Module:
    """Prune where `mask` is zero; returns the module."""
    CustomFromMask.apply(module, name, mask)
    return module


def global_unstructured(parameters: Any, pruning_method: Any, importance_scores: Any = None, **kwargs: Any) -> None:
    """Prune several parameters, pairs of a module and a name, as if they were one; `kwargs` go to the rule.

    Scores are a dictionary from such pairs. Raises TypeError for rules that are not "unstructured".
    """
    if not isinstance(parameters, Iterable):
        raise TypeError("global_unstructured(): parameters is not an Iterable")
    scores = {} if importance_scores is None else importance_scores
    if not isinstance(scores, dict):
        raise TypeError("global_unstructured(): importance_scores must be of type dict")
    pairs: list[Any] = list(parameters)
    values = [getattr(module, name) for module, name in pairs]
    flat_scores = parameters_to_vector([scores.get(pair, value) for pair, value in zip(pairs, values, strict=True)])
    flat_mask = parameters_to_vector(
        [getattr(m, name + "_mask", ops.ones_like(value)) for (m, name), value in zip(pairs, values, strict=True)]
    )
    method = pruning_method(**kwargs)
    if method.PRUNING_TYPE != "unstructured":
        raise TypeError(
            f'Only "unstructured" PRUNING_TYPE supported for the `pruning_method`. Found method {pruning_method} of type '
            f"{method.PRUNING_TYPE}"
        )
    method._tensor_name = "temp"
    mask = PruningContainer(method).compute_mask(flat_scores, flat_mask)
    start = 0
    for (module, name), value in zip(pairs, values, strict=True):
        custom_from_mask(module, name, mask[start : start + value.numel()].view_as(value))
        start += value.numel()


def remove(module: Module, name: str) -> Module:
    """Make a pruned parameter an ordinary one, zeros and all; returns the module.

    Raises ValueError if it is not pruned.
    """
    for number, hook in module._forward_pre_hooks.items():
        if _prunes(hook, name):
            hook.remove(module)
            del module._forward_pre_hooks[number]
            return module
    raise ValueError(f"Parameter '{name}' of module {module} has to be pruned before pruning can be removed")


def is_pruned(module: Module) -> bool:
    """Whether any module below has a pruned parameter."""
    return any(isinstance(hook, BasePruningMethod) for m in module.modules() for hook in m._forward_pre_hooks.values())
