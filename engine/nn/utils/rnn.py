"""Sequences of different lengths: padded to one tensor, or packed step by step without the padding."""

from __future__ import annotations

import itertools
from collections.abc import Iterable
from typing import Any, NamedTuple

from ...tensor import Tensor


class _Packed(NamedTuple):
    data: Any
    batch_sizes: Any
    sorted_indices: Any
    unsorted_indices: Any


class PackedSequence(_Packed):
    """The steps of several sequences one after the other: `data` holds first all first elements, then all second
    ones...

    `batch_sizes` says how many sequences have each step; the sequences stand by falling length, and `sorted_indices`
    (None
    where they came so) says which is which. Made by `pack_padded_sequence` and `pack_sequence`.
    """

    def __new__(
        cls, data: Any, batch_sizes: Any = None, sorted_indices: Any = None, unsorted_indices: Any = None
    ) -> PackedSequence:
        if unsorted_indices is None:
            unsorted_indices = invert_permutation(sorted_indices)
        if batch_sizes is None:
            if not (isinstance(data, (list, tuple)) and len(data) == 2):
                raise AssertionError("Expected data to be a list or tuple of length 2")
            data, batch_sizes = data
        elif not batch_sizes.is_cpu:
            raise ValueError(
                "batch_sizes should always be on CPU. Instances of PackedSequence should never be created manually. "
                "They should "
                "be instantiated by functions like pack_sequence and pack_padded_sequences in nn.utils.rnn. "
                "https://pytorch.org/docs/stable/nn.html#torch.nn.utils.rnn.pack_sequence"
            )
        return super().__new__(cls, data, batch_sizes, sorted_indices, unsorted_indices)

    def to(self, *args: Any, **kwargs: Any) -> PackedSequence:
        """The same with its data on another device or of another dtype."""
        data = self.data.to(*args, **kwargs)
        if data is self.data:
            return self
        orders = [None if t is None else t.to(data.device) for t in (self.sorted_indices, self.unsorted_indices)]
        return PackedSequence(data, self.batch_sizes, *orders)

    def cpu(self) -> PackedSequence:
        """The same with its data on the CPU."""
        return self.to("cpu")

    def double(self) -> PackedSequence:
        """The same in float64."""
        return self.to(_dtype("float64"))

    def float(self) -> PackedSequence:
        """The same in float32."""
        return self.to(_dtype("float32"))

    def half(self) -> PackedSequence:
        """The same in float16."""
        return self.to(_dtype("float16"))

    def long(self) -> PackedSequence:
        """The same in int64."""
        return self.to(_dtype("int64"))

    @property
    def is_cuda(self) -> bool:
        """Whether the data is on a CUDA device."""
        return self.data.is_cuda


def _dtype(name: str) -> Any:
    from ...dtypes import DTYPES

    return DTYPES[name]


def invert_permutation(permutation: Tensor | None) -> Tensor | None:
    """The order that takes a permutation back."""
    if permutation is None:
        return None
    from ... import arange

    out = arange(permutation.numel(), device=permutation.device)
    return out.scatter(0, permutation, arange(permutation.numel(), device=permutation.device))


def pack_padded_sequence(
    input: Tensor, lengths: Any, batch_first: bool = False, enforce_sorted: bool = True
) -> PackedSequence:
    """Pack sequences padded to [T, N, ...] ([N, T, ...] with `batch_first`) that have these lengths.

    Without `enforce_sorted` they may stand in any order. Raises RuntimeError for lengths that are not sorted, or 0.
    """
    from ... import cat, int64, tensor

    numbers = [int(n) for n in (lengths.tolist() if isinstance(lengths, Tensor) else lengths)]
    order = None
    if not enforce_sorted:
        places = sorted(range(len(numbers)), key=lambda i: -numbers[i])
        numbers = [numbers[i] for i in places]
        order = tensor(places, dtype=int64, device=input.device)
        input = input.index_select(0 if batch_first else 1, order)
    if batch_first:
        input = input.transpose(0, 1)
    if len(numbers) != input.shape[1]:
        raise RuntimeError(
            f"Expected `len(lengths)` to be equal to batch_size, but got {len(numbers)} (batch_size={input.shape[1]})"
        )
    if any(a < b for a, b in itertools.pairwise(numbers)):
        raise RuntimeError(
            "`lengths` array must be sorted in decreasing order when `enforce_sorted` is True. You can pass "
            "`enforce_sorted=False` to pack_padded_sequence and/or pack_sequence to sidestep this requirement if you "
            "do not need "
            "ONNX exportability."
        )
    if numbers and numbers[-1] <= 0:
        raise RuntimeError(
            "Length of all samples has to be greater than 0, but found an element in 'lengths' that is <= 0"
        )
    if numbers and numbers[0] > input.shape[0]:
        raise RuntimeError(
            f"Expected `lengths` to be at most the size of the time dimension {input.shape[0]}, but got {numbers[0]}"
        )
    sizes = [sum(n > t for n in numbers) for t in range(numbers[0] if numbers else 0)]
    data = cat([input[t, :size] for t, size in enumerate(sizes)])
    return PackedSequence(data, tensor(sizes, dtype=int64, device="cpu"), order, None)


def pad_packed_sequence(
    sequence: PackedSequence, batch_first: bool = False, padding_value: float = 0.0, total_length: int | None = None
) -> tuple[Tensor, Tensor]:
    """Unpack: the padded tensor [T, N, ...] ([N, T, ...] with `batch_first`) and the lengths.

    `total_length` pads to that length; raises ValueError where it is too short.
    """
    from ... import cat, int64, stack, tensor

    sizes = [int(n) for n in sequence.batch_sizes.tolist()]
    longest = len(sizes)
    if total_length is not None and total_length < longest:
        raise ValueError(
            "Expected total_length to be at least the length of the longest sequence in input, but got "
            f"total_length={total_length} and max sequence length being {longest}"
        )
    batch = sizes[0]
    rest = tuple(sequence.data.shape[1:])
    steps = []
    for part, size in zip(sequence.data.split(sizes), sizes, strict=True):
        steps.append(part if size == batch else cat([part, part.new_full((batch - size, *rest), padding_value)]))
    steps += [sequence.data.new_full((batch, *rest), padding_value)] * ((total_length or longest) - longest)
    padded = stack(steps, 1 if batch_first else 0)
    lengths = tensor([sum(size > i for size in sizes) for i in range(batch)], dtype=int64, device="cpu")
    if sequence.unsorted_indices is not None:
        return (
            padded.index_select(0 if batch_first else 1, sequence.unsorted_indices),
            lengths[sequence.unsorted_indices.cpu()],
        )
    return padded, lengths


def pad_sequence(
    sequences: Any, batch_first: bool = False, padding_value: float = 0.0, padding_side: str = "right"
) -> Tensor:
    """Sequences [T_i, ...] padded to one length: [T, N, ...], or [N, T, ...] with `batch_first`.

    Raises RuntimeError for what is no collection of tensors, and for an unknown side.
    """
    from ... import cat, stack

    if not isinstance(sequences, Iterable):
        raise RuntimeError(
            f"pad_sequence: Expected iterable for input sequences, but got arg of type: {type(sequences)}"
        )
    parts = list(sequences)
    if not parts:
        raise RuntimeError("received an empty list of sequences")
    if padding_side not in ("left", "right"):
        raise RuntimeError(f"Expected padding_side to be one of left or right, but got {padding_side}.")
    longest = max(p.shape[0] for p in parts)
    filled = []
    for p in parts:
        missing = longest - p.shape[0]
        if missing:
            fill = p.new_full((missing, *p.shape[1:]), padding_value)
            p = cat([fill, p] if padding_side == "left" else [p, fill])
        filled.append(p)
    return stack(filled, 0 if batch_first else 1)


def unpad_sequence(padded_sequences: Tensor, lengths: Tensor, batch_first: bool = False) -> list[Tensor]:
    """The sequences of a padded tensor, without the padding."""
    padded = padded_sequences if batch_first else padded_sequences.transpose(0, 1)
    return [row[: int(n)] for row, n in zip(padded, lengths.tolist(), strict=True)]


def pack_sequence(sequences: list[Tensor], enforce_sorted: bool = True) -> PackedSequence:
    """Pack sequences [T_i, ...]; without `enforce_sorted` they may stand in any order."""
    lengths = [s.shape[0] for s in sequences]
    return pack_padded_sequence(pad_sequence(sequences), lengths, enforce_sorted=enforce_sorted)


def unpack_sequence(packed_sequences: PackedSequence) -> list[Tensor]:
    """The sequences of a packed one."""
    padded, lengths = pad_packed_sequence(packed_sequences, batch_first=True)
    return unpad_sequence(padded, lengths, batch_first=True)
