"""The probe that measures what an adapter wants, about a second once for each adapter and driver, and the file that keeps the outcome.

The file is `kernels.json` in the folder that TAPESCOPE_CACHE names, else in the user's cache. An adapter without an entry is probed
when it is first opened, unless it computes on the CPU (what those want is known, and a busy machine would mislead) or TAPESCOPE_PROBE
is 0; `measure` probes whatever it is.
"""

from __future__ import annotations

import contextlib
import json
import os
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from ....webgpu_kernels import tuning as kernels
from ... import dtypes
from . import browser
from .gpu import AdapterInfo, DeviceError

if TYPE_CHECKING:
    from .backend import WebGPUBackend

_OVER_ROWS: dict[str, tuple[Any, ...]] = {"softmax": (1,), "sum": ((1,), False)}

VERSION = 1
ROUNDS = 3


def path() -> Path:
    """Where outcomes are kept."""
    named = os.environ.get("TAPESCOPE_CACHE")
    if named:
        return Path(named) / "kernels.json"
    import platformdirs

    return Path(platformdirs.user_cache_dir("tapescope")) / "kernels.json"


def key(info: AdapterInfo) -> str:
    """What an outcome holds for."""
    return f"{info.name} | {info.backend} | {info.driver} | {VERSION}"


def _read() -> dict[str, Any]:
    try:
        found = json.loads(path().read_text("utf-8"))
    except (OSError, ValueError, ImportError):
        return {}
    return found if isinstance(found, dict) else {}


def load(info: AdapterInfo) -> kernels.Profile | None:
    """The profile that was measured for an adapter, or None."""
    entry = _read().get(key(info))
    try:
        return kernels.chosen(entry["products"], entry["rows"]) if entry else None
    except (TypeError, KeyError, AttributeError, ValueError, StopIteration, ZeroDivisionError):
        return None  # a damaged file is as none


def figures(info: AdapterInfo) -> dict[str, Any] | None:
    """The seconds that were measured for an adapter: "products" by candidate and shape, "rows" by way and operator."""
    return _read().get(key(info))


def _store(info: AdapterInfo, entry: dict[str, Any]) -> None:
    with contextlib.suppress(OSError, ImportError):
        target = path()
        target.parent.mkdir(parents=True, exist_ok=True)
        known = {**_read(), key(info): entry}
        handle, name = tempfile.mkstemp(dir=target.parent, prefix="kernels")
        with os.fdopen(handle, "w", encoding="utf-8") as file:
            json.dump(known, file, indent=1)
        os.replace(name, target)


def wanted(info: AdapterInfo) -> bool:
    """Whether an adapter without an entry is to be probed when it is opened."""
    return not info.software and os.environ.get("TAPESCOPE_PROBE") != "0" and not browser.available()


@contextlib.contextmanager
def _profile(backend: WebGPUBackend, profile: kernels.Profile) -> Iterator[None]:
    before = backend.profile
    backend.profile = profile
    _forget(backend)
    try:
        yield
    finally:
        backend.profile = before
        _forget(backend)


def _forget(backend: WebGPUBackend) -> None:
    """Drop the plans of launches, which were made for another profile."""
    for cache in backend._caches:
        cache.clear()


def measure(backend: WebGPUBackend) -> tuple[kernels.Profile, dict[str, Any]]:
    """Probe the open device, keep the outcome, and use it from now on. Returns the profile and the figures."""
    rng = np.random.default_rng(0)

    def array(*shape: int) -> Any:
        return backend.upload(rng.standard_normal(shape), dtypes.float32)

    def seconds(run: Any) -> float:
        backend.device.read(run().block, 0, 4)  # compiles
        times = []
        for _ in range(ROUNDS):
            began = time.perf_counter()
            backend.device.read(run().block, 0, 4)
            times.append(time.perf_counter() - began)
        return min(times)

    operands = {what: (array(m, k), array(k, n)) for what, (m, k, n) in kernels.SHAPES.items()}
    lines = {what: array(*shape) for what, shape in kernels.ROWS.items()}
    base = backend.profile
    entry: dict[str, Any] = {"products": {}, "rows": {}}
    for name, (tiles, threads) in kernels.CANDIDATES.items():
        with _profile(backend, kernels.Profile("probe", base.rows, tiles, threads)):
            entry["products"][name] = {
                what: seconds(lambda p=p: backend.kernels["mm"](*p)) for what, p in operands.items()
            }
    for way in ("serial", "tree"):
        with _profile(backend, kernels.Profile("probe", way, base.tiles, base.threads)):
            entry["rows"][way] = {
                what: seconds(lambda what=what, x=x: backend.kernels[what](x, *_OVER_ROWS[what]))
                for what, x in lines.items()
            }
    profile = kernels.chosen(entry["products"], entry["rows"])
    _store(backend.device.gpu.info, entry)
    backend.profile = profile
    _forget(backend)
    return profile, entry


def at_opening(backend: WebGPUBackend, info: AdapterInfo) -> kernels.Profile:
    """The profile for a device that was just opened, by what is known or by a probe."""
    found = load(info)
    if found is not None:
        return found
    if wanted(info):
        with contextlib.suppress(DeviceError):
            return measure(backend)[0]
    return kernels.profile_for(info.kind, info.name)


def lanes(device: Any) -> int:
    """How many threads make up a subgroup of the device, 0 where that is not known or not always the same. Measured once."""
    found = getattr(device, "_lanes", None)
    if found is None:
        found = 0
        if "subgroup" in device.gpu.features:
            with contextlib.suppress(DeviceError):
                out = device.upload(bytes(256), 256)
                device.launch(device.pipeline(kernels.SUBGROUP_PROBE), (1, 1, 1), [out.handle], [0])
                sizes = set(memoryview(device.read(out, 0, 256)).cast("I"))
                size = sizes.pop() if len(sizes) == 1 else 0
                found = size if size in (4, 8, 16, 32, 64) else 0
        device._lanes = found
    return found


def report(backend: WebGPUBackend) -> list[str]:
    """Lines that tell what was chosen for the open device and why; probes it where that has not been done."""
    info = backend.device.gpu.info
    entry = figures(info)
    if entry is None:
        profile, entry = measure(backend)
    else:
        profile = backend.profile
    lines = [f"adapter  {info.name}, {info.backend}, {info.driver}", f"profile  {profile.name}"]
    lines.append(
        f"products: tiles {', '.join(f'{t.rows}x{t.cols}' for t in profile.tiles)}; at least {profile.threads} threads"
    )
    lines += _table(entry["products"], kernels.SHAPES)
    lines.append(f"rows: {profile.rows}")
    lines += _table(entry["rows"], kernels.ROWS)
    lines.append(f"kept in  {path()}")
    return lines


def _table(rows: dict[str, dict[str, float]], shapes: Any) -> list[str]:
    """Milliseconds by candidate, one line each, with a head of what was measured."""
    heads = [f"{what} {'x'.join(map(str, shapes[what]))}" for what in next(iter(rows.values()))]
    lines = ["  " + "ms".ljust(32) + "".join(h.rjust(max(18, len(h) + 2)) for h in heads)]
    for name, times in rows.items():
        values = [f"{s * 1000:.2f}".rjust(max(18, len(h) + 2)) for h, s in zip(heads, times.values())]
        lines.append("  " + name.ljust(32) + "".join(values))
    return lines
