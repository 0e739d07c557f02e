"""`Optimizer`: what all optimizers share: parameter groups, state, saving and loading it, hooks, closures, repr.

The form of `state_dict` is PyTorch's, so that files go both ways.  A subclass fills in `update(group)`, which changes
the parameters of one group that have gradients; `step` does the rest.
"""

from __future__ import annotations

import copy
import functools
import warnings
from collections import OrderedDict, defaultdict
from collections.abc import Callable, Iterable
from itertools import chain
from typing import Any, ClassVar

from ..autograd.grad_mode import enable_grad, set_grad_enabled
from ..nn.module import typename
from ..tensor import Tensor
from ..utils.hooks import RemovableHandle


class _Required:
    def __repr__(self) -> str:
        return "<required parameter>"


required = _Required()
"""The default of an option that must be given."""

_step_pre_hooks: OrderedDict[int, Callable[..., Any]] = OrderedDict()
_step_post_hooks: OrderedDict[int, Callable[..., Any]] = OrderedDict()


def register_optimizer_step_pre_hook(hook: Callable[..., Any]) -> RemovableHandle:
    """Call `hook(optimizer, args, kwargs)` before every step of every optimizer."""
    return _put(_step_pre_hooks, hook)


def register_optimizer_step_post_hook(hook: Callable[..., Any]) -> RemovableHandle:
    """Call `hook(optimizer, args, kwargs)` after every step of every optimizer."""
    return _put(_step_post_hooks, hook)


def _put(hooks: OrderedDict[int, Any], hook: Any, first: bool = False) -> RemovableHandle:
    handle = RemovableHandle(hooks)
    hooks[handle.id] = hook
    if first:
        hooks.move_to_end(handle.id, last=False)
    return handle


def _hooked(step: Callable[..., Any]) -> Callable[..., Any]:
    """`step` with its hooks around it; the optimizer remembers that it was called."""

    @functools.wraps(step)
    def wrapped(self: Optimizer, *args: Any, **kwargs: Any) -> Any:
        if _step_pre_hooks or self._optimizer_step_pre_hooks:
            for hook in (*_step_pre_hooks.values(), *self._optimizer_step_pre_hooks.values()):
                got = hook(self, args, kwargs)
                if got is not None:
                    if not (isinstance(got, tuple) and len(got) == 2):
                        raise RuntimeError(
                            f"{step} must return None or a tuple of (new_args, new_kwargs), but got {got}."
                        )
                    args, kwargs = got
        out = step(self, *args, **kwargs)
        self._opt_called = True
        if _step_post_hooks or self._optimizer_step_post_hooks:
            for hook in (*self._optimizer_step_post_hooks.values(), *_step_post_hooks.values()):
                hook(self, args, kwargs)
        return out

    wrapped._is_hooked = True  # type: ignore[attr-defined]
    return wrapped


class Optimizer:
    """Base class of optimizers. `params` are tensors, (name, tensor) pairs, or dictionaries of groups.

    `defaults` are the options of groups that do not give their own. Raises TypeError or ValueError for parameters that
    cannot be optimized.
    """

    OptimizerPreHook: ClassVar[Any] = Callable
    OptimizerPostHook: ClassVar[Any] = Callable

    def __init_subclass__(cls, **kwargs: Any) -> None:
        super().__init_subclass__(**kwargs)
        if "step" in cls.__dict__ and not getattr(cls.__dict__["step"], "_is_hooked", False):
            cls.step = _hooked(cls.__dict__["step"])  # type: ignore[method-assign]

    def __init__(self, params: Any, defaults: dict[str, Any]) -> None:
        self.defaults = defaults
        self._make_hooks()
        if isinstance(params, Tensor):
            raise TypeError(
                "params argument given to the optimizer should be an iterable of Tensors or dicts, but got "
                + typename(params)
            )
        self.state: defaultdict[Any, Any] = defaultdict(dict)
        self.param_groups: list[dict[str, Any]] = []
        groups = list(params)
        if not groups:
            raise ValueError("optimizer got an empty parameter list")
        if not isinstance(groups[0], dict):
            groups = [{"params": groups}]
        for group in groups:
            self.add_param_group(group)

    def _make_hooks(self) -> None:
        self._opt_called = False
        self._optimizer_step_pre_hooks: OrderedDict[int, Any] = OrderedDict()
        self._optimizer_step_post_hooks: OrderedDict[int, Any] = OrderedDict()
        self._optimizer_state_dict_pre_hooks: OrderedDict[int, Any] = OrderedDict()
        self._optimizer_state_dict_post_hooks: OrderedDict[int, Any] = OrderedDict()
        self._optimizer_load_state_dict_pre_hooks: OrderedDict[int, Any] = OrderedDict()
        self._optimizer_load_state_dict_post_hooks: OrderedDict[int, Any] = OrderedDict()

    def __getstate__(self) -> dict[str, Any]:
        return {"defaults": self.defaults, "state": self.state, "param_groups": self.param_groups}

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__dict__.update(state)
        if "_optimizer_step_pre_hooks" not in self.__dict__:
            self._make_hooks()
        self.defaults.setdefault("differentiable", False)

    def __repr__(self) -> str:
        out = type(self).__name__ + " ("
        for i, group in enumerate(self.param_groups):
            out += f"\nParameter Group {i}\n"
            for key in sorted(group):
                if key != "params":
                    out += f"    {key}: {group[key]}\n"
        return out + ")"

    # -- stepping -------------------------------------------------------------------------------

    @_hooked
    def step(self, closure: Callable[[], Any] | None = None) -> Any:
        """Change the parameters by their gradients, once. `closure` computes the loss anew and is called first.

        Returns what `closure` returned, else None.
        """
        loss = None
        if closure is not None:
            with enable_grad():
                loss = closure()
        for group in self.param_groups:
            # A differentiable step is recorded as the user's own operators would be.
            with set_grad_enabled(bool(group.get("differentiable"))):
                self.update(group)
        return loss

    def update(self, group: dict[str, Any]) -> None:
        """Change the parameters of one group that have gradients."""
        raise NotImplementedError

    def zero_grad(self, set_to_none: bool = True) -> None:
        """Forget the gradients of all parameters, or fill them with zeros."""
        for group in self.param_groups:
            for p in group["params"]:
                if p.grad is None:
                    continue
                if set_to_none:
                    p.grad = None
                else:
                    if p.grad.grad_fn is not None:
                        p.grad.detach_()
                    else:
                        p.grad.requires_grad_(False)
                    p.grad.zero_()

    # -- groups ---------------------------------------------------------------------------------

    def add_param_group(self, param_group: dict[str, Any]) -> None:
        """Add a group: a dictionary with "params" and the options that differ from the defaults."""
        if not isinstance(param_group, dict):
            raise TypeError(f"param_group must be a dict, but got {type(param_group)}")
        params = param_group["params"]
        if isinstance(params, Tensor):
            params = [params]
        elif isinstance(params, set):
            raise TypeError(
                "optimizer parameters need to be organized in ordered collections, but the ordering of tensors in "
                "sets will "
                "change between runs. Please use a list instead."
            )
        param_group["params"] = params = list(params)
        if any(isinstance(p, tuple) for p in params):
            if not all(isinstance(p, tuple) for p in params):
                raise ValueError("all optimizer params should be with/without names. Some param names are missing")
            param_group["param_names"] = [name for name, _ in params]
            param_group["params"] = params = [p for _, p in params]
        for p in params:
            if not isinstance(p, Tensor):
                raise TypeError("optimizer can only optimize Tensors, but one of the params is " + typename(p))
            if not self.defaults.get("differentiable", None) and not (p.is_leaf or p.retains_grad):
                raise ValueError("can't optimize a non-leaf Tensor")
        for name, default in self.defaults.items():
            if default is required and name not in param_group:
                raise ValueError(f"parameter group didn't specify a value of required optimization parameter {name}")
            param_group.setdefault(name, default)
        if len(params) != len({id(p) for p in params}):
            warnings.warn(
                "optimizer contains a parameter group with duplicate parameters; in future, this will cause an "
                "error; see "
                "github.com/pytorch/pytorch/issues/40967 for more information",
                stacklevel=3,
            )
        named = "param_names" in param_group
        if any(("param_names" in g) is not named for g in self.param_groups):
            what = "with names" if named else "without names"
            raise ValueError(
                f"all optimizer param groups should be with/without names. cannot add param group {what} to the "
                "optimizer"
            )
        known = {id(p) for g in self.param_groups for p in g["params"]}
        if any(id(p) in known for p in params):
            raise ValueError("some parameters appear in more than one parameter group")
        self.param_groups.append(param_group)

    # -- state ----------------------------------------------------------------------------------

    def state_dict(self) -> dict[str, Any]:
        """The state by number of parameter, and the groups with such numbers: `{"state": ..., "param_groups": ...}`."""
        for hook in self._optimizer_state_dict_pre_hooks.values():
            hook(self)
        numbers: dict[int, int] = {}
        groups = []
        for group in self.param_groups:
            packed = {k: v for k, v in group.items() if k != "params"}
            for p in group["params"]:
                numbers.setdefault(id(p), len(numbers))
            packed["params"] = [numbers[id(p)] for p in group["params"]]
            groups.append(packed)
        state = {(numbers[id(k)] if isinstance(k, Tensor) else k): v for k, v in self.state.items()}
        out: dict[str, Any] = {"state": state, "param_groups": groups}
        for hook in self._optimizer_state_dict_post_hooks.values():
            replaced = hook(self, out)
            if replaced is not None:
                out = replaced
        return out

    @staticmethod
    def _process_value(param: Tensor, value: Any, key: Any) -> Any:
        """One tensor of a loaded state, as the state of `param` wants it. Step counters keep their type."""
        if key == "step":
            return value
        if param.is_floating_point():
            return value.to(dtype=param.dtype, device=param.device)
        return value.to(device=param.device)

    def load_state_dict(self, state_dict: dict[str, Any]) -> None:
        """Take over what `state_dict` gave. Raises ValueError where its groups do not fit."""
        state_dict = state_dict.copy()
        for hook in self._optimizer_load_state_dict_pre_hooks.values():
            replaced = hook(self, state_dict)
            if replaced is not None:
                state_dict = replaced
        groups = self.param_groups
        saved = copy.deepcopy(state_dict["param_groups"])
        if len(groups) != len(saved):
            raise ValueError("loaded state dict has a different number of parameter groups")
        if any(len(a["params"]) != len(b["params"]) for a, b in zip(groups, saved, strict=True)):
            raise ValueError(
                "loaded state dict contains a parameter group that doesn't match the size of optimizer's group"
            )
        params = dict(
            zip(
                chain.from_iterable(g["params"] for g in saved),
                chain.from_iterable(g["params"] for g in groups),
                strict=True,
            )
        )

        def cast(param: Tensor, value: Any, key: Any = None) -> Any:
            if isinstance(value, Tensor):
                return self._process_value(param, value, key)
            if isinstance(value, dict):
                return {k: cast(param, v, k) for k, v in value.items()}
            if isinstance(value, Iterable) and not isinstance(value, (str, bytes)):
                return type(value)(cast(param, v) for v in value)  # type: ignore[call-arg]
            return value

        state: defaultdict[Any, Any] = defaultdict(dict)
        for key, value in state_dict["state"].items():
            if key in params:
                state[params[key]] = cast(params[key], value)
            else:
                state[key] = value
        for group, new in zip(groups, saved, strict=True):
            new["params"] = group["params"]
            if "param_names" in group and "param_names" not in new:
                new["param_names"] = group["param_names"]
        self.__setstate__({"state": state, "param_groups": saved})
        for hook in self._optimizer_load_state_dict_post_hooks.values():
            hook(self)

    # -- hooks ----------------------------------------------------------------------------------

    def register_step_pre_hook(self, hook: Callable[..., Any]) -> RemovableHandle:
        """Call `hook(optimizer, args, kwargs)` before a step; it may return both anew."""
        return _put(self._optimizer_step_pre_hooks, hook)

    def register_step_post_hook(self, hook: Callable[..., Any]) -> RemovableHandle:
        """Call `hook(optimizer, args, kwargs)` after a step."""
        return _put(self._optimizer_step_post_hooks, hook)

    def register_state_dict_pre_hook(self, hook: Callable[..., Any], prepend: bool = False) -> RemovableHandle:
        """Call `hook(optimizer)` before `state_dict`."""
        return _put(self._optimizer_state_dict_pre_hooks, hook, prepend)

    def register_state_dict_post_hook(self, hook: Callable[..., Any], prepend: bool = False) -> RemovableHandle:
        """Call `hook(optimizer, state_dict)` after `state_dict`; what it returns replaces it."""
        return _put(self._optimizer_state_dict_post_hooks, hook, prepend)

    def register_load_state_dict_pre_hook(self, hook: Callable[..., Any], prepend: bool = False) -> RemovableHandle:
        """Call `hook(optimizer, state_dict)` before loading; what it returns replaces it."""
        return _put(self._optimizer_load_state_dict_pre_hooks, hook, prepend)

    def register_load_state_dict_post_hook(self, hook: Callable[..., Any], prepend: bool = False) -> RemovableHandle:
        """Call `hook(optimizer)` after loading."""
        return _put(self._optimizer_load_state_dict_post_hooks, hook, prepend)


# -- what the optimizers check and count alike ------------------------------------------------------


def check(condition: bool, message: str) -> None:
    """Raise ValueError with `message` unless `condition`."""
    if not condition:
        raise ValueError(message)


def check_lr(lr: Any, said: str = "Invalid learning rate: {}") -> None:
    """Refuse a negative learning rate, and a tensor of several elements."""
    if isinstance(lr, Tensor) and lr.numel() != 1:
        raise ValueError("Tensor lr must be 1-element")
    if not lr >= 0.0:
        raise ValueError(said.format(lr))


def check_adam(betas: Any, eps: float, weight_decay: float) -> None:
    """What Adam and its relatives refuse alike."""
    check(eps >= 0.0, f"Invalid epsilon value: {eps}")
    for i in (0, 1):
        check(0.0 <= betas[i] < 1.0, f"Invalid beta parameter at index {i}: {betas[i]}")
    check(weight_decay >= 0.0, f"Invalid weight_decay value: {weight_decay}")


def check_fused(fused: bool | None, foreach: bool | None, differentiable: bool) -> None:
    """Combinations of ways to compute that exclude each other; there is one way here, and it is all of them."""
    if fused and differentiable:
        raise RuntimeError("`fused` does not support `differentiable`")
    if fused and foreach:
        raise RuntimeError("`fused` and `foreach` cannot be `True` together.")


def number(x: Any) -> Any:
    """A counter or learning rate as a Python number."""
    return x.item() if isinstance(x, Tensor) else x


def above(value: Any, limit: float, yes: Callable[[], Tensor], no: Callable[[], Tensor]) -> Tensor:
    """`yes()` where a number is above a limit, else `no()`. A captured step does not know the number, and computes both."""
    return yes() if value > limit else no()


def new_step() -> Tensor:
    """A step counter at 0."""
    from .. import tensor

    return tensor(0.0, device="cpu")


def zeros(p: Tensor) -> Tensor:
    """Zeros like a parameter."""
    from .. import zeros_like

    return zeros_like(p)


def graded(group: dict[str, Any]) -> Iterable[tuple[Tensor, Tensor]]:
    """The parameters of a group that have gradients, each with its gradient, turned round to maximize."""
    for p in group["params"]:
        if p.grad is not None:
            yield p, -p.grad if group.get("maximize") else p.grad
