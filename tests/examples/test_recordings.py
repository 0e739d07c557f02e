"""Recordings of the lessons: made in a folder, taken while the notebook is the same, and left alone when it is not."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tapescope.app import cli
from tapescope.app.web import recorded


def test_a_lesson_is_recorded_and_taken(tmp_path: Path, capfd: pytest.CaptureFixture[str]):
    folder = tmp_path / "recordings"
    assert cli.main(["playground", "record", str(folder), "02_backward"]) == 0
    out, err = capfd.readouterr()
    assert out.strip() == str(folder / "02_backward.json") and "recording 02_backward.py" in err
    (lesson,) = recorded.lessons(["02_backward"])
    taken = recorded.kept(folder, lesson)
    assert taken is not None and "source" not in taken
    assert taken["title"] == "What backward() does" and len(taken["tapes"]) > 5
    outputs = [o for cell in taken["notebook"]["cells"] for o in cell.get("outputs", ())]
    assert len(outputs) > 10 and all(o["output_type"] != "error" for o in outputs)


def test_a_recording_of_another_text_is_not_taken(tmp_path: Path):
    notebook = tmp_path / "01_one.py"
    notebook.write_text("# %%\nprint(1)\n")
    (tmp_path / "data").mkdir()
    folder = tmp_path / "recordings"
    folder.mkdir()
    file = folder / "01_one.json"
    assert recorded.kept(folder, notebook) is None and recorded.kept(None, notebook) is None
    file.write_text(json.dumps({"source": recorded.fingerprint(notebook), **recorded.take(notebook)}))
    assert recorded.kept(folder, notebook) is not None
    (tmp_path / "data" / "x.txt").write_text("1")
    assert recorded.kept(folder, notebook) is None
    (tmp_path / "data" / "x.txt").unlink()
    assert recorded.kept(folder, notebook) is not None
    notebook.write_text("# %%\nprint(2)\n")
    assert recorded.kept(folder, notebook) is None
    for torn in ("{", "[]", "3", '{"format": "other"}'):
        file.write_text(torn)
        assert recorded.kept(folder, notebook) is None


def test_a_lesson_that_fails_is_named(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
):
    (tmp_path / "01_one.py").write_text("# %%\n1 / 0\n")
    monkeypatch.setattr(recorded, "EXAMPLES", tmp_path)
    assert cli.main(["playground", "record", str(tmp_path / "out")]) == 1
    assert "01_one.py does not run to its end: ZeroDivisionError" in capfd.readouterr().err
    assert cli.main(["playground", "record", str(tmp_path / "out"), "02_two"]) == 2
    assert "There is no lesson '02_two'; there are 01_one" in capfd.readouterr().err
