"""A built playground, a server for it, and Chromium: what the tests of the page stand on.

The site is built once for all test processes, with the wheels that a test machine can have (numpy for WebAssembly lies
inside of a wheel on the package index), and kept in `build/playground` until one of its sources changes.
"""

from __future__ import annotations

import fcntl
import hashlib
import os
import shutil
import subprocess
import sys
import tempfile
import threading
import zipfile
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from conftest import ROOT, missing, need

from tapescope.app.web import bundles, client_build, packages, serve, site

WORK = ROOT / "build" / "playground"
CARRIER = "open-webui==0.12.4"
"""A package that ships numpy's WebAssembly wheel with its own page."""
MEMBER = "open_webui/frontend/pyodide/"
FLAGS = ["--enable-unsafe-webgpu", "--use-webgpu-adapter=swiftshader", "--enable-features=Vulkan"]
SLOW = 90_000
"""Milliseconds that may pass before Python is there: test machines are busy."""


def numpy_wheel() -> Path:
    """The folder that holds numpy's wheel, fetched if it is not there yet."""
    wheel = packages.Wheel(**packages.read_lock()["numpy"][1])
    folder = WORK / "wheels"
    if not wheel.matches(folder / wheel.file):
        folder.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryDirectory() as scratch:
            command = [
                sys.executable, "-m", "pip", "download", "--quiet", "--no-deps", "--only-binary=:all:",
                "--python-version", "3.12", "--dest", scratch, CARRIER,
            ]  # fmt: skip
            done = subprocess.run(command, capture_output=True, text=True)
            found = list(Path(scratch).glob("*.whl"))
            if not found:
                missing(f"needs numpy's WebAssembly wheel, which could not be fetched: {done.stderr.strip()[-200:]}")
            with zipfile.ZipFile(found[0]) as archive:
                (folder / wheel.file).write_bytes(archive.read(MEMBER + wheel.file))
        assert wheel.matches(folder / wheel.file)
    return folder


def documentation(folder: Path) -> Path:
    """What the documentation's builder would leave, in small: pages with a script inside, a link, and a file they load."""
    folder.mkdir(parents=True, exist_ok=True)
    page = "<!doctype html><html><head><title>Manual</title></head><body><p id=a>still</p><a href='second.html'>second</a>{}</body></html>"
    inside = "<script>document.getElementById('a').textContent = 'alive'</script><script src='own.js'></script>"
    (folder / "index.html").write_text(page.format(inside))
    (folder / "second.html").write_text(page.format("<p>the second page</p>"))
    (folder / "own.js").write_text("document.title = 'loaded'")
    return folder


@pytest.fixture(scope="session")
def built_client() -> Path:
    """The folder of the built page alone, as `tapescope serve` sends it."""
    need("node")
    need("npm")
    WORK.mkdir(parents=True, exist_ok=True)
    with open(WORK / "lock", "w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        return client_build.ensure_built(lambda line: None)


@pytest.fixture(scope="session")
def built_site() -> Path:
    """The folder of a built playground, with the first example recorded; TAPESCOPE_SITE names one to test instead."""
    if given := os.environ.get("TAPESCOPE_SITE"):
        return Path(given)
    need("node")
    need("npm")
    WORK.mkdir(parents=True, exist_ok=True)
    with open(WORK / "lock", "w") as lock, pytest.MonkeyPatch.context() as patch:
        fcntl.flock(lock, fcntl.LOCK_EX)
        patch.setattr(packages, "cache_folder", lambda: WORK / "wheels")
        digest = hashlib.sha256(bundles.pack({**bundles.project_files(), **bundles.example_files()}))
        digest.update(client_build.fingerprint().encode())
        for path in sorted(Path(site.__file__).parent.glob("*.*")):
            digest.update(path.read_bytes())
        out, stamp = WORK / "site", WORK / "site-of"
        if not (out.is_dir() and stamp.is_file() and stamp.read_text() == digest.hexdigest()):
            stamp.unlink(missing_ok=True)
            shutil.rmtree(out, ignore_errors=True)
            site.build(out, package_folder=numpy_wheel(), record=["01_digits"], docs=documentation(WORK / "docs"))
            stamp.write_text(digest.hexdigest())
        return out


def _serving(folder: Path, isolated: bool) -> Iterator[str]:
    server = serve.make_server(folder, isolated=isolated)
    thread = threading.Thread(target=server.serve_forever, daemon=True)
    thread.start()
    yield f"http://localhost:{server.server_address[1]}/"
    server.shutdown()
    server.server_close()


@pytest.fixture(scope="module")
def address(built_site: Path) -> Iterator[str]:
    """The address of the playground on a server that isolates it."""
    yield from _serving(built_site, True)


@pytest.fixture(scope="module")
def plain_address(built_site: Path) -> Iterator[str]:
    """The same on a server that cannot send headers."""
    yield from _serving(built_site, False)


@pytest.fixture(scope="module")
def browser() -> Iterator[Any]:
    """Chromium, one for a file: Playwright's loop must be gone before other files run loops of their own."""
    path = need("chromium")
    from playwright.sync_api import sync_playwright

    with sync_playwright() as playwright:
        flags = [*FLAGS, *(["--no-sandbox"] if os.geteuid() == 0 else [])]
        running = playwright.chromium.launch(executable_path=path, args=flags)
        yield running
        running.close()


class Page:
    """A page of the playground, with what tests do to it."""

    def __init__(self, context: Any, address: str) -> None:
        self.context = context
        self.address = address
        self.requests: list[str] = []
        self.errors: list[str] = []
        self.page = context.new_page()
        self.page.set_default_timeout(20_000)
        context.on("request", lambda request: self.requests.append(request.url))
        self.page.on("pageerror", lambda error: self.errors.append(str(error)))
        self.page.on("dialog", lambda dialog: (self.errors.append(f"dialog: {dialog.message}"), dialog.dismiss()))

    def open(self, rest: str = "?device=cpu") -> Page:
        self.page.goto(self.address + rest)
        self.page.wait_for_selector("html[data-ready]")
        return self

    def ready(self) -> Page:
        """Wait until Python is there."""
        self.page.wait_for_selector(".status[data-state=idle], .status[data-state=dead]", timeout=SLOW)
        assert self.page.get_attribute(".status", "data-state") == "idle", self.page.inner_text("#panel-device")
        return self

    def new(self, *cells: str, kind: str = "code") -> Page:
        """A new document with these cells."""
        text = "\n\n".join(f"# %%{'' if kind == 'code' else f' [{kind}]'}\n{cell}" for cell in cells)
        return self.load("test.py", text + "\n")

    def load(self, name: str, text: str) -> Page:
        """Open a file as if it were dropped on the page."""
        self.page.evaluate(
            """([name, text]) => {
                const transfer = new DataTransfer();
                transfer.items.add(new File([text], name));
                window.dispatchEvent(new DragEvent("drop", { dataTransfer: transfer, bubbles: true, cancelable: true }));
            }""",
            [name, text],
        )
        self.page.wait_for_timeout(150)
        return self

    def cell(self, number: int) -> Any:
        return self.page.locator(".cells > .cell").nth(number)

    def run(self, number: int = 0) -> Page:
        """Press the run button of a cell."""
        self.cell(number).locator(".run").dispatch_event("click")  # wherever the cell is moving to
        return self

    def done(self, number: int = 0, state: str = "ok", timeout: int = 60_000) -> str:
        """Wait until a cell is over; the text of its outputs."""
        at = f".cells > .cell:nth-of-type({number + 1})"
        ended = ", ".join(f'{at}[data-run="{s}"]' for s in ("ok", "error", "interrupted", "aborted", "died"))
        self.page.wait_for_selector(ended, timeout=timeout, state="attached")
        self.page.wait_for_timeout(60)  # outputs are drawn with the next frame
        text = self.output(number)
        assert self.cell(number).get_attribute("data-run") == state, text
        return text

    def output(self, number: int = 0) -> str:
        """What the outputs of a cell show, shadow roots included."""
        return (
            self.cell(number)
            .locator(".outputs")
            .evaluate(
                """area => {
                const read = node => node.shadowRoot ? read(node.shadowRoot)
                    : node.nodeType === 3 ? node.data : [...node.childNodes].filter(n => n.nodeName !== "STYLE").map(read).join("");
                return [...area.children].map(read).join("\\n");
            }"""
            )
        )

    def add(self, *cells: str) -> int:
        """New code cells at the end of the document; the number of the first."""
        first = self.page.locator(".cells > .cell").count()
        for code in cells:
            self.page.locator(".add-row button").first.click()
            self.page.wait_for_selector(".cell.current .cm-content")
            self.page.keyboard.insert_text(code)
            self.page.keyboard.press("Escape")
        return first

    def key(self, *names: str) -> Page:
        for name in names:
            self.page.keyboard.press(name)
        return self

    def sources(self) -> list[str]:
        """The text of every cell, as a downloaded notebook has it."""
        return ["".join(cell["source"]) for cell in self.notebook()["cells"]]

    def notebook(self) -> Any:
        """The document, by the page's own download."""
        import json

        return json.loads(self.downloaded("Download as .ipynb"))

    def downloaded(self, label: str) -> str:
        """The text of the file that a command of the menu offers."""
        self.page.click("button[aria-label=Menu]")
        with self.page.expect_download() as told:
            self.page.click(f'.menu button:has-text("{label}")')
        return Path(told.value.path()).read_text(encoding="utf-8")

    def close(self) -> None:
        self.context.close()


def _without_switching(route: Any) -> None:
    answer = route.fetch()
    gone = "".join(f"delete WebAssembly.{name};" for name in ("Suspending", "promising", "Suspender"))
    route.fulfill(response=answer, body=f"{gone}\n{answer.text()}")


@pytest.fixture(scope="module")
def open_page(browser: Any, address: str) -> Iterator[Callable[..., Page]]:
    """Opens pages, each in a profile of its own."""
    opened: list[Page] = []

    def make(rest: str = "?device=cpu", *, at: str | None = None, older: bool = False, **options: Any) -> Page:
        context = browser.new_context(**options)
        if older:  # a browser whose WebAssembly cannot switch stacks
            context.route("**/kernel_worker*.js", _without_switching)
        page = Page(context, at or address)
        opened.append(page)
        return page.open(rest)

    yield make
    for page in opened:
        page.close()
