"""What the calls frozen by make_windows.py may name: made the same way from PyTorch and from the engine."""

import math


def namespace(torch):
    """`F`, `torch`, and makers of inputs: floats `x`, positive floats `p`, whole numbers `i`, `causal` masks."""

    def x(*shape, seed=0, dtype=torch.float64):
        count = math.prod(shape)
        values = [math.sin(1.7 * n + 0.9 * seed + 0.013 * n * n) for n in range(count)]
        return torch.tensor(values, dtype=dtype).reshape(shape).requires_grad_()

    def p(*shape, seed=0):
        return (x(*shape, seed=seed).detach() * 0.4 + 0.5).requires_grad_()

    def i(*shape, below=10, step=7):
        count = math.prod(shape)
        return torch.tensor([n * step % below for n in range(count)], dtype=torch.int64).reshape(shape)

    def leaves(*tensors):
        return [t for t in tensors if isinstance(t, torch.Tensor) and t.requires_grad]

    return {
        "torch": torch,
        "F": torch.nn.functional,
        "x": x,
        "p": p,
        "i": i,
        "leaves": leaves,
        "inf": math.inf,
        "nan": math.nan,
    }


def weights(torch, like):
    """A gradient to send back: different for each element."""
    count = math.prod(like.shape)
    return torch.tensor([math.cos(0.7 * n + 1) for n in range(count)], dtype=like.dtype).reshape(like.shape)
