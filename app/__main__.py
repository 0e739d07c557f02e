"""`python -m tapescope.app` is the command `tapescope`."""

from .cli import main

if __name__ == "__main__":
    raise SystemExit(main())
