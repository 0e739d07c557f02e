"""`torch._dynamo.exc`: the errors of `torch.compile`."""

from __future__ import annotations

from ..compile.breaks import FailOnRecompileLimitHit, Unsupported

TorchDynamoException = RuntimeError
TorchRuntimeError = RuntimeError
RecompileError = FailOnRecompileLimitHit

__all__ = ["FailOnRecompileLimitHit", "RecompileError", "TorchDynamoException", "TorchRuntimeError", "Unsupported"]
