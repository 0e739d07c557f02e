"""Layers that learn their input's size from the first input, and the parameters that wait for it.

`Parameter`s that have no shape yet are of class UninitializedParameter; the first call of the layer gives them one,
fills
them, and turns the layer into the ordinary one.
"""

from __future__ import annotations

from typing import Any

from ..tensor import Tensor
from .batchnorm import BatchNorm1d, BatchNorm2d, BatchNorm3d, InstanceNorm1d, InstanceNorm2d, InstanceNorm3d
from .conv import Conv1d, Conv2d, Conv3d, ConvTranspose1d, ConvTranspose2d, ConvTranspose3d
from .linear import Linear
from .module import Module
from .parameter import Parameter

_UNKNOWN = (
    "Can't access the shape of an uninitialized parameter or buffer. This error usually happens in `load_state_dict` "
    "when "
    "trying to load an uninitialized parameter into an initialized one. Call `forward` to initialize the parameters "
    "before "
    "accessing their attributes."
)


class _Waiting:
    """What uninitialized parameters and buffers share."""

    is_lazy = True
    _becomes: Any = Parameter

    @property
    def shape(self) -> Any:
        raise RuntimeError(_UNKNOWN)

    def materialize(self, shape: Any, device: Any = None, dtype: Any = None) -> None:
        """Give it a shape, and make it an ordinary one."""
        from .. import empty

        own: Any = self
        made = empty(shape, device=device or own.device, dtype=dtype or own.dtype)
        own.data = made
        own.__class__ = self._becomes

    def __repr__(self) -> str:
        return f"<{type(self).__name__}>"

    def share_memory_(self) -> None:
        """Raises RuntimeError: there is no memory yet."""
        raise RuntimeError(
            "Can't share memory on an uninitialized parameter or buffer. Call `forward` to initialize the parameters "
            "before "
            "calling `module.share_memory()`."
        )


class UninitializedParameter(_Waiting, Parameter):
    """A parameter without a shape yet."""

    def __new__(cls, requires_grad: bool = True, device: Any = None, dtype: Any = None) -> Any:
        from .. import empty

        out = empty(0, device=device, dtype=dtype)
        out.__class__ = cls
        return out.requires_grad_(requires_grad)

    def __init__(self, requires_grad: bool = True, device: Any = None, dtype: Any = None) -> None:
        pass

    def __deepcopy__(self, memo: dict) -> Any:
        if id(self) not in memo:
            memo[id(self)] = type(self)(self.requires_grad, self.device, self.dtype)
        return memo[id(self)]

    def __reduce_ex__(self, protocol: Any) -> Any:
        return (_rebuild, (type(self), self.requires_grad, str(self.device), self.dtype))


def _rebuild(kind: Any, requires_grad: bool, device: str, dtype: Any) -> Any:
    return kind(requires_grad, device, dtype)


class UninitializedBuffer(_Waiting, Tensor):
    """A buffer without a shape yet."""

    _becomes = Tensor

    def __new__(
        cls, requires_grad: bool = False, device: Any = None, dtype: Any = None, persistent: bool = True
    ) -> Any:
        from .. import empty

        out = empty(0, device=device, dtype=dtype)
        out.__class__ = cls
        out.persistent = persistent
        out._is_buffer = True
        return out.requires_grad_(requires_grad)

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        pass


def is_lazy(param: Any) -> bool:
    """Whether a parameter or buffer has no shape yet."""
    return isinstance(param, _Waiting)


class _Lazy(Module):
    """A layer that learns its input's size; `_becomes` is what it turns into, `_learn(input)` gives it the size."""

    _becomes: Any = None

    def _learn(self, input: Tensor) -> None:
        raise NotImplementedError

    def has_uninitialized_params(self) -> bool:
        """Whether the first input has not come yet."""
        return any(is_lazy(p) for p in (*self._parameters.values(), *self._buffers.values()))

    def initialize_parameters(self, input: Tensor) -> None:
        """Learn the size from an input, and fill the parameters."""
        if self.has_uninitialized_params():
            self._learn(input)

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        self.initialize_parameters(*args[:1])
        if self._becomes is not None:
            self.__class__ = self._becomes
        return Module.__call__(self, *args, **kwargs)

    def _save_to_state_dict(self, destination: Any, prefix: str, keep_vars: bool) -> None:
        for home in (self._parameters, self._buffers):
            for name, p in home.items():
                if p is not None:
                    destination[prefix + name] = p if is_lazy(p) or keep_vars else p.detach()

    def _load_from_state_dict(self, state_dict: Any, prefix: str, *rest: Any) -> None:
        for home in (self._parameters, self._buffers):
            for name, p in home.items():
                given = state_dict.get(prefix + name)
                if given is not None and is_lazy(p) and not is_lazy(given):
                    p.materialize(given.shape)
        super()._load_from_state_dict(state_dict, prefix, *rest)


class LazyLinear(_Lazy, Linear):
    """Linear whose `in_features` come from the first input.

    Example::

        layer = nn.LazyLinear(3)
        layer(torch.ones(2, 5)).shape                 # torch.Size([2, 3])
    """

    _becomes = Linear

    def __init__(self, out_features: int, bias: bool = True, device: Any = None, dtype: Any = None) -> None:
        Linear.__init__(self, 0, 0, False, device, dtype)
        self.weight = UninitializedParameter(device=device, dtype=dtype)
        self.out_features = out_features
        if bias:
            self.bias = UninitializedParameter(device=device, dtype=dtype)

    def reset_parameters(self) -> None:
        if not self.has_uninitialized_params() and self.in_features != 0:
            super().reset_parameters()

    def _learn(self, input: Tensor) -> None:
        self.in_features = input.shape[-1]
        self.weight.materialize((self.out_features, self.in_features))
        if self.bias is not None:
            self.bias.materialize((self.out_features,))
        self.reset_parameters()


class _LazyConv(_Lazy):
    """A convolution whose `in_channels` come from the first input."""

    _base: Any = None

    def __init__(self, out_channels: int, kernel_size: Any, *args: Any, **kwargs: Any) -> None:
        names = _ARGUMENTS[issubclass(self._becomes, (ConvTranspose1d, ConvTranspose2d, ConvTranspose3d))]
        given = {**dict(zip(names, args, strict=False)), **kwargs}
        bias = given.pop("bias", True)
        device, dtype = given.get("device"), given.get("dtype")
        self._becomes.__init__(self, 0, 0, kernel_size, bias=False, **given)
        self.weight = UninitializedParameter(device=device, dtype=dtype)
        self.out_channels = out_channels
        if bias:
            self.bias = UninitializedParameter(device=device, dtype=dtype)

    def reset_parameters(self) -> None:
        if not self.has_uninitialized_params() and self.in_channels != 0:
            super().reset_parameters()  # type: ignore[misc]

    def _learn(self, input: Tensor) -> None:
        rank = len(self.kernel_size)
        if input.dim() not in (rank + 1, rank + 2):
            raise RuntimeError(
                f"Expected {rank + 1}D (unbatched) or {rank + 2}D (batched) input to {type(self).__name__}, but got "
                "input of "
                f"size: {input.shape}"
            )
        self.in_channels = input.shape[-rank - 1]
        if self.in_channels % self.groups != 0:
            raise ValueError("in_channels must be divisible by groups")
        outer, inner = (
            (self.in_channels, self.out_channels) if self.transposed else (self.out_channels, self.in_channels)
        )
        self.weight.materialize((outer, inner // self.groups, *self.kernel_size))
        if self.bias is not None:
            self.bias.materialize((self.out_channels,))
        self.reset_parameters()


_ARGUMENTS = {
    False: ("stride", "padding", "dilation", "groups", "bias", "padding_mode", "device", "dtype"),
    True: ("stride", "padding", "output_padding", "groups", "bias", "dilation", "padding_mode", "device", "dtype"),
}
"""The arguments of convolutions and of transposed ones, in their order."""


class LazyConv1d(_LazyConv, Conv1d):
    """Conv1d whose `in_channels` come from the first input."""

    _becomes = Conv1d


class LazyConv2d(_LazyConv, Conv2d):
    """Conv2d whose `in_channels` come from the first input."""

    _becomes = Conv2d


class LazyConv3d(_LazyConv, Conv3d):
    """Conv3d whose `in_channels` come from the first input."""

    _becomes = Conv3d


class LazyConvTranspose1d(_LazyConv, ConvTranspose1d):
    """ConvTranspose1d whose `in_channels` come from the first input."""

    _becomes = ConvTranspose1d


class LazyConvTranspose2d(_LazyConv, ConvTranspose2d):
    """ConvTranspose2d whose `in_channels` come from the first input."""

    _becomes = ConvTranspose2d


class LazyConvTranspose3d(_LazyConv, ConvTranspose3d):
    """ConvTranspose3d whose `in_channels` come from the first input."""

    _becomes = ConvTranspose3d


class _LazyNorm(_Lazy):
    """A normalisation whose `num_features` come from the first input."""

    def __init__(
        self,
        eps: float = 1e-5,
        momentum: float | None = 0.1,
        affine: bool = True,
        track_running_stats: bool = True,
        device: Any = None,
        dtype: Any = None,
        *,
        bias: bool = True,
    ) -> None:
        self._becomes.__init__(self, 0, eps, momentum, False, False, device, dtype)
        self.affine = affine
        self.track_running_stats = track_running_stats
        if affine:
            self.weight = UninitializedParameter(device=device, dtype=dtype)
            if bias:
                self.bias = UninitializedParameter(device=device, dtype=dtype)
        if track_running_stats:
            from .. import int64, tensor

            self.running_mean = UninitializedBuffer(device=device, dtype=dtype)
            self.running_var = UninitializedBuffer(device=device, dtype=dtype)
            self.num_batches_tracked = tensor(0, dtype=int64, device=device)

    def reset_parameters(self) -> None:
        if not self.has_uninitialized_params() and self.num_features != 0:
            super().reset_parameters()  # type: ignore[misc]

    def _learn(self, input: Tensor) -> None:
        self.num_features = input.shape[1]
        for p in (self.weight, self.bias, self.running_mean, self.running_var):
            if p is not None and is_lazy(p):
                p.materialize((self.num_features,))
        self.reset_parameters()


class LazyBatchNorm1d(_LazyNorm, BatchNorm1d):
    """BatchNorm1d whose `num_features` come from the first input."""

    _becomes = BatchNorm1d


class LazyBatchNorm2d(_LazyNorm, BatchNorm2d):
    """BatchNorm2d whose `num_features` come from the first input."""

    _becomes = BatchNorm2d


class LazyBatchNorm3d(_LazyNorm, BatchNorm3d):
    """BatchNorm3d whose `num_features` come from the first input."""

    _becomes = BatchNorm3d


class LazyInstanceNorm1d(_LazyNorm, InstanceNorm1d):
    """InstanceNorm1d whose `num_features` come from the first input."""

    _becomes = InstanceNorm1d


class LazyInstanceNorm2d(_LazyNorm, InstanceNorm2d):
    """InstanceNorm2d whose `num_features` come from the first input."""

    _becomes = InstanceNorm2d


class LazyInstanceNorm3d(_LazyNorm, InstanceNorm3d):
    """InstanceNorm3d whose `num_features` come from the first input."""

    _becomes = InstanceNorm3d
