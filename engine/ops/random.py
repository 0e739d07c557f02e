"""Random tensors and dropout. The numbers come from `engine/random.py`, unless the device draws numbers of its own."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from .. import dispatch, dtypes, rejection
from .. import random as source
from ..backends.base import backend as backend_of
from ..device import resolve
from ..numerics import pathwise
from ..numerics.blocks import blockwise
from ..shapes import Size
from ..tensor import Tensor, wrap
from .creation import METHODS, _sizes
from .declare import dtype_argument, into, operator, tensor_argument
from .table import Op


def _drawn(
    shape: tuple[int, ...],
    kind: Any,
    device: Any,
    requires_grad: bool,
    fill: Draw,
    like: Tensor | None = None,
) -> Tensor:
    """A tensor of drawn numbers; with `like` its elements lie in memory, and are drawn, in the order of that
    tensor's."""
    home = backend_of(resolve(device).type)
    steps = None if like is None or like.is_contiguous() else like.stride()
    out = wrap(home.draw(shape, kind, fill, steps), kind, home)
    return out.requires_grad_() if requires_grad else out


class Draw:
    """Fills a numpy array: `function(array, *args, **kwargs)`. Tensors among the arguments are read then, as numpy arrays."""

    __slots__ = ("args", "function", "kwargs")

    def __init__(self, function: Callable[..., None], *args: Any, **kwargs: Any):
        self.function, self.args, self.kwargs = function, args, kwargs

    def __call__(self, array: np.ndarray) -> None:
        args = [a.detach_shallow()._host() if isinstance(a, Tensor) else a for a in self.args]
        self.function(array, *args, **self.kwargs)


def _permuted(a: np.ndarray, n: int, generator: Any) -> None:
    a[...] = source.randperm(n, generator)


def _bernoulli(a: np.ndarray, chance: np.ndarray, generator: Any) -> None:
    if chance.size and not ((chance >= 0) & (chance <= 1)).all():
        raise RuntimeError("Expected p_in >= 0 && p_in <= 1 to be true, but got false.")
    source.bernoulli(a, chance, generator)


def _multinomial(a: np.ndarray, weights: np.ndarray, count: int, replacement: bool, generator: Any) -> None:
    a[...] = source.multinomial(weights, count, replacement, generator)


def _float_type(dtype: Any, name: str) -> Any:
    kind = dtype_argument(dtype) or dtypes.get_default_dtype()
    if kind.category < dtypes.FLOATING:
        raise RuntimeError(f"\"{name}\" not implemented for '{dispatch.type_name(kind)}'")
    return kind


def rand(*size: Any, generator: Any = None, out: Any = None, dtype: Any = None, layout: Any = None, device: Any = None,
         requires_grad: bool = False, pin_memory: bool = False, _like: Any = None) -> Tensor:  # fmt: skip
    """Numbers uniform in [0, 1)."""
    kind = _float_type(dtype, "check_uniform_bounds")
    made = _drawn(
        _sizes(size), kind, device, requires_grad, Draw(source.uniform, 0.0, 1.0, generator, kind.rounds), _like
    )
    return made if out is None else into(out, made, "rand")


def randn(*size: Any, generator: Any = None, out: Any = None, dtype: Any = None, layout: Any = None, device: Any = None,
          requires_grad: bool = False, pin_memory: bool = False, _like: Any = None) -> Tensor:  # fmt: skip
    """Numbers of the standard normal distribution."""
    kind = _float_type(dtype, "normal_kernel_cpu")
    made = _drawn(
        _sizes(size), kind, device, requires_grad, Draw(source.normal, 0.0, 1.0, generator, kind.rounds), _like
    )
    return made if out is None else into(out, made, "randn")


def randint(*args: Any, low: int | None = None, high: int | None = None, size: Any = None, generator: Any = None, out: Any = None,
            dtype: Any = None, layout: Any = None, device: Any = None, requires_grad: bool = False,
            _like: Any = None) -> Tensor:  # fmt: skip
    """Integers uniform in [low, high); `randint(high, size)` begins at 0. Raises RuntimeError for an empty range."""
    given = list(args)
    if size is None:
        size = given.pop()
    last = int(given.pop() if high is None else high)
    first = int(low if low is not None else given.pop() if given else 0)
    if first >= last:
        raise RuntimeError(f"random_ expects 'from' to be less than 'to', but got from={first} >= to={last}")
    kind = dtype or dtypes.int64
    made = _drawn(_sizes((size,)), kind, device, requires_grad, Draw(source.randint, first, last, generator), _like)
    return made if out is None else into(out, made, "randint")


def randperm(n: int, *, generator: Any = None, out: Any = None, dtype: Any = None, layout: Any = None, device: Any = None,
             requires_grad: bool = False, pin_memory: bool = False) -> Tensor:  # fmt: skip
    """The integers 0 to n-1 in random order."""
    if n < 0:
        raise RuntimeError(f"n must be non-negative, got{n}")
    kind = dtype or dtypes.int64
    made = _drawn((n,), kind, device, False, Draw(_permuted, n, generator))
    return made if out is None else into(out, made, "randperm")


def _like(make: Any) -> Any:
    def function(input: Tensor, *args: Any, dtype: Any = None, layout: Any = None, device: Any = None, requires_grad: bool = False,
                 memory_format: Any = None, generator: Any = None) -> Tensor:  # fmt: skip
        extra = {"requires_grad": requires_grad, "generator": generator}
        return make(
            *args, Size(input.shape), dtype=dtype or input.dtype, device=device or input.device, _like=input, **extra
        )

    function.__name__ = make.__name__ + "_like"
    function.__doc__ = f"`{make.__name__}` in the shape, dtype and device of `input`."
    return function


rand_like, randn_like, randint_like = _like(rand), _like(randn), _like(randint)
CREATORS = (rand, randn, randint, randperm, rand_like, randn_like, randint_like)

# -- filling in place ---------------------------------------------------------------------------


def _fill(self: Tensor, fill: Draw) -> Tensor:
    """Write drawn numbers into `self`."""
    home = self._storage.backend
    # Gaps and all, as the numbers depend on them.
    steps = None if self.is_contiguous() or not self.numel() else self.stride()
    return dispatch.write(
        self, wrap(home.draw(tuple(self.shape), self.dtype, fill, steps, gaps=True), self.dtype, home)
    )


def _filler(name: str, draw: Callable[..., None], doc: str, bfloat16: bool = False) -> None:
    """Declare a method; `bfloat16` where what is drawn for that type is not just rounded from float32."""

    def method(self: Tensor, *args: Any, generator: Any = None, **kwargs: Any) -> Tensor:
        if bfloat16 and self.dtype.rounds:
            kwargs["rounds"] = True
        return _fill(self, Draw(draw, *args, **kwargs, generator=generator))

    method.__name__, method.__doc__ = name, doc
    METHODS[name] = method


def _uniform(a: np.ndarray, *args: Any, generator: Any = None, rounds: bool = False, **bounds: Any) -> None:
    low, high = [*args, *[0.0, 1.0][len(args) :]]
    low, high = bounds.get("from", low), bounds.get("to", high)
    if low > high:
        raise RuntimeError(f"uniform_ expects to return a [from, to) range, but found from={low} > to={high}")
    source.uniform(a, low, high, generator, rounds)


def _normal(a: np.ndarray, mean: float = 0.0, std: float = 1.0, *, generator: Any = None, rounds: bool = False) -> None:
    if std < 0:
        raise RuntimeError(f"normal expects std >= 0.0, but found std {std}")
    source.normal(a, mean, std, generator, rounds)


def _exponential(a: np.ndarray, lambd: float = 1.0, *, generator: Any = None) -> None:
    if lambd <= 0:
        raise RuntimeError(f"exponential_ expects lambda > 0.0, but found lambda={lambd}")
    source.exponential(a, lambd, generator)


def _random(a: np.ndarray, *args: Any, generator: Any = None, rounds: bool = False, **bounds: Any) -> None:
    if not args and not bounds:
        source.random(a, generator, rounds)
        return
    low, high = (0, args[0]) if len(args) == 1 else args if args else (bounds.get("from", 0), bounds["to"])
    source.randint(a, low, high, generator)


_filler("uniform_", _uniform, "Fill with numbers uniform in [from, to).", bfloat16=True)
_filler("normal_", _normal, "Fill with numbers of the normal distribution.", bfloat16=True)
_filler("exponential_", _exponential, "Fill with numbers of the exponential distribution of rate `lambd`.")
_filler("cauchy_", lambda a, median=0.0, sigma=1.0, *, generator=None: source.cauchy(a, median, sigma, generator),
        "Fill with numbers of the Cauchy distribution.")  # fmt: skip
_filler("log_normal_", lambda a, mean=1.0, std=2.0, *, generator=None: source.log_normal(a, mean, std, generator),
        "Fill with exponentials of normal numbers.")  # fmt: skip
_filler("geometric_", lambda a, p, *, generator=None: source.geometric(a, p, generator),
        "Fill with numbers of trials up to the first success.")  # fmt: skip
_filler("random_", _random, "Fill with integers of [from, to), or of the dtype's range.", bfloat16=True)


@operator(spaces=("method",))
def bernoulli_(self: Tensor, p: Any = 0.5, *, generator: Any = None) -> Tensor:
    """Fill with ones with probability `p` (a number or tensor), zeros else."""
    return _fill(self, Draw(source.bernoulli, p, generator))


@operator()
def bernoulli(input: Tensor, p: Any = None, *, generator: Any = None) -> Tensor:
    """Ones with the probabilities in `input`, zeros else."""
    draw = Draw(_bernoulli, input, generator) if p is None else Draw(source.bernoulli, p, generator)
    return _drawn(tuple(input.shape), input.dtype, input.device, False, draw)


@operator()
def multinomial(input: Tensor, num_samples: int, replacement: bool = False, *, generator: Any = None) -> Tensor:
    """Indices drawn with the weights in `input` ([n] or [m, n]); raises RuntimeError for weights that are none."""
    if input.ndim not in (1, 2):
        raise RuntimeError("prob_dist must be 1 or 2 dim")
    draw = Draw(_multinomial, input, num_samples, replacement, generator)
    return _drawn((*input.shape[:-1], max(num_samples, 0)), dtypes.int64, input.device, False, draw)


@operator(method=False)
def normal(mean: Any, std: Any = 1.0, size: Any = None, *, generator: Any = None, dtype: Any = None, device: Any = None,
           requires_grad: bool = False) -> Tensor:  # fmt: skip
    """Normal numbers with means and standard deviations given as numbers or tensors."""
    if size is not None:
        kind = _float_type(dtype, "normal_kernel_cpu")
        return _drawn(
            _sizes((size,)),
            kind,
            device,
            requires_grad,
            Draw(_normal, mean, std, generator=generator, rounds=kind.rounds),
        )
    like = mean if isinstance(mean, Tensor) else std
    shape = dispatch.broadcast_shapes(*[t.shape for t in (mean, std) if isinstance(t, Tensor)])
    drawn = _drawn(shape, like.dtype, like.device, False, Draw(source.normal, 0.0, 1.0, generator, like.dtype.rounds))
    return drawn * std + mean


@operator(spaces=("torch", "nn.functional"), method=False)
def dropout(input: Tensor, p: float = 0.5, training: bool = True, inplace: bool = False) -> Tensor:
    """Zeros with probability `p`, the rest divided by 1 - p; the input itself when not training.

    Raises ValueError for bad `p`.
    """
    if p < 0.0 or p > 1.0:
        raise ValueError(f"dropout probability has to be between 0 and 1, but got {p}")
    if not training or p == 0.0:
        return input
    mask = _drawn(tuple(input.shape), input.dtype, input.device, False, Draw(source.dropout_mask, p), input)
    return input.mul_(mask) if inplace else input * mask


# -- samples made by rejection --------------------------------------------------------------------


def _as_drawn(values: np.ndarray, like: np.ndarray) -> np.ndarray:
    with np.errstate(over="ignore"):
        return values.astype(like.dtype)


def _gamma_kernel(alpha: np.ndarray, generator: Any) -> np.ndarray:
    return np.maximum(_as_drawn(rejection.gamma(alpha, generator), alpha), np.finfo(alpha.dtype).tiny)


def _dirichlet_kernel(alpha: np.ndarray, generator: Any) -> np.ndarray:
    one = alpha.dtype.type(1)
    made = _as_drawn(rejection.dirichlet(alpha, generator), alpha)
    return np.clip(made, np.finfo(alpha.dtype).tiny, np.nextafter(one, alpha.dtype.type(0)))


def _dirichlet_backward(g: Tensor, alpha: Tensor, result: Tensor) -> Tensor:
    moved = _dirichlet_grad(result, alpha, alpha.sum(-1, keepdim=True).expand(alpha.shape))
    return moved * (g - (result * g).sum(-1, keepdim=True))


_GAMMA = Op(
    "standard_gamma", "input", "generator", kind="random", cpu=_gamma_kernel,
    grads={"input": lambda g, input, result: g * _standard_gamma_grad(input, result)},
)  # fmt: skip
_GAMMA_GRAD = Op("standard_gamma_grad", "input output", kind="custom", cpu=blockwise(pathwise.gamma_grad, 2))
_DIRICHLET = Op(
    "sample_dirichlet", "alpha", "generator", kind="random", cpu=_dirichlet_kernel, backward="_Dirichlet",
    overload=lambda tensors, statics: "_DirichletBackward", grads={"alpha": _dirichlet_backward},
)  # fmt: skip
_DIRICHLET_GRAD = Op(
    "dirichlet_grad", "x alpha total", kind="custom",
    cpu=blockwise(pathwise.dirichlet_grad, 3),
)  # fmt: skip
_POISSON = Op(
    "poisson", "input", "generator", kind="random", cpu=lambda r, g: _as_drawn(rejection.poisson(r, g), r),
    grads={"input": lambda g: g.new_zeros(g.shape)},
)  # fmt: skip
_BINOMIAL = Op(
    "binomial", "count prob", "generator", kind="random",
    cpu=lambda n, p, g: _as_drawn(rejection.binomial(n, p, g), np.broadcast_arrays(n, p)[0]),
)  # fmt: skip


def _sampled(name: str, argument: str, given: Any, kernel: str, narrow: bool = False) -> Tensor:
    """The argument of a sampler, if it is a tensor of floats (of 32 bits and more, or all where `narrow`)."""
    tensor = tensor_argument(name, argument, 1, given)
    if tensor.dtype.category != dtypes.FLOATING or not (narrow or tensor.dtype in (dtypes.float32, dtypes.float64)):
        raise NotImplementedError(f"\"{kernel}\" not implemented for '{dispatch.type_name(tensor.dtype)}'")
    return tensor


@operator(method=False)
def _standard_gamma(self: Tensor, generator: Any = None) -> Tensor:
    """Samples of the gamma distribution of rate 1 with the given shape parameters; differentiable by them."""
    _sampled("_standard_gamma", "self", self, "gamma_cpu")
    return dispatch.call(_GAMMA, (self,), (generator,))


@operator(method=False)
def _standard_gamma_grad(self: Tensor, output: Tensor) -> Tensor:
    """The derivative of gamma samples `output` by their shape parameters."""
    _sampled("_standard_gamma_grad", "self", self, "_standard_gamma_grad_cpu")
    return dispatch.call(_GAMMA_GRAD, (self, output))


@operator(method=False)
def _sample_dirichlet(self: Tensor, generator: Any = None) -> Tensor:
    """Samples of the Dirichlet distribution with the given concentrations (last dimension); differentiable by them."""
    _sampled("_sample_dirichlet", "self", self, "dirichlet")
    return dispatch.call(_DIRICHLET, (self,), (generator,))


@operator(method=False)
def _dirichlet_grad(x: Tensor, alpha: Tensor, total: Tensor) -> Tensor:
    """By what a Dirichlet sample moves with each concentration, divided by 1 - x; `total` is their sum."""
    _sampled("_dirichlet_grad", "x", x, "_dirichlet_grad_cpu")
    return dispatch.call(_DIRICHLET_GRAD, (x, alpha, total))


@operator(method=False)
def poisson(input: Tensor, generator: Any = None) -> Tensor:
    """Samples of the Poisson distribution with the rates in `input`. Raises RuntimeError for a negative one."""
    _sampled("poisson", "input", input, "poisson_cpu", narrow=True)
    return dispatch.call(_POISSON, (input,), (generator,))


@operator(method=False)
def binomial(count: Tensor, prob: Tensor, generator: Any = None) -> Tensor:
    """Samples of the binomial distribution: of `count` trials, how many succeed with probability `prob`.

    Raises ValueError for integers, RuntimeError for different dtypes.
    """
    for place, (name, t) in enumerate((("count", count), ("prob", prob))):
        if tensor_argument("binomial", name, place + 1, t).dtype.category != dtypes.FLOATING:
            raise ValueError(
                f"binomial only supports floating-point dtypes for {name}, got: {dispatch.type_name(t.dtype)}"
            )
    if prob.dtype is not count.dtype:
        raise RuntimeError(
            f"Found dtype {dispatch.type_name(prob.dtype)} but expected {dispatch.type_name(count.dtype)}"
        )
    _sampled("binomial", "count", count, "binomial_cpu")
    return dispatch.call(_BINOMIAL, (count, prob), (generator,))
