"""Freeze layers of `torch.nn`: repr, starting values, outputs and gradients, as tests/golden/nn/layers.json.

Run with an interpreter that has PyTorch:  python tests/golden/make_layers.py
A case is a constructor with arguments and the inputs by shape (floats) or as values (integers).  Everything starts from
seed 0: the layer is made, then the inputs are drawn, then it is called. Numbers are rounded to six digits; of large
results the sums with fixed weights are kept.
"""

import json
from pathlib import Path

import torch
from layer_case import INTEGERS as I
from layer_case import run

HERE = Path(__file__).parent / "nn"


def cases():
    """(class, arguments, keywords, inputs); an input is a shape, or (I, values) for integers."""
    x, img, seq = (3, 4), (2, 4, 6, 6), (2, 4, 9)
    activations = [
        ("ReLU", {}), ("ReLU6", {}), ("Sigmoid", {}), ("Tanh", {}), ("Softmax", {"dim": 1}),
        ("LogSoftmax", {"dim": 0}), ("Softmin", {"dim": 1}),
        ("Threshold", {"threshold": 0.1, "value": 2.0}), ("Hardtanh", {}),
        ("Hardtanh", {"min_val": -0.5, "max_val": 0.3}), ("LeakyReLU", {}),
        ("LeakyReLU", {"negative_slope": 0.2, "inplace": False}), ("PReLU", {}), ("PReLU", {"num_parameters": 4}),
        ("RReLU", {}), ("ELU", {}),
        ("ELU", {"alpha": 2.0}), ("CELU", {"alpha": 0.5}), ("SELU", {}), ("SiLU", {}), ("Mish", {}), ("Hardsigmoid", {}), ("Hardswish", {}),
        ("GELU", {}), ("GELU", {"approximate": "tanh"}), ("GLU", {}), ("LogSigmoid", {}), ("Softplus", {}),
        ("Softplus", {"beta": 3.0, "threshold": 1.0}),
        ("Softsign", {}), ("Hardshrink", {}), ("Softshrink", {}), ("Softshrink", {"lambd": 0.1}), ("Tanhshrink", {}),
        ("Dropout", {}), ("Dropout", {"p": 0.2}),
        ("AlphaDropout", {}), ("Identity", {}), ("Flatten", {"start_dim": 0}),
    ]  # fmt: skip
    for name, options in activations:
        yield name, [], options, [x]
    yield "Softmax2d", [], {}, [img]
    for name, shape in (
        ("Dropout1d", seq),
        ("Dropout2d", img),
        ("Dropout3d", (2, 3, 2, 2, 2)),
        ("FeatureAlphaDropout", img),
    ):
        yield name, [], {}, [shape]
    yield "Linear", [4, 5], {}, [x]
    yield "Linear", [4, 5], {"bias": False}, [(2, 3, 4)]
    yield "Bilinear", [4, 3, 5], {}, [x, (3, 3)]
    yield "LazyLinear", [5], {}, [x]
    yield "Flatten", [], {}, [img]
    yield "Unflatten", [1, [2, 2]], {}, [x]
    yield "PixelShuffle", [2], {}, [img]
    yield "PixelUnshuffle", [2], {}, [img]
    yield "ChannelShuffle", [2], {}, [img]
    yield "Unfold", [[2, 3]], {"padding": 1, "stride": 2}, [img]
    yield "Fold", [[5, 5], 2], {"stride": 1}, [(1, 8, 16)]
    for n, shape in ((1, seq), (2, img), (3, (1, 4, 5, 4, 5))):
        yield f"Conv{n}d", [4, 6, 3], {}, [shape]
        yield f"Conv{n}d", [4, 6, 3], {"stride": 2, "padding": 1, "dilation": 2, "groups": 2, "bias": False}, [shape]
        yield f"ConvTranspose{n}d", [4, 6, 3], {"stride": 2, "padding": 1, "output_padding": 1, "groups": 2}, [shape]
        yield f"LazyConv{n}d", [6, 2], {}, [shape]
        yield f"MaxPool{n}d", [2], {}, [shape]
        yield f"MaxPool{n}d", [3], {"stride": 2, "padding": 1, "dilation": 1, "ceil_mode": True}, [shape]
        yield f"AvgPool{n}d", [2], {}, [shape]
        yield f"AvgPool{n}d", [3], {"stride": 2, "padding": 1, "ceil_mode": True, "count_include_pad": False}, [shape]
        yield f"AdaptiveAvgPool{n}d", [2], {}, [shape]
        yield f"AdaptiveMaxPool{n}d", [3], {}, [shape]
        yield f"LPPool{n}d", [2, 2], {}, [shape]
        yield f"BatchNorm{n}d", [4], {}, [shape]
        yield f"BatchNorm{n}d", [4], {"affine": False, "momentum": None}, [shape]
        yield f"InstanceNorm{n}d", [4], {"affine": True, "track_running_stats": True}, [shape]
        yield f"LazyBatchNorm{n}d", [], {}, [shape]
        for kind in ("Reflection", "Replication", "Circular", "Zero"):
            yield f"{kind}Pad{n}d", [1], {}, [shape]
        yield f"ConstantPad{n}d", [[1, 2] * n, 3.5], {}, [shape]
    yield "Conv2d", [4, 6, [3, 1]], {"padding": "same", "padding_mode": "reflect"}, [img]
    yield "Conv2d", [4, 6, 3], {"padding": 1, "padding_mode": "circular"}, [img]
    yield "MaxPool2d", [[3, 2]], {"stride": [2, 1]}, [img]
    yield "AdaptiveAvgPool2d", [[1, None]], {}, [img]
    yield "BatchNorm1d", [4], {}, [(5, 4)]
    yield "SyncBatchNorm", [4], {}, [(5, 4)]
    yield "LayerNorm", [4], {}, [x]
    yield "LayerNorm", [[6, 6]], {"bias": False}, [img]
    yield "GroupNorm", [2, 4], {}, [img]
    yield "RMSNorm", [4], {}, [x]
    yield "LocalResponseNorm", [3], {"alpha": 0.5}, [img]
    yield "Upsample", [], {"scale_factor": 2}, [img]
    yield "Upsample", [], {"size": [4, 9], "mode": "bilinear"}, [img]
    yield "Upsample", [], {"scale_factor": 1.5, "mode": "bicubic", "align_corners": True}, [img]
    yield "UpsamplingNearest2d", [], {"scale_factor": 2}, [img]
    yield "UpsamplingBilinear2d", [], {"scale_factor": 2}, [img]
    indices = (I, [[1, 2, 0], [4, 4, 3]])
    yield "Embedding", [5, 3], {"padding_idx": 0}, [indices]
    yield "Embedding", [5, 3], {"max_norm": 1.0, "scale_grad_by_freq": True}, [indices]
    for mode in ("sum", "mean", "max"):
        yield "EmbeddingBag", [5, 3], {"mode": mode}, [indices]
    for name in ("RNN", "LSTM", "GRU"):
        yield name, [4, 5], {}, [(7, 2, 4)]
        yield name, [4, 5, 2], {"batch_first": True, "bidirectional": True, "dropout": 0.3}, [(2, 7, 4)]
        yield name, [4, 5], {"bias": False}, [(7, 4)]
        yield f"{name}Cell", [4, 5], {}, [x]
    yield "LSTM", [4, 5, 2], {"proj_size": 3, "bidirectional": True}, [(7, 2, 4)]
    yield "RNN", [4, 5], {"nonlinearity": "relu"}, [(7, 2, 4)]
    three = [(3, 2, 4)] * 3
    yield "MultiheadAttention", [4, 2], {}, three
    yield (
        "MultiheadAttention",
        [4, 2],
        {"kdim": 3, "vdim": 5, "add_bias_kv": True, "add_zero_attn": True},
        [(3, 2, 4), (6, 2, 3), (6, 2, 5)],
    )
    yield "MultiheadAttention", [4, 2], {"batch_first": True, "dropout": 0.4, "bias": False}, [(2, 3, 4)] * 3
    yield "TransformerEncoderLayer", [4, 2, 8], {"dropout": 0.0}, [(3, 2, 4)]
    yield (
        "TransformerEncoderLayer",
        [4, 2, 8],
        {"batch_first": True, "norm_first": True, "activation": "gelu"},
        [(2, 3, 4)],
    )
    yield "TransformerDecoderLayer", [4, 2, 8], {}, [(3, 2, 4), (5, 2, 4)]
    yield "Transformer", [4, 2, 1, 2, 8], {"dropout": 0.1}, [(3, 2, 4), (5, 2, 4)]
    labels, rows = (I, [1, 0, 3]), (3, 4)
    for reduction in ("mean", "sum", "none"):
        r = {"reduction": reduction}
        for name in (
            "L1Loss",
            "MSELoss",
            "SmoothL1Loss",
            "HuberLoss",
            "KLDivLoss",
            "PoissonNLLLoss",
            "BCEWithLogitsLoss",
        ):
            yield name, [], r, [rows, rows]
        yield "NLLLoss", [], r, [rows, labels]
        yield "CrossEntropyLoss", [], r, [rows, labels]
        yield "CrossEntropyLoss", [], {**r, "label_smoothing": 0.1, "ignore_index": 0}, [rows, labels]
        yield "CrossEntropyLoss", [], r, [rows, rows]
        yield "CrossEntropyLoss", [], r, [(2, 4, 3), (I, [[1, 0, 3], [2, 2, 1]])]
        yield "SoftMarginLoss", [], r, [rows, (I, [[1, -1, 1, -1]] * 3)]
        yield "HingeEmbeddingLoss", [], r, [rows, (I, [[1, -1, 1, -1]] * 3)]
        yield "MultiLabelSoftMarginLoss", [], r, [rows, (I, [[1, 0, 1, 0]] * 3)]
        yield "MultiMarginLoss", [], r, [rows, labels]
        yield "MultiMarginLoss", [], {**r, "p": 2, "margin": 0.5}, [rows, labels]
        yield "MultiLabelMarginLoss", [], r, [rows, (I, [[1, 2, -1, 0], [3, -1, 1, 1], [-1, 0, 0, 0]])]
        yield "MarginRankingLoss", [], {**r, "margin": 0.1}, [(3,), (3,), (I, [1, -1, 1])]
        yield "CosineEmbeddingLoss", [], {**r, "margin": 0.1}, [rows, rows, (I, [1, -1, 1])]
        yield "TripletMarginLoss", [], {**r, "swap": True}, [rows, rows, rows]
        yield "TripletMarginWithDistanceLoss", [], r, [rows, rows, rows]
        yield "CTCLoss", [], r, [(6, 2, 4), (I, [[1, 2, 2], [3, 1, 0]]), (I, [6, 5]), (I, [3, 2])]
    yield "SmoothL1Loss", [], {"beta": 0.3}, [rows, rows]
    yield "HuberLoss", [], {"delta": 0.3}, [rows, rows]
    yield "KLDivLoss", [], {"reduction": "batchmean", "log_target": True}, [rows, rows]
    yield "PoissonNLLLoss", [], {"log_input": True, "full": True}, [rows, rows]
    yield "PairwiseDistance", [], {"p": 3.0}, [rows, rows]
    yield "CosineSimilarity", [], {}, [rows, rows]
    yield "AdaptiveLogSoftmaxWithLoss", [4, 10, [3, 6]], {"div_value": 2.0}, [rows, (I, [1, 4, 9])]


def main():
    lines = []
    for name, args, options, inputs in cases():
        case = {
            "name": name,
            "args": args,
            "options": options,
            "inputs": inputs,
            **run(torch, name, args, options, inputs),
        }
        lines.append(json.dumps(case, separators=(",", ":")))
    (HERE / "layers.json").write_text("[\n" + ",\n".join(lines) + "\n]\n")


if __name__ == "__main__":
    main()
