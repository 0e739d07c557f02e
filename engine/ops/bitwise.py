"""Operators on the bits of integers; on bools they are logical ones."""

from __future__ import annotations

import numpy as np

from .declare import pointwise

BITWISE_NOT = pointwise("bitwise_not", cpu=np.invert, expr="~input", accepts="bi")
BITWISE_AND = pointwise(
    "bitwise_and", "input, other", cpu=np.bitwise_and, expr="input & other", accepts="bi", numbers="input other"
)
BITWISE_OR = pointwise(
    "bitwise_or", "input, other", cpu=np.bitwise_or, expr="input | other", accepts="bi", numbers="input other"
)
BITWISE_XOR = pointwise(
    "bitwise_xor", "input, other", cpu=np.bitwise_xor, expr="input ^ other", accepts="bi", numbers="input other"
)
LEFT_SHIFT = pointwise(
    "bitwise_left_shift", "input, other", cpu=np.left_shift, expr="input << other", accepts="i", numbers="input other",
    refusals={"": "lshift_cpu"}, doc="`input * 2 ** other`, without the bits that leave the dtype.",
)  # fmt: skip
RIGHT_SHIFT = pointwise(
    "bitwise_right_shift", "input, other", cpu=np.right_shift, expr="input >> other", accepts="i", numbers="input other",
    refusals={"": "rshift_cpu"}, doc="`input // 2 ** other`; the sign is kept.",
)  # fmt: skip
