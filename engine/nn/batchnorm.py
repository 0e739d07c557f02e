"""Normalisations with running statistics: over the batch, and over single samples."""

from __future__ import annotations

from typing import Any

from ..tensor import Tensor
from . import functional as F
from . import init
from .linear import fresh
from .module import Module


class _NormBase(Module):
    """Parameters and statistics that both kinds share."""

    _version = 2
    num_features: int
    eps: float
    momentum: float | None
    affine: bool
    track_running_stats: bool
    _ranks: tuple[int, ...] = ()
    _said = ""

    def __init__(
        self,
        num_features: int,
        eps: float = 1e-5,
        momentum: float | None = 0.1,
        affine: bool = True,
        track_running_stats: bool = True,
        device: Any = None,
        dtype: Any = None,
        *,
        bias: bool = True,
    ) -> None:
        from .. import int64, ones, tensor, zeros

        super().__init__()
        self.num_features = num_features
        self.eps = eps
        self.momentum = momentum
        self.affine = affine
        self.track_running_stats = track_running_stats
        for name, wanted in (("weight", affine), ("bias", affine and bias)):
            self.register_parameter(name, fresh(num_features, device=device, dtype=dtype) if wanted else None)
        if track_running_stats:
            self.register_buffer("running_mean", zeros(num_features, device=device, dtype=dtype))
            self.register_buffer("running_var", ones(num_features, device=device, dtype=dtype))
            self.register_buffer("num_batches_tracked", tensor(0, dtype=int64, device=device))
        else:
            for name in ("running_mean", "running_var", "num_batches_tracked"):
                self.register_buffer(name, None)
        self.reset_parameters()

    def reset_running_stats(self) -> None:
        """Forget the running statistics."""
        if self.track_running_stats:
            self.running_mean.zero_()
            self.running_var.fill_(1)
            self.num_batches_tracked.zero_()

    def reset_parameters(self) -> None:
        """Forget the running statistics; weight 1, bias 0."""
        self.reset_running_stats()
        if self.affine:
            init.ones_(self.weight)
            if self.bias is not None:
                init.zeros_(self.bias)

    def _check_input_dim(self, input: Tensor) -> None:
        if self._ranks and input.dim() not in self._ranks:
            raise ValueError(f"expected {self._said} input (got {input.dim()}D input)")

    def extra_repr(self) -> str:
        return (
            f"{self.num_features}, eps={self.eps}, momentum={self.momentum}, affine={self.affine}, "
            f"bias={self.bias is not None}, track_running_stats={self.track_running_stats}"
        )

    def _load_from_state_dict(
        self,
        state_dict: Any,
        prefix: str,
        local_metadata: dict[str, Any],
        strict: bool,
        missing_keys: list[str],
        unexpected_keys: list[str],
        error_msgs: list[str],
    ) -> None:
        version = local_metadata.get("version")
        name = prefix + "num_batches_tracked"
        if (version is None or version < 2) and self.track_running_stats and name not in state_dict:
            from .. import int64, tensor

            have = self.num_batches_tracked  # older files have no counter
            state_dict[name] = have if have is not None else tensor(0, dtype=int64)
        super()._load_from_state_dict(
            state_dict, prefix, local_metadata, strict, missing_keys, unexpected_keys, error_msgs
        )


class _BatchNorm(_NormBase):
    """Over the batch while training, by the running statistics else."""

    def forward(self, input: Tensor) -> Tensor:
        self._check_input_dim(input)
        factor = 0.0 if self.momentum is None else self.momentum
        if self.training and self.track_running_stats and self.num_batches_tracked is not None:
            self.num_batches_tracked.add_(1)
            if self.momentum is None:  # the plain mean of all batches
                factor = 1.0 / float(self.num_batches_tracked)
        by_batch = self.training or (self.running_mean is None and self.running_var is None)
        keep = not self.training or self.track_running_stats
        return F.batch_norm(
            input,
            self.running_mean if keep else None,
            self.running_var if keep else None,
            self.weight,
            self.bias,
            by_batch,
            factor,
            self.eps,
        )


class BatchNorm1d(_BatchNorm):
    """(x - mean) / sqrt(var + eps) weight + bias for each channel over the batch (Ioffe and Szegedy, 2015).

    Shapes: (N, C) or (N, C, L) to the same. Running statistics move by `momentum` while training, and are used after
    it.

    Example::

        nn.BatchNorm1d(100)(torch.randn(20, 100)).shape                     # torch.Size([20, 100])
    """

    _ranks, _said = (2, 3), "2D or 3D"


class BatchNorm2d(_BatchNorm):
    """The same for images. Shapes: (N, C, H, W) to the same."""

    _ranks, _said = (4,), "4D"


class BatchNorm3d(_BatchNorm):
    """The same for volumes. Shapes: (N, C, D, H, W) to the same."""

    _ranks, _said = (5,), "5D"


class SyncBatchNorm(_BatchNorm):
    """Batch normalisation over several processes; with one process, over its batch. Shapes: (N, C, *) to the same."""

    def __init__(
        self,
        num_features: int,
        eps: float = 1e-5,
        momentum: float | None = 0.1,
        affine: bool = True,
        track_running_stats: bool = True,
        process_group: Any = None,
        device: Any = None,
        dtype: Any = None,
    ) -> None:
        super().__init__(num_features, eps, momentum, affine, track_running_stats, device, dtype)
        self.process_group = process_group

    def _check_input_dim(self, input: Tensor) -> None:
        if input.dim() < 2:
            raise ValueError(f"expected at least 2D input (got {input.dim()}D input)")

    @classmethod
    def convert_sync_batchnorm(cls, module: Module, process_group: Any = None) -> Module:
        """`module` with all its batch normalisations replaced by this one, parameters and statistics kept."""
        out = module
        if isinstance(module, _BatchNorm):
            out = cls(
                module.num_features,
                module.eps,
                module.momentum,
                module.affine,
                module.track_running_stats,
                process_group,
            )
            out._parameters = module._parameters
            out._buffers = module._buffers
            out.training = module.training
        for name, child in module.named_children():
            out.add_module(name, cls.convert_sync_batchnorm(child, process_group))
        return out


class _InstanceNorm(_NormBase):
    """Over each sample by itself."""

    def __init__(
        self,
        num_features: int,
        eps: float = 1e-5,
        momentum: float = 0.1,
        affine: bool = False,
        track_running_stats: bool = False,
        device: Any = None,
        dtype: Any = None,
        *,
        bias: bool = True,
    ) -> None:
        super().__init__(num_features, eps, momentum, affine, track_running_stats, device, dtype, bias=bias)

    def _apply_norm(self, input: Tensor) -> Tensor:
        return F.instance_norm(
            input,
            self.running_mean,
            self.running_var,
            self.weight,
            self.bias,
            self.training or not self.track_running_stats,
            self.momentum if self.momentum is not None else 0.0,
            self.eps,
        )

    def forward(self, input: Tensor) -> Tensor:
        self._check_input_dim(input)
        channels = input.dim() - self._ranks[0]
        if input.size(channels) != self.num_features:
            if self.affine:
                raise ValueError(
                    f"expected input's size at dim={channels} to match num_features ({self.num_features}), but got: "
                    f"{input.size(channels)}."
                )
            import warnings

            warnings.warn(
                f"input's size at dim={channels} does not match num_features. You can silence this warning by not "
                "passing in "
                "num_features, which is not used because affine=False",
                stacklevel=2,
            )
        if input.dim() == self._ranks[0]:
            return self._apply_norm(input.unsqueeze(0)).squeeze(0)
        return self._apply_norm(input)


class InstanceNorm1d(_InstanceNorm):
    """Each channel of each sample normalised by itself (Ulyanov et al., 2017). Shapes: (N, C, L) or (C, L)."""

    _ranks, _said = (2, 3), "2D or 3D"


class InstanceNorm2d(_InstanceNorm):
    """The same for images. Shapes: (N, C, H, W) or (C, H, W) to the same."""

    _ranks, _said = (3, 4), "3D or 4D"


class InstanceNorm3d(_InstanceNorm):
    """The same for volumes. Shapes: (N, C, D, H, W) or (C, D, H, W) to the same."""

    _ranks, _said = (4, 5), "4D or 5D"
