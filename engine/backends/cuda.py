"""`torch.backends.cuda`: switches that programs set; they are kept and change nothing."""

from __future__ import annotations


class _Matmul:
    allow_tf32 = False
    allow_fp16_reduced_precision_reduction = True
    allow_bf16_reduced_precision_reduction = True
    fp32_precision = "none"


matmul = _Matmul()


def is_built() -> bool:
    """False: built without CUDA."""
    return False


def flash_sdp_enabled() -> bool:
    """False."""
    return False


def enable_flash_sdp(enabled: bool) -> None:
    """Accepted, without effect."""


enable_mem_efficient_sdp = enable_math_sdp = enable_flash_sdp
