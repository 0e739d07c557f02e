"""Who can use the page: by keyboard alone, with a screen reader, on a phone, offline, on any host."""

from __future__ import annotations

import gzip
import json
from collections.abc import Callable

import pytest
from conftest import ROOT

AXE = ROOT / "app" / "web" / "client" / "node_modules" / "axe-core" / "axe.min.js"
PHONE = {"viewport": {"width": 390, "height": 800}, "is_mobile": True, "has_touch": True, "device_scale_factor": 2}


def axe(page) -> list[str]:
    """Serious findings of axe-core."""
    page.page.context.new_cdp_session(page.page).send("Page.setBypassCSP", {"enabled": True})
    page.page.evaluate(AXE.read_text(encoding="utf-8"))
    found = page.page.evaluate("axe.run(document, { resultTypes: ['violations'] })")
    serious = [v for v in found["violations"] if v["impact"] in ("serious", "critical")]
    return [f"{v['id']}: {json.dumps([n['html'][:160] for n in v['nodes'][:4]])}" for v in serious]


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_axe_finds_nothing_serious(open_page: Callable, scheme):
    page = open_page(color_scheme=scheme, bypass_csp=True)
    page.page.wait_for_timeout(800)
    assert axe(page) == []
    page.page.click('.segmented button:has-text("Picture"):visible')
    page.page.click("#tab-variables")
    page.page.click("button.brand")
    page.page.wait_for_selector("dialog[open]")
    assert axe(page) == []


def test_the_projects_own_files_are_small(built_site):
    """Compressed, what every visit loads of the page and the engine; Pyodide, libraries and what is loaded on use apart."""
    files = [
        f for f in json.loads((built_site / "site.json").read_text())["files"] if "plotly" not in f and "temml" not in f
    ]
    page = sum(
        len(gzip.compress((built_site / f).read_bytes())) for f in files if f.startswith(("assets/", "index.html"))
    )
    engine = sum((built_site / f).stat().st_size for f in files if f.startswith("python/tapescope-"))
    assert page + engine < 1.5 * 2**20


def test_everything_by_keyboard(open_page: Callable):
    page = open_page()
    page.new("x = 2", "x * 21").ready()
    page.key("Enter")
    page.key("Control+End")
    page.page.keyboard.type(" + 0")
    page.key("Shift+Enter")
    page.done(0)
    page.key("Control+Enter")
    assert "42" in page.done(1)
    page.key("F1")
    page.page.keyboard.type("tape")
    page.page.wait_for_selector(".palette-row[aria-selected=true]:has-text('Go to the tape')")
    page.key("Enter")
    assert page.page.evaluate("document.activeElement.closest('.inspector') !== null")
    page.key("F1")
    page.page.keyboard.type("variables")
    page.key("Enter")
    page.page.wait_for_selector('#panel-variables th:has-text("x")')
    page.key("F1", "Escape")
    assert page.page.evaluate("document.querySelector('dialog') === null")


def test_the_tape_is_walked_by_keyboard_and_lights_its_line(open_page: Callable):
    page = open_page()
    page.page.locator("#panel-tape .rows").focus()
    chosen = page.page.locator("#panel-tape .row[aria-selected=true] .op")
    for _ in range(12):
        if chosen.inner_text() == "addmm":
            break
        page.key("ArrowDown")
    assert chosen.inner_text() == "addmm"
    assert page.page.locator(".line-linked").count() >= 1
    assert "hidden" in page.page.locator("#panel-tape .details").inner_text()
    rows = page.page.locator("#panel-tape .row").count()
    page.key("ArrowLeft", "ArrowLeft")
    assert page.page.locator("#panel-tape .row").count() < rows
    page.page.locator("#panel-tape input[aria-label='How far backward has walked']").focus()
    page.key("ArrowRight", "ArrowRight")
    assert page.page.locator("#panel-tape .row.visited").count() >= 1
    page.page.fill("#panel-tape input[type=search]", "relu")
    page.page.wait_for_selector("#panel-tape .row.marked:has-text('relu')")


def test_a_phone_reads_edits_and_runs(open_page: Callable):
    page = open_page(**PHONE)
    overflow = page.page.evaluate("document.documentElement.scrollWidth - innerWidth")
    assert overflow <= 0
    assert page.page.locator(".inspector").is_hidden()
    page.page.tap(".panel-button")
    page.page.locator(".inspector .row").first.wait_for()
    page.page.tap(".close-panel")
    page.new("1 + 1").ready()
    page.cell(0).locator(".source").tap()
    page.page.keyboard.type("0")
    page.cell(0).locator(".run").tap()
    assert page.done(0).strip() in ("2", "11", "3", "101")


def test_offline_after_the_first_visit(open_page: Callable):
    page = open_page()
    page.page.evaluate(
        """async () => {
            const registration = await navigator.serviceWorker.ready;
            await new Promise(done => {
                navigator.serviceWorker.onmessage = event => event.data === "kept" && done();
                registration.active.postMessage("keep");
            });
        }"""
    )
    page.context.set_offline(True)
    page.page.reload()
    page.page.wait_for_selector("html[data-ready]")
    page.ready()
    at = page.add("print('offline', 6 * 7)")
    assert "offline 42" in page.run(at).done(at)
    page.context.set_offline(False)


def test_a_plain_host_is_isolated_by_the_service_worker(open_page: Callable, plain_address):
    page = open_page(at=plain_address)
    page.page.wait_for_selector("html[data-ready]")
    for _ in range(50):
        if page.page.evaluate("globalThis.crossOriginIsolated === true"):
            break
        page.page.wait_for_timeout(200)
    assert page.page.evaluate("crossOriginIsolated")


def test_without_isolation_cells_run_and_stopping_restarts(open_page: Callable, plain_address):
    page = open_page(at=plain_address, service_workers="block")
    page.new("print('plain', input('? '))", "while True: pass").ready()
    assert not page.page.evaluate("crossOriginIsolated")
    page.run(0)
    page.page.fill(".asking input", "host")
    page.page.press(".asking input", "Enter")
    assert "plain host" in page.done(0)
    page.run(1)
    page.page.wait_for_selector('.cell[data-run="running"]')
    page.page.click('.stop:has-text("Restart")')
    page.done(1, "interrupted")
    page.page.wait_for_selector('.notice:has-text("restarting Python")')
