"""Which functions are leaves of a capture: run natively on fakes and written into the graph as one node.

They are the operator table's functions, creation and drawing functions, the methods of `Tensor`, and what `allow_in_graph` was said
of.  What needs values, hooks or other special treatment is listed here by name, with the break it makes.
"""

from __future__ import annotations

import functools
from types import FunctionType
from typing import Any

from ... import overrides
from ...nn.parameter import Parameter
from ...ops import creation, random
from ...ops.table import FUNCTIONS
from ...tensor import Tensor

NEEDS_VALUES = {
    "item": "item", "tolist": "to-python", "numpy": "to-python", "__array__": "to-python", "__bool__": "branch", "__float__": "item",
    "__int__": "item", "__complex__": "item", "__index__": "item", "is_nonzero": "item", "__contains__": "item", "_host": "to-python",
    "__repr__": "to-python", "__format__": "to-python", "__reduce_ex__": "to-python", "__deepcopy__": "to-python", "data_ptr": "to-python",
    "__dlpack__": "to-python", "__dlpack_device__": "to-python", "untyped_storage": "to-python", "storage": "to-python",
    "register_hook": "hook", "register_post_accumulate_grad_hook": "hook", "apply_": "opaque-call", "map_": "opaque-call",
    "share_memory_": "opaque-call", "_version": "to-python", "equal": "item", "allclose": "item", "from_numpy": "opaque-call",
    "frombuffer": "opaque-call", "from_dlpack": "opaque-call", "new": "fake", "new_tensor": "fake", "as_subclass": "fake",
}  # fmt: skip
"""Methods and functions that end a graph, with the id of the break."""

QUESTIONS = frozenset(
    [
        "dim", "ndimension", "size", "numel", "nelement", "stride", "storage_offset", "element_size", "is_contiguous", "is_floating_point",
        "is_complex", "is_signed", "is_same_size", "get_device", "_is_view", "is_inference", "__len__", "is_tensor", "result_type",
        "promote_types", "can_cast", "typename", "is_storage", "get_default_dtype", "get_default_device", "is_shared", "is_pinned",
        "has_names", "storage_type", "is_set_to", "is_coalesced", "broadcast_shapes", "__hash__",
    ]
)  # fmt: skip
"""Functions that ask about a tensor without its values: they make no node."""

OF_DEFAULTS = frozenset(["get_default_dtype", "get_default_device", "result_type", "promote_types"])
"""Questions whose answers hang on the default dtype or device."""

ALWAYS = frozenset(["retain_grad", "detach_", "requires_grad_", "resize_", "set_", "__setitem__"])
"""Methods that make a node whatever they return."""

DATA_SHAPES = {
    "nonzero", "masked_select", "unique", "unique_consecutive", "argwhere", "bincount", "repeat_interleave", "histc",
}  # fmt: skip
"""Functions whose results have shapes that depend on values (as far as the break can name them)."""


plain = overrides.original
"""The operator behind a front that asks for `__torch_function__`: fronts are not looked into."""


@functools.cache
def functions() -> dict[int, Any]:
    """All leaf functions by identity."""
    out: dict[int, Any] = {}
    for entry in FUNCTIONS.values():
        for f in (entry.call, entry.inplace):
            if f is not None:
                out[id(f)] = f
    for f in (*creation.CREATORS, *random.CREATORS):
        out[id(f)] = f
    import importlib

    torch = importlib.import_module("...", __package__)
    for name in (
        "detach", "detach_", "is_tensor", "is_floating_point", "is_complex", "numel", "is_nonzero", "result_type", "promote_types", "can_cast",
        "is_signed", "is_same_size", "is_inference", "get_device", "get_default_dtype", "get_default_device", "scalar_tensor",
    ):  # fmt: skip
        f = plain(getattr(torch, name, None))
        if f is not None:
            out[id(f)] = f
    for f in Tensor.__dict__.values():
        f = plain(f)
        if type(f) is FunctionType and f.__name__ != "__torch_function__":
            out[id(f)] = f
    return out


_allowed: dict[int, Any] = {}


def allow(function: Any) -> None:
    """Treat a function as a leaf from now on."""
    _allowed[id(function)] = function


def is_leaf(function: Any) -> bool:
    """Whether calls of a function become one node."""
    key = id(function)
    return functions().get(key) is function or _allowed.get(key) is function


def is_allowed(function: Any) -> bool:
    """Whether it is a leaf because somebody said so."""
    return _allowed.get(id(function)) is function


def tensor_method(kind: type, name: str) -> Any:
    """The function of `Tensor` that an attribute of a tensor's type is, None for properties and others."""
    found = plain(getattr(kind, name, None))
    if type(found) is FunctionType and functions().get(id(found)) is found:
        return found
    return None


PARAMETER = Parameter
