"""Recurrent networks (Elman, LSTM, GRU), in layers and as single cells.

The inputs of all steps are multiplied in one product; then each step costs one product with the state.  Packed
sequences
are run step by step over as many rows as are left.
"""

from __future__ import annotations

import math
import numbers
import warnings
from collections.abc import Callable
from typing import Any

from ..tensor import Tensor
from . import functional as F
from . import init
from .linear import fresh
from .module import Module
from .utils.rnn import PackedSequence

Step = Callable[..., tuple[Tensor, ...]]


# -- one step -------------------------------------------------------------------------------------


def _tanh_step(x: Tensor, w: list[Any], h: Tensor) -> tuple[Tensor, ...]:
    return ((x + F.linear(h, w[1], w[3])).tanh(),)


def _relu_step(x: Tensor, w: list[Any], h: Tensor) -> tuple[Tensor, ...]:
    return ((x + F.linear(h, w[1], w[3])).relu(),)


def _lstm_step(x: Tensor, w: list[Any], h: Tensor, c: Tensor) -> tuple[Tensor, ...]:
    i, f, g, o = (x + F.linear(h, w[1], w[3])).chunk(4, 1)
    c = f.sigmoid() * c + i.sigmoid() * g.tanh()
    h = o.sigmoid() * c.tanh()
    return (h if w[4] is None else F.linear(h, w[4])), c


def _gru_step(x: Tensor, w: list[Any], h: Tensor) -> tuple[Tensor, ...]:
    x_r, x_z, x_n = x.chunk(3, 1)
    h_r, h_z, h_n = F.linear(h, w[1], w[3]).chunk(3, 1)
    r, z = (x_r + h_r).sigmoid(), (x_z + h_z).sigmoid()
    n = (x_n + r * h_n).tanh()
    return (n + z * (h - n),)


_STEPS: dict[str, tuple[Step, int]] = {
    "RNN_TANH": (_tanh_step, 1),
    "RNN_RELU": (_relu_step, 1),
    "LSTM": (_lstm_step, 4),
    "GRU": (_gru_step, 3),
}
"""The step of each kind, and how many gates its weights hold."""


# -- one layer ------------------------------------------------------------------------------------


def _run(step: Step, x: Tensor, w: list[Any], state: tuple[Tensor, ...], backwards: bool) -> tuple[Tensor, Any]:
    """One direction of one layer over [T, N, I]: the outputs [T, N, H] and the last state."""
    from .. import stack

    steps = list(F.linear(x, w[0], w[2]).unbind(0))
    outputs = []
    for projected in reversed(steps) if backwards else steps:
        state = step(projected, w, *state)
        outputs.append(state[0])
    return stack(outputs[::-1] if backwards else outputs), state


def _run_packed(
    step: Step, x: Tensor, sizes: list[int], w: list[Any], state: tuple[Tensor, ...], backwards: bool
) -> tuple[Tensor, Any]:
    """The same over packed steps, of which step t holds the first sizes[t] rows."""
    from .. import cat

    steps = list(F.linear(x, w[0], w[2]).split(sizes))
    outputs = []
    if backwards:
        start = state
        state = tuple(s[: sizes[-1]] for s in start)
        for t in range(len(sizes) - 1, -1, -1):
            have = state[0].shape[0]
            if sizes[t] > have:
                state = tuple(cat([s, b[have : sizes[t]]]) for s, b in zip(state, start, strict=True))
            state = step(steps[t], w, *state)
            outputs.append(state[0])
        return cat(outputs[::-1]), state
    ended: list[tuple[Tensor, ...]] = []
    for projected, size in zip(steps, sizes, strict=True):
        if state[0].shape[0] > size:
            ended.append(tuple(s[size:] for s in state))
            state = tuple(s[:size] for s in state)
        state = step(projected, w, *state)
        outputs.append(state[0])
    last = [state, *reversed(ended)]
    return cat(outputs), tuple(cat([part[i] for part in last]) for i in range(len(state)))


# -- layers ---------------------------------------------------------------------------------------


def _if_packed(value: Any) -> Any:
    return value if isinstance(value, PackedSequence) else None


class RNNBase(Module):
    """What RNN, LSTM and GRU share."""

    def __init__(
        self,
        mode: str,
        input_size: int,
        hidden_size: int,
        num_layers: int = 1,
        bias: bool = True,
        batch_first: bool = False,
        dropout: float = 0.0,
        bidirectional: bool = False,
        proj_size: int = 0,
        device: Any = None,
        dtype: Any = None,
    ) -> None:
        super().__init__()
        if not isinstance(dropout, numbers.Number) or isinstance(dropout, bool) or not 0 <= dropout <= 1:
            raise ValueError(
                "dropout should be a number in range [0, 1] representing the probability of an element being zeroed"
            )
        if dropout > 0 and num_layers == 1:
            warnings.warn(
                "dropout option adds dropout after all but last recurrent layer, so non-zero dropout expects "
                "num_layers greater "
                f"than 1, but got dropout={dropout} and num_layers={num_layers}",
                stacklevel=3,
            )
        for name, value, kind in (
            ("bias", bias, bool), ("batch_first", batch_first, bool), ("input_size", input_size, int),
            ("hidden_size", hidden_size, int),
        ):  # fmt: skip
            if not isinstance(value, kind):
                raise TypeError(f"{name} should be of type {kind.__name__}, got: {type(value).__name__}")
        for name, value in (("input_size", input_size), ("hidden_size", hidden_size), ("num_layers", num_layers)):
            if value <= 0:
                raise ValueError(f"{name} must be greater than zero")
        if proj_size < 0:
            raise ValueError("proj_size should be a positive integer or zero to disable projections")
        if proj_size >= hidden_size:
            raise ValueError("proj_size has to be smaller than hidden_size")
        if mode not in _STEPS:
            raise ValueError("Unrecognized RNN mode: " + mode)
        self.mode = mode
        self.input_size = input_size
        self.hidden_size = hidden_size
        self.num_layers = num_layers
        self.bias = bias
        self.batch_first = batch_first
        self.dropout = float(dropout)
        self.bidirectional = bidirectional
        self.proj_size = proj_size
        directions = 2 if bidirectional else 1
        gates = _STEPS[mode][1] * hidden_size
        out = proj_size if proj_size > 0 else hidden_size
        self._all_weights: list[list[str]] = []
        for layer in range(num_layers):
            for direction in range(directions):
                below = input_size if layer == 0 else out * directions
                sizes: dict[str, tuple[int, ...]] = {"weight_ih": (gates, below), "weight_hh": (gates, out)}
                if bias:
                    sizes.update(bias_ih=(gates,), bias_hh=(gates,))
                if proj_size > 0:
                    sizes["weight_hr"] = (proj_size, hidden_size)
                suffix = f"_l{layer}{'_reverse' if direction else ''}"
                for name, size in sizes.items():
                    setattr(self, name + suffix, fresh(*size, device=device, dtype=dtype))
                self._all_weights.append([name + suffix for name in sizes])
        self.reset_parameters()

    def reset_parameters(self) -> None:
        """Draw new starting values: uniform in [-s, s) with s = 1 / sqrt(hidden_size)."""
        bound = 1.0 / math.sqrt(self.hidden_size)
        for weight in self.parameters():
            init.uniform_(weight, -bound, bound)

    @property
    def _flat_weights_names(self) -> list[str]:
        return [name for names in self._all_weights for name in names]

    @property
    def _flat_weights(self) -> list[Any]:
        return [getattr(self, name) for name in self._flat_weights_names]

    @property
    def all_weights(self) -> list[list[Any]]:
        """The parameters of each layer and direction."""
        return [[getattr(self, name) for name in names] for names in self._all_weights]

    def flatten_parameters(self) -> None:
        """Does nothing: it arranges memory for other devices."""

    def _weights(self, place: int) -> list[Any]:
        """Weights and biases of one layer and direction: ih, hh, their biases, and the projection; None for what is
        not."""
        suffix = self._all_weights[place][0].removeprefix("weight_ih")
        names = ("weight_ih", "weight_hh", "bias_ih", "bias_hh", "weight_hr")
        return [getattr(self, name + suffix, None) for name in names]

    def _sizes(self, batch: int) -> list[tuple[int, int, int]]:
        """The shapes of the states."""
        count = self.num_layers * (2 if self.bidirectional else 1)
        sizes = [(count, batch, self.proj_size or self.hidden_size)]
        return [*sizes, (count, batch, self.hidden_size)] if self.mode == "LSTM" else sizes

    def _check(self, input: Tensor, packed: bool) -> None:
        weight = getattr(self, self._all_weights[0][0])
        if input.dtype is not weight.dtype:
            raise ValueError(
                f"RNN input dtype ({input.dtype}) does not match weight dtype ({weight.dtype}). Convert input: "
                f"input.to({weight.dtype}), or convert model: model.to({input.dtype})"
            )
        if input.dim() != (2 if packed else 3):
            raise RuntimeError(f"input must have {2 if packed else 3} dimensions, got {input.dim()}")
        if input.size(-1) != self.input_size:
            raise RuntimeError(
                f"input.size(-1) must be equal to input_size. Expected {self.input_size}, got {input.size(-1)}"
            )

    def _check_states(self, states: tuple[Tensor, ...], batch: int) -> None:
        for i, (state, size) in enumerate(zip(states, self._sizes(batch), strict=True)):
            if tuple(state.shape) != size:
                what = f"hidden[{i}]" if self.mode == "LSTM" else "hidden"
                raise RuntimeError(f"Expected {what} size {size}, got {list(state.shape)}")

    def forward(self, input: Any, hx: Any = None) -> Any:
        lstm = self.mode == "LSTM"
        name = self.mode.split("_")[0]
        packed = _if_packed(input)
        states = None if hx is None else tuple(hx) if lstm else (hx,)
        single = False
        batch_dim = 0 if self.batch_first else 1
        if packed is not None:
            data: Any = packed.data
            sizes = [int(n) for n in packed.batch_sizes.tolist()]
            batch = sizes[0]
            if states is not None and packed.sorted_indices is not None:
                states = tuple(s.index_select(1, packed.sorted_indices) for s in states)
        else:
            if input.dim() not in (2, 3):
                end = " tensor instead" if name == "RNN" else " instead"
                raise ValueError(f"{name}: Expected input to be 2D or 3D, got {input.dim()}D{end}")
            single = input.dim() == 2
            data, sizes = (input.unsqueeze(batch_dim) if single else input), []
            if states is not None:
                self._check_ranks(states, 2 if single else 3)
                states = tuple(s.unsqueeze(1) for s in states) if single else states
            batch = data.size(batch_dim)
        self._check(data, packed is not None)
        if states is None:
            states = tuple(data.new_zeros(size) for size in self._sizes(batch))
        else:
            self._check_states(states, batch)
        out, last = self._layers(data if packed or not self.batch_first else data.transpose(0, 1), sizes, states)
        if packed is not None:
            if packed.unsorted_indices is not None:
                last = tuple(s.index_select(1, packed.unsorted_indices) for s in last)
            done: Any = PackedSequence(out, packed.batch_sizes, packed.sorted_indices, packed.unsorted_indices)
        else:
            done = out.transpose(0, 1) if self.batch_first else out
            if single:
                done, last = done.squeeze(batch_dim), tuple(s.squeeze(1) for s in last)
        return done, (last if lstm else last[0])

    def _check_ranks(self, states: tuple[Tensor, ...], rank: int) -> None:
        if all(s.dim() == rank for s in states):
            return
        kind = "batched 3-D" if rank == 3 else "unbatched 2-D"
        if self.mode == "LSTM":
            raise RuntimeError(
                f"For {kind} input, hx and cx should also be {rank}-D but got ({states[0].dim()}-D, "
                f"{states[1].dim()}-D) tensors"
            )
        raise RuntimeError(f"For {kind} input, hx should also be {rank}-D but got {states[0].dim()}-D tensor")

    def _layers(self, x: Tensor, sizes: list[int], states: tuple[Tensor, ...]) -> tuple[Tensor, tuple[Tensor, ...]]:
        from .. import cat, stack

        step = _STEPS[self.mode][0]
        directions = 2 if self.bidirectional else 1
        ends: list[tuple[Tensor, ...]] = []
        for layer in range(self.num_layers):
            outputs = []
            for direction in range(directions):
                place = layer * directions + direction
                start = tuple(s[place] for s in states)
                w = self._weights(place)
                if sizes:
                    out, end = _run_packed(step, x, sizes, w, start, direction == 1)
                else:
                    out, end = _run(step, x, w, start, direction == 1)
                outputs.append(out)
                ends.append(end)
            x = outputs[0] if directions == 1 else cat(outputs, -1)
            if self.dropout and self.training and layer < self.num_layers - 1:
                x = F.dropout(x, self.dropout, True)
        return x, tuple(stack([end[i] for end in ends]) for i in range(len(states)))

    def extra_repr(self) -> str:
        out = f"{self.input_size}, {self.hidden_size}"
        for name, usual in (
            ("proj_size", 0), ("num_layers", 1), ("bias", True), ("batch_first", False), ("dropout", 0),
            ("bidirectional", False),
        ):  # fmt: skip
            if getattr(self, name) != usual:
                out += f", {name}={getattr(self, name)}"
        return out


class RNN(RNNBase):
    """h_t = tanh(W_ih x_t + b_ih + W_hh h_{t-1} + b_hh), in layers, on request in both directions (Elman, 1990).

    Shapes: input (T, N, I), (N, T, I) with `batch_first`, or (T, I); states (layers directions, N, H). Returns the
    outputs
    of all steps (T, N, directions H) and the last states. `nonlinearity` is "tanh" or "relu".

    Example::

        out, h = nn.RNN(10, 20, 2)(torch.randn(5, 3, 10))                   # (5, 3, 20), (2, 3, 20)
    """

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        if "proj_size" in kwargs:
            raise ValueError("proj_size argument is only supported for LSTM, not RNN or GRU")
        if len(args) > 3:
            nonlinearity, args = args[3], args[:3] + args[4:]
        else:
            nonlinearity = kwargs.pop("nonlinearity", "tanh")
        if nonlinearity not in ("tanh", "relu"):
            raise ValueError(f"Unknown nonlinearity '{nonlinearity}'. Select from 'tanh' or 'relu'.")
        super().__init__(f"RNN_{nonlinearity.upper()}", *args, **kwargs)
        self.nonlinearity = nonlinearity


class LSTM(RNNBase):
    """Long short-term memory (Hochreiter and Schmidhuber, 1997), in layers.

    i, f, o = sigmoid(...), g = tanh(...), c_t = f c_{t-1} + i g, h_t = o tanh(c_t). Shapes as for RNN, with two states
    (h, c).
    `proj_size` projects h down.

    Example::

        out, (h, c) = nn.LSTM(10, 20, 2)(torch.randn(5, 3, 10))             # (5, 3, 20), (2, 3, 20) twice
    """

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__("LSTM", *args, **kwargs)


class GRU(RNNBase):
    """Gated recurrent units (Cho et al., 2014), in layers. Shapes as for RNN.

    r, z = sigmoid(...), n = tanh(W_in x + b_in + r (W_hn h + b_hn)), h_t = (1 - z) n + z h_{t-1}.
    """

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        if "proj_size" in kwargs:
            raise ValueError("proj_size argument is only supported for LSTM, not RNN or GRU")
        super().__init__("GRU", *args, **kwargs)


# -- cells ----------------------------------------------------------------------------------------


class RNNCellBase(Module):
    """What the cells share."""

    _mode = ""

    def __init__(
        self, input_size: int, hidden_size: int, bias: bool, num_chunks: int, device: Any = None, dtype: Any = None
    ) -> None:
        super().__init__()
        self.input_size = input_size
        self.hidden_size = hidden_size
        self.bias = bias
        gates = num_chunks * hidden_size
        self.weight_ih = fresh(gates, input_size, device=device, dtype=dtype)
        self.weight_hh = fresh(gates, hidden_size, device=device, dtype=dtype)
        for name in ("bias_ih", "bias_hh"):
            self.register_parameter(name, fresh(gates, device=device, dtype=dtype) if bias else None)
        self.reset_parameters()

    def reset_parameters(self) -> None:
        """Draw new starting values: uniform in [-s, s) with s = 1 / sqrt(hidden_size)."""
        bound = 1.0 / math.sqrt(self.hidden_size) if self.hidden_size > 0 else 0
        for weight in self.parameters():
            init.uniform_(weight, -bound, bound)

    def extra_repr(self) -> str:
        out = f"{self.input_size}, {self.hidden_size}"
        if self.bias is not True:
            out += f", bias={self.bias}"
        if self.__dict__.get("nonlinearity", "tanh") != "tanh":
            out += f", nonlinearity={self.nonlinearity}"
        return out

    def _step(self, input: Tensor, states: tuple[Tensor, ...] | None, count: int) -> tuple[Tensor, ...]:
        name = type(self).__name__
        if input.dim() not in (1, 2):
            raise ValueError(f"{name}: Expected input to be 1D or 2D, got {input.dim()}D instead")
        for i, state in enumerate(states or ()):
            if state.dim() not in (1, 2):
                what = f"hx[{i}]" if count == 2 else "hidden"
                raise ValueError(f"{name}: Expected {what} to be 1D or 2D, got {state.dim()}D instead")
        single = input.dim() == 1
        x = input.unsqueeze(0) if single else input
        if states is None:
            states = (x.new_zeros((x.shape[0], self.hidden_size)),) * count
        elif single:
            states = tuple(s.unsqueeze(0) for s in states)
        if x.shape[1] != self.input_size:
            raise RuntimeError(f"input has inconsistent input_size: got {x.shape[1]} expected {self.input_size}")
        if states[0].shape[1] != self.hidden_size:
            raise RuntimeError(
                f"hidden0 has inconsistent hidden_size: got {states[0].shape[1]}, expected {self.hidden_size}"
            )
        weights = [self.weight_ih, self.weight_hh, self.bias_ih, self.bias_hh, None]
        out = _STEPS[self._mode][0](F.linear(x, self.weight_ih, self.bias_ih), weights, *states)
        return tuple(s.squeeze(0) for s in out) if single else out


class RNNCell(RNNCellBase):
    """One step of an Elman network. Shapes: input (N, I) or (I), state (N, H) or (H), to (N, H) or (H)."""

    def __init__(
        self,
        input_size: int,
        hidden_size: int,
        bias: bool = True,
        nonlinearity: str = "tanh",
        device: Any = None,
        dtype: Any = None,
    ) -> None:
        super().__init__(input_size, hidden_size, bias, 1, device, dtype)
        self.nonlinearity = nonlinearity

    def forward(self, input: Tensor, hx: Tensor | None = None) -> Tensor:
        if self.nonlinearity not in ("tanh", "relu"):
            raise RuntimeError(f"Unknown nonlinearity: {self.nonlinearity}")
        self._mode = f"RNN_{self.nonlinearity.upper()}"
        return self._step(input, None if hx is None else (hx,), 1)[0]


class LSTMCell(RNNCellBase):
    """One step of an LSTM. Shapes: input (N, I) or (I), states ((N, H), (N, H)), to two states."""

    _mode = "LSTM"

    def __init__(
        self, input_size: int, hidden_size: int, bias: bool = True, device: Any = None, dtype: Any = None
    ) -> None:
        super().__init__(input_size, hidden_size, bias, 4, device, dtype)

    def forward(self, input: Tensor, hx: Any = None) -> tuple[Tensor, Tensor]:
        h, c = self._step(input, None if hx is None else tuple(hx), 2)
        return h, c


class GRUCell(RNNCellBase):
    """One step of a GRU. Shapes: input (N, I) or (I), state (N, H) or (H), to (N, H) or (H)."""

    _mode = "GRU"

    def __init__(
        self, input_size: int, hidden_size: int, bias: bool = True, device: Any = None, dtype: Any = None
    ) -> None:
        super().__init__(input_size, hidden_size, bias, 3, device, dtype)

    def forward(self, input: Tensor, hx: Tensor | None = None) -> Tensor:
        return self._step(input, None if hx is None else (hx,), 1)[0]
