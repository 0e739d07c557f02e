"""`nn.parallel`: `DataParallel` for machines with one device, which runs the module as it is, and `DistributedDataParallel`.

There is one device of a kind here at most, which is what PyTorch's wrapper does on such a machine, too. Training over several processes,
one device each, is `DistributedDataParallel`.
"""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
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


def scatter(inputs: Any, target_gpus: Any, dim: int = 0) -> Any:
    """The inputs split for the devices: one share here, everything. Raises RuntimeError for more than one device."""
    if len(set(map(str, target_gpus))) != 1:
        raise RuntimeError(f"there is one device of a kind at most; scattering to {list(target_gpus)} is not possible")
    return [inputs]


def gather(outputs: Any, target_device: Any, dim: int = 0) -> Any:
    """The outputs of the devices concatenated along `dim`."""
    from .. import cat

    return outputs[0] if len(outputs) == 1 else cat(list(outputs), dim)


class DistributedDataParallel(Module):
    """Wraps a module that every process of `torch.distributed` trains on its own data, with the mean of all gradients.

    Parameters and buffers of rank 0 go to all when it is made. A parameter's gradient is averaged when backward has put it into
    `.grad`, in the order in which backward comes to the parameters, which is the same in every process that runs the same code.
    `no_sync()` puts that off, for gathering gradients over several passes. `static_graph`, buckets and `find_unused_parameters` are
    accepted and change nothing. Raises RuntimeError before `init_process_group`, or for a module without parameters that need gradients.
    """

    def __init__(
        self,
        module: Module,
        device_ids: Any = None,
        output_device: Any = None,
        dim: int = 0,
        broadcast_buffers: bool = True,
        init_sync: bool = True,
        process_group: Any = None,
        bucket_cap_mb: float | None = None,
        find_unused_parameters: bool = False,
        check_reduction: bool = False,
        gradient_as_bucket_view: bool = False,
        static_graph: bool = False,
        **unused: Any,
    ):
        from .. import distributed

        super().__init__()
        if not distributed.is_initialized():
            raise ValueError(
                "Default process group has not been initialized, please make sure to call init_process_group."
            )
        if not any(p.requires_grad for p in module.parameters()):
            raise RuntimeError(
                "DistributedDataParallel is not needed when a module doesn't have any parameter that requires a gradient."
            )
        self.module = module
        self.device_ids, self.output_device, self.dim = device_ids, output_device, dim
        self.broadcast_buffers = broadcast_buffers
        self.require_backward_grad_sync = True
        if init_sync:
            for t in (*module.parameters(), *module.buffers()):
                distributed.broadcast(t.data, src=0)
        for p in module.parameters():
            if p.requires_grad:
                p.register_post_accumulate_grad_hook(self._average)

    def _average(self, parameter: Any) -> None:
        from .. import distributed

        if self.require_backward_grad_sync and distributed.get_world_size() > 1:
            distributed.all_reduce(parameter.grad, op=distributed.ReduceOp.AVG)

    @contextlib.contextmanager
    def no_sync(self) -> Iterator[None]:
        """Inside, gradients stay those of this process."""
        before, self.require_backward_grad_sync = self.require_backward_grad_sync, False
        try:
            yield
        finally:
            self.require_backward_grad_sync = before

    def forward(self, *inputs: Any, **kwargs: Any) -> Any:
        """The module's own result; in training, buffers come from rank 0 first."""
        from .. import distributed

        if self.training and self.broadcast_buffers and distributed.get_world_size() > 1:
            for b in self.module.buffers():
                distributed.broadcast(b.data, src=0)
        return self.module(*inputs, **kwargs)
