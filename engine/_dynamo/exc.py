"""`torch._dynamo.exc`: the errors of `torch.compile`."""

from __future__ import annotations

from ..compile.breaks import BackendCompilerFailed, FailOnRecompileLimitHit, RecompileError, Unsupported

TorchDynamoException = RuntimeError
TorchRuntimeError = RuntimeError

__all__ = [
    "BackendCompilerFailed",
    "FailOnRecompileLimitHit",
    "RecompileError",
    "TorchDynamoException",
    "TorchRuntimeError",
    "Unsupported",
]
