"""The tensor engine: what `import torch` means inside a Tapescope cell.

This file assembles the public surface from the operator table and the engine's parts; it defines nothing itself.
Importing it loads numpy and nothing else from outside the standard library.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from . import autograd
from . import dtypes as _dtypes
from .ops import families as _families  # fills the table
from . import surface as _surface
from .autograd import (
    enable_grad,
    inference_mode,
    is_grad_enabled,
    is_inference_mode_enabled,
    no_grad,
    set_grad_enabled,
)
from .backends import cpu as _cpu
from .device import device, get_default_device, set_default_device
from .dtypes import dtype, finfo, get_default_dtype, iinfo, set_default_dtype
from .ops import creation as _creation
from .ops import random as _random_ops
from .ops.dunders import DUNDERS as _DUNDERS
from .ops.table import FUNCTIONS as _FUNCTIONS
from .printing import get_printoptions, set_printoptions
from .printing import printoptions as _printoptions
from .random import Generator, default_generator, get_rng_state, initial_seed, manual_seed, seed, set_rng_state
from .shapes import Size
from .tensor import Tensor

if TYPE_CHECKING:

    def __getattr__(name: str) -> Any: ...


from .ops.creation import tensor

__version__ = "2.13.0+tapescope"

for _name, _value in {**_dtypes.DTYPES, **_dtypes.ALIASES}.items():
    globals()[_name] = _value
for _value in (*_creation.CREATORS, *_random_ops.CREATORS, *_surface.NAMES):
    globals()[_value.__name__] = _value
for _name in (
    "strided", "sparse_coo", "jagged",
    "contiguous_format", "preserve_format", "channels_last", "channels_last_3d", "inf", "nan", "pi", "e", "newaxis",
):  # fmt: skip
    globals()[_name] = getattr(_surface, _name)
for _function in _FUNCTIONS.values():
    for _label in (_function.name, *_function.aliases):
        if "torch" in _function.spaces:
            globals()[_label] = _function.call
            if _function.inplace is not None:
                globals()[_label + "_"] = _function.inplace
        if _function.method and not {"primitive"} & set(_function.spaces):
            setattr(Tensor, _label, _function.call)
            if _function.inplace is not None:
                setattr(Tensor, _label + "_", _function.inplace)
for _name, _value in {**_creation.METHODS, **_DUNDERS, **{f.__name__: f for f in _surface.METHODS}}.items():
    setattr(Tensor, _name, _value)


def is_storage(obj: object) -> bool:
    """Whether `obj` is a storage."""
    from .storage import Storage

    return isinstance(obj, Storage)


from . import fft, func, linalg, nn, optim, return_types, signal, special, utils  # noqa: E402  (they are written with the surface above)
from . import distributions as distributions  # noqa: E402
from .backends import webgpu as webgpu  # noqa: E402
from .autograd import forward_ad as _forward_ad, functional as _autograd_functional  # noqa: E402
from .func import vmap as vmap  # noqa: E402
from . import serialization  # noqa: E402
from .serialization import load, save  # noqa: E402
from . import accelerator, amp, backends, cuda, mps, profiler, version, xpu  # noqa: E402
from .amp import autocast  # noqa: E402
from .amp.autocast_mode import get_autocast_dtype, is_autocast_enabled  # noqa: E402
from .backends import cuda as _cuda_flags, cudnn as _cudnn, mps as _mps_flags  # noqa: E402
from .legacy import TYPES as _TYPES  # noqa: E402
from .modes import Mode as _Mode  # noqa: E402
from .utils import benchmark as _benchmark, checkpoint as _checkpoint  # noqa: E402

globals().update(_TYPES)
from . import masked as masked  # noqa: E402
from . import multiprocessing, storage_view as _storage_view, switches as _switches  # noqa: E402
from .storage_view import TypedStorage, UntypedStorage  # noqa: E402

for _value in _switches.NAMES:
    globals()[_value.__name__] = _value
for _name, _value in _storage_view.METHODS.items():
    if not hasattr(Tensor, _name) or not callable(_value):
        setattr(Tensor, _name, _value)
from .utils import dlpack as _dlpack  # noqa: E402
from .utils.dlpack import from_dlpack  # noqa: E402

for _name, _value in _dlpack.METHODS.items():
    setattr(Tensor, _name, _value)
from .autograd import profiler as _older_profiler  # noqa: E402
from . import distributed as distributed, nested as nested, overrides as overrides, sparse as sparse, testing as testing  # noqa: E402
from .sparse import sparse_coo_tensor, spmm  # noqa: E402

for _name, _value in sparse.METHODS.items():
    setattr(Tensor, _name, _value)
from . import fx as fx  # noqa: E402
from . import tapescope_namespace as tapescope  # noqa: E402
from . import _dynamo as _dynamo, _higher_order_ops as _higher_order_ops, compiler as compiler, export as export  # noqa: E402
from .compile.api import compile  # noqa: E402  (the function takes the place of the package's name)
from . import futures as futures, jit as jit, onnx as onnx  # noqa: E402
from .compile.control import scan, switch, while_loop  # noqa: E402
from .compile.control import cond as cond  # noqa: E402
