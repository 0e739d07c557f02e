"""The names that pickles in `.pt` files use for PyTorch's classes and functions, and what they are here.

Files name `torch.FloatStorage` or `torch._utils._rebuild_tensor_v2`; both directions go through the tables below, so that files pass
between the engine and PyTorch.  What may be loaded by default is the `SAFE` part of them.
"""

from __future__ import annotations

from typing import Any, NamedTuple

from .. import dtypes

_ENGINE = __name__.rpartition(".serialization")[0]


class Name(NamedTuple):
    """A global as a pickle spells it."""

    module: str
    attribute: str

    def __str__(self) -> str:
        return f"{self.module}.{self.attribute}"


STORAGES: dict[str, str] = {
    "float64": "DoubleStorage", "float32": "FloatStorage", "float16": "HalfStorage", "bfloat16": "BFloat16Storage",
    "int64": "LongStorage", "int32": "IntStorage", "int16": "ShortStorage", "int8": "CharStorage", "uint8": "ByteStorage",
    "bool": "BoolStorage", "complex64": "ComplexFloatStorage", "complex128": "ComplexDoubleStorage",
}  # fmt: skip
"""Storage classes by dtype; other dtypes are stored untyped."""
UNTYPED = Name("torch.storage", "UntypedStorage")
STORAGE_DTYPES: dict[Name, str] = {Name("torch", s): d for d, s in STORAGES.items()} | {UNTYPED: "uint8"}

_FILES = {
    "module": "Module", "container": "Sequential ModuleList ModuleDict ParameterList ParameterDict",
    "linear": "Linear Bilinear Identity LazyLinear NonDynamicallyQuantizableLinear",
    "activation": "Threshold ReLU RReLU Hardtanh ReLU6 Sigmoid Hardsigmoid Tanh SiLU Mish Hardswish ELU CELU SELU GLU GELU Hardshrink "
    "LeakyReLU LogSigmoid Softplus Softshrink MultiheadAttention PReLU Softsign Tanhshrink Softmin Softmax Softmax2d LogSoftmax",
    "dropout": "Dropout Dropout1d Dropout2d Dropout3d AlphaDropout FeatureAlphaDropout",
    "conv": "Conv1d Conv2d Conv3d ConvTranspose1d ConvTranspose2d ConvTranspose3d LazyConv1d LazyConv2d LazyConv3d",
    "pooling": "MaxPool1d MaxPool2d MaxPool3d MaxUnpool1d MaxUnpool2d MaxUnpool3d AvgPool1d AvgPool2d AvgPool3d LPPool1d LPPool2d "
    "LPPool3d AdaptiveMaxPool1d AdaptiveMaxPool2d AdaptiveMaxPool3d AdaptiveAvgPool1d AdaptiveAvgPool2d AdaptiveAvgPool3d",
    "batchnorm": "BatchNorm1d BatchNorm2d BatchNorm3d SyncBatchNorm LazyBatchNorm1d LazyBatchNorm2d LazyBatchNorm3d",
    "instancenorm": "InstanceNorm1d InstanceNorm2d InstanceNorm3d",
    "normalization": "LayerNorm GroupNorm RMSNorm LocalResponseNorm CrossMapLRN2d",
    "sparse": "Embedding EmbeddingBag", "rnn": "RNNBase RNN LSTM GRU RNNCellBase RNNCell LSTMCell GRUCell",
    "transformer": "Transformer TransformerEncoder TransformerDecoder TransformerEncoderLayer TransformerDecoderLayer",
    "flatten": "Flatten Unflatten", "fold": "Fold Unfold", "distance": "PairwiseDistance CosineSimilarity",
    "pixelshuffle": "PixelShuffle PixelUnshuffle", "channelshuffle": "ChannelShuffle",
    "upsampling": "Upsample UpsamplingNearest2d UpsamplingBilinear2d",
    "padding": "ZeroPad1d ZeroPad2d ZeroPad3d ConstantPad1d ConstantPad2d ConstantPad3d ReflectionPad1d ReflectionPad2d ReflectionPad3d "
    "ReplicationPad1d ReplicationPad2d ReplicationPad3d CircularPad1d CircularPad2d CircularPad3d",
    "loss": "L1Loss NLLLoss NLLLoss2d PoissonNLLLoss GaussianNLLLoss KLDivLoss MSELoss BCELoss BCEWithLogitsLoss HingeEmbeddingLoss "
    "MultiLabelMarginLoss SmoothL1Loss HuberLoss SoftMarginLoss CrossEntropyLoss MultiLabelSoftMarginLoss CosineEmbeddingLoss "
    "MarginRankingLoss MultiMarginLoss TripletMarginLoss TripletMarginWithDistanceLoss CTCLoss",
}  # fmt: skip
MODULE_FILES: dict[str, str] = {n: f"torch.nn.modules.{file}" for file, names in _FILES.items() for n in names.split()}
"""The file in which PyTorch defines a layer class."""


def name_of(obj: Any) -> Name | None:
    """How files spell a class or dtype of the engine; None for what is not the engine's."""
    if isinstance(obj, dtypes.dtype):
        return Name("torch", obj.name)
    module = getattr(obj, "__module__", "") or ""
    if not module.startswith(_ENGINE):
        return None
    label = getattr(obj, "__name__", "")
    if label in MODULE_FILES and ".nn." in module:
        return Name(MODULE_FILES[label], label)
    return _OTHERS.get(label)


_OTHERS = {
    "Parameter": Name("torch.nn.parameter", "Parameter"), "Buffer": Name("torch.nn.parameter", "Buffer"), "Size": Name("torch", "Size"),
    "device": Name("torch", "device"), "Tensor": Name("torch", "Tensor"), "Generator": Name("torch", "Generator"),
}  # fmt: skip


def find(name: Name) -> Any:
    """What a spelled global is here, or None. Storages are their `Name`s."""
    from .. import nn, shapes
    from ..device import device
    from ..tensor import Tensor
    from . import rebuild

    if name in STORAGE_DTYPES:
        return name
    if name.module == "torch._utils":
        return rebuild.FUNCTIONS.get(name.attribute)
    if name.module in ("torch._tensor", "torch"):
        found = dtypes.DTYPES.get(name.attribute)
        if found is not None:
            return found
        return {
            "Size": shapes.Size, "device": device, "Tensor": Tensor, "_rebuild_from_type_v2": rebuild.from_type,
        }.get(name.attribute)  # fmt: skip
    if name.module == "torch.nn.parameter":
        return {"Parameter": nn.Parameter, "Buffer": getattr(nn, "Buffer", None)}.get(name.attribute)
    if name.module == "torch.serialization" and name.attribute == "_get_layout":
        return rebuild.layout_named
    if name.module.startswith("torch.nn.modules."):
        return getattr(nn, name.attribute, None) if name.attribute in MODULE_FILES else None
    return None
