"""torch.onnx.export: the files compute what the modules do, in ONNX's own reference implementation, for other sizes too."""

from __future__ import annotations

import io

import numpy as np
import pytest

from tapescope import engine as torch

nn = torch.nn
onnx = pytest.importorskip("onnx", reason="torch.onnx needs the package onnx, which the test extra installs")


class Encoder(nn.Module):
    def __init__(self):
        super().__init__()
        self.embed = nn.Embedding(10, 16)
        self.layer = nn.TransformerEncoderLayer(16, 2, 32, batch_first=True, dropout=0.0)
        self.scores = nn.Linear(16, 10)

    def forward(self, x):
        mask = nn.Transformer.generate_square_subsequent_mask(x.shape[1])
        return self.scores(self.layer(self.embed(x), src_mask=mask)).log_softmax(-1)


class Functions(nn.Module):
    def forward(self, x, y):
        a = torch.where(x > 0, torch.exp(-x), x**2) + y.clamp(-1, 1)
        b = torch.cat([a, torch.stack([x[:, 0], y[:, 1]], 1)], 1).cumsum(1)
        return (
            b.sum(0),
            b.argmax(1),
            torch.nn.functional.pad(b, (1, 2)),
            b.mean(1, keepdim=True).expand(-1, 3),
            (b != 0).float().tril(),
        )


def conv():
    return nn.Sequential(
        nn.Conv2d(1, 4, 3, padding=1, stride=2),
        nn.BatchNorm2d(4),
        nn.SiLU(),
        nn.MaxPool2d(2),
        nn.AdaptiveAvgPool2d(1),
        nn.Flatten(),
        nn.Linear(4, 2),
    )


class Recurrent(nn.Module):
    def __init__(self):
        super().__init__()
        self.lstm = nn.LSTM(3, 4, batch_first=True)

    def forward(self, x):
        out, (h, _) = self.lstm(x)
        return out, h


CASES = {
    "an MLP": (
        lambda: nn.Sequential(nn.Linear(3, 8), nn.GELU(), nn.LayerNorm(8), nn.Linear(8, 2), nn.Softmax(-1)),
        [(4, 3)],
        [(7, 3)],
    ),
    "a CNN": (conv, [(2, 1, 8, 8)], [(5, 1, 8, 8)]),
    "an LSTM": (Recurrent, [(2, 3, 3)], [(4, 3, 3)]),
    "a transposed convolution": (
        lambda: nn.ConvTranspose2d(2, 3, 3, stride=2, padding=1, output_padding=1),
        [(2, 2, 4, 4)],
        [(3, 2, 4, 4)],
    ),
    "functions": (Functions, [(4, 3), (4, 3)], [(6, 3), (6, 3)]),
    "activations": (
        lambda: nn.Sequential(
            nn.ELU(),
            nn.LeakyReLU(0.2),
            nn.Softplus(),
            nn.Hardtanh(),
            nn.Tanh(),
            nn.Sigmoid(),
            nn.Hardswish(),
            nn.Mish(),
        ),
        [(4, 3)],
        [(2, 3)],
    ),
}


def run(program, inputs):
    from onnx.reference import ReferenceEvaluator

    session = ReferenceEvaluator(program.model_proto)
    names = [i.name for i in program.model_proto.graph.input]
    return session.run(None, dict(zip(names, inputs)))


def flat(value):
    return [v for x in value for v in flat(x)] if isinstance(value, (tuple, list)) else [value]


@pytest.mark.parametrize("name", CASES)
def test_the_file_computes_what_the_module_does(name):
    make, example, other = CASES[name]
    torch.manual_seed(0)
    model = make().eval()
    program = torch.onnx.export(
        model, tuple(torch.randn(*s) for s in example), input_names=["a", "b"][: len(example)],
        dynamic_axes={"a": {0: "batch"}, "b": {0: "batch"}},
    )  # fmt: skip
    for shapes in (example, other):
        inputs = [torch.randn(*s) for s in shapes]
        for found, wanted in zip(run(program, [i.numpy() for i in inputs]), flat(model(*inputs)), strict=True):
            np.testing.assert_allclose(found, wanted.detach().numpy(), rtol=1e-4, atol=1e-5)


def test_a_transformer_goes_to_a_file_and_back(tmp_path):
    torch.manual_seed(0)
    model = Encoder().eval()
    x = torch.randint(0, 10, (2, 5))
    torch.onnx.export(
        model,
        x,
        tmp_path / "model.onnx",
        input_names=["tokens"],
        output_names=["scores"],
        dynamic_axes={"tokens": {0: "batch"}},
    )
    read = onnx.load(tmp_path / "model.onnx")
    assert [o.name for o in read.graph.output] == ["scores"] and read.graph.input[0].type.tensor_type.shape.dim[
        0
    ].dim_param == "batch"
    y = torch.randint(0, 10, (3, 5))
    found = run(torch.onnx.ONNXProgram(read), [y.numpy()])[0]
    np.testing.assert_allclose(found, model(y).detach().numpy(), rtol=1e-4, atol=1e-5)


def test_what_has_no_form_is_named():
    with pytest.raises(torch.onnx.OnnxExporterError, match=r"operator draw has no ONNX form.*\.eval\(\)"):
        torch.onnx.export(nn.Dropout(), torch.ones(2))
    with pytest.raises(torch.onnx.OnnxExporterError, match="operator linalg_det has no ONNX form"):
        torch.onnx.export(torch.jit.script(nn.Identity()) and Determinant(), torch.eye(2))
    with pytest.raises(torch.onnx.OnnxExporterError, match="looks at the values"):
        torch.onnx.export(Looking(), torch.ones(2))
    file = io.BytesIO()
    torch.onnx.export(nn.ReLU(), torch.ones(2), file)
    assert file.getvalue()


class Determinant(nn.Module):
    def forward(self, x):
        return torch.linalg.det(x)


class Looking(nn.Module):
    def forward(self, x):
        return x if x.sum() > 0 else -x
