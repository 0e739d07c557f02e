"""The static site of the playground: `tapescope playground build OUT`.

Puts together the built page, Pyodide, the bundles of Python files, the examples with their recordings, and `site.json`,
which names them all.  Nothing in the result points to another host.  OUT is written beside itself first and takes its
name when it is whole.
"""

from __future__ import annotations

import hashlib
import importlib.metadata
import json
import re
import shutil
import subprocess
import tempfile
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from ..command_error import FAILED, USAGE, CommandError
from . import bundles, client_build, docs_site, packages, recorded, recording

Say = Callable[[str], None]

LATE = ("plotly", "jedi")
"""Bundles that are loaded when something first imports one of their packages: figures, and completion."""

_AS_SOURCE = ("plotly", "tapescope", "examples")
"""Bundles without bytecode. Tapescope's own would be three times as large with it; the page keeps the bytecode of its first
start in the browser instead."""

_SOURCE_ONLY = (
    r"/pygments/lexers/(?!__init__|_mapping|python|shell|html|javascript|perl|ruby|markup|special)|/pygments/styles/"
    r"|/prompt_toolkit/contrib/"
)
"""Modules that are seldom imported: their bytecode would only make the site larger."""


def build(
    out: Path,
    *,
    package_folder: Path | None = None,
    record: bool | Sequence[str] = True,
    recordings: Path | None = None,
    bytecode: bool = True,
    docs: Path | None = None,
    say: Say = lambda line: None,
) -> Path:
    """Make the site in the folder `out` and return it.

    package_folder  where wheels are, before the cache and the network are asked
    record          run the examples to have recordings of them (else they are shown without outputs), or the names of
                    those to run
    recordings      a folder of recordings made before (recorded.py), used where they are of these very notebooks
    docs            a built documentation, to be part of the site as docs/
    bytecode        ship the libraries compiled where Node is there to compile them: Python then starts sooner

    Raises CommandError with a sentence.
    """
    if out.exists() and (not out.is_dir() or (any(out.iterdir()) and not (out / "site.json").is_file())):
        raise CommandError(f"{out} is there and is not a playground; name a new or empty folder.", USAGE)
    static = client_build.ensure_built(say)
    wheels = packages.find_wheels(package_folder, say)
    out.parent.mkdir(parents=True, exist_ok=True)
    scratch = Path(tempfile.mkdtemp(prefix=f".{out.name}-", dir=out.parent))
    try:
        shutil.copytree(static, scratch, dirs_exist_ok=True, ignore=shutil.ignore_patterns(client_build.STAMP))
        say("packing Python's files")
        made = _bundles(scratch, wheels, bytecode, say)
        examples = _examples(scratch, record, recordings, say)
        if docs is not None:
            docs_site.copy(docs, scratch)
        _finish(scratch, made, examples, docs is not None)
        scratch.chmod(0o755)
        if out.exists():
            shutil.rmtree(out)
        scratch.rename(out)
    except BaseException:
        shutil.rmtree(scratch, ignore_errors=True)
        raise
    return out


# -- Python ---------------------------------------------------------------------------------------------


def _bundles(
    site: Path, wheels: list[tuple[packages.Wheel, Path]], bytecode: bool, say: Say
) -> dict[str, dict[str, Any]]:
    contents: dict[str, bundles.Files] = {"tapescope": bundles.project_files(), "examples": bundles.example_files()}
    for wheel, path in wheels:
        contents.setdefault(wheel.bundle, {}).update(bundles.wheel_files(path))
    if bytecode:
        contents = _compiled(contents, site / "pyodide", say)
    folder = site / "python"
    folder.mkdir()
    made = {}
    for name, files in contents.items():
        data = bundles.pack(files)
        file = f"python/{name}-{hashlib.sha256(data).hexdigest()[:12]}.bundle"
        (site / file).write_bytes(data)
        made[name] = {
            "file": file, "bytes": len(data), "packages": bundles.top_packages(files), "late": name in LATE,
        }  # fmt: skip
    return made


def _compiled(contents: dict[str, bundles.Files], pyodide: Path, say: Say) -> dict[str, bundles.Files]:
    """The same files with their bytecode, made by Pyodide in Node and kept in the cache; unchanged without Node."""
    node = shutil.which("node")
    if node is None:
        say("Node is not here, so Python will compile its modules in the page, which takes a few seconds more")
        return contents
    result = {}
    for name, files in contents.items():
        if name in _AS_SOURCE:
            result[name] = files
            continue
        sources = {n: d for n, d in files.items() if n.endswith(".py")}
        key = hashlib.sha256(bundles.pack(sources) + _SOURCE_ONLY.encode()).hexdigest()[:20]
        kept = packages.cache_folder() / f"bytecode-{key}.bundle"
        if not kept.is_file():
            say(f"compiling {len(sources)} modules of {name}")
            kept.parent.mkdir(parents=True, exist_ok=True)
            part = kept.with_suffix(f".{next(tempfile._get_candidate_names())}")  # type: ignore[attr-defined]
            part.write_bytes(bundles.pack(_compile(node, pyodide, sources)))
            part.replace(kept)
            for old in sorted(kept.parent.glob("bytecode-*.bundle"), key=lambda p: p.stat().st_mtime)[:-8]:
                old.unlink(missing_ok=True)
        result[name] = {**files, **bundles.unpack(kept.read_bytes())}
    return result


def _compile(node: str, pyodide: Path, sources: bundles.Files) -> bundles.Files:
    with tempfile.TemporaryDirectory() as folder:
        tree = Path(folder)
        for name, data in sources.items():
            path = tree / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_bytes(data)
        script = Path(__file__).with_name("compile_bytecode.mjs")
        done = subprocess.run(
            [node, str(script), str(pyodide), folder, _SOURCE_ONLY], capture_output=True, text=True, timeout=600
        )
        if done.returncode:
            last = (done.stderr.strip().splitlines() or ["Node gave no reason"])[-1]
            raise CommandError(f"Python's modules could not be compiled: {last}. Without: --no-bytecode", FAILED)
        return {p.relative_to(tree).as_posix(): p.read_bytes() for p in sorted(tree.rglob("*.pyc"))}


# -- examples -------------------------------------------------------------------------------------------


def _examples(site: Path, record: bool | Sequence[str], recordings: Path | None, say: Say) -> list[dict[str, str]]:
    (site / "examples").mkdir()
    made = []
    for path in recorded.lessons():
        taken = recorded.kept(recordings, path)
        if taken is None and (record is True or (record is not False and path.stem in record)):
            say(f"recording {path.name}")
            try:
                taken = recorded.take(path)
            except CommandError as error:
                say(f"{error} It is shown without a recorded run.")
        if taken is None:
            taken = recording.still(path)
        _stable_ids(taken, path.stem)
        text = json.dumps(taken, ensure_ascii=False, separators=(",", ":"), sort_keys=True)
        (site / "examples" / f"{path.stem}.json").write_text(text, encoding="utf-8")
        shutil.copyfile(path, site / "examples" / path.name)
        made.append(
            {
                "id": path.stem, "title": taken["title"], "summary": recording.summary_of(taken["notebook"]),
                "file": f"examples/{path.name}", "recording": f"examples/{path.stem}.json",
            }
        )  # fmt: skip
    return made


def _stable_ids(taken: dict[str, Any], stem: str) -> None:
    """Give the cells of an example ids that are the same in every build, so that a reader's copy can be compared."""
    text = json.dumps(taken)
    for number, cell in enumerate(taken["notebook"]["cells"]):
        new = hashlib.sha256(f"{stem}:{number}".encode()).hexdigest()[:8]
        text = text.replace(cell["id"], new)
    taken.clear()
    taken.update(json.loads(text))


# -- the list of it all -------------------------------------------------------------------------------------


def _finish(site: Path, made: dict[str, dict[str, Any]], examples: list[dict[str, str]], docs: bool) -> None:
    """Write `site.json`, and name it in the service worker and the page, so that a new build replaces the old one."""
    listed = sorted(p.relative_to(site).as_posix() for p in site.rglob("*") if p.is_file())
    # The documentation is kept for offline use page by page, as it is read.
    files = [f for f in listed if not re.search(r"(^sw\.js$|^capsule\.|\.map$|^site\.json$|^docs/)", f)]
    manifest = {
        "version": importlib.metadata.version("tapescope"), "bundles": made, "examples": examples, "files": files, "docs": docs,
    }  # fmt: skip
    digest = hashlib.sha256(json.dumps(manifest, sort_keys=True).encode())
    for name in [*files, *(f for f in listed if f.startswith("docs/"))]:
        digest.update((site / name).read_bytes())
    manifest["build"] = digest.hexdigest()[:16]
    (site / "site.json").write_text(json.dumps(manifest, indent=1), encoding="utf-8")
    worker = site / "sw.js"
    if worker.is_file():
        worker.write_text(worker.read_text(encoding="utf-8").replace("BUILD_ID", manifest["build"]), encoding="utf-8")
    page = site / "index.html"
    first = examples[0]["recording"] if examples else ""
    page.write_text(page.read_text(encoding="utf-8").replace("FIRST_RECORDING", first), encoding="utf-8")
