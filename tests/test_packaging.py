"""The distribution: every folder is in it, under its package name, typed, with its data, and it works installed."""

from __future__ import annotations

import subprocess
import sys
import tomllib
import zipfile
from email.parser import Parser
from pathlib import Path

import pytest

ROOMS = ("app", "engine", "graphviz_views", "webgpu_kernels")


@pytest.fixture(scope="module")
def project(root: Path) -> dict:
    return tomllib.loads((root / "pyproject.toml").read_text())


@pytest.fixture(scope="module")
def wheel(root: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A wheel built from what git would give a reader: no stale build folder, no ignored file."""
    folder = tmp_path_factory.mktemp("wheel")
    source = folder / "source"
    source.mkdir()
    listed = subprocess.run(
        ["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard"],
        cwd=root, capture_output=True, text=True, check=True,
    ).stdout  # fmt: skip
    for name in filter(None, listed.split("\0")):
        if (root / name).is_file():
            (source / name).parent.mkdir(parents=True, exist_ok=True)
            (source / name).write_bytes((root / name).read_bytes())
    built = subprocess.run(
        [sys.executable, "-m", "pip", "wheel", "-qq", "--no-deps", "--no-build-isolation", "--no-index"]
        + ["-w", str(folder), str(source)],
        capture_output=True, text=True,
    )  # fmt: skip
    assert built.returncode == 0, built.stderr
    (found,) = folder.glob("*.whl")
    return found


@pytest.fixture(scope="module")
def names(wheel: Path) -> set[str]:
    with zipfile.ZipFile(wheel) as archive:
        return set(archive.namelist())


def test_every_folder_with_an_init_is_a_listed_package(root: Path, project: dict):
    found = {
        "tapescope." + ".".join(init.parent.relative_to(root).parts)
        for room in ROOMS
        for init in (root / room).rglob("__init__.py")
        if "node_modules" not in init.parts
    }
    listed = set(project["tool"]["setuptools"]["packages"]) - {"tapescope.examples"}
    assert listed == found, "[tool.setuptools] packages in pyproject.toml differs from the folders"


def test_every_folder_with_code_has_an_init(root: Path):
    bare = {
        str(module.parent.relative_to(root))
        for room in ROOMS
        for module in (root / room).rglob("*.py")
        if not (module.parent / "__init__.py").exists() and "node_modules" not in module.parts
    }
    assert not bare, f"no __init__.py in {bare}; the wheel would lack these folders"


def test_wheel_is_pure_python(wheel: Path):
    assert wheel.name.endswith("-py3-none-any.whl")


def test_wheel_holds_every_module(root: Path, names: set[str]):
    expected = {
        f"tapescope/{module.relative_to(root).as_posix()}"
        for room in (*ROOMS, "examples")
        for module in (root / room).rglob("*.py")
        if "node_modules" not in module.parts
    }
    assert expected <= names, sorted(expected - names)


def test_wheel_holds_data_and_type_marks(names: set[str]):
    assert {f"tapescope/{room}/py.typed" for room in ROOMS} <= names
    assert {"tapescope/examples/data/digits.npz", "tapescope/examples/data/README.md"} <= names


def test_wheel_holds_nothing_else(names: set[str]):
    tops = {name.split("/")[0] for name in names}
    assert tops == {"tapescope", next(t for t in tops if t.endswith(".dist-info"))}
    own = ("engine/testing.py", "engine/_dynamo/testing.py")  # `torch.testing`, which programs import
    others = [n for n in names if not n.endswith(own)]
    assert not [n for n in others if "test" in Path(n).name or n.endswith((".pyc", ".ipynb_checkpoints"))]
    assert "tapescope/__init__.py" not in names, "tapescope is a namespace package"


def test_wheel_metadata(wheel: Path, names: set[str]):
    (metadata,) = (n for n in names if n.endswith(".dist-info/METADATA"))
    with zipfile.ZipFile(wheel) as archive:
        read = Parser().parsestr(archive.read(metadata).decode())
        entry_points = archive.read(metadata.replace("METADATA", "entry_points.txt")).decode()
    assert read["License-Expression"] == "Apache-2.0"
    assert read.get_all("License-File") == ["LICENSE", "NOTICE"]
    assert read["Requires-Python"] in (">=3.11,<3.15", "<3.15,>=3.11")
    assert "tapescope = tapescope.app.cli:main" in entry_points
    for requirement in read.get_all("Requires-Dist") or []:
        assert "<" in requirement or "==" in requirement, f"{requirement} has no upper bound"


def test_installed_wheel_works_without_the_checkout(wheel: Path, tmp_path: Path):
    """Unpacked elsewhere (its dependencies are this environment's), it imports from there and finds its examples."""
    site = tmp_path / "site"
    with zipfile.ZipFile(wheel) as archive:
        archive.extractall(site)
    program = f"""
import sys
sys.meta_path = [f for f in sys.meta_path if "editable" not in repr(f).lower()]   # forget the checkout
sys.path.insert(0, {str(site)!r})
import tapescope.app.cli, tapescope.engine, tapescope.webgpu_kernels, tapescope.graphviz_views
for module in (tapescope.app.cli, tapescope.engine, tapescope.webgpu_kernels, tapescope.graphviz_views):
    assert module.__file__.startswith({str(site)!r}), module.__file__
raise SystemExit(tapescope.app.cli.main(["tutorial", "mine", "--no-open"]))
"""
    done = subprocess.run([sys.executable, "-c", program], cwd=tmp_path, capture_output=True, text=True, timeout=120)
    assert done.returncode == 0, done.stderr
    assert done.stdout.strip() == str(Path("mine", "01_digits.py"))
    assert (tmp_path / "mine" / "data" / "digits.npz").stat().st_size > 40_000
