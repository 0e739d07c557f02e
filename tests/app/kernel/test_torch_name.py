"""What `import torch` means, and what is said of names the engine does not have."""

from __future__ import annotations

import importlib
import sys

import pytest

from tapescope import engine
from tapescope.app.kernel import import_hooks, torch_name
from tapescope.app.kernel.messages import ExecuteResult


@pytest.fixture
def clean():
    yield
    torch_name.uninstall()


@pytest.fixture
def pytorch(tmp_path, monkeypatch):
    """A folder that looks as if PyTorch were installed."""
    (tmp_path / "torch").mkdir()
    (tmp_path / "torch/__init__.py").write_text("real = True")
    information = tmp_path / "torch-2.13.0.dist-info"
    information.mkdir()
    (information / "METADATA").write_text("Metadata-Version: 2.1\nName: torch\nVersion: 2.13.0\n")
    monkeypatch.syspath_prepend(str(tmp_path))
    yield
    sys.modules.pop("torch", None)


def test_the_engine_takes_the_name_with_its_own_modules(clean):
    spec = engine.__spec__
    assert torch_name.install("tapescope") == "tapescope"
    import torch
    import torch.nn as nn
    import torch.nn.functional as F
    from torch.nn import Linear
    from torch.utils.data import DataLoader

    assert torch is engine and nn is engine.nn and F is engine.nn.functional
    assert Linear is engine.nn.Linear and DataLoader is engine.utils.data.DataLoader
    assert engine.__spec__ is spec and engine.__name__ == "tapescope.engine", "the engine keeps its own name"
    assert importlib.util.find_spec("torch") is not None
    torch_name.uninstall()
    assert "torch" not in sys.modules and "torch.nn" not in sys.modules


def test_a_module_the_engine_does_not_have(clean):
    torch_name.install("tapescope")
    with pytest.raises(ModuleNotFoundError, match="Tapescope's engine here, which does not have it") as caught:
        importlib.import_module("torch.no_such_thing.at_all")
    assert caught.value.name == "torch.no_such_thing"


def test_auto_prefers_what_is_installed(clean, pytorch):
    assert torch_name.install("auto") == "PyTorch 2.13.0"
    assert importlib.import_module("torch").real
    assert torch_name.install("tapescope") == "tapescope"
    assert importlib.import_module("torch") is engine
    assert torch_name.install("pytorch") == "PyTorch 2.13.0"
    assert importlib.import_module("torch").real


def test_auto_takes_the_engine_where_pytorch_is_missing(clean, monkeypatch):
    monkeypatch.setattr(torch_name, "pytorch_version", lambda: None)
    assert torch_name.install("auto") == "tapescope"


def test_pytorch_asked_for_and_missing_is_a_sentence(clean, monkeypatch):
    monkeypatch.setattr(torch_name, "pytorch_version", lambda: None)
    assert torch_name.install("pytorch") == "PyTorch (not installed)"
    if importlib.machinery.PathFinder.find_spec("torch") is None:
        with pytest.raises(ModuleNotFoundError, match="PyTorch was asked for"):
            importlib.import_module("torch")


def test_an_unknown_choice_is_refused():
    with pytest.raises(ValueError, match="'jax' is none of 'auto', 'tapescope', 'pytorch'"):
        torch_name.install("jax")


def test_cells_import_torch(talk):
    kernel = talk("process", torch="tapescope")
    heard = kernel.run(
        "import torch\nimport torch.nn as nn\nimport torch.nn.functional as F\nfrom torch.utils.data import DataLoader\n"
        "x = torch.tensor(2.0, requires_grad=True)\ny = x**2 + 3*x + 1\ny.backward()\nx.grad"
    )
    assert heard.one(ExecuteResult).data["text/plain"] == "tensor(7.)"


@pytest.mark.parametrize(
    "code", ["from torch import no_such_name", "import torch\ntorch.no_such_name", "import torch.no_such_module"]
)
def test_a_missing_name_says_that_this_is_tapescopes_engine(talk, code):
    heard = talk("process", torch="tapescope").run(code)
    assert "Tapescope's engine" in heard.traceback and heard.statuses() == [("c0", "error")]


def test_a_callback_comes_right_after_the_import(tmp_path, monkeypatch):
    (tmp_path / "watched_module.py").write_text("value = 1")
    monkeypatch.syspath_prepend(str(tmp_path))
    seen: list[object] = []
    take_back = import_hooks.when_imported("watched_module", lambda m: seen.append("never"))
    take_back()
    import_hooks.when_imported("watched_module", lambda m: seen.append(m.value))
    module = importlib.import_module("watched_module")
    assert seen == [1] and type(module.__loader__).__name__ == "SourceFileLoader"
    import_hooks.when_imported("watched_module", lambda m: seen.append("at once"))
    assert seen == [1, "at once"]
    del sys.modules["watched_module"]
