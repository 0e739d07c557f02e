"""The site's files, the lock of its packages, and the server, without a browser."""

from __future__ import annotations

import http.client
import json
import re
import threading
import zipfile
from pathlib import Path

import pytest

from tapescope.app.cli import main
from tapescope.app.command_error import CommandError
from tapescope.app.web import bundles, docs_site, packages, serve, site


@pytest.fixture
def small(tmp_path: Path) -> Path:
    """A folder that the server takes for a site."""
    root = tmp_path / "site"
    (root / "assets").mkdir(parents=True)
    (root / "index.html").write_text("<p>page</p>" * 100)
    (root / "site.json").write_text("{}")
    (root / "m.mjs").write_text("export {}")
    (root / "m.wasm").write_bytes(b"\0asm")
    (root / "assets" / "index-abcdef12.js").write_text("1")
    (root / ".hidden").write_text("secret")
    (tmp_path / "outside.txt").write_text("secret")
    return root


@pytest.fixture
def ask(small: Path):
    server = serve.make_server(small)
    threading.Thread(target=server.serve_forever, daemon=True).start()

    def request(path: str, method: str = "GET", **headers: str):
        connection = http.client.HTTPConnection("127.0.0.1", server.server_address[1], timeout=10)
        connection.request(method, path, headers=headers)
        answer = connection.getresponse()
        return answer.status, dict(answer.getheaders()), answer.read()

    yield request
    server.shutdown()
    server.server_close()


def test_the_server_isolates_types_and_compresses(ask):
    status, headers, body = ask("/")
    assert status == 200 and headers["Content-Type"].startswith("text/html") and body.startswith(b"<p>page")
    assert headers["Cross-Origin-Opener-Policy"] == "same-origin"
    assert headers["Cross-Origin-Embedder-Policy"] == "require-corp"
    assert "'unsafe-eval'" not in headers["Content-Security-Policy"] and headers["X-Content-Type-Options"] == "nosniff"
    assert ask("/m.mjs")[1]["Content-Type"].startswith("text/javascript")
    assert ask("/m.wasm")[1]["Content-Type"] == "application/wasm"
    _, headers, body = ask("/", **{"Accept-Encoding": "gzip"})
    assert headers["Content-Encoding"] == "gzip" and len(body) < 200
    assert "immutable" in ask("/assets/index-abcdef12.js")[1]["Cache-Control"]
    assert ask("/", **{"If-None-Match": headers["ETag"]})[0] == 304
    assert ask("/", "HEAD")[2] == b""


@pytest.mark.parametrize(
    "path",
    ["/../outside.txt", "/%2e%2e/outside.txt", "/..%2foutside.txt", "/assets/../../outside.txt", "/.hidden", "/nothing", "/%00", "//etc/passwd"],
)  # fmt: skip
def test_nothing_outside_of_the_site_is_served(ask, path):
    status, _, body = ask(path)
    assert status == 404 and b"secret" not in body


def test_bundles_give_back_what_they_were_made_of():
    files = {"b/c.py": b"x = 1\n", "a.txt": b"", "d.bin": bytes(range(256))}
    assert bundles.unpack(bundles.pack(files)) == files
    assert bundles.pack(files) == bundles.pack(dict(reversed(files.items())))
    assert bundles.top_packages({"b/c.py": b"", "m.py": b""}) == ["b", "m"]


def test_the_projects_bundle_has_what_a_kernel_imports_and_no_screens():
    names = set(bundles.project_files())
    for part in (
        "app/kernel/worker.py",
        "engine/__init__.py",
        "graphviz_views/tape.py",
        "webgpu_kernels/matmul.py",
    ):
        assert f"tapescope/{part}" in names
    assert list(bundles.example_files()) == ["tapescope/examples/data/digits.npz"]
    assert not [n for n in names if "/tui/" in n or "/web/" in n or "/notebook/" in n or n.endswith((".ts", ".pyc"))]
    assert any(n.endswith(".dist-info/entry_points.txt") for n in names)


def test_the_lock_names_each_wheel_once_and_by_hash():
    lock = packages.read_lock()
    wheels = [packages.Wheel(**entry) for entry in [*lock["pure"], *lock["numpy"]]]
    assert all(re.fullmatch(r"[0-9a-f]{64}", w.sha256) and w.version in w.file for w in wheels)
    assert len({w.name for w in wheels}) == len(lock["pure"]) + 1
    assert lock["abi"] in lock["numpy"][0]["file"]
    client = json.loads((Path(packages.__file__).parent / "client" / "package.json").read_text())
    assert client["dependencies"]["pyodide"] == lock["pyodide"]


def test_a_wheel_with_another_hash_is_refused(tmp_path):
    wheel = packages.read_lock()["pure"][0]["file"]
    (tmp_path / wheel).write_bytes(b"not it")
    with pytest.raises(CommandError, match="SHA-256"):
        packages.find_wheels(tmp_path)


def test_wheels_are_stripped_of_what_never_runs(tmp_path):
    path = tmp_path / "p.whl"
    with zipfile.ZipFile(path, "w") as archive:
        for name in (
            "p/__init__.py",
            "p/tests/test_a.py",
            "p/a.pyi",
            "p/x.so",
            "p-1.dist-info/METADATA",
            "p-1.dist-info/RECORD",
        ):
            archive.writestr(name, "x")
    assert sorted(bundles.wheel_files(path)) == ["p-1.dist-info/METADATA", "p/__init__.py", "p/x.so"]


def test_a_built_site_is_whole_and_speaks_of_no_other_host(built_site):
    manifest = json.loads((built_site / "site.json").read_text())
    for name in (*manifest["files"], *(b["file"] for b in manifest["bundles"].values())):
        assert (built_site / name).is_file(), name
    assert manifest["examples"][0]["id"] == "01_digits"
    page = (built_site / "index.html").read_text()
    assert "FIRST_RECORDING" not in page and "BUILD_ID" not in (built_site / "sw.js").read_text()
    assert not re.findall(r"(?:src|href)=\"(?:https?:)?//", page)
    assert "<script>" not in page and " onload=" not in page
    worker = bundles.unpack((built_site / manifest["bundles"]["tapescope"]["file"]).read_bytes())
    assert not any(n.endswith(".pyc") for n in worker)
    libraries = bundles.unpack((built_site / manifest["bundles"]["libraries"]["file"]).read_bytes())
    assert any(n.endswith(".pyc") for n in libraries)
    assert sum((built_site / f).stat().st_size for f in [manifest["bundles"]["tapescope"]["file"]]) < 1.3e6
    recording = json.loads((built_site / manifest["examples"][0]["recording"]).read_text())
    assert "accuracy 0.981" in json.dumps(recording["notebook"])


def test_a_folder_of_something_else_is_not_replaced(tmp_path):
    (tmp_path / "out").mkdir()
    (tmp_path / "out" / "mine.txt").write_text("keep")
    with pytest.raises(CommandError, match="not a playground"):
        site.build(tmp_path / "out")
    assert (tmp_path / "out" / "mine.txt").read_text() == "keep"


def test_the_commands_say_what_is_wrong(tmp_path, capsys):
    assert main(["playground", "serve", str(tmp_path)]) == 2
    assert "tapescope playground build" in capsys.readouterr().err
    assert main(["playground", "build", str(tmp_path / "x"), "--packages", str(tmp_path / "none")]) == 2
    assert "no such folder" in capsys.readouterr().err
    with pytest.raises(SystemExit):
        main(["playground"])


def test_documentation_is_copied_with_a_policy_in_each_page(tmp_path: Path, small: Path, ask):
    docs = tmp_path / "built"
    docs.mkdir()
    (docs / "index.html").write_text(
        '<html><head lang="en"><script>1</script><script type="application/json">{}</script></head></html>'
    )
    docs_site.copy(docs, small)
    text = (small / "docs" / "index.html").read_text()
    assert text.startswith(
        '<html><head lang="en"><meta http-equiv="Content-Security-Policy" content="default-src \'none\'; script-src'
    )
    # printf 1 | openssl dgst -sha256 -binary | base64
    assert "script-src 'self' 'sha256-a4ayc/80/OGda4BO/1o/V0etpOqiLx1JwB5S3beHW0s=';" in text
    assert "'unsafe-eval'" not in ask("/docs/index.html")[1]["Content-Security-Policy"]
    assert "'unsafe-inline'; style" not in ask("/index.html")[1]["Content-Security-Policy"]
    with pytest.raises(CommandError, match="make docs"):
        docs_site.copy(tmp_path / "nowhere", small)
