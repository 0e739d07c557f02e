"""The Python packages of the playground: which wheels, checked how, and where they come from.

`packages.json` is the lock: names, versions and SHA-256 of every wheel, numpy's WebAssembly wheel among them.  Wheels are
taken from a folder (`--packages`), else from the cache, else fetched: pure Python ones by pip, numpy from the address in
the lock.  Nothing that has another hash is ever used.
"""

from __future__ import annotations

import hashlib
import json
import shutil
import subprocess
import sys
import tempfile
import urllib.error
import urllib.request
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from ..command_error import FAILED, USAGE, CommandError

LOCK = Path(__file__).with_name("packages.json")


@dataclass(frozen=True, slots=True)
class Wheel:
    """One entry of the lock. `bundle` names the archive of the site that its files go into."""

    name: str
    version: str
    file: str
    sha256: str
    bundle: str
    address: str | None = None

    def matches(self, path: Path) -> bool:
        """Whether the file at `path` is this wheel."""
        return path.is_file() and hashlib.sha256(path.read_bytes()).hexdigest() == self.sha256


def read_lock() -> dict[str, Any]:
    """The lock as it stands in the file."""
    return json.loads(LOCK.read_text(encoding="utf-8"))


def cache_folder() -> Path:
    """Where fetched wheels are kept between builds."""
    from platformdirs import user_cache_dir

    return Path(user_cache_dir("tapescope")) / "playground"


def find_wheels(folder: Path | None, say: Any = lambda line: None) -> list[tuple[Wheel, Path]]:
    """Every wheel of the lock with a file that has its hash.

    folder  where the wheels are (`--packages`); what is missing there is fetched. Raises CommandError with a sentence.
    """
    if folder is not None and not folder.is_dir():
        raise CommandError(f"--packages {folder}: there is no such folder; it should hold wheels (.whl).", USAGE)
    lock = read_lock()
    cache = cache_folder()
    pure = [Wheel(**entry) for entry in lock["pure"]]
    numpy = [Wheel(**entry) for entry in lock["numpy"]]
    found: list[tuple[Wheel, Path]] = []
    missing: list[Wheel] = []
    for wheel in pure:
        path = _look(wheel, folder, cache)
        if path is None:
            missing.append(wheel)
        else:
            found.append((wheel, path))
    if missing:
        say(f"fetching {', '.join(f'{w.name} {w.version}' for w in missing)}")
        _download(missing, cache)
        found += [(wheel, cache / wheel.file) for wheel in missing]
    for wheel in numpy:
        path = _look(wheel, folder, cache)
        if path is not None:
            return [*found, (wheel, path)]
    say(f"fetching numpy {numpy[0].version} for WebAssembly")
    return [*found, (numpy[0], _fetch(numpy[0], cache))]


def _look(wheel: Wheel, folder: Path | None, cache: Path) -> Path | None:
    for place in (folder, cache):
        if place is not None and (path := place / wheel.file).is_file():
            if wheel.matches(path):
                return path
            if place is folder:
                raise CommandError(
                    f"{path} is not the file that the lock names (its SHA-256 differs); get it again.", FAILED
                )
    return None


def _download(wheels: list[Wheel], cache: Path) -> None:
    """Fetch pure wheels by pip, which checks their hashes."""
    cache.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory() as scratch:
        wanted = Path(scratch, "wanted.txt")
        wanted.write_text("".join(f"{w.name}=={w.version} --hash=sha256:{w.sha256}\n" for w in wheels))
        command = [
            sys.executable, "-m", "pip", "download", "--quiet", "--disable-pip-version-check", "--no-deps",
            "--only-binary=:all:", "--platform", "any", "--python-version", read_lock()["python"],
            "--require-hashes", "--dest", scratch, "--requirement", str(wanted),
        ]  # fmt: skip
        done = subprocess.run(command, capture_output=True, text=True)
        missing = [w for w in wheels if not w.matches(Path(scratch, w.file))]
        if missing:
            last = (done.stderr.strip().splitlines() or ["pip gave no reason"])[-1]
            raise CommandError(
                f"{missing[0].name} {missing[0].version} could not be fetched ({last}). "
                "Without a network, name a folder that holds the wheels: --packages FOLDER",
                FAILED,
            )
        for wheel in wheels:
            shutil.move(Path(scratch, wheel.file), cache / wheel.file)


def _fetch(wheel: Wheel, cache: Path) -> Path:
    """Fetch a wheel from its address in the lock, and check its hash."""
    cache.mkdir(parents=True, exist_ok=True)
    advice = f"Put {wheel.file} into a folder and name it: --packages FOLDER"
    try:
        with urllib.request.urlopen(f"{wheel.address}{wheel.file}", timeout=60) as answer:
            data = answer.read()
    except (urllib.error.URLError, OSError) as error:
        raise CommandError(f"{wheel.name} {wheel.version} could not be fetched ({error}). {advice}", FAILED) from error
    if hashlib.sha256(data).hexdigest() != wheel.sha256:
        raise CommandError(
            f"What came for {wheel.file} is not what the lock names (its SHA-256 differs). {advice}", FAILED
        )
    path = cache / wheel.file
    part = path.with_suffix(".part")
    part.write_bytes(data)
    part.replace(path)
    return path
