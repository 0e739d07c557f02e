"""Which variables are told as out of date: those whose makers changed, not those beside a module that is imported again."""

from __future__ import annotations

from tapescope.app.kernel.provenance import Provenance


def test_importing_a_module_again_makes_nothing_stale():
    names: dict = {}
    followed = Provenance(names)

    def run(code: str) -> None:
        followed.begin("c", 0, code)
        exec(code, names)
        followed.end()

    run("import math\nfrom textwrap import dedent\nn = 4.0")
    run("root = math.sqrt(n)\ntext = dedent(' a')")
    run("import math\nfrom textwrap import dedent")
    assert followed.stale("root") == followed.stale("text") == ""
    run("n = 9.5")
    assert followed.stale("root") == "n changed since it was computed."
