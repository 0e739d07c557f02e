"""How fast the page is in headless Chromium: python benchmarks/web.py [SITE] [--quick]

SITE is a built playground; without it one is built into a temporary folder.  Prints the time to the first paint of a
recording, to Python, to the first cell; the compressed size of the page's own files; the length of frames while a cell
trains and somebody types; and what an eager operator costs on WebGPU beyond the adapter's own time.  The two sides of the
last comparison run one after the other in one page.
"""

from __future__ import annotations

import argparse
import gzip
import json
import os
import shutil
import statistics
import sys
import tempfile
import threading
import time
from pathlib import Path
from typing import Any

from tapescope.app.web.serve import make_server
from tapescope.app.web.site import build

FLAGS = ["--enable-unsafe-webgpu", "--use-webgpu-adapter=swiftshader", "--enable-features=Vulkan"]

TRAIN = """
import torch
from torch import nn
net = nn.Sequential(nn.Linear(64, 128), nn.Tanh(), nn.Linear(128, 10))
optimizer = torch.optim.SGD(net.parameters(), lr=0.1)
x = torch.randn(64, 64)
for i in range(4000):
    loss = net(x).pow(2).mean(); optimizer.zero_grad(); loss.backward(); optimizer.step()
    if i % 20 == 0: print(i, loss.item())
"""

DEEP = """
import torch
from torch import nn
net = nn.Sequential(*[nn.Sequential(nn.Linear(16, 16), nn.Tanh()) for _ in range(500)])
for i in range(300):
    net(torch.ones(4, 16)).sum().backward()
    if i % 20 == 0: print(i)
"""
"""A tape of 1,501 operators: about as large as a live one gets."""

GROUPS = [
    ("plotly", "plotly"), ("jedi", "Python: Jedi"), ("temml", "formulas"), ("pyodide/", "Pyodide"), ("examples", "examples"),
    ("libraries", "Python: libraries"), ("python/", "Python: Tapescope"),
]  # fmt: skip
"""What files of the site belong to, by a part of their names; all else is the page's own."""

EAGER = """
import time, torch
x = torch.ones(64, device="webgpu")
def chain(n, each):
    y = x
    began = time.perf_counter()
    for _ in range(n):
        y = each(y)
    recorded = time.perf_counter() - began
    y[0].item()
    return recorded, time.perf_counter() - began
chain(200, lambda y: y + 1)
best = [min(c) for c in zip(*(chain(1000, lambda y: y + 1) for _ in range(5)))]
print(f"RESULT {best[0] * 1e3:.2f} {best[1] * 1e3:.2f}")
"""


def main() -> None:
    options = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    options.add_argument("site", nargs="?", help="a built playground")
    options.add_argument("--quick", action="store_true", help="fewer rounds")
    given = options.parse_args()
    chromium = shutil.which("chromium") or shutil.which("google-chrome")
    if chromium is None or shutil.which("npm") is None:
        print("needs Chromium and Node with npm; nothing was measured")
        return
    with tempfile.TemporaryDirectory() as folder:
        site = Path(given.site) if given.site else build(Path(folder, "site"), record=["01_digits"], say=print)
        server = make_server(site)
        threading.Thread(target=server.serve_forever, daemon=True).start()
        try:
            measure(site, f"http://localhost:{server.server_address[1]}/", chromium, 2 if given.quick else 5)
        finally:
            server.shutdown()


def measure(site: Path, address: str, chromium: str, rounds: int) -> None:
    from playwright.sync_api import sync_playwright

    sizes(site)
    with sync_playwright() as playwright:
        flags = [*FLAGS, *(["--no-sandbox"] if os.geteuid() == 0 else [])]
        browser = playwright.chromium.launch(executable_path=chromium, args=flags)
        painted, ready, first = [], [], []
        for _ in range(rounds):
            page = browser.new_context().new_page()
            began = time.perf_counter()
            page.goto(f"{address}?device=cpu")
            page.wait_for_selector("svg.figure")
            painted.append(time.perf_counter() - began)
            page.wait_for_selector(".status[data-state=idle]", timeout=120_000)
            ready.append(time.perf_counter() - began)
            page.locator(".cell.code .run").first.click(force=True)
            page.wait_for_selector('.cell[data-run="ok"]', timeout=60_000)
            first.append(time.perf_counter() - began)
            page.context.close()
        for name, found, target in (
            ("recording painted", painted, 1), ("Python ready", ready, 8), ("first cell run", first, 10),
        ):  # fmt: skip
            print(f"{name:28} {min(found):6.2f} s best, {statistics.median(found):.2f} s median (target {target} s)")
        print(f"{'frames while typing':28} {typing(browser, address, TRAIN)}")
        print(f"{'the same, a large tape':28} {typing(browser, address, DEEP)}")
        print(f"{'eager operator on WebGPU':28} {eager(browser, address)}")
        browser.close()


def sizes(site: Path) -> None:
    """Compressed sizes by what they belong to."""
    manifest = json.loads((site / "site.json").read_text())
    groups: dict[str, int] = {}
    for name in manifest["files"]:
        kind = next((group for part, group in GROUPS if part in name), "page")
        data = (site / name).read_bytes()
        groups[kind] = groups.get(kind, 0) + (len(data) if name.endswith(".bundle") else len(gzip.compress(data, 6)))
    for kind, size in sorted(groups.items()):
        print(f"{'compressed, ' + kind:28} {size / 1e6:6.2f} MB")


def typing(browser: Any, address: str, cell: str) -> str:
    """The 95th percentile and the longest of the gaps between frames while a cell trains and keys are pressed."""
    page = browser.new_context().new_page()
    page.goto(f"{address}?device=cpu")
    page.wait_for_selector(".status[data-state=idle]", timeout=120_000)
    page.locator(".add-row button").first.click()
    page.keyboard.insert_text(cell)
    page.keyboard.press("Shift+Enter")
    page.wait_for_selector('.cell[data-run="running"]')
    page.wait_for_selector("#panel-tape .summary:has-text('live')", timeout=60_000)
    page.wait_for_selector(".cell.current .cm-content")
    page.evaluate(
        """() => { globalThis.gaps = []; let last = performance.now();
            const step = now => { gaps.push(now - last); last = now; requestAnimationFrame(step); }; requestAnimationFrame(step); }"""
    )
    for letter in "total = sum(loss for loss in losses)":
        page.keyboard.press("Space" if letter == " " else letter)
        page.wait_for_timeout(40)
    gaps = sorted(page.evaluate("gaps.slice(2)"))
    page.context.close()
    return f"{gaps[int(len(gaps) * 0.95)]:6.1f} ms 95th percentile, {gaps[-1]:.0f} ms longest (target 16 ms)"


def eager(browser: Any, address: str) -> str:
    """Microseconds an operator of Python's and JavaScript's own time, and with the adapter's."""
    page = browser.new_context().new_page()
    page.goto(f"{address}?device=webgpu")
    page.wait_for_selector(".status[data-state=idle]", timeout=120_000)
    page.locator(".add-row button").first.click()
    page.keyboard.insert_text(EAGER)
    page.keyboard.press("Control+Enter")
    page.wait_for_selector('.cell[data-run="ok"] .outputs:has-text("RESULT")', timeout=120_000)
    text = page.locator('.outputs:has-text("RESULT")').last.inner_text()
    page.context.close()
    recorded, whole = map(float, text.split("RESULT")[1].split()[:2])
    return f"{recorded:6.1f} us to record, {whole:.1f} us with the adapter's work (target: 60 us beyond the adapter's)"


if __name__ == "__main__":
    sys.exit(main())
