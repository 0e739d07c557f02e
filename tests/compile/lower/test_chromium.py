"""Every generated shader in a real browser: Chromium compiles it without a word, and makes a pipeline of it.

The goldens' programs, and whole training steps (an MLP, a convolutional network, a transformer block), are lowered here; the page compiles
their texts with Chromium's own WGSL compiler, on its software adapter. What uses subgroups is compiled by a device that was asked for them.
"""

from __future__ import annotations

import http.server
import os
import threading

import pytest
from conftest import need

from tapescope import engine as torch
from tapescope.engine.compile.aot.trace import make_fx
from tapescope.engine.compile.lower.backend import Choices, lower
from tapescope.engine.compile.lower.simplify.translate import translate
from tapescope.engine.observe import KernelBuilt, bus

from .programs import PROGRAMS

F = torch.nn.functional
nn = torch.nn

FLAGS = ["--enable-unsafe-webgpu", "--use-webgpu-adapter=swiftshader", "--enable-features=Vulkan"]

COMPILE = """async sources => {
  const adapter = await navigator.gpu.requestAdapter();
  const features = ["subgroups", "shader-f16"].filter(f => adapter.features.has(f));
  const device = await adapter.requestDevice({ requiredFeatures: features });
  const told = [];
  for (const [name, code] of sources) {
    device.pushErrorScope("validation");
    const module = device.createShaderModule({ code });
    const info = await module.getCompilationInfo();
    for (const m of info.messages) told.push(`${name}:${m.lineNum}: ${m.type}: ${m.message}`);
    try {
      await device.createComputePipelineAsync({ layout: "auto", compute: { module, entryPoint: "main" } });
    } catch (error) { told.push(`${name}: ${error.message}`); }
    const error = await device.popErrorScope();
    if (error) told.push(`${name}: ${error.message}`);
  }
  return [features, told];
}"""


class Quiet(http.server.BaseHTTPRequestHandler):
    """An empty page."""

    def do_GET(self) -> None:
        self.send_response(200)
        self.send_header("Content-Type", "text/html")
        self.end_headers()
        self.wfile.write(b"<!doctype html><title>shaders</title>")

    def log_message(self, *_: object) -> None:
        pass


@pytest.fixture(scope="module")
def compile_all():
    """Compile [(name, text)] in Chromium; the features it has, and what it said."""
    path = need("chromium")
    from playwright.sync_api import sync_playwright

    server = http.server.ThreadingHTTPServer(("localhost", 0), Quiet)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    with sync_playwright() as playwright:
        flags = [*FLAGS, *(["--no-sandbox"] if os.geteuid() == 0 else [])]
        browser = playwright.chromium.launch(executable_path=path, args=flags)
        page = browser.new_page()
        page.goto(f"http://localhost:{server.server_address[1]}/")
        yield lambda sources: page.evaluate(COMPILE, sources)
        browser.close()
    server.shutdown()
    server.server_close()


class Block(nn.Module):
    """A transformer block."""

    def __init__(self) -> None:
        super().__init__()
        self.table, self.norm = nn.Embedding(11, 16), nn.LayerNorm(16)
        self.qkv, self.out, self.head = nn.Linear(16, 48), nn.Linear(16, 16), nn.Linear(16, 11)

    def forward(self, tokens):
        x = self.table(tokens)
        q, k, v = self.qkv(self.norm(x)).reshape(*x.shape[:2], 3, 2, 8).permute(2, 0, 3, 1, 4).unbind(0)
        mixed = F.softmax(q @ k.transpose(-2, -1) * 0.35, -1) @ v
        x = x + self.out(mixed.permute(0, 2, 1, 3).reshape(x.shape))
        return self.head(F.gelu(x)).reshape(-1, 11)


def steps():
    """Models with an input and targets."""
    yield "mlp", nn.Sequential(nn.Linear(20, 32), nn.Tanh(), nn.Linear(32, 5)), torch.randn(8, 20), 5, 8
    yield "cnn", nn.Sequential(
        nn.Conv2d(1, 4, 3, padding=1), nn.ReLU(), nn.MaxPool2d(2), nn.BatchNorm2d(4), nn.Conv2d(4, 8, 3, stride=2), nn.Flatten(),
        nn.Linear(8 * 4, 5),
    ), torch.randn(6, 1, 12, 12), 5, 6  # fmt: skip
    yield "transformer", Block(), torch.randint(0, 11, (3, 12)), 11, 36


def texts() -> dict[str, str]:
    """The texts of all kernels by name."""
    found: dict[str, str] = {}
    for name, (function, inputs) in PROGRAMS.items():
        args = [t.detach().to("webgpu").requires_grad_(t.requires_grad) for t in inputs()]
        segment = lower(translate(make_fx(function)(*args)), Choices(printer="wgsl"))
        found.update({f"{name}.{k}": p.shader.source for k, p in segment.printed.items()})

    def built(record: KernelBuilt) -> None:
        found[record.name + str(len(found))] = record.text

    stop = bus.subscribe(built, ["kernel"])
    for name, model, x, classes, count in steps():
        model, x = model.to("webgpu"), x.to("webgpu")
        y = torch.randint(0, classes, (count,)).to("webgpu")
        optimizer = torch.optim.AdamW(model.parameters(), lr=1e-3)

        def step(x, y, model=model, optimizer=optimizer):
            loss = F.cross_entropy(model(x), y)
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            return loss

        before = len(found)
        run = torch.compile(step, backend="tapescope")
        for _ in range(4):  # what shares launches is made when a segment is recorded, on its second call
            run(x, y).item()
        assert len(found) > before, name
    stop()
    return found


def test_chromium_compiles_every_kernel(need_vulkan, compile_all):
    need_vulkan()
    found = texts()
    assert len(found) > 60
    assert any("var member" in text for text in found.values())  # several kernels in one launch
    shared = [text for text in found.values() if text.startswith("enable subgroups;")]
    features, told = compile_all([[name, text] for name, text in found.items()])
    if shared:
        assert "subgroups" in features
    assert told == []


def test_mistakes_are_told(compile_all):
    _, told = compile_all([["wrong", "@compute @workgroup_size(1) fn main() { let x: f32 = 1i; }"]])
    assert any(t.startswith("wrong:1: error") for t in told)
