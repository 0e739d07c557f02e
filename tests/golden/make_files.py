"""Makes `files/torch.pt`, a file written by real PyTorch: run in an environment that has it (`python
tests/golden/make_files.py`)."""

from collections import OrderedDict
from pathlib import Path

import torch

torch.manual_seed(0)
base = torch.arange(12.0).reshape(3, 4)
model = torch.nn.Sequential(torch.nn.Linear(3, 4), torch.nn.ReLU(), torch.nn.Linear(4, 2))
optimizer = torch.optim.Adam(model.parameters())
model(torch.ones(1, 3)).sum().backward()
optimizer.step()
DTYPES = [
    "bool",
    "uint8",
    "int8",
    "int16",
    "int32",
    "int64",
    "float16",
    "bfloat16",
    "float32",
    "float64",
    "complex64",
    "complex128",
    "uint16",
]
torch.save(
    {
        "base": base,
        "view": base[1:, ::2],
        "turned": base.t(),
        "parameter": torch.nn.Parameter(torch.ones(2)),
        "model": model.state_dict(),
        "optimizer": optimizer.state_dict(),
        "dtypes": [torch.ones(2, dtype=getattr(torch, d)) for d in DTYPES],
        "plain": [1, 2.5, "x", None, True, (1,), {3}, OrderedDict(a=1), torch.Size([1, 2]), torch.float16],
        "empty": torch.zeros(0, 3),
        "scalar": torch.tensor(5),
    },
    Path(__file__).parent / "files" / "torch.pt",
)
torch.save(model, Path(__file__).parent / "files" / "torch_module.pt")
