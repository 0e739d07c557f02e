"""`tapescope serve`: the page with a kernel of this machine, its file, its interruptions, and who is refused.

One server with one file serves all tests in order; each leaves an idle kernel. Pages are those of the other tests.
"""

from __future__ import annotations

import json
import os
import re
import signal
import socket
import subprocess
import sys
import urllib.error
import urllib.request
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from websockets.exceptions import ConnectionClosed, InvalidStatus
from websockets.sync.client import connect

from .conftest import Page

TEXT = "# %% [markdown]\n# # A lesson\n\n# %%\nx = 20 + 1\nprint(x * 2)\n\n# %%\n\ny   = 'kept   as it is'\n"


KEEP_SOCKETS = """
window.sockets = [];
window.WebSocket = class extends WebSocket { constructor(...given) { super(...given); sockets.push(this); } };
"""


class Served:
    """A running `tapescope serve`."""

    def __init__(self, *words: str | Path, port: int = 0) -> None:
        self.process = subprocess.Popen(
            [sys.executable, "-m", "tapescope.app", "serve", *map(str, words), "--no-open", "--port", str(port)],
            stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
        )  # fmt: skip
        assert self.process.stdout is not None
        found = re.search(r"(http://127.0.0.1:(\d+)/)#key=([\w-]+)", self.process.stdout.readline())
        assert found is not None, self.process.communicate(timeout=10)
        self.base, self.port, self.key = found[1], int(found[2]), found[3]

    def get(self, path: str, **headers: str) -> tuple[int, dict[str, str], str]:
        request = urllib.request.Request(self.base + path, headers={"Host": f"127.0.0.1:{self.port}", **headers})
        try:
            with urllib.request.urlopen(request, timeout=10) as answer:
                return answer.status, dict(answer.headers), answer.read().decode()
        except urllib.error.HTTPError as error:
            return error.code, dict(error.headers), error.read().decode()

    def close(self) -> str:
        self.process.send_signal(signal.SIGINT)
        return self.process.communicate(timeout=20)[1]


@pytest.fixture(scope="module")
def file(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("native") / "lesson.py"
    path.write_text(TEXT)
    (path.parent / "other.py").write_text("# %%\nprint('the other')\n")
    return path


@pytest.fixture(scope="module")
def served(file: Path, built_client: Path) -> Iterator[Served]:
    server = Served(file)
    yield server
    if server.process.poll() is None:
        server.close()


@pytest.fixture(scope="module")
def page(browser: Any, served: Served) -> Iterator[Page]:
    context = browser.new_context()
    context.add_init_script(KEEP_SOCKETS)
    made = Page(context, served.base)
    yield made.open(f"#key={served.key}").ready()
    made.close()


def ask(served: Served, hello: dict[str, Any], origin: str | None = None) -> Any:
    """What comes back to a greeting: the first message, or the close code and the reason."""

    address = f"ws://127.0.0.1:{served.port}/kernel"
    with connect(address, origin=origin or served.base.rstrip("/")) as link:  # type: ignore[arg-type]
        link.send(json.dumps(hello))
        try:
            return json.loads(link.recv(timeout=10))
        except ConnectionClosed as closed:
            return closed.rcvd


def test_the_file_is_shown_and_nothing_has_run(page: Page):
    assert page.page.input_value(".title") == "lesson.py"
    assert page.page.url.endswith("/")  # the key has left the address
    assert page.output(1) == ""
    assert "Native Python 3." in page.page.inner_text(".status")


def test_a_cell_runs_in_a_process_of_this_machine(page: Page, file: Path):
    assert page.run(1).done(1).strip() == "42"
    at = page.add("import os, sys\nprint(os.getcwd())\nsys.platform")
    text = page.run(at).done(at)
    assert str(file.parent) in text and sys.platform in text


def test_the_panel_shows_tape_variables_and_device(page: Page):
    at = page.add("import torch\nw = torch.ones(3, requires_grad=True)\n(w * 2).sum().backward()")
    page.run(at).done(at)
    page.page.wait_for_selector("#panel-tape .row >> nth=1")
    page.page.click("#tab-variables")
    page.page.wait_for_selector("#panel-variables >> text=w")
    page.page.click("#tab-device")
    assert "native" in page.page.inner_text("#panel-device")
    page.page.click("#tab-tape")


def test_a_loop_is_stopped_input_is_answered_and_completion_comes(page: Page):
    at = page.add("while True: pass", "print('hello', input('name? '))", "wonderful_name = 1", "")
    page.run(at)
    page.page.wait_for_selector('.cell[data-run="running"]')
    page.page.click(".stop")
    assert "KeyboardInterrupt" in page.done(at, "interrupted")
    page.run(at + 1)
    page.page.fill(".asking input", "Ada äöü")
    page.page.press(".asking input", "Enter")
    assert "hello Ada äöü" in page.done(at + 1)
    page.run(at + 2).done(at + 2)
    page.cell(at + 3).locator(".source").click()
    page.page.keyboard.type("wonderf")
    page.key("Control+Space")
    page.page.wait_for_selector('.cm-tooltip-autocomplete li:has-text("wonderful_name")')
    page.key("Escape", "Escape")


def test_a_cell_goes_on_while_the_page_is_away_and_nothing_is_lost(page: Page):
    at = page.add("import time\nfor i in range(12):\n    print('turn', i)\n    time.sleep(.15)", "print('after')")
    page.run(at).run(at + 1)
    page.cell(at).locator(".outputs", has_text="turn 1").wait_for()
    page.page.reload()  # the page itself is gone, with all that it knew
    page.page.wait_for_selector("html[data-ready]")
    assert "after" in page.done(at + 1)
    assert [line for line in page.output(at).split("\n") if line] == [f"turn {i}" for i in range(12)]


def test_a_connection_that_is_lost_is_made_again_and_outputs_go_on(page: Page):
    at = page.add("for i in range(12):\n    print('turn', i)\n    time.sleep(.1)", "print('queued meanwhile')")
    page.run(at)
    page.cell(at).locator(".outputs", has_text="turn 1").wait_for()
    page.page.evaluate("sockets.at(-1).close()")
    page.page.wait_for_selector(".banner.link-lost")
    page.run(at + 1)  # arrives when there is a connection again
    page.page.wait_for_selector(".banner.link-lost", state="detached")
    assert "queued meanwhile" in page.done(at + 1)
    assert [line for line in page.output(at).split("\n") if line] == [f"turn {i}" for i in range(12)]
    assert page.page.evaluate("sockets.length") >= 2


def test_a_dead_kernel_is_told_and_replaced(page: Page):
    at = page.add("import os\nprint('last words', flush=True)\nos._exit(3)", "print('alive')")
    page.run(at)
    page.page.wait_for_selector(".banner.trouble")
    assert "last words" in page.done(at, "died")
    page.page.click('.banner.trouble button:has-text("Restart Python")')
    page.ready()
    assert "alive" in page.run(at + 1).done(at + 1)


def test_restart_forgets_names_and_keeps_the_document(page: Page):
    before = page.sources()
    at = page.add("print(wonderful_name)")
    page.page.click(".status")
    page.page.click('.menu button:has-text("Restart Python")')
    page.page.wait_for_selector(".status[data-state=loading]")
    page.ready()
    assert "NameError" in page.run(at).done(at, "error")
    assert page.sources()[:at] == before


def test_the_file_is_saved_with_what_was_not_edited_as_it_was(page: Page, file: Path):
    page.page.wait_for_selector('.saved:has-text("not saved")')
    assert file.read_text() == TEXT
    page.key("Escape", "Control+s")
    page.page.wait_for_selector('.notice:has-text("Saved lesson.py")')
    assert file.read_text().startswith(TEXT.rstrip("\n")) and "print(wonderful_name)" in file.read_text()
    assert page.page.inner_text(".saved") == "saved"


def test_a_file_that_changed_is_not_overwritten_without_asking(page: Page, file: Path):
    theirs = TEXT + "\n# %%\nprint('of another program')\n"
    file.write_text(theirs)
    page.page.wait_for_selector(".banner.disk-changed")
    page.add("'mine'")
    page.key("Escape", "Control+s")
    dialog = page.page.locator("dialog")
    assert [dialog.locator(".buttons button").nth(i).inner_text() for i in range(3)] == [
        "Do not save", "Load the file", "Save mine",
    ]  # fmt: skip
    assert "+print('of another program')" in dialog.inner_text()
    dialog.locator('button:has-text("Load the file")').click()
    page.page.wait_for_selector('.notice:has-text("what is on the disk now")')
    assert page.sources()[-1] == "print('of another program')" and file.read_text() == theirs
    page.key("Escape", "z")
    assert page.sources()[-1] == "'mine'"
    page.key("Control+s")
    page.page.wait_for_selector('.saved:text-is("saved")')
    assert "'mine'" in file.read_text()


def test_a_second_tab_is_told_and_may_take_over(page: Page, served: Served):
    second = Page(page.context, served.base)
    second.page.goto(served.base)
    second.page.wait_for_selector('.gate:has-text("another tab")')
    second.page.click('.gate button:has-text("Use it here")')
    second.page.wait_for_selector("html[data-ready]")
    second.ready()
    assert second.sources()[-1] == "'mine'"
    page.page.wait_for_selector('.gate:has-text("another tab")')
    second.page.close()
    page.page.click('.gate button:has-text("Use it here")')
    page.page.wait_for_selector("html[data-ready]")
    page.ready()


def test_what_was_written_without_a_connection_can_be_had_when_another_page_came_meanwhile(
    page: Page, browser: Any, served: Served
):
    page.context.set_offline(True)
    page.page.evaluate("sockets.at(-1).close()")
    page.page.wait_for_selector(".banner.link-lost")
    page.add("only_here = 1")
    second = Page(browser.new_context(), served.base)
    second.open(f"#key={served.key}").ready()
    assert "only_here = 1" not in second.sources()
    page.context.set_offline(False)
    page.page.wait_for_selector('.gate:has-text("has not reached")')
    with page.page.expect_download() as told:
        page.page.click('.gate button:has-text("Download")')
    assert "only_here = 1" in Path(told.value.path()).read_text(encoding="utf-8")
    second.close()
    page.page.click('.gate button:has-text("Use it here")')
    page.page.wait_for_selector(".gate", state="detached")
    page.page.wait_for_selector("html[data-ready]")
    page.ready()


def test_another_notebook_of_the_folder_is_opened_with_a_kernel_of_its_own(page: Page):
    page.page.click(".brand")
    page.page.click('dialog button:has-text("other.py")')
    page.page.wait_for_selector(".cells:not(:has(.cell:nth-of-type(3)))")
    assert page.page.input_value(".title") == "other.py" and page.page.inner_text(".saved") == "saved"
    page.ready()
    assert "the other" in page.run(0).done(0)


def test_a_document_of_the_browser_begins_and_becomes_a_file(page: Page, file: Path):
    page.page.click("button[aria-label=Menu]")
    page.page.click('.menu button:has-text("New document")')
    page.page.wait_for_selector(".cell .cm-content")
    assert page.page.input_value(".title") == "Untitled"
    page.page.keyboard.insert_text("'made here'")
    page.ready()
    page.key("Escape")
    page.page.click("button[aria-label=Menu]")
    page.page.click('.menu button:has-text("Save as a file")')
    page.page.fill("dialog input", "../outside.py")
    page.page.click('dialog button:has-text("Save")')
    page.page.wait_for_selector('.notice:has-text("is outside of the notebook")')
    page.page.click('.notice:has-text("outside") button:has-text("Save as")')
    page.page.fill("dialog input", "made.py")
    page.page.click('dialog button:has-text("Save")')
    page.page.wait_for_selector('.saved:text-is("saved")')
    assert (file.parent / "made.py").read_text() == "# %%\n'made here'\n"
    assert (file.parent / "other.py").read_text() == "# %%\nprint('the other')\n"


def test_what_is_served_is_isolated_and_nothing_else_is_there(served: Served):
    status, headers, text = served.get("")
    assert status == 200 and headers["Content-Type"] == "text/html; charset=utf-8"
    assert headers["Cross-Origin-Opener-Policy"] == "same-origin"
    assert headers["Cross-Origin-Embedder-Policy"] == "require-corp"
    policy = headers["Content-Security-Policy"]
    assert "default-src 'none'" in policy and "unsafe-eval" not in policy and "frame-ancestors 'none'" in policy
    assert served.key not in text and served.key not in served.get("site.json")[2]
    script = re.search(r'src="\./(assets/[^"]+\.js)"', text)
    assert script is not None and served.get(script[1])[1]["Content-Type"] == "text/javascript; charset=utf-8"
    for path in ("../pyproject.toml", "%2e%2e/%2e%2e/pyproject.toml", "assets/../../site.py", "..%2fsite.py", "sw.js"):
        status, _, text = served.get(path)
        assert status == 404 and text == "There is no such page here.\n"


def test_other_names_and_other_pages_are_refused_with_a_sentence(served: Served):
    status, _, text = served.get("", Host="evil.example")
    assert status == 403 and "localhost only" in text and "evil.example" in text
    greeting = {"kind": "hello", "key": served.key, "page": "p"}
    for origin in ("http://evil.example", "http://localhost:1", "null"):
        with pytest.raises(InvalidStatus) as refused:
            ask(served, greeting, origin)
        assert refused.value.response.status_code == 403
        assert b"Only the page of this server" in (refused.value.response.body or b"")


@pytest.mark.parametrize("key", [None, "", "wrong", 5])
def test_who_has_no_key_is_refused(served: Served, key: Any):
    closed = ask(served, {"kind": "hello", "key": key, "page": "p"})
    assert closed.code == 4401 and "Open the address that `tapescope serve` printed" in closed.reason
    assert ask(served, {"kind": "execute", "cell": "a", "revision": 1, "code": "1"}).code == 4401


def test_a_page_with_a_wrong_key_says_so(browser: Any, served: Served):
    page = Page(browser.new_context(), served.base)
    page.page.goto(f"{served.base}#key=wrong")
    page.page.wait_for_selector('.gate:has-text("not the one of this server")')
    page.close()


def test_a_server_that_ends_and_its_unsaved_work_are_told(page: Page, served: Served, file: Path):
    page.add("unsaved = 1")
    page.page.wait_for_timeout(1200)
    said = served.close()
    assert "made.py has unsaved changes; they are kept: tapescope recover" in said
    page.page.wait_for_selector(".banner.link-lost")
    again = Served(file.parent, port=served.port)
    try:
        page.page.wait_for_selector(".banner.link-refused")
        with page.page.expect_download() as told:
            page.page.click(".banner.link-refused button")
        assert "unsaved = 1" in Path(told.value.path()).read_text(encoding="utf-8")
    finally:
        again.close()
    assert page.errors == []


def test_a_port_that_is_in_use_is_told(tmp_path: Path, built_client: Path):
    with socket.create_server(("127.0.0.1", 0)) as holder:
        port = holder.getsockname()[1]
        done = subprocess.run(
            [sys.executable, "-m", "tapescope.app", "serve", "--no-open", "--port", str(port)],
            cwd=tmp_path, capture_output=True, text=True, timeout=60,
        )  # fmt: skip
    assert done.returncode == 1 and done.stderr.startswith(f"tapescope: Port {port} is in use"), done.stderr
    assert "--port 0" in done.stderr and len(done.stderr.splitlines()) == 1


def test_mistakes_on_the_command_line_get_a_sentence(tmp_path: Path):
    for words, part in (
        (["missing.py"], "There is no file missing.py"), (["--port", "70000"], "ports go from 0"),
        (["--device", "gpu"], "there is no such device"),
    ):  # fmt: skip
        done = subprocess.run(
            [sys.executable, "-m", "tapescope.app", "serve", *words],
            cwd=tmp_path, env={**os.environ}, capture_output=True, text=True, timeout=60,
        )  # fmt: skip
        assert done.returncode == 2 and part in done.stderr, done.stderr
