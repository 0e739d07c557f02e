"""`Gpu` on wgpu-py: Vulkan, Metal or Direct3D 12.

Adapters are found through wgpu-py; the device and everything after it through its C library (`native_calls.py`).  wgpu is
imported when an adapter is first asked for, not with this file.

The device is opened with the browser's limits and without its optional features except those the engine uses.  Bind
groups are kept by (layout, buffers) until one of their buffers is destroyed.  Parameter words of a command list go to
one uniform buffer, a slot of 256 bytes (or a multiple) for each dispatch, written once before the list is submitted:
writes to a queue take effect between submissions, so the same slots serve the next list.
"""

from __future__ import annotations

import functools
import logging
import os
import sys
import threading
import time
from array import array
from collections.abc import Sequence
from typing import Any

from ....webgpu_kernels.wgsl import SUBGROUPS
from .gpu import (
    BROWSER_LIMITS,
    CLEAR,
    COPY,
    DISPATCH,
    PARAMETER_BYTES,
    AdapterInfo,
    DeviceError,
    DeviceLost,
    Gpu,
    Limits,
    NoAdapter,
    OutOfMemory,
    StaleBuffer,
)
from .native_calls import FEATURES, USAGE_QUERY, USAGE_STAGING, USAGE_STORAGE, USAGE_UNIFORM, Calls

_RING_BYTES = 1 << 20
_BIND_GROUPS = 4096
_KINDS = {"DiscreteGPU": "discrete", "IntegratedGPU": "integrated", "CPU": "cpu"}
_INSTALL = (
    "On Debian and Ubuntu `apt-get install libvulkan1 mesa-vulkan-drivers` gives a software adapter, and the vendor's "
    "driver gives the GPU; on Fedora the packages are vulkan-loader and mesa-vulkan-drivers."
)


@functools.cache
def _library() -> Calls:
    try:
        import wgpu  # noqa: F401
        from wgpu.backends.wgpu_native import extras, ffi, lib
    except (ImportError, OSError, RuntimeError) as error:
        raise NoAdapter(
            f"WebGPU needs the package wgpu, which does not load here ({error}): pip install wgpu"
        ) from None
    _answer_plain_type_names(ffi)
    if "XDG_RUNTIME_DIR" not in os.environ:
        os.environ.setdefault("NODEVICE_SELECT", "1")  # else a layer of Mesa's complains of it on every opening
    logging.getLogger("wgpu").setLevel(logging.CRITICAL)  # errors reach us through callbacks; twice would be noise
    try:
        # Without this Mesa's OpenGL is opened too, which costs 0.1 s and prints complaints where there is no screen.
        extras.set_instance_extras(backends=("Vulkan", "Metal", "DX12"))
    except RuntimeError:
        pass  # somebody else in this process has used wgpu already
    return Calls(lib, ffi)


def _answer_plain_type_names(ffi: Any) -> None:
    """Let wgpu's own cffi object look up "Name *" and "Name[n]" instead of parsing them.

    cffi parses every new type string together with all the names that were ever declared, 20 ms each; wgpu-py uses
    about 20 before an adapter is found.  Anything but the two plain forms still goes to the parser.
    """
    import re

    parser: Any = getattr(ffi, "_parser", None)
    parse = getattr(parser, "parse_type_and_quals", None)
    declared = getattr(parser, "_declarations", None)
    if parse is None or declared is None:
        return
    try:
        from cffi import model
    except ImportError:
        return
    plain = re.compile(r"\s*(\w+)\s*(\*?)\s*(\[\s*\d*\s*\])?\s*")

    def look_up(text: str) -> Any:
        found = plain.fullmatch(text)
        known = declared.get("typedef " + found[1]) if found else None
        if found is None or known is None:
            return parse(text)
        type, qualifiers = known
        if found[2]:
            type, qualifiers = model.PointerType(type, qualifiers), 0
        if found[3]:
            count = found[3].strip("[] ")
            type = model.ArrayType(type, int(count) if count else None)  # type: ignore[arg-type]
        return type, qualifiers

    parser.parse_type_and_quals = look_up


def _info(adapter: Any) -> AdapterInfo:
    i = adapter.info
    return AdapterInfo(
        name=i.get("device") or i.get("description") or "unnamed adapter",
        backend=i.get("backend_type", "unknown"),
        kind=_KINDS.get(i.get("adapter_type", ""), "unknown"),
        driver=i.get("description", ""),
        vendor=i.get("vendor", ""),
        features=frozenset(f for f in adapter.features if f in FEATURES),
    )


def _found() -> list[tuple[AdapterInfo, Any]]:
    _library()
    import wgpu

    order = {"discrete": 0, "integrated": 1, "unknown": 2, "cpu": 3}
    made = [(_info(a), a) for a in wgpu.gpu.enumerate_adapters_sync()]
    return sorted((p for p in made if p[0].backend in ("Vulkan", "Metal", "D3D12")), key=lambda p: order[p[0].kind])


def adapters() -> list[AdapterInfo]:
    """The adapters that can be opened, the best first. Raises NoAdapter where wgpu itself does not load."""
    return [info for info, _ in _found()]


def choose(name: str | None = None) -> tuple[AdapterInfo, Any]:
    """The adapter whose name contains `name`, else the one in TAPESCOPE_ADAPTER, else the best.

    Raises NoAdapter with advice.
    """
    found = _found()
    wanted = name or os.environ.get("TAPESCOPE_ADAPTER")
    if not found:
        advice = (
            _INSTALL
            if sys.platform.startswith("linux")
            else "A graphics driver with Vulkan, Metal or Direct3D 12 is needed."
        )
        asked = f" (TAPESCOPE_ADAPTER asks for {wanted!r}.)" if wanted else ""
        raise NoAdapter(f"No WebGPU adapter was found on this machine. {advice} Until then use device='cpu'.{asked}")
    if not wanted:
        return found[0]
    for info, adapter in found:
        if wanted.lower() in info.name.lower():
            return info, adapter
    names = ", ".join(repr(i.name) for i, _ in found)
    advice = "" if name else " TAPESCOPE_ADAPTER asks for it: set it to a part of one of these names, or not at all."
    raise NoAdapter(f"No WebGPU adapter has {wanted!r} in its name; there are {names}.{advice}")


class NativeGpu(Gpu):
    """A device on a Vulkan, Metal or Direct3D 12 adapter.

    `without` names optional features to leave off (for tests of the kernels that do without). Safe to use from
    several threads. Raises NoAdapter or DeviceError.
    """

    def __init__(self, adapter: str | None = None, *, without: Sequence[str] = ()):
        self._calls = calls = _library()
        self._lib = calls.lib
        self._lock = threading.RLock()
        self._errors: list[tuple[str, str]] = []
        self._closed = False
        self.info, chosen = choose(adapter)
        self.features = self.info.features - set(without)
        self.limits = BROWSER_LIMITS
        try:
            self._device, self._queue, self._keep = calls.open_device(
                chosen._internal,
                _named(self.limits),
                [FEATURES[f] for f in sorted(self.features)],
                self._on_lost,
                self._on_error,
            )
        except RuntimeError as error:
            raise DeviceError(f"The adapter {self.info} could not be opened: {error}") from None
        self._buffers: dict[int, tuple[Any, int, int]] = {}  # handle: (buffer, offset, bytes)
        self._windows: set[int] = set()
        self._groups: dict[tuple[int, ...], Any] = {}
        self._groups_of: dict[int, set[tuple[int, ...]]] = {}
        self._pipelines: dict[int, tuple[Any, int, int]] = {}  # handle: (pipeline, layout number, parameter bytes)
        self._layouts: dict[tuple[str, int], int] = {}
        self._layout_objects: list[tuple[Any, Any]] = []
        self._staging: dict[int, Any] = {}
        self._ring = calls.buffer(self._device, _RING_BYTES, USAGE_UNIFORM)
        self._words = array("I", bytes(_RING_BYTES))
        self._word_bytes = calls.ffi.from_buffer(self._words)
        self._offset = calls.offsets()

    # -- what the device reports --------------------------------------------------------------------------------

    def _on_lost(self, cause: str) -> None:
        if self.lost is None:
            self.lost = "it was closed" if self._closed else cause.rstrip(" .")

    def _on_error(self, kind: str, message: str) -> None:
        self._errors.append((kind, " ".join(message.split())))

    def errors(self) -> list[str]:
        found, self._errors = self._errors, []
        return [f"{kind}: {message}" for kind, message in found]

    def _encoder(self) -> Any:
        """A command encoder. Making one is where the library tells of a lost device; submitting to it would abort."""
        if self._errors or self.lost is not None:
            self._check("an earlier command")
        encoder = self._lib.wgpuDeviceCreateCommandEncoder(self._device, self._calls.null)
        if self._errors or self.lost is not None:
            self._lib.wgpuCommandEncoderRelease(encoder)
            self._check("the next commands")
        return encoder

    def _check(self, doing: str) -> None:
        """Raise what the device has said."""
        if self.lost is not None:
            self._errors.clear()
            raise DeviceLost(
                f"The WebGPU device {self.info.name} was lost ({self.lost}), with every tensor in its memory. The next use of "
                "device='webgpu' opens a new one; tensors must be made again, from host copies if there are any."
            )
        if self._errors:
            kind, message = self._errors[0]
            self._errors.clear()
            if "device is lost" in message.lower():
                # The callback with the cause is only made when a command encoder is asked for.
                self._lib.wgpuCommandEncoderRelease(
                    self._lib.wgpuDeviceCreateCommandEncoder(self._device, self._calls.null)
                )
                self._on_lost("the driver took it away")
                self._check(doing)
            if kind == "out-of-memory" or "out of memory" in message.lower():
                raise OutOfMemory(f"The WebGPU device ran out of memory {doing}: {message}")
            raise DeviceError(f"The WebGPU device refused {doing}: {message}")

    # -- buffers ------------------------------------------------------------------------------------------------

    def create_buffer(self, handle: int, nbytes: int) -> None:
        with self._lock:
            if self._errors or self.lost is not None:
                self._check("an earlier command")
            made = self._calls.buffer(self._device, nbytes, USAGE_STORAGE)
            if self._errors or self.lost is not None:
                if made != self._calls.null:
                    self._lib.wgpuBufferRelease(made)
                self._check(f"a buffer of {nbytes} bytes")
            self._buffers[handle] = (made, 0, nbytes)

    def create_window(self, handle: int, buffer: int, offset: int, nbytes: int) -> None:
        with self._lock:
            self._buffers[handle] = (self._buffer(buffer)[0], offset, nbytes)
            self._windows.add(handle)

    def destroy_buffer(self, handle: int) -> None:
        with self._lock:
            found = self._buffers.pop(handle, None)
            for key in self._groups_of.pop(handle, ()):
                group = self._groups.pop(key, None)
                if group is not None:
                    self._lib.wgpuBindGroupRelease(group)
            if handle in self._windows:
                self._windows.discard(handle)
            elif found is not None:
                if not self._closed and self.lost is None:
                    self._lib.wgpuBufferDestroy(found[0])
                self._lib.wgpuBufferRelease(found[0])

    def _buffer(self, handle: int) -> tuple[Any, int, int]:
        found = self._buffers.get(handle)
        if found is None:
            raise StaleBuffer(
                f"Buffer {handle} is not on this WebGPU device: its memory was given back, or its device was lost. Make the tensor again."
            )
        return found

    # -- pipelines ----------------------------------------------------------------------------------------------

    def create_pipeline(self, handle: int, source: str, access: str, words: int, label: str) -> None:
        with self._lock:
            self._check("an earlier command")
            calls, nbytes = self._calls, words * 4
            layout = self._layouts.get((access, nbytes))
            if layout is None:
                group = calls.bind_group_layout(self._device, access, nbytes)
                layout = self._layouts[access, nbytes] = len(self._layout_objects)
                self._layout_objects.append((group, calls.pipeline_layout(self._device, group)))
            text = source.removeprefix(SUBGROUPS)  # known to the library without being enabled
            made = calls.pipeline(self._device, self._layout_objects[layout][1], text, label)
            self._check(f"the kernel {label!r}")
            self._pipelines[handle] = (made, layout, nbytes)

    def destroy_pipeline(self, handle: int) -> None:
        with self._lock:
            found = self._pipelines.pop(handle, None)
            if found is not None:
                self._lib.wgpuComputePipelineRelease(found[0])

    # -- commands -----------------------------------------------------------------------------------------------

    def write(self, handle: int, offset: int, data: Any) -> None:
        with self._lock:
            buffer, start, nbytes = self._buffer(handle)
            raw = self._calls.ffi.from_buffer(data)
            if offset + len(raw) > nbytes:
                raise ValueError(f"{len(raw)} bytes at {offset} do not fit into a buffer of {nbytes}")
            self._lib.wgpuQueueWriteBuffer(self._queue, buffer, start + offset, raw, len(raw))
            if self._errors or self.lost is not None:
                self._check("a write")

    def submit(self, commands: Sequence[int]) -> None:
        with self._lock:
            i, n = 0, len(commands)
            while i < n:
                i = self._encode(commands, i, n)
            if self._errors or self.lost is not None:
                self._check("the last commands")

    def _encode(self, commands: Sequence[int], i: int, n: int) -> int:
        """Submit commands from position `i` on until the end or until the parameter slots are used up."""
        lib, ring, words = self._lib, 0, self._words
        pipelines, groups, slot, null = self._pipelines, self._groups, self._offset, self._calls.null
        set_pipeline, set_group = lib.wgpuComputePassEncoderSetPipeline, lib.wgpuComputePassEncoderSetBindGroup
        launch = lib.wgpuComputePassEncoderDispatchWorkgroups
        encoder = self._encoder()
        stage = None
        current = -1
        try:
            while i < n:
                code = commands[i]
                if code == DISPATCH:
                    handle = commands[i + 1]
                    pipeline, layout, nbytes = pipelines[handle]
                    if ring + nbytes > _RING_BYTES:
                        break
                    j = i + 6 + commands[i + 5]
                    key = (layout, *commands[i + 6 : j])
                    group = groups.get(key)
                    if group is None:
                        group = self._bind(key, nbytes)
                    if stage is None:
                        stage = lib.wgpuCommandEncoderBeginComputePass(encoder, null)
                        current = -1
                    if handle != current:
                        set_pipeline(stage, pipeline)
                        current = handle
                    count = commands[j]
                    if count:
                        at = ring >> 2
                        words[at : at + count] = array("I", commands[j + 1 : j + 1 + count])
                    slot[0] = ring
                    set_group(stage, 0, group, 1, slot)
                    launch(stage, commands[i + 2], commands[i + 3], commands[i + 4])
                    ring += nbytes
                    i = j + 1 + count
                    continue
                if stage is not None:
                    lib.wgpuComputePassEncoderEnd(stage)
                    lib.wgpuComputePassEncoderRelease(stage)
                    stage = None
                if code == COPY:
                    source, target = self._buffer(commands[i + 1]), self._buffer(commands[i + 3])
                    lib.wgpuCommandEncoderCopyBufferToBuffer(
                        encoder,
                        source[0],
                        source[1] + commands[i + 2],
                        target[0],
                        target[1] + commands[i + 4],
                        commands[i + 5],
                    )
                    i += 6
                elif code == CLEAR:
                    buffer, start, _ = self._buffer(commands[i + 1])
                    lib.wgpuCommandEncoderClearBuffer(encoder, buffer, start + commands[i + 2], commands[i + 3])
                    i += 4
                else:
                    raise ValueError(f"no command {code} at position {i} of the list")
        except BaseException:
            # What was encoded before the bad command still runs: other tensors depend on it.
            self._finish(encoder, stage, ring)
            raise
        self._finish(encoder, stage, ring)
        return i

    def _finish(self, encoder: Any, stage: Any, ring: int) -> None:
        if stage is not None:
            self._lib.wgpuComputePassEncoderEnd(stage)
            self._lib.wgpuComputePassEncoderRelease(stage)
        if ring:
            self._lib.wgpuQueueWriteBuffer(self._queue, self._ring, 0, self._word_bytes, ring)
        self._calls.submit(self._queue, encoder)

    def _bind(self, key: tuple[int, ...], nbytes: int) -> Any:
        """The bind group of (layout number, handles...), with the parameter block behind the buffers."""
        if len(self._groups) >= _BIND_GROUPS:
            for group in self._groups.values():
                self._lib.wgpuBindGroupRelease(group)
            self._groups.clear()
            self._groups_of.clear()
        bindings = [self._buffer(handle) for handle in key[1:]]
        bindings.append((self._ring, 0, nbytes))
        group = self._groups[key] = self._calls.bind_group(self._device, self._layout_objects[key[0]][0], bindings)
        for handle in key[1:]:
            self._groups_of.setdefault(handle, set()).add(key)
        return group

    def submit_timed(self, commands: Sequence[int]) -> list[float] | None:
        if "timestamp-query" not in self.features:
            return self._by_the_clock(commands)
        from .gpu import validate

        with self._lock:
            total = validate(commands)
            calls, lib = self._calls, self._lib
            period = lib.wgpuQueueGetTimestampPeriod(self._queue)
            seconds: list[float] = []
            i, n = 0, len(commands)
            queries = calls.timestamp_queries(self._device, 2 * min(total, 256))
            resolved = calls.buffer(self._device, 16 * min(total, 256), USAGE_QUERY)
            try:
                while i < n:
                    encoder = self._encoder()
                    count = ring = 0
                    while i < n and count < 256 and ring < _RING_BYTES - 4096:
                        i, ring, count = self._encode_one(encoder, commands, i, ring, queries, count)
                    if count:
                        lib.wgpuCommandEncoderResolveQuerySet(encoder, queries, 0, 2 * count, resolved, 0)
                    self._finish(encoder, None, ring)
                    if count:
                        times = memoryview(self._read([(resolved, 0, 16 * count)])[0]).cast("Q")
                        seconds += [max(0, times[2 * k + 1] - times[2 * k]) * period * 1e-9 for k in range(count)]
            finally:
                lib.wgpuQuerySetRelease(queries)
                lib.wgpuBufferRelease(resolved)
            self._check("the last commands")
            return seconds

    def _by_the_clock(self, commands: Sequence[int]) -> list[float]:
        """Seconds of each dispatch where there are no timestamps: each is submitted by itself, and waited for."""
        seconds: list[float] = []
        i, n = 0, len(commands)
        with self._lock:
            while i < n:
                code, j = commands[i], i + (6 if commands[i] == COPY else 4)
                if code == DISPATCH:
                    j = i + 6 + commands[i + 5]
                    j += 1 + commands[j]
                self.wait()
                began = time.perf_counter()
                self.submit(commands[i:j])
                if code == DISPATCH:
                    self.wait()
                    seconds.append(time.perf_counter() - began)
                i = j
        return seconds

    def _encode_one(
        self, encoder: Any, commands: Sequence[int], i: int, ring: int, queries: Any, count: int
    ) -> tuple[int, int, int]:
        """Encode one command, a dispatch in a pass of its own with timestamps; (next position, ring, dispatches)."""
        lib = self._lib
        if commands[i] == COPY:
            source, target = self._buffer(commands[i + 1]), self._buffer(commands[i + 3])
            lib.wgpuCommandEncoderCopyBufferToBuffer(
                encoder, source[0], source[1] + commands[i + 2], target[0], target[1] + commands[i + 4], commands[i + 5]
            )
            return i + 6, ring, count
        if commands[i] == CLEAR:
            buffer, start, _ = self._buffer(commands[i + 1])
            lib.wgpuCommandEncoderClearBuffer(encoder, buffer, start + commands[i + 2], commands[i + 3])
            return i + 4, ring, count
        pipeline, layout, nbytes = self._pipelines[commands[i + 1]]
        j = i + 6 + commands[i + 5]
        key = (layout, *commands[i + 6 : j])
        group = self._groups.get(key) or self._bind(key, nbytes)
        stage = self._calls.compute_pass(encoder, queries, 2 * count)
        lib.wgpuComputePassEncoderSetPipeline(stage, pipeline)
        self._words[ring >> 2 : (ring >> 2) + commands[j]] = array("I", commands[j + 1 : j + 1 + commands[j]])
        self._offset[0] = ring
        lib.wgpuComputePassEncoderSetBindGroup(stage, 0, group, 1, self._offset)
        lib.wgpuComputePassEncoderDispatchWorkgroups(stage, commands[i + 2], commands[i + 3], commands[i + 4])
        lib.wgpuComputePassEncoderEnd(stage)
        lib.wgpuComputePassEncoderRelease(stage)
        return j + 1 + commands[j], ring + nbytes, count + 1

    # -- reading ------------------------------------------------------------------------------------------------

    def read(self, ranges: Sequence[tuple[int, int, int]]) -> list[bytearray]:
        with self._lock:
            parts = []
            for handle, offset, nbytes in ranges:
                buffer, start, _ = self._buffer(handle)
                parts.append((buffer, start + offset, nbytes))
            return self._read(parts)

    def _read(self, parts: Sequence[tuple[Any, int, int]]) -> list[bytearray]:
        calls, lib = self._calls, self._lib
        total = sum(-(-nbytes // 8) * 8 for _, _, nbytes in parts)
        size = max(256, 1 << (total - 1).bit_length())
        staging = self._staging.pop(size, None)
        if staging is None:
            staging = calls.buffer(self._device, size, USAGE_STAGING)
            self._check(f"a buffer of {size} bytes for reading")
        encoder = self._encoder()
        at = 0
        for buffer, offset, nbytes in parts:
            lib.wgpuCommandEncoderCopyBufferToBuffer(encoder, buffer, offset, staging, at, nbytes)
            at += -(-nbytes // 8) * 8
        calls.submit(self._queue, encoder)
        why = calls.map_read(self._device, staging, total)
        if why is not None or self._errors or self.lost is not None:
            lib.wgpuBufferRelease(staging)
            self._check("a read")
            raise DeviceError(f"The WebGPU device refused a read: {why}")
        view = calls.ffi.buffer(lib.wgpuBufferGetConstMappedRange(staging, 0, total), total)
        out, at = [], 0
        for _, _, nbytes in parts:
            out.append(bytearray(view[at : at + nbytes]))
            at += -(-nbytes // 8) * 8
        lib.wgpuBufferUnmap(staging)
        if size <= 1 << 24 and size not in self._staging:
            self._staging[size] = staging
        else:
            lib.wgpuBufferRelease(staging)
        return out

    def wait(self) -> None:
        with self._lock:
            self._lib.wgpuDevicePoll(self._device, 1, self._calls.null)
            self._lib.wgpuCommandEncoderRelease(self._encoder())

    def destroy(self) -> None:
        """Take the device away without being asked, as a driver may; for tests of what happens then."""
        with self._lock:
            self._lib.wgpuDeviceDestroy(self._device)

    def close(self) -> None:
        with self._lock:
            if self._closed:
                return
            self._closed = True
            lib = self._lib
            for group in self._groups.values():
                lib.wgpuBindGroupRelease(group)
            self._groups.clear()
            self._groups_of.clear()
            for handle in list(self._buffers):
                buffer, _, _ = self._buffers.pop(handle)
                if handle not in self._windows:
                    lib.wgpuBufferRelease(buffer)
            for staging in self._staging.values():
                lib.wgpuBufferRelease(staging)
            self._staging.clear()
            for pipeline, _, _ in self._pipelines.values():
                lib.wgpuComputePipelineRelease(pipeline)
            self._pipelines.clear()
            lib.wgpuDeviceDestroy(self._device)
            lib.wgpuDevicePoll(self._device, 1, self._calls.null)
            self._on_lost("it was closed")


def _named(limits: Limits) -> dict[str, int]:
    """Limits by the names of webgpu.h."""
    return {
        "maxStorageBuffersPerShaderStage": limits.storage_buffers,
        "maxComputeInvocationsPerWorkgroup": limits.invocations,
        "maxComputeWorkgroupSizeX": 256,
        "maxComputeWorkgroupSizeY": 256,
        "maxComputeWorkgroupSizeZ": 64,
        "maxComputeWorkgroupStorageSize": limits.workgroup_bytes,
        "maxStorageBufferBindingSize": limits.binding_bytes,
        "maxBufferSize": limits.buffer_bytes,
        "maxComputeWorkgroupsPerDimension": limits.workgroups,
        "minUniformBufferOffsetAlignment": PARAMETER_BYTES,
        "minStorageBufferOffsetAlignment": 256,
    }
