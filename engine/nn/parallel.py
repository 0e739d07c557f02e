"""`nn.parallel` and `nn.DataParallel` for machines with one device: a wrapper with PyTorch's names that runs the module as it is.

There is one device of a kind here at most, which is what PyTorch's wrapper does on such a machine, too. Training over processes is not here.
"""

from __future__ import annotations

from typing import Any

from ..device import device as Device
from .module import Module


class DataParallel(Module):
    """Wraps a module; its parameters are named "module...." as PyTorch's. `forward` runs the module on all of the input.

    Raises RuntimeError for more than one device.
    """

    def __init__(self, module: Module, device_ids: Any = None, output_device: Any = None, dim: int = 0):
        super().__init__()
        if device_ids is not None and len({str(Device(d) if not isinstance(d, int) else d) for d in device_ids}) > 1:
            raise RuntimeError(
                f"there is one device of a kind at most; DataParallel over {list(device_ids)} is not possible"
            )
        self.module = module
        self.device_ids = [] if device_ids is None else list(device_ids)
        self.output_device = output_device
        self.dim = dim

    def forward(self, *inputs: Any, **kwargs: Any) -> Any:
        """The module's own result."""
        return self.module(*inputs, **kwargs)


def data_parallel(
    module: Module,
    inputs: Any,
    device_ids: Any = None,
    output_device: Any = None,
    dim: int = 0,
    module_kwargs: Any = None,
) -> Any:
    """`module(*inputs)`, by way of `DataParallel`."""
    given = inputs if isinstance(inputs, tuple) else (inputs,)
    return DataParallel(module, device_ids, output_device, dim)(*given, **(module_kwargs or {}))
