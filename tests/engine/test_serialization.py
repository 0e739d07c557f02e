"""Files: what PyTorch wrote is read, what is written reads the same, what is hostile or damaged does nothing and says so."""

from __future__ import annotations

import io
import os
import pickle
import struct
import zipfile
from collections import Counter, OrderedDict, defaultdict
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tapescope import engine as torch
from tapescope.engine import serialization
from tapescope.engine.serialization import safetensors

FILES = Path(__file__).parent.parent / "golden" / "files"


def round_trip(obj, **kwargs):
    buffer = io.BytesIO()
    torch.save(obj, buffer)
    buffer.seek(0)
    return torch.load(buffer, **kwargs)


def test_a_file_of_pytorch():
    got = torch.load(FILES / "torch.pt")
    assert got["base"].tolist() == [[0, 1, 2, 3], [4, 5, 6, 7], [8, 9, 10, 11]]
    got["base"][1, 2] = 99
    assert got["view"].tolist() == [[4, 99], [8, 10]] and got["turned"].stride() == (1, 4) and got["turned"][2, 1] == 99
    assert isinstance(got["parameter"], torch.nn.Parameter) and got["parameter"].requires_grad
    assert [t.dtype.name for t in got["dtypes"]][7] == "bfloat16" and all(
        t.tolist() in ([1, 1], [True, True]) for t in got["dtypes"]
    )
    assert got["plain"] == [1, 2.5, "x", None, True, (1,), {3}, OrderedDict(a=1), torch.Size([1, 2]), torch.float16]
    assert got["empty"].shape == (0, 3) and got["scalar"].item() == 5
    model = torch.nn.Sequential(torch.nn.Linear(3, 4), torch.nn.ReLU(), torch.nn.Linear(4, 2))
    assert repr(model.load_state_dict(got["model"])) == "<All keys matched successfully>"
    optimizer = torch.optim.Adam(model.parameters())
    optimizer.load_state_dict(got["optimizer"])
    assert optimizer.state[model[0].weight]["step"].item() == 1


def test_a_whole_module_of_pytorch():
    with pytest.raises(
        pickle.UnpicklingError, match=r"GLOBAL torch\.nn\.modules\.container\.Sequential was not an allowed global"
    ):
        torch.load(FILES / "torch_module.pt")
    model = torch.load(FILES / "torch_module.pt", weights_only=False)
    assert isinstance(model, torch.nn.Sequential) and model(torch.ones(1, 3)).shape == (1, 2)
    again = round_trip(model, weights_only=False)
    assert torch.equal(again(torch.ones(1, 3)), model(torch.ones(1, 3)))
    with serialization.safe_globals([torch.nn.Sequential, torch.nn.Linear, torch.nn.ReLU]):
        assert isinstance(torch.load(FILES / "torch_module.pt"), torch.nn.Sequential)


def test_the_pickle_speaks_of_pytorch_only():
    buffer = io.BytesIO()
    torch.save(
        {"model": torch.nn.Linear(2, 2), "t": torch.ones(2)[:1], "s": torch.Size([1]), "d": torch.float16}, buffer
    )
    text = zipfile.ZipFile(buffer).read("archive/data.pkl")
    assert b"tapescope" not in text and b"ctorch.nn.modules.linear\nLinear\n" in text and b"ctorch\nfloat16\n" in text


def test_shared_memory_stays_shared_and_is_stored_once():
    base = torch.zeros(1000)
    buffer = io.BytesIO()
    torch.save([base[i:] for i in range(100)], buffer)
    assert len(buffer.getvalue()) < 20_000
    buffer.seek(0)
    parts = torch.load(buffer)
    parts[0][50] = 7
    assert parts[50][0] == 7 and parts[1].storage_offset() == 1


def test_storages_begin_at_aligned_places():
    buffer = io.BytesIO()
    torch.save([torch.ones(3), torch.ones(5)], buffer)
    archive = zipfile.ZipFile(buffer)
    for name in ("archive/data/0", "archive/data/1"):
        at = archive.getinfo(name).header_offset
        name_length, extra = struct.unpack("<HH", buffer.getvalue()[at + 26 : at + 30])
        assert (at + 30 + name_length + extra) % 64 == 0


def test_mapped_into_memory(tmp_path):
    torch.save({"a": torch.arange(1000.0)}, tmp_path / "a.pt")
    got = torch.load(tmp_path / "a.pt", mmap=True)
    assert got["a"].sum() == 499500
    got["a"][0] = 5
    assert torch.load(tmp_path / "a.pt")["a"][0] == 0
    with pytest.raises(ValueError, match="must be a file path"):
        torch.load(io.BytesIO(), mmap=True)


def test_a_failing_save_leaves_the_old_file(tmp_path):
    path = tmp_path / "a.pt"
    torch.save(1, path)
    with pytest.raises((AttributeError, TypeError, pickle.PicklingError)):
        torch.save(lambda: 1, path)
    assert torch.load(path) == 1 and os.listdir(tmp_path) == ["a.pt"]
    with pytest.raises(RuntimeError, match="Parent directory .* does not exist"):
        torch.save(1, tmp_path / "no" / "a.pt")


class Evil:
    def __reduce__(self):
        return os.system, ("touch /tmp/should-never-exist",)


@pytest.mark.parametrize(
    ("obj", "names"),
    [
        (Evil(), "posix.system|nt.system"),
        ({"x": np.float64(1)}, "numpy"),
        (defaultdict(list), "collections.defaultdict"),
        (torch.nn.Linear(1, 1), "torch.nn.modules.linear.Linear"),
        ([print], "print"),
    ],
)
def test_nothing_in_a_file_is_executed(obj, names):
    with pytest.raises(pickle.UnpicklingError, match=f"Weights only load failed.*({names}).*was not an allowed global"):
        round_trip(obj)
    assert not os.path.exists("/tmp/should-never-exist")


def hostile(text: bytes) -> io.BytesIO:
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w") as archive:
        archive.writestr("archive/data.pkl", text)
        archive.writestr("archive/data/0", bytes(8))
        archive.writestr("archive/version", "3\n")
    buffer.seek(0)
    return buffer


STORAGE = b"(X\x07\x00\x00\x00storagectorch\nFloatStorage\nX\x01\x00\x00\x000X\x03\x00\x00\x00cpuK\x02tQ"


@pytest.mark.parametrize(
    "text",
    [
        b"\x80\x02ctorch._utils\n_rebuild_tensor_v2\n}X\x0c\x00\x00\x00__defaults__(tsb.",  # write to a function
        b"\x80\x02ccollections\nOrderedDict\n}X\x06\x00\x00\x00__len__K\x01sb.",  # write to a class
        b"\x80\x02cos\nsystem\nX\x02\x00\x00\x00id\x85R.",
        b"\x80\x02(X\x02\x00\x00\x00idios\nsystem\n.",  # INST
        b"\x80\x02\x82\x01.",  # EXT1
        b"\x80\x02]K\x01K\x02s.",
        b"\x80\x02K\x01K\x02\x85R.",  # call a number
        b"\x80\x02ctorch._utils\n_rebuild_tensor_v2\n("
        + STORAGE
        + b"K\x00K\x64\x85K\x01\x85\x89Nt R.".replace(b" ", b""),  # beyond its storage
        b"\x80\x02ctorch._utils\n_rebuild_tensor_v2\n("
        + STORAGE
        + b"J\xff\xff\xff\xffK\x01\x85K\x01\x85\x89NtR.",  # before it
        b"\x80\x02",
        b"garbage",
        b"\x80\x02q\x00.",
    ],
)
def test_hostile_pickles(text):
    with pytest.raises(pickle.UnpicklingError):
        torch.load(hostile(text))


@settings(max_examples=400, deadline=None)
@given(st.data())
def test_damaged_files_never_do_worse_than_raise(data):
    content = bytearray((FILES / "torch.pt").read_bytes())
    if data.draw(st.booleans()):
        content = content[: data.draw(st.integers(0, len(content)))]
    else:
        for _ in range(data.draw(st.integers(1, 5))):
            content[data.draw(st.integers(0, len(content) - 1))] = data.draw(st.integers(0, 255))
    try:
        torch.load(io.BytesIO(bytes(content)))
    except (pickle.UnpicklingError, RuntimeError, EOFError, NotImplementedError):
        pass


@pytest.mark.parametrize(
    ("content", "error", "words"),
    [
        (b"", EOFError, "Ran out of input"),
        (b"hello, world", pickle.UnpicklingError, "no ZIP archive"),
        (b"\x80\x02}q\x00.", pickle.UnpicklingError, "before version 1.6"),
        (b"PK\x03\x04cut", RuntimeError, "failed finding central directory"),
    ],
)
def test_foreign_files(content, error, words):
    with pytest.raises(error, match=words):
        torch.load(io.BytesIO(content))


def test_other_archives_and_missing_members():
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w") as archive:
        archive.writestr("readme.txt", "hi")
    buffer.seek(0)
    with pytest.raises(RuntimeError, match="failed locating file data.pkl"):
        torch.load(buffer)
    with pytest.raises(FileNotFoundError):
        torch.load("/nowhere/at/all.pt")


def test_containers():
    obj = {
        "a": [1, (2, {3})],
        "b": Counter("aab"),
        "c": OrderedDict(x=torch.ones(1)),
        4: None,
        "d": b"bytes",
        "e": 1 + 2j,
        "f": 10**40,
    }
    assert repr(round_trip(obj)) == repr(obj)


def test_where_tensors_go():
    assert round_trip(torch.ones(1), map_location="cpu").is_cpu
    assert round_trip(torch.ones(1), map_location=lambda storage, place: storage).is_cpu
    with pytest.raises(RuntimeError, match="device type"):
        round_trip(torch.ones(1), map_location="nowhere")


# -- safetensors --------------------------------------------------------------------------------


def test_safetensors(tmp_path):
    tensors = {
        "w": torch.rand(2, 3),
        "b": torch.ones(2, dtype=torch.bfloat16),
        "i": torch.tensor(3),
        "e": torch.zeros(0, 2),
        "t": torch.rand(2, 3).t(),
    }
    safetensors.save_file(tensors, tmp_path / "a.safetensors", {"format": "pt"})
    got = safetensors.load_file(tmp_path / "a.safetensors")
    assert got.keys() == tensors.keys() and all(
        torch.equal(got[k], tensors[k]) and got[k].dtype is tensors[k].dtype for k in tensors
    )
    assert safetensors.metadata(tmp_path / "a.safetensors") == {"format": "pt"}
    base = torch.zeros(4)
    with pytest.raises(RuntimeError, match="share memory"):
        safetensors.save({"a": base, "b": base[1:]})


@settings(max_examples=100, deadline=None)
@given(st.data())
def test_damaged_safetensors(data):
    content = bytearray(safetensors.save({"w": torch.rand(2, 3), "b": torch.ones(2)}))
    for _ in range(data.draw(st.integers(1, 3))):
        content[data.draw(st.integers(0, len(content) - 1))] = data.draw(st.integers(0, 255))
    try:
        safetensors.load(bytes(content[: data.draw(st.integers(0, len(content)))]))
    except safetensors.SafetensorError:
        pass
