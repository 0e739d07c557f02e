"""The outline: rows in recorded order, folding, finding rows, plain text."""

import pytest
from views.recorded import Recorder, every, load

from tapescope.graphviz_views.labels import cell_width
from tapescope.graphviz_views.outline import COLUMNS, Outline
from tapescope.graphviz_views.tape import build_tape


def shown(outline):
    return [row.operator for row in outline.rows]


def test_a_row_holds_the_facts():
    row = Outline(build_tape(load("mlp"))).rows[1]
    assert (row.depth, row.kind, row.foldable, row.scope) == (1, "op", False, "net.fc1")
    assert dict(zip(COLUMNS, row.columns)) == {
        "operator": "linear",
        "shape": "[100, 32]",
        "dtype": "float32",
        "module": "net.fc1",
        "line": "cell 3:8",
        "saved": "25.0 KiB",
        "badges": "weight [32, 64], bias [32], grad [100, 32], norm 0.0312",
    }
    assert row.source is not None and (row.source.cell, row.source.line, row.source.column) == ("3", 8, 4)
    assert "weight [32, 64]" in row.text


def test_folding_a_scope_hides_its_rows():
    outline = Outline(build_tape(load("mlp")))
    assert shown(outline) == ["net", "linear", "relu", "linear", "cross_entropy"]
    assert outline.toggle("net") is True
    assert shown(outline) == ["net", "cross_entropy"]
    assert outline.rows[0].folded and outline.rows[0].badges == "3 nodes"
    assert outline.toggle("net") is False
    assert len(outline.rows) == 5
    assert outline.toggle("unknown") is False and outline.toggle("") is False
    assert len(outline.rows) == 5


def test_repeats_show_one_turn_until_they_are_opened():
    outline = Outline(build_tape(load("blocks_x12")))
    row = next(row for row in outline.rows if row.kind == "repeat")
    assert row.operator == "blocks.0 to blocks.11 x12, one shown"
    assert shown(outline).count("gelu") == 1
    outline.toggle(row.scope)
    assert shown(outline).count("gelu") == 12
    assert "blocks.0 to blocks.11 x12" in shown(outline)
    assert "turn 1 to turn 12 x12, one shown" in shown(outline)
    outline.unfold_all()
    assert shown(outline).count("gelu") == 1


@pytest.mark.parametrize(("count", "folds"), [(2, False), (3, True)])
def test_repeats_fold_only_where_it_pays(count, folds):
    r = Recorder()
    for n in range(count):
        for _ in range(4):
            r.op("mul", [], [1], f"net.{n}")
    assert any(row.kind == "repeat" for row in Outline(build_tape(r.snapshot())).rows) is folds


@pytest.mark.parametrize("change", ["shape", "op", "name", "leaf"])
def test_a_block_that_differs_is_not_folded_away(change):
    r = Recorder()
    for n in range(5):
        odd = n == 2
        leaf = r.leaf("w", 7 if odd and change == "leaf" else 3)
        for _ in range(4):
            module = f"net.other{n}" if odd and change == "name" else f"net.block{n}"
            shape = [2] if odd and change == "shape" else [1]
            r.op("add" if odd and change == "op" else "mul", [leaf], shape, module)
    outline = Outline(build_tape(r.snapshot()))
    assert not any(row.kind == "repeat" for row in outline.rows)
    assert sum(row.kind == "op" for row in outline.rows) == 20


@pytest.mark.parametrize("name", every())
def test_every_node_has_a_row_however_much_is_folded(name):
    graph = build_tape(load(name))
    outline = Outline(graph)

    def check():
        rows = outline.rows
        for index, node in enumerate(graph.nodes):
            number = outline.row_of(node.id)
            assert number is not None
            row = rows[number]
            assert row.node_id == node.id or (row.folded and row.index <= index < row.index + row.span)

    check()
    for row in [row for row in outline.rows if row.foldable]:
        outline.toggle(row.scope)
        check()
    outline.fold_all()
    check()
    assert all(row.depth == 0 for row in outline.rows)


def test_a_folded_scope_in_a_folded_repeat():
    graph = build_tape(load("blocks_x12"))
    outline = Outline(graph, folded={"net.blocks.0"})
    repeat = next(n for n, row in enumerate(outline.rows) if row.kind == "repeat")
    first, second = graph.scopes["net.blocks.0"], graph.scopes["net.blocks.1"]
    assert outline.row_of(graph.nodes[first.start].id) == repeat + 1
    assert outline.row_of(graph.nodes[second.start].id) == repeat


def test_rows_of_badges_and_of_unknown_nodes():
    graph = build_tape(load("mlp"))
    outline = Outline(graph)
    leaf = graph.nodes[2].badges[0].node_id
    assert leaf is not None
    assert outline.row_of(leaf) == outline.row_of(graph.nodes[2].id) == 3
    assert outline.row_of(999) is None and outline.reveal(999) is None


def test_reveal_opens_what_hides_a_node():
    graph = build_tape(load("blocks_x12"))
    outline = Outline(graph)
    outline.fold_all()
    node = graph.nodes[graph.scopes["net.blocks.7"].start]
    number = outline.reveal(node.id)
    assert number is not None and outline.rows[number].node_id == node.id


def test_the_next_tape_is_shown_alike():
    outline = Outline(build_tape(load("blocks_x12")))
    outline.toggle("net.cell")
    outline.toggle(next(row.scope for row in outline.rows if row.kind == "repeat"))
    again = Outline(build_tape(load("blocks_x12")), outline.folded, outline.opened)
    assert again.rows == outline.rows


def test_notes_stand_at_the_end():
    outline = Outline(build_tape({"version": 1, "nodes": [3]}))
    assert [(row.kind, row.operator) for row in outline.rows] == [
        ("note", "1 record has no id and was left out (record 0).")
    ]
    assert outline.text().endswith("Note: 1 record has no id and was left out (record 0).\n")


@pytest.mark.parametrize("name", every())
def test_texts_are_inert_and_bounded(name):
    outline = Outline(build_tape(load(name), leaves_as_nodes=True))
    for row in outline.rows:
        if row.kind != "note":
            assert all(cell_width(column) <= 60 for column in row.columns)
        assert all(column.isprintable() or "\u200d" in column for column in row.columns)
    assert not set(outline.text()) & set(map(chr, [*range(10), *range(11, 32), 0x7F, *range(0x80, 0xA0)]))


def test_columns_line_up_by_cells():
    r = Recorder()
    r.op("張量", [], [1])
    r.op("plain", [], [2])
    lines = Outline(build_tape(r.snapshot())).text().splitlines()[1:]
    assert [cell_width(line[: line.index("[")]) for line in lines] == [9, 9]
