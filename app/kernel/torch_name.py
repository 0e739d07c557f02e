"""What `import torch` means: the engine under PyTorch's name, or PyTorch itself.

`install("auto")` gives the name to the engine where PyTorch is not installed; "tapescope" always does, "pytorch"
never.  The modules are the engine's own objects (`torch.nn is engine.nn`), not copies.  This file knows no kernel:
the command line uses it as well.
"""

from __future__ import annotations

import importlib
import importlib.abc
import importlib.machinery
import importlib.metadata
import importlib.util
import sys
from collections.abc import Sequence
from types import ModuleType

ENGINE = f"{__name__.partition('.app.')[0]}.engine"
"""Full name of the engine's package."""

MODES = ("auto", "tapescope", "pytorch")


class EngineAsTorch(importlib.abc.MetaPathFinder, importlib.abc.Loader):
    """A finder for `torch` and everything below it that loads the engine's modules."""

    def find_spec(
        self, fullname: str, path: Sequence[str] | None, target: ModuleType | None = None
    ) -> importlib.machinery.ModuleSpec | None:
        if fullname == "torch" or fullname.startswith("torch."):
            return importlib.machinery.ModuleSpec(fullname, self)
        return None

    def create_module(self, spec: importlib.machinery.ModuleSpec) -> ModuleType:
        module = _engine_module(spec.name)
        # The import system puts `spec` on the module it gets; `exec_module` puts the module's own back.
        spec.loader_state = module.__spec__
        return module

    def exec_module(self, module: ModuleType) -> None:
        if module.__spec__ is not None:
            module.__spec__ = module.__spec__.loader_state


def _engine_module(name: str) -> ModuleType:
    """The engine's module for PyTorch's module `name` ("torch.nn"); raises ModuleNotFoundError with a sentence."""
    target = ENGINE + name.removeprefix("torch")
    try:
        return importlib.import_module(target)
    except ModuleNotFoundError as error:
        if error.name is None or not target.startswith(error.name):
            raise  # the engine has the module, and it lacks something of its own
    parent, _, last = name.rpartition(".")
    namespace = getattr(_engine_module(parent), last, None) if parent else None
    if isinstance(namespace, ModuleType):
        return namespace
    raise ModuleNotFoundError(
        f"No module named {name!r}: 'torch' is Tapescope's engine here, which does not have it. "
        'To use PyTorch itself, install it and start the kernel with torch="pytorch".',
        name=name,
    )


class _NoPyTorch(importlib.abc.MetaPathFinder):
    """Says what is missing where PyTorch was asked for and is not installed. Stands last."""

    def find_spec(
        self, fullname: str, path: Sequence[str] | None, target: ModuleType | None = None
    ) -> importlib.machinery.ModuleSpec | None:
        if fullname == "torch":
            raise ModuleNotFoundError(
                f"No module named 'torch': PyTorch was asked for (torch=\"pytorch\") and is not installed for "
                f'{sys.executable}. Install it, or choose torch="tapescope" to use Tapescope\'s engine.',
                name="torch",
            )
        return None


def pytorch_version() -> str | None:
    """The version of PyTorch that is installed, None where there is none. Does not import it."""
    if importlib.machinery.PathFinder.find_spec("torch") is None:
        return None
    try:
        return importlib.metadata.version("torch")
    except importlib.metadata.PackageNotFoundError:
        return "(unknown version)"


def install(mode: str = "auto") -> str:
    """Let `import torch` mean what `mode` says, and return the sentence for the status line (`describe`).

    Raises ValueError for another mode. Called again, it replaces what was chosen before; a cell that has the
    name already keeps what it has.
    """
    if mode not in MODES:
        raise ValueError(f"torch={mode!r} is none of {', '.join(map(repr, MODES))}")
    uninstall()
    if mode == "tapescope" or (mode == "auto" and pytorch_version() is None):
        for name in [n for n in sys.modules if n == "torch" or n.startswith("torch.")]:
            del sys.modules[name]
        sys.meta_path.insert(0, EngineAsTorch())
    elif mode == "pytorch":
        sys.meta_path.append(_NoPyTorch())
    return describe()


def uninstall() -> None:
    """Take the finders away again, and the engine's modules from under the name `torch`."""
    sys.meta_path[:] = [f for f in sys.meta_path if not isinstance(f, EngineAsTorch | _NoPyTorch)]
    for name, module in list(sys.modules.items()):
        if (name == "torch" or name.startswith("torch.")) and getattr(module, "__name__", "").startswith(ENGINE):
            del sys.modules[name]


def describe() -> str:
    """What `import torch` gives now: "tapescope", "PyTorch 2.13.0" or "PyTorch (not installed)"."""
    if any(isinstance(finder, EngineAsTorch) for finder in sys.meta_path):
        return "tapescope"
    version = pytorch_version()
    return f"PyTorch {version}" if version else "PyTorch (not installed)"


def explain_missing_name(error: BaseException) -> str | None:
    """A sentence for an ImportError or AttributeError about a name that the engine does not have, else None."""
    if isinstance(error, ImportError) and not isinstance(error, ModuleNotFoundError):
        name, engine = error.name or "", ENGINE
    elif isinstance(error, AttributeError) and isinstance(error.obj, ModuleType):
        name, engine = error.obj.__name__, ENGINE
    else:
        return None
    if (name == engine or name.startswith(engine + ".")) and describe() == "tapescope":
        return "'torch' is Tapescope's engine here, which does not have this name."
    return None
