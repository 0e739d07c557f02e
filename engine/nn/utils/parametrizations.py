"""Ready-made parametrizations: weight normalisation and spectral normalisation."""

from __future__ import annotations

from typing import Any

from ...autograd.grad_mode import no_grad
from ...ops import functions as ops
from ...tensor import Tensor
from .. import functional as F
from ..conv import ConvTranspose1d, ConvTranspose2d, ConvTranspose3d
from ..module import Module
from . import parametrize
from .orthogonal import orthogonal as orthogonal


class _WeightNorm(Module):
    """g v / |v|, with the length g and the direction v as originals."""

    def __init__(self, dim: int | None = 0) -> None:
        super().__init__()
        self.dim = -1 if dim is None else dim

    def forward(self, weight_g: Tensor, weight_v: Tensor) -> Tensor:
        return ops._weight_norm(weight_v, weight_g, self.dim)

    def right_inverse(self, weight: Tensor) -> tuple[Tensor, Tensor]:
        """Length and direction of a weight."""
        return ops.norm_except_dim(weight, 2, self.dim), weight


def weight_norm(module: Module, name: str = "weight", dim: int | None = 0) -> Module:
    """Learn a weight's length and direction apart (Salimans and Kingma, 2016): one length for each index of `dim`.

    The length becomes `parametrizations.weight.original0`, the direction `original1`. Returns the module.
    """
    parametrize.register_parametrization(module, name, _WeightNorm(dim), unsafe=True)

    def older_names(state_dict: Any, prefix: str, *rest: Any) -> None:
        old, new = f"{prefix}{name}", f"{prefix}parametrizations.{name}"
        if f"{old}_g" in state_dict and f"{old}_v" in state_dict:
            state_dict[f"{new}.original0"] = state_dict.pop(f"{old}_g")
            state_dict[f"{new}.original1"] = state_dict.pop(f"{old}_v")

    module._register_load_state_dict_pre_hook(older_names)
    return module


class _SpectralNorm(Module):
    """A weight divided by its largest singular value, which power iteration follows while training."""

    _u: Tensor
    _v: Tensor

    def __init__(self, weight: Tensor, n_power_iterations: int = 1, dim: int = 0, eps: float = 1e-12) -> None:
        super().__init__()
        rank = weight.ndim
        if dim >= rank or dim < -rank:
            raise IndexError(f"Dimension out of range (expected to be in range of [-{rank}, {rank - 1}] but got {dim})")
        if n_power_iterations <= 0:
            raise ValueError(
                f"Expected n_power_iterations to be positive, but got n_power_iterations={n_power_iterations}"
            )
        self.dim = dim % rank
        self.eps = eps
        if rank > 1:
            self.n_power_iterations = n_power_iterations
            matrix = self._matrix(weight)
            for name, size in (("_u", matrix.shape[0]), ("_v", matrix.shape[1])):
                start = matrix.detach().new_empty((size,)).normal_(0, 1)
                self.register_buffer(name, start)
            self._u = F.normalize(self._u, dim=0, eps=eps)
            self._v = F.normalize(self._v, dim=0, eps=eps)
            self._power_method(matrix, 15)

    def _matrix(self, weight: Tensor) -> Tensor:
        if self.dim != 0:
            weight = weight.permute(self.dim, *(d for d in range(weight.dim()) if d != self.dim))
        return weight.flatten(1)

    @no_grad()
    def _power_method(self, matrix: Tensor, n: int) -> None:
        for _ in range(n):
            self._u.copy_(F.normalize(matrix.mv(self._v), dim=0, eps=self.eps))
            self._v.copy_(F.normalize(matrix.t().mv(self._u), dim=0, eps=self.eps))

    def forward(self, weight: Tensor) -> Tensor:
        if weight.ndim == 1:
            return F.normalize(weight, dim=0, eps=self.eps)
        matrix = self._matrix(weight)
        if self.training:
            self._power_method(matrix, self.n_power_iterations)
        u, v = self._u.clone(), self._v.clone()  # the buffers change before backward comes
        return weight / u.dot(matrix.mv(v))

    def right_inverse(self, value: Tensor) -> Tensor:
        """The weight itself."""
        return value


def spectral_norm(
    module: Module, name: str = "weight", n_power_iterations: int = 1, eps: float = 1e-12, dim: int | None = None
) -> Module:
    """Divide a weight by its largest singular value (Miyato et al., 2018); returns the module.

    Raises ValueError where there is no such tensor.
    """
    weight = getattr(module, name, None)
    if not isinstance(weight, Tensor):
        raise ValueError(f"Module '{module}' has no parameter or buffer with name '{name}'")
    if dim is None:
        dim = 1 if isinstance(module, (ConvTranspose1d, ConvTranspose2d, ConvTranspose3d)) else 0
    return parametrize.register_parametrization(module, name, _SpectralNorm(weight, n_power_iterations, dim, eps))
