"""`Module`: the base class of everything that has parameters, buffers and children.

Here stand attribute handling, registration, walking the tree, conversion, calling and `repr`; saving and loading are
`module_state.py`'s, what happens around a call with hooks `module_hooks.py`'s.  A call also keeps
`module_path.current`,
so that the tape knows which module recorded a node.
"""

from __future__ import annotations

import weakref
from collections import OrderedDict
from collections.abc import Callable, Iterable, Iterator
from typing import Any, ClassVar, Self

from .. import module_path
from ..tensor import Tensor
from . import module_hooks
from .module_state import StateMethods
from .parameter import Buffer, Parameter
from .shelf import Shelf

_HOOK_DICTIONARIES = (
    "_backward_pre_hooks", "_backward_hooks", "_forward_hooks", "_forward_hooks_with_kwargs",
    "_forward_hooks_always_called", "_forward_pre_hooks", "_forward_pre_hooks_with_kwargs", "_state_dict_hooks",
    "_state_dict_pre_hooks", "_load_state_dict_pre_hooks", "_load_state_dict_post_hooks",
)  # fmt: skip
_STRUCTURE = frozenset(["__class__", "training", "forward", "_parameters", "_buffers", "_modules"])
"""Attributes whose being set moves the structure epoch."""


def typename(value: Any) -> str:
    """The type of a value as error messages name it: "int", "torch.FloatTensor", "package.module.Class"."""
    if isinstance(value, Tensor):
        return value.type()
    kind = type(value)
    return kind.__qualname__ if kind.__module__ == "builtins" else f"{kind.__module__}.{kind.__qualname__}"


# -- the path of the running module -----------------------------------------------------------------

_paths: dict[int, str] = {}  # names of the modules below the outermost one that runs, by identity
_known_paths: weakref.WeakKeyDictionary[Module, tuple[int, str, dict[int, str]]] = weakref.WeakKeyDictionary()


def _paths_below(root: Module, label: str) -> dict[int, str]:
    """Paths of `root`, labelled so, and of all modules in it; remembered until the structure of some module changes."""
    known = _known_paths.get(root)
    if known is not None and known[0] == module_path.structure_epoch and known[1] == label:
        return known[2]
    paths = {id(m): f"{label}.{name}" if name else label for name, m in root.named_modules()}
    for name, p in root.named_parameters():
        p._label = name  # what the tape calls its leaf
    _known_paths[root] = (module_path.structure_epoch, label, paths)
    return paths


class Module(StateMethods, module_hooks.HookMethods):
    """Base class of layers, models and losses: assign parameters, buffers and modules to it, and define `forward`.

    Example::

        class Net(nn.Module):
            def __init__(self):
                super().__init__()
                self.layer = nn.Linear(2, 1)

            def forward(self, x):
                return self.layer(x).relu()
    """

    dump_patches: ClassVar[bool] = False
    call_super_init: ClassVar[bool] = False
    training: bool
    _compiled_call: Any = None
    """What `compile` put in the place of the call."""

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        if not self.call_super_init:
            if kwargs:
                raise TypeError(
                    f"{type(self).__name__}.__init__() got an unexpected keyword argument '{next(iter(kwargs))}'"
                )
            if args:
                raise TypeError(
                    f"{type(self).__name__}.__init__() takes 1 positional argument but {len(args) + 1} were given"
                )
        put = super().__setattr__
        put("training", True)
        put("_parameters", Shelf())
        put("_buffers", Shelf())
        put("_non_persistent_buffers_set", set())
        put("_is_full_backward_hook", None)
        for name in _HOOK_DICTIONARIES:
            put(name, OrderedDict())
        put("_modules", Shelf())
        if self.call_super_init:
            super().__init__(*args, **kwargs)

    # -- calling --------------------------------------------------------------------------------

    def forward(self, *input: Any) -> Any:
        """What the module computes; every subclass defines it."""
        raise NotImplementedError(f'Module [{type(self).__name__}] is missing the required "forward" function')

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        global _paths
        if self._compiled_call is not None and not self._compiled_call.passes():
            return self._compiled_call(*args, **kwargs)
        hooked = (
            self._backward_hooks
            or self._backward_pre_hooks
            or self._forward_hooks
            or self._forward_pre_hooks
            or module_hooks.any_global
        )
        outer, outer_paths = module_path.current, _paths
        here = outer_paths.get(id(self)) if outer else None
        if here is None:
            # The outermost module, or one that the outermost does not contain: names count from here.
            here = f"{outer}.{type(self).__name__}" if outer else type(self).__name__
            _paths = _paths_below(self, here)
        module_path.current = here
        try:
            if hooked:
                return module_hooks.call(self, args, kwargs)
            return self.forward(*args, **kwargs)
        finally:
            module_path.current, _paths = outer, outer_paths

    def compile(self, **options: Any) -> None:
        """Run captured graphs from now on when this module is called: `torch.compile` in place, with its options."""
        from ..compile.api import compile_in_place

        compile_in_place(self, options)

    # -- attributes -----------------------------------------------------------------------------

    def __getattr__(self, name: str) -> Any:
        own = self.__dict__
        for home in ("_parameters", "_buffers", "_modules"):
            if home in own and name in own[home]:
                return own[home][name]
        raise AttributeError(f"'{type(self).__name__}' object has no attribute '{name}'")

    def __setattr__(self, name: str, value: Any) -> None:
        own = self.__dict__
        parameters = own.get("_parameters")
        if isinstance(value, Parameter):
            if parameters is None:
                raise AttributeError("cannot assign parameters before Module.__init__() call")
            self._take_away(name, "_buffers", "_modules")
            self.register_parameter(name, value)
            return
        if parameters is not None and name in parameters:
            if value is not None:
                raise TypeError(
                    f"cannot assign '{typename(value)}' as parameter '{name}' (torch.nn.Parameter or None expected)"
                )
            self.register_parameter(name, value)
            return
        modules = own.get("_modules")
        if isinstance(value, Module):
            if modules is None:
                raise AttributeError("cannot assign module before Module.__init__() call")
            self._take_away(name, "_parameters", "_buffers")
            modules[name] = module_hooks.registered("module", self, name, value)
            module_path.structure_changed()
            return
        if modules is not None and name in modules:
            if value is not None:
                raise TypeError(
                    f"cannot assign '{typename(value)}' as child module '{name}' (torch.nn.Module or None expected)"
                )
            modules[name] = module_hooks.registered("module", self, name, value)
            module_path.structure_changed()
            return
        if (isinstance(value, Tensor) and isinstance(value, Buffer)) or name in own.get("_buffers", ()):
            self._set_buffer(name, value)
            return
        if name in _STRUCTURE:
            module_path.structure_changed()
        super().__setattr__(name, value)

    def _set_buffer(self, name: str, value: Any) -> None:
        buffers = self.__dict__.get("_buffers")
        if buffers is None:
            raise AttributeError("cannot assign buffer before Module.__init__() call")
        if value is not None and not isinstance(value, Tensor):
            raise TypeError(
                f"cannot assign '{typename(value)}' as buffer '{name}' (torch.nn.Buffer, torch.Tensor or None expected)"
            )
        if name not in buffers:
            persistent = value.persistent if isinstance(value, Buffer) else True
            self._take_away(name, "_parameters", "_modules")
            self.register_buffer(name, value, persistent)
        else:
            buffers[name] = module_hooks.registered("buffer", self, name, value)
            module_path.structure_changed()

    def _take_away(self, name: str, *homes: str) -> None:
        own = self.__dict__
        own.pop(name, None)
        for home in homes:
            own[home].pop(name, None)
        if "_buffers" in homes:
            own["_non_persistent_buffers_set"].discard(name)

    def __delattr__(self, name: str) -> None:
        for home in (self._parameters, self._buffers, self._modules):
            if name in home:
                del home[name]
                self._non_persistent_buffers_set.discard(name)
                module_path.structure_changed()
                return
        super().__delattr__(name)

    def __dir__(self) -> list[str]:
        names = {*dir(type(self)), *self.__dict__, *self._parameters, *self._modules, *self._buffers}
        return sorted(n for n in names if not n[0].isdigit())

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__dict__.update(state)
        for name in ("_parameters", "_buffers", "_modules"):
            if type(self.__dict__.get(name)) is dict:
                self.__dict__[name] = Shelf(self.__dict__[name])
        for name in _HOOK_DICTIONARIES:  # saved by something older
            self.__dict__.setdefault(name, OrderedDict())
        self.__dict__.setdefault("_non_persistent_buffers_set", set())
        self.__dict__.setdefault("_is_full_backward_hook", None)
        module_path.structure_changed()

    # -- registration ---------------------------------------------------------------------------

    def _check_name(self, name: Any, what: str, home: dict[str, Any], said: str = "") -> None:
        if not isinstance(name, str):
            raise TypeError(f"{what} name should be a string. Got {typename(name)}")
        if hasattr(self, name) and name not in home:
            raise KeyError(f"attribute '{name}' already exists")
        if "." in name:
            raise KeyError(f'{what} name can\'t contain "."{said}')
        if name == "":
            raise KeyError(f'{what} name can\'t be empty string ""')

    def register_parameter(self, name: str, param: Parameter | None) -> None:
        """Add a parameter under `name`; None reserves the name. Raises KeyError or TypeError for what cannot be one."""
        if "_parameters" not in self.__dict__:
            raise AttributeError("cannot assign parameter before Module.__init__() call")
        self._check_name(name, "parameter", self._parameters)
        if param is not None:
            if not isinstance(param, Parameter):
                raise TypeError(
                    f"cannot assign '{typename(param)}' object to parameter '{name}' "
                    "(torch.nn.Parameter or None required)"
                )
            if param.grad_fn is not None:
                raise ValueError(
                    f"Cannot assign non-leaf Tensor to parameter '{name}'. Model parameters must be created "
                    "explicitly. "
                    f"To express '{name}' as a function of another Tensor, compute the value in the forward() method."
                )
            param = module_hooks.registered("parameter", self, name, param)
        self._parameters[name] = param
        module_path.structure_changed()

    def register_buffer(self, name: str, tensor: Tensor | None, persistent: bool = True) -> None:
        """Add a buffer under `name`; with `persistent=False` it is left out of `state_dict`."""
        if "_buffers" not in self.__dict__:
            raise AttributeError("cannot assign buffer before Module.__init__() call")
        self._check_name(name, "buffer", self._buffers)
        if tensor is not None and not isinstance(tensor, Tensor):
            raise TypeError(
                f"cannot assign '{typename(tensor)}' object to buffer '{name}' (torch Tensor or None required)"
            )
        self._buffers[name] = module_hooks.registered("buffer", self, name, tensor)
        if persistent:
            self._non_persistent_buffers_set.discard(name)
        else:
            self._non_persistent_buffers_set.add(name)
        module_path.structure_changed()

    def add_module(self, name: str, module: Module | None) -> None:
        """Add a child under `name`. Raises TypeError or KeyError for what cannot be one."""
        if not isinstance(module, Module) and module is not None:
            raise TypeError(f"{typename(module)} is not a Module subclass")
        self._check_name(name, "module", self._modules, f", got: {name}")
        self._modules[name] = module_hooks.registered("module", self, name, module)
        module_path.structure_changed()

    def register_module(self, name: str, module: Module | None) -> None:
        """The same as `add_module`."""
        self.add_module(name, module)

    # -- walking --------------------------------------------------------------------------------

    def get_submodule(self, target: str) -> Module:
        """The module at a dotted path; "" is this one. Raises AttributeError where there is none."""
        module: Any = self
        for name in target.split(".") if target else ():
            if not hasattr(module, name):
                raise AttributeError(f"{type(module).__name__} has no attribute `{name}`")
            module = getattr(module, name)
            if not isinstance(module, Module):
                raise AttributeError(f"`{name}` is not an nn.Module")
        return module

    def set_submodule(self, target: str, module: Module, strict: bool = False) -> None:
        """Put `module` at a dotted path; with `strict` there must be one already."""
        if target == "":
            raise ValueError("Cannot set the submodule without a target name!")
        if not isinstance(module, Module):
            raise ValueError(f"`module` is not an nn.Module, found {type(module)}")
        path, _, name = target.rpartition(".")
        parent = self.get_submodule(path)
        if strict and not hasattr(parent, name):
            raise AttributeError(f"{type(parent).__name__} has no attribute `{name}`")
        if hasattr(parent, name) and not isinstance(getattr(parent, name), Module):
            raise AttributeError(f"`{name}` is not an nn.Module")
        setattr(parent, name, module)

    def _get_member(self, target: str) -> tuple[Module, str, Any]:
        path, _, name = target.rpartition(".")
        module = self.get_submodule(path)
        if not hasattr(module, name):
            raise AttributeError(f"{type(module).__name__} has no attribute `{name}`")
        return module, name, getattr(module, name)

    def get_parameter(self, target: str) -> Parameter:
        """The parameter at a dotted path. Raises AttributeError where there is none."""
        _, name, found = self._get_member(target)
        if not isinstance(found, Parameter):
            raise AttributeError(f"`{name}` is not an nn.Parameter")
        return found

    def get_buffer(self, target: str) -> Tensor:
        """The buffer at a dotted path. Raises AttributeError where there is none."""
        module, name, found = self._get_member(target)
        if name not in module._buffers:
            raise AttributeError(f"`{name}` is not a buffer")
        return found

    def _named_members(
        self,
        get_members_fn: Callable[[Module], Iterable[tuple[str, Any]]],
        prefix: str = "",
        recurse: bool = True,
        remove_duplicate: bool = True,
    ) -> Iterator[tuple[str, Any]]:
        seen: set[int] = set()
        modules = self.named_modules(prefix=prefix, remove_duplicate=remove_duplicate) if recurse else [(prefix, self)]
        for path, module in modules:
            for name, member in get_members_fn(module):
                if member is None or id(member) in seen:
                    continue
                if remove_duplicate:
                    seen.add(id(member))
                yield f"{path}.{name}" if path else name, member

    def named_parameters(
        self, prefix: str = "", recurse: bool = True, remove_duplicate: bool = True
    ) -> Iterator[tuple[str, Parameter]]:
        """Dotted name and parameter, of this module and (with `recurse`) all below; shared ones once."""
        return self._named_members(lambda m: m._parameters.items(), prefix, recurse, remove_duplicate)

    def parameters(self, recurse: bool = True) -> Iterator[Parameter]:
        """The parameters, as an optimizer takes them."""
        for _, p in self.named_parameters(recurse=recurse):
            yield p

    def named_buffers(
        self, prefix: str = "", recurse: bool = True, remove_duplicate: bool = True
    ) -> Iterator[tuple[str, Tensor]]:
        """Dotted name and buffer."""
        return self._named_members(lambda m: m._buffers.items(), prefix, recurse, remove_duplicate)

    def buffers(self, recurse: bool = True) -> Iterator[Tensor]:
        """The buffers."""
        for _, b in self.named_buffers(recurse=recurse):
            yield b

    def named_children(self) -> Iterator[tuple[str, Module]]:
        """Name and module of the direct children; a shared one once."""
        seen: set[int] = set()
        for name, module in self._modules.items():
            if module is not None and id(module) not in seen:
                seen.add(id(module))
                yield name, module

    def children(self) -> Iterator[Module]:
        """The direct children."""
        for _, module in self.named_children():
            yield module

    def named_modules(
        self, memo: set[Module] | None = None, prefix: str = "", remove_duplicate: bool = True
    ) -> Iterator[tuple[str, Module]]:
        """Dotted path and module, of this one ("") and all below, parents first."""
        if memo is None:
            memo = set()
        if self not in memo:
            if remove_duplicate:
                memo.add(self)
            yield prefix, self
            for name, module in self._modules.items():
                if module is not None:
                    path = f"{prefix}.{name}" if prefix else name
                    yield from module.named_modules(memo, path, remove_duplicate)

    def modules(self) -> Iterator[Module]:
        """This module and all below."""
        for _, module in self.named_modules():
            yield module

    # -- doing something to all of it -----------------------------------------------------------

    def apply(self, fn: Callable[[Module], None]) -> Self:
        """Call `fn` on every module below, then on this one; returns itself."""
        for module in self.children():
            module.apply(fn)
        fn(self)
        return self

    def _apply(self, fn: Callable[[Tensor], Tensor], recurse: bool = True) -> Self:
        """Convert parameters, gradients and buffers with `fn`; parameters stay the objects they are."""
        from .. import no_grad

        if recurse:
            for module in self.children():
                module._apply(fn)
        for p in self._parameters.values():
            if p is None:
                continue
            with no_grad():
                converted = fn(p)
                grad = fn(p.grad) if p.grad is not None else None
            p.data = converted
            if p.grad is not None:
                p.grad.data = grad
        for name, b in self._buffers.items():
            if b is not None:
                self._buffers[name] = fn(b)
        module_path.structure_changed()
        return self

    def to(self, *args: Any, **kwargs: Any) -> Self:
        """Move to a device, convert to a dtype, or both: `to(device)`, `to(dtype)`, `to(tensor)`; in place, returns
        itself.

        A dtype concerns floating-point parameters and buffers only. Raises TypeError for an integer dtype.
        """
        device, dtype = _destination(args, kwargs)
        if dtype is not None and not (dtype.is_floating_point or dtype.is_complex):
            raise TypeError(
                f"nn.Module.to only accepts floating point or complex dtypes, but got desired dtype={dtype}"
            )

        def convert(t: Tensor) -> Tensor:
            wanted = dtype if t.is_floating_point() or t.is_complex() else None
            if device is None and wanted is None:
                return t
            return t.to(device=t.device if device is None else device, dtype=t.dtype if wanted is None else wanted)

        return self._apply(convert)

    def to_empty(self, *, device: Any, recurse: bool = True) -> Self:
        """Move to a device without copying the values."""
        from .. import empty_like

        return self._apply(lambda t: empty_like(t, device=device), recurse=recurse)

    def cpu(self) -> Self:
        """Move to the CPU."""
        return self._apply(lambda t: t.cpu())

    def cuda(self, device: Any = None) -> Self:
        """Move to a CUDA device; raises what `Tensor.cuda` raises where there is none."""
        return self._apply(lambda t: t.cuda(device))

    def type(self, dst_type: Any) -> Self:
        """Convert all parameters and buffers to a dtype."""
        return self._apply(lambda t: t.type(dst_type))

    def float(self) -> Self:
        """Convert floating-point parameters and buffers to float32."""
        return self._apply(lambda t: t.float() if t.is_floating_point() else t)

    def double(self) -> Self:
        """Convert floating-point parameters and buffers to float64."""
        return self._apply(lambda t: t.double() if t.is_floating_point() else t)

    def half(self) -> Self:
        """Convert floating-point parameters and buffers to float16."""
        return self._apply(lambda t: t.half() if t.is_floating_point() else t)

    def bfloat16(self) -> Self:
        """Convert floating-point parameters and buffers to bfloat16."""
        return self._apply(lambda t: t.bfloat16() if t.is_floating_point() else t)

    def train(self, mode: bool = True) -> Self:
        """Switch this module and all below to training (or, with False, to evaluation); returns itself."""
        if not isinstance(mode, bool):
            raise ValueError("training mode is expected to be boolean")
        self.training = mode
        for module in self.children():
            module.train(mode)
        return self

    def eval(self) -> Self:
        """Switch to evaluation: the same as `train(False)`."""
        return self.train(False)

    def requires_grad_(self, requires_grad: bool = True) -> Self:
        """Say for all parameters whether backward shall compute their gradients."""
        for p in self.parameters():
            p.requires_grad_(requires_grad)
        return self

    def zero_grad(self, set_to_none: bool = True) -> None:
        """Forget the gradients of all parameters, or fill them with zeros."""
        for p in self.parameters():
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

    # -- text -----------------------------------------------------------------------------------

    def _get_name(self) -> str:
        return type(self).__name__

    def extra_repr(self) -> str:
        """What `repr` says of the module itself, between the parentheses."""
        return ""

    def _repr_mimebundle_(self, include: Any = None, exclude: Any = None) -> dict[str, Any]:
        from ..display import bundle, module_json

        return bundle("module", lambda: module_json(self), repr(self))

    def __repr__(self) -> str:
        own = self.extra_repr()
        lines = own.split("\n") if own else []
        children = [f"({name}): " + _indent(repr(m)) for name, m in self._modules.items()]
        if len(lines) == 1 and not children:
            return f"{self._get_name()}({lines[0]})"
        lines += children
        inside = "\n  " + "\n  ".join(lines) + "\n" if lines else ""
        return f"{self._get_name()}({inside})"


def _indent(text: str) -> str:
    return text.replace("\n", "\n  ")


def _destination(args: tuple[Any, ...], kwargs: dict[str, Any]) -> tuple[Any, Any]:
    """Device and dtype that `to` was called with, None where it was not said."""
    from ..device import device as Device
    from ..dtypes import dtype as DType

    device: Any = kwargs.get("device")
    dtype: Any = kwargs.get("dtype")
    if "tensor" in kwargs:
        args = (kwargs["tensor"], *args)
    for a in args[:2]:
        if isinstance(a, Tensor):
            device, dtype = a.device, a.dtype
        elif isinstance(a, DType):
            dtype = a
        elif isinstance(a, (str, Device, int)) and not isinstance(a, bool):
            device = a
        elif a is not None and not isinstance(a, bool):
            raise TypeError(
                f"to() received an invalid combination of arguments - got ({typename(a)}); give a device, a dtype or "
                "a tensor"
            )
    if device is not None and not isinstance(device, Device):
        device = Device(device)
    return device, dtype


register_module_forward_pre_hook = module_hooks.register_module_forward_pre_hook
register_module_forward_hook = module_hooks.register_module_forward_hook
register_module_full_backward_pre_hook = module_hooks.register_module_full_backward_pre_hook
register_module_full_backward_hook = module_hooks.register_module_full_backward_hook
register_module_parameter_registration_hook = module_hooks.register_module_parameter_registration_hook
register_module_buffer_registration_hook = module_hooks.register_module_buffer_registration_hook
register_module_module_registration_hook = module_hooks.register_module_module_registration_hook
