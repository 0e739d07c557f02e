"""The documentation inside of the playground: a built MkDocs site, copied to OUT/docs with a content policy in each page.

The policy allows the scripts of the site itself and, by their hashes, those that stand in the page; nothing from elsewhere.
Building the documentation is docs/site's subject (`make docs`).
"""

from __future__ import annotations

import base64
import hashlib
import re
import shutil
from pathlib import Path

from ..command_error import USAGE, CommandError

FOLDER = "docs"
_SCRIPT = re.compile(rb"<script(?![^>]*\bsrc=)(?P<attributes>[^>]*)>(?P<text>.*?)</script>", re.DOTALL | re.IGNORECASE)
_DATA = re.compile(rb"""\btype=["']?application/json""")
_HEAD = re.compile(rb"<head[^>]*>", re.IGNORECASE)


def policy(page: bytes) -> str:
    """The content policy of a page: what the site has, and the scripts that stand in this page."""
    texts = dict.fromkeys(m["text"] for m in _SCRIPT.finditer(page) if not _DATA.search(m["attributes"]))
    hashes = [base64.b64encode(hashlib.sha256(text).digest()).decode() for text in texts]
    scripts = " ".join(["'self'", *(f"'sha256-{found}'" for found in hashes)])
    return (
        f"default-src 'none'; script-src {scripts}; style-src 'self' 'unsafe-inline'; img-src 'self' data:; "
        "font-src 'self'; connect-src 'self'; worker-src 'self' blob:; base-uri 'none'; form-action 'none'; object-src 'none'"
    )


def copy(source: Path, site: Path) -> None:
    """Copy the documentation built in `source` into the playground `site`. Raises CommandError where there is none."""
    if not (source / "index.html").is_file():
        raise CommandError(
            f"--docs {source}: there is no built documentation; `make docs` leaves it in build/site.", USAGE
        )
    target = site / FOLDER
    shutil.copytree(source, target, ignore=shutil.ignore_patterns("sitemap.xml*", "*.map"))
    for path in target.rglob("*.html"):
        page = path.read_bytes()
        meta = f'<meta http-equiv="Content-Security-Policy" content="{policy(page)}">'.encode()
        path.write_bytes(_HEAD.sub(rb"\g<0>" + meta, page, count=1))
