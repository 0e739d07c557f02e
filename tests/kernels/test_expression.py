"""The printer of scalar expressions: what it accepts, how it types, and that nothing foreign gets through."""

import math
import re
import struct

import pytest

from tapescope.engine.ops.table import OPS
from tapescope.webgpu_kernels import expression
from tapescope.webgpu_kernels.expression import ExpressionError, float_text, function, printed

F = (("x", "f32"),)


def test_literals_take_the_type_of_what_they_meet():
    assert printed("x + 1", F).text == "(v0 + 1.0f)"
    assert printed("x + 1", (("x", "i32"),)).text == "(v0 + 1)"
    assert printed("x + 1", (("x", "u32"),)).text == "(v0 + 1u)"
    assert printed("x + 1.5", (("x", "i32"),)).text == "(f32(v0) + 1.5f)"


def test_types_of_results():
    assert printed("x < 0", F).type == "bool"
    assert printed("x / x", (("x", "i32"),)).type == "f32"
    assert printed("x // 2", (("x", "i32"),)) == expression.Value("floor_divide_i(v0, 2)", "i32")
    assert printed("where(x > 0, x, 0)", (("x", "i32"),)).type == "i32"
    assert printed("floor(x)", (("x", "i32"),)).text == "v0"
    assert printed("isnan(x)", (("x", "i32"),)).text == "false"


def test_arithmetic_on_bools_is_logic():
    both = (("x", "bool"), ("y", "bool"))
    assert printed("x + y", both).text == "(v0 || v1)"
    assert printed("x * y", both).text == "(v0 && v1)"
    assert printed("x ^ y", both).text == "(v0 != v1)"
    with pytest.raises(ExpressionError, match="two bools"):
        printed("x - y", both)


def test_chained_comparison_and_conditional():
    assert printed("0 < x <= 1", F).text == "((0.0f < v0) && (v0 <= 1.0f))"
    assert printed("x if x > 0 else -x", F).text == "select((-v0), v0, (v0 > 0.0f))"


def test_bounds_that_are_none_do_not_bound():
    text = function("f", "clamp(x, low, high)", (("x", "f32"), ("low", "none"), ("high", "f32")), "f32")
    assert text == "fn f(v0: f32, v2: f32) -> f32 { return min_nan(v0, v2); }"
    with pytest.raises(ExpressionError, match="None"):
        printed("x + low", (("x", "f32"), ("low", "none")))


@pytest.mark.parametrize("value", [0.0, -0.0, 1e-45, 1e40, -1e40, math.nan, 0.1, -3.5, 16777217.0])
def test_float_literals_round_to_single_precision_and_are_wgsl(value):
    text = float_text(value)
    if math.isfinite(value) and abs(value) < 3.4e38:
        assert re.fullmatch(r"\(?-?\d+(\.\d+)?(e[+-]?\d+)?f\)?", text)
        assert float(text.strip("()f")) == struct.unpack("<f", struct.pack("<f", value))[0]
    else:
        assert text in ("infinity()", "(-infinity())", "not_a_number()")


@pytest.mark.parametrize(
    "text",
    [
        "__import__('os')", "x.y", "[x]", "lambda: x", "x; y", "x := 1", "(x, x)", "'a'", "f'{x}'", "{x}", "x[0]", "exp(input=x)",
        "unknown(x)", "y", "exp(x, x)", "x is x", "x in x", "await x", "*x", "0x1p3", "exp", "x @ x", "1 if x", "x\n}; fn main() {",
        "v1", "P", "result", "main(x)", "True + 'b'", "99999999999999999999 + int(x)",
    ],
)  # fmt: skip
def test_everything_else_is_refused(text):
    with pytest.raises(ExpressionError):
        printed(text, F)


def test_nesting_too_deep_is_a_sentence():
    with pytest.raises(ExpressionError):
        printed("-" * 5000 + "x", F)


def test_parameter_names_never_reach_the_shader():
    text = function("f", "ééé * discard", (("ééé", "f32"), ("discard", "f32")), "f32")
    assert text == "fn f(v0: f32, v1: f32) -> f32 { return (v0 * v1); }"


POINTWISE = [op for op in OPS.values() if op.kind == "pointwise" and op.expr is not None]


@pytest.mark.parametrize("op", POINTWISE, ids=lambda op: op.name)
def test_every_operators_expression_prints(op):
    for letter, type in (("f", "f32"), ("i", "i32"), ("b", "bool")):
        if letter in op.accepts and not (op.result.startswith("float") and letter != "f"):
            names = (*op.tensors, *op.statics)
            printed(op.expr, tuple((n, type) for n in names))
