"""The few calls of wgpu's C library that pay when made directly: everything after an adapter has been found.

wgpu-py wraps each call in checks and error capture and keeps a thread per device; on the way of a small kernel that
costs more than the kernel (docs/decisions/webgpu-command-list.md has the measurements).  Types are taken from the
signatures of the functions, never from strings, because each string costs 20 ms of parsing.

Handles given to these functions must be alive: the library aborts the process on a stale one.  This file holds no state
but the library and its types; who owns what is `native.py`'s business.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

FEATURES = {"timestamp-query": 0x9, "shader-f16": 0xB, "subgroup": 0x30021}
"""Features the engine makes use of, by their numbers in webgpu.h and wgpu.h (which calls the browser's "subgroups" so)."""

USAGE_STORAGE = 0x80 | 0x4 | 0x8  # storage, copy source, copy target
USAGE_UNIFORM = 0x40 | 0x8
USAGE_STAGING = 0x1 | 0x8  # map for reading, copy target
USAGE_QUERY = 0x200 | 0x4

_ERRORS = {2: "validation", 3: "out-of-memory", 4: "internal"}
_LOST = {1: "unknown", 2: "destroyed", 3: "cancelled", 4: "failed to open"}
_UNIFORM, _STORAGE, _READ_ONLY = 2, 3, 4


class Calls:
    """The library's functions, with structures built from plain Python values."""

    def __init__(self, lib: Any, ffi: Any):
        self.lib, self.ffi = lib, ffi
        self.null = ffi.NULL

        def argument(function: Any, place: int) -> Any:
            return ffi.typeof(function).args[place]

        def fields(pointer: Any) -> dict[str, Any]:
            return {name: f.type for name, f in pointer.item.fields}

        self._device = argument(lib.wgpuAdapterRequestDevice, 1)
        self._device_fields = fields(self._device)
        self._buffer = argument(lib.wgpuDeviceCreateBuffer, 1)
        self._bind_group = argument(lib.wgpuDeviceCreateBindGroup, 1)
        entry = fields(self._bind_group)["entries"]
        self._entries = ffi._backend.new_array_type(entry, None)
        self._layout = argument(lib.wgpuDeviceCreateBindGroupLayout, 1)
        self._layout_entries = ffi._backend.new_array_type(fields(self._layout)["entries"], None)
        self._pipeline_layout = argument(lib.wgpuDeviceCreatePipelineLayout, 1)
        self._layouts = ffi._backend.new_array_type(fields(self._pipeline_layout)["bindGroupLayouts"], None)
        self._module = argument(lib.wgpuDeviceCreateShaderModule, 1)
        self._pipeline = argument(lib.wgpuDeviceCreateComputePipeline, 1)
        self._pass = argument(lib.wgpuCommandEncoderBeginComputePass, 1)
        self._times = fields(self._pass)["timestampWrites"]
        self._queries = argument(lib.wgpuDeviceCreateQuerySet, 1)
        self._commands = ffi._backend.new_array_type(argument(lib.wgpuQueueSubmit, 2), 1)
        self._offsets = ffi._backend.new_array_type(argument(lib.wgpuComputePassEncoderSetBindGroup, 4), 1)
        self._map_callback = fields_of_struct(argument(lib.wgpuBufferMapAsync, 4))["callback"]
        self._map_info = argument(lib.wgpuBufferMapAsync, 4)
        chars = fields_of_struct(self._device_fields["label"])["data"]
        self._chars = ffi._backend.new_array_type(chars, None)

    # -- opening ----------------------------------------------------------------------------------------------

    def open_device(
        self,
        adapter: Any,
        limits: dict[str, int],
        features: Sequence[int],
        on_lost: Callable[[str], None],
        on_error: Callable[[str, str], None],
    ) -> tuple[Any, Any, list[Any]]:
        """A device and its queue, and what must be kept alive with them.

        `limits` are by the names of webgpu.h; those not named take WebGPU's defaults. `on_lost(cause)` and
        `on_error(kind, message)` may be called on any thread. Raises RuntimeError with the library's message.
        """
        lib, ffi = self.lib, self.ffi
        f = self._device_fields
        c_limits = ffi.new(f["requiredLimits"])
        for name, field in f["requiredLimits"].item.fields:
            if name != "nextInChain":
                setattr(c_limits, name, limits.get(name, (1 << (8 * ffi.sizeof(field.type))) - 1))
        c_features = ffi.new(ffi._backend.new_array_type(f["requiredFeatures"], None), list(features) or [0])
        lost_type = fields_of_struct(f["deviceLostCallbackInfo"])["callback"]
        error_type = fields_of_struct(f["uncapturedErrorCallbackInfo"])["callback"]

        @ffi.callback(lost_type)
        def lost(_device: Any, reason: int, message: Any, _a: Any, _b: Any) -> None:
            on_lost(f"{_LOST.get(reason, 'unknown')}{': ' if message.length else ''}{self.text(message)}")

        @ffi.callback(error_type)
        def error(_device: Any, kind: int, message: Any, _a: Any, _b: Any) -> None:
            on_error(_ERRORS.get(kind, "unknown"), self.text(message))

        answer: list[Any] = []
        info_type = ffi.typeof(lib.wgpuAdapterRequestDevice).args[2]

        @ffi.callback(fields_of_struct(info_type)["callback"])
        def opened(status: int, device: Any, message: Any, _a: Any, _b: Any) -> None:
            answer.append(device if status == 1 else self.text(message) or f"status {status}")

        d = ffi.new(self._device)
        d.requiredFeatureCount = len(features)
        d.requiredFeatures = c_features
        d.requiredLimits = c_limits
        d.deviceLostCallbackInfo.mode = 3  # at any time
        d.deviceLostCallbackInfo.callback = lost
        d.uncapturedErrorCallbackInfo.callback = error
        info = ffi.new(ffi._backend.new_pointer_type(info_type))
        info.mode = 3
        info.callback = opened
        lib.wgpuAdapterRequestDevice(adapter, d, info[0])
        if not answer or isinstance(answer[0], str):
            raise RuntimeError(answer[0] if answer else "the adapter did not answer")
        device = answer[0]
        return device, lib.wgpuDeviceGetQueue(device), [lost, error, opened]

    def limits_of(self, device: Any) -> dict[str, int]:
        """The limits a device has, by the names of webgpu.h."""
        limits = self.ffi.new(self.ffi.typeof(self.lib.wgpuDeviceGetLimits).args[1])
        self.lib.wgpuDeviceGetLimits(device, limits)
        names = [n for n, _ in self.ffi.typeof(limits).item.fields if n != "nextInChain"]
        return {n: getattr(limits, n) for n in names}

    def text(self, view: Any) -> str:
        """A string of the library."""
        if view.data == self.null or view.length == 0:
            return ""
        raw = self.ffi.string(view.data) if view.length == 2**64 - 1 else self.ffi.string(view.data, view.length)
        return raw.decode(errors="replace")

    def _string(self, view: Any, value: str) -> Any:
        """Point a string view at text; the returned object keeps it alive."""
        data = self.ffi.new(self._chars, value.encode())
        view.data = data
        view.length = len(data) - 1
        return data

    # -- objects ----------------------------------------------------------------------------------------------

    def buffer(self, device: Any, nbytes: int, usage: int) -> Any:
        """A buffer. Errors arrive at the device's callback."""
        d = self.ffi.new(self._buffer)
        d.usage = usage
        d.size = nbytes
        return self.lib.wgpuDeviceCreateBuffer(device, d)

    def bind_group_layout(self, device: Any, access: str, parameter_bytes: int) -> Any:
        """Storage bindings ("r" or "w" each), then a uniform block with a dynamic offset."""
        entries = self.ffi.new(self._layout_entries, len(access) + 1)
        for i, a in enumerate(access):
            entries[i].binding = i
            entries[i].visibility = 4  # compute
            entries[i].buffer.type = _STORAGE if a == "w" else _READ_ONLY
        last = entries[len(access)]
        last.binding = len(access)
        last.visibility = 4
        last.buffer.type = _UNIFORM
        last.buffer.hasDynamicOffset = 1
        last.buffer.minBindingSize = parameter_bytes
        d = self.ffi.new(self._layout)
        d.entryCount = len(access) + 1
        d.entries = entries
        return self.lib.wgpuDeviceCreateBindGroupLayout(device, d)

    def pipeline_layout(self, device: Any, group: Any) -> Any:
        """A pipeline layout with one bind group."""
        groups = self.ffi.new(self._layouts, [group])
        d = self.ffi.new(self._pipeline_layout)
        d.bindGroupLayoutCount = 1
        d.bindGroupLayouts = groups
        return self.lib.wgpuDeviceCreatePipelineLayout(device, d)

    def bind_group(self, device: Any, layout: Any, bindings: Sequence[tuple[Any, int, int]]) -> Any:
        """A bind group of (buffer, offset, bytes), at bindings 0, 1, ..."""
        n = len(bindings)
        entries = self.ffi.new(self._entries, n)
        for i, (buffer, offset, nbytes) in enumerate(bindings):
            e = entries[i]
            e.binding = i
            e.buffer = buffer
            e.offset = offset
            e.size = nbytes
        d = self.ffi.new(self._bind_group)
        d.layout = layout
        d.entryCount = n
        d.entries = entries
        return self.lib.wgpuDeviceCreateBindGroup(device, d)

    def pipeline(self, device: Any, layout: Any, source: str, label: str) -> Any:
        """Compile WGSL with entry point `main`. Errors arrive at the device's callback."""
        ffi, lib = self.ffi, self.lib
        wgsl = ffi.new(self._wgsl_pointer())
        keep = [self._string(wgsl.code, source)]
        wgsl.chain.sType = 2  # WGSL source
        d = ffi.new(self._module)
        d.nextInChain = ffi.addressof(wgsl, "chain")
        keep.append(self._string(d.label, label))
        module = lib.wgpuDeviceCreateShaderModule(device, d)
        if module == self.null:
            return self.null
        p = ffi.new(self._pipeline)
        p.layout = layout
        p.compute.module = module
        keep += [self._string(p.compute.entryPoint, "main"), self._string(p.label, label)]
        made = lib.wgpuDeviceCreateComputePipeline(device, p)
        lib.wgpuShaderModuleRelease(module)
        return made

    def _wgsl_pointer(self) -> Any:
        if not hasattr(self, "_wgsl"):
            self._wgsl = self.ffi.typeof("WGPUShaderSourceWGSL *")  # in no signature: the one string that is parsed
        return self._wgsl

    def compute_pass(self, encoder: Any, queries: Any = None, first: int = 0) -> Any:
        """Begin a compute pass; with `queries`, its begin and end times go to `first` and `first + 1`."""
        if queries is None:
            return self.lib.wgpuCommandEncoderBeginComputePass(encoder, self.null)
        times = self.ffi.new(self._times)
        times.querySet = queries
        times.beginningOfPassWriteIndex = first
        times.endOfPassWriteIndex = first + 1
        d = self.ffi.new(self._pass)
        d.timestampWrites = times
        return self.lib.wgpuCommandEncoderBeginComputePass(encoder, d)

    def timestamp_queries(self, device: Any, count: int) -> Any:
        """A set of timestamp queries."""
        d = self.ffi.new(self._queries)
        d.type = 2  # timestamp
        d.count = count
        return self.lib.wgpuDeviceCreateQuerySet(device, d)

    def offsets(self) -> Any:
        """Room for one dynamic offset."""
        return self.ffi.new(self._offsets)

    def submit(self, queue: Any, encoder: Any) -> None:
        """Finish an encoder and hand its commands to the queue."""
        command = self.lib.wgpuCommandEncoderFinish(encoder, self.null)
        commands = self.ffi.new(self._commands, [command])
        self.lib.wgpuQueueSubmit(queue, 1, commands)
        self.lib.wgpuCommandBufferRelease(command)
        self.lib.wgpuCommandEncoderRelease(encoder)

    def map_read(self, device: Any, buffer: Any, nbytes: int) -> str | None:
        """Map a buffer for reading and wait for it: None, or why it could not be."""
        ffi = self.ffi
        answer: list[str | None] = []

        @ffi.callback(self._map_callback)
        def mapped(status: int, message: Any, _a: Any, _b: Any) -> None:
            answer.append(None if status == 1 else self.text(message) or f"status {status}")

        info = ffi.new(ffi._backend.new_pointer_type(self._map_info))
        info.mode = 3
        info.callback = mapped
        self.lib.wgpuBufferMapAsync(buffer, 1, 0, nbytes, info[0])
        for _ in range(1000):
            if answer:
                return answer[0]
            self.lib.wgpuDevicePoll(device, 1, self.null)
        return "the device does not answer"


def fields_of_struct(struct: Any) -> dict[str, Any]:
    """The types of a structure's fields by name."""
    return {name: f.type for name, f in struct.fields}
