"""The text of the kernel families: within every device's limits, the same for every shape, and only what is needed."""

import ast
import itertools
from pathlib import Path

import pytest

from tapescope.webgpu_kernels import compact, functions, indexing, losses, matmul, pointwise, reduce, softmax, wgsl
from tapescope.webgpu_kernels.tuning import HARDWARE, SOFTWARE, profile_for


def test_the_room_imports_nothing_of_the_project():
    for path in Path(wgsl.__file__).parent.glob("*.py"):
        for node in ast.walk(ast.parse(path.read_text())):
            if isinstance(node, ast.ImportFrom):
                assert node.level <= 1, f"{path.name} imports from outside of its room"


def test_library_holds_what_is_used_in_order():
    text = functions.library("let y = tanh_f(x);")
    assert "fn exp_reduce" in text and "fn erf_f" not in text
    assert text.index("fn exp_reduce") < text.index("fn power_of_two") < text.index("fn tanh_f")
    assert functions.library("let y = x;") == ""


def test_definitions_use_only_what_is_defined():
    for name, text in functions.DEFINITIONS.items():
        called = {w for w in functions._WORD.findall(text) if w.endswith(("_f", "_i", "_u")) and f"{w}(" in text}
        assert called <= set(functions.DEFINITIONS), name


def test_more_buffers_than_can_be_bound_are_refused():
    operands = tuple(("f32", "array") for _ in range(8))
    names = tuple(f"x{i}" for i in range(8))
    with pytest.raises(ValueError, match="9 storage buffers"):
        pointwise.build("many", " + ".join(names), names, operands, "f32", "flat")


def test_parameters_come_from_the_block_and_workgroups_fit():
    built = [
        pointwise.build("add", "x + y", ("x", "y"), (("f32", "array"), ("f32", "number")), "f32", form, rank, wide)
        for form, rank, wide in (("flat", 1, True), ("flat", 1, False), ("rows", 7, False), ("rows", 3, True), ("strided", 8, False))
    ]  # fmt: skip
    built += [
        reduce.build(name, "f32", "f32", form=form, partial=partial, last=last)
        for name, form, partial, last in itertools.product(
            ("sum", "amax", "mean"), ("serial", "tree"), (False, True), (False, True)
        )
    ]
    built += [
        matmul.build("f32", "f32", "f32", a, b, matmul.Tile(8, 8), store4=True, batch=3, bias="f32")
        for a, b in itertools.product("kms", "kns")
    ]
    built += [
        losses.total("f32", "i64", "f32", None, "mean", True), losses.total(None, "i64", "f32", "f32", "weights"),
        losses.merge("f32", "mean"), losses.slope("f32", "i64", "f32", True, False),
        softmax.build("cross_entropy", "f32", form="tree", wide=True, outer=7),
        softmax.build("moments", "f32", form="serial", wide=False, outer=1),
    ]  # fmt: skip
    built += [
        softmax.build("softmax", "f32", form=form, wide=wide, outer=7)
        for form in ("serial", "tree")
        for wide in (False, True)
    ]
    built += [
        indexing.take("f32", ("i64",) * 5, 8),
        indexing.scatter("f32", "i64", 8, True),
        compact.build("bool", 8, True),
    ]
    for kernel in built:
        assert len(kernel.access) <= wgsl.MAX_STORAGE_BUFFERS
        assert kernel.words % 64 == 0 and len(kernel.parameters) <= kernel.words
        assert f"var<uniform> P: array<vec4<u32>, {kernel.words // 4}>" in kernel.source
        size = kernel.source.split("@workgroup_size(")[1].split(")")[0].split(",")
        assert int(size[0]) * int(size[1]) <= 256
        assert "arrayLength" not in kernel.source


def test_half_precision_is_enabled_only_where_it_is_stored():
    with_half = pointwise.build("neg", "-x", ("x",), (("f16", "array"),), "f16", "flat")
    twin = pointwise.build("neg", "-x", ("x",), (("f16w", "array"),), "f16w", "flat")
    assert with_half.source.startswith("enable f16;") and "enable f16;" not in twin.source
    assert "round_half(" in twin.source


@pytest.mark.parametrize("groups", [1, 65_535, 65_536, 100_000, 16_777_216])
def test_folded_launches_cover_all_groups_within_the_limit(groups):
    x, y, z = wgsl.fold(groups)
    assert max(x, y, z) <= 65_535
    assert groups <= x * y * z < groups + max(x, y)


def test_folding_has_an_end():
    with pytest.raises(ValueError, match="more than one launch"):
        wgsl.fold(65_535 * 65_535 + 1)


def test_profiles_by_adapter():
    assert profile_for("cpu", "llvmpipe") is SOFTWARE
    assert profile_for("unknown", "SwiftShader Device") is SOFTWARE
    assert profile_for("discrete", "a card") is HARDWARE


def test_tiles_shrink_until_there_is_work_for_all():
    assert matmul.tile_for(512, 512, 1, matmul.SOFTWARE_TILES, 32) == matmul.Tile(8, 8)
    assert matmul.tile_for(1, 512, 1, matmul.SOFTWARE_TILES, 32) == matmul.SOFTWARE_TILES[-1]
    assert matmul.tile_for(64, 1, 1, matmul.SOFTWARE_TILES, 32).cols == 1


def test_reading_forms_follow_strides_and_alignment():
    assert matmul.form_of_a(64, 1, 0, (), 64, 8) == "k"
    assert matmul.form_of_a(64, 1, 2, (), 64, 8) == "s"
    assert matmul.form_of_a(62, 1, 0, (), 62, 8) == "s"
    assert matmul.form_of_a(1, 64, 0, (), 63, 8) == "m"
    assert matmul.form_of_a(1, 64, 0, (), 63, 2) == "s"
    assert matmul.form_of_b(64, 1, 0, (), 63, 8) == "n"
    assert matmul.form_of_b(1, 64, 0, (), 64, 8) == "k"
    assert matmul.form_of_b(1, 64, 0, (3,), 64, 8) == "s"
