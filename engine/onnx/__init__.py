"""`torch.onnx`: modules written as ONNX files, for runtimes elsewhere.

`export` traces the module to a graph of primitives (as `torch.jit.trace` does) and turns each into ONNX operators by the table in
`convert.py`. It needs the package `onnx` (`pip install "tapescope[onnx]"`), which is imported when something is exported.
"""

from __future__ import annotations

from .export import ONNXProgram, OnnxExporterError, export, is_in_onnx_export
