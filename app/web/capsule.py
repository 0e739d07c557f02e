"""Replay capsules: one HTML file with a run of a notebook, its outputs, tape and times, that opens offline.

`tapescope export NOTEBOOK --html` makes one on the desktop; `client/src/capsule_text.ts` makes the same in the page.  The
script in it is named by its hash in the file's own Content-Security-Policy, so that nothing else in the file can run.
"""

from __future__ import annotations

import base64
import hashlib
import html
import json
import re
from pathlib import Path
from typing import Any

from ..command_error import FAILED, USAGE, CommandError
from . import client_build, recording


def capsule(taken: dict[str, Any], live: str | None = None) -> str:
    """The HTML text of a recording. `live` is the address of a playground that the file offers to open itself in.

    Raises CommandError where the page's files are missing or `live` is no web address.
    """
    if live and not re.match(r"https?://[^\s\"'<>]+$", live):
        raise CommandError(
            f"--live {live}: this is no address of a web page; it begins with https:// or http://.", USAGE
        )
    static = client_build.ensure_built()
    template, script, style = (
        (static / name).read_text(encoding="utf-8") for name in ("capsule.html", "capsule.js", "capsule.css")
    )
    script = re.sub(r"</(?=script)", r"<\\/", script, flags=re.IGNORECASE)
    style = re.sub(r"</(?=style)", r"<\\/", style, flags=re.IGNORECASE)
    data = json.dumps(taken, ensure_ascii=False, separators=(",", ":"))
    parts = {
        "TITLE": html.escape(taken["title"]),
        "HASH": base64.b64encode(hashlib.sha256(script.encode()).digest()).decode(),
        "STYLE": style,
        "SCRIPT": script,
        "LIVE": html.escape(live or ""),
        # No `<!--` and no `</script` can come out of the document's own text.
        "RECORDING": data.replace("<", "\\u003c"),
    }
    return re.sub(r"\{\{([A-Z]+)\}\}", lambda found: parts[found[1]], template)


def export_html(
    path: Path,
    out: Path,
    *,
    run: bool = True,
    device: str | None = None,
    torch: str = "tapescope",
    live: str | None = None,
    overwrite: bool = False,
) -> Path:
    """Run the notebook at `path` (or, without `run`, take the outputs it has) and write its capsule to `out`.

    A run that ends with an error is exported with its error. Raises CommandError, NotebookError.
    """
    if out.exists() and not overwrite:
        raise CommandError(f"{out} is there already; name another file, or replace it with --force.", FAILED)
    taken = recording.record(path, device=device, torch=torch)[0] if run else recording.still(path)
    text = capsule(taken, live)
    part = out.with_name(f".{out.name}.part")
    part.write_text(text, encoding="utf-8")
    part.replace(out)
    return out
