"""The tensor object: facts, conversion, promotion, errors."""

from __future__ import annotations

import copy
import pickle

import numpy as np
import pytest

from tapescope import engine as torch


def test_facts():
    t = torch.zeros(2, 3)
    assert t.shape == (2, 3) and t.size(-1) == 3 and t.ndim == 2 and t.numel() == 6
    assert repr(t.shape) == "torch.Size([2, 3])" and t.shape.numel() == 6
    assert t.stride() == (3, 1) and t.t().stride() == (1, 3) and not t.t().is_contiguous()
    assert t.dtype is torch.float32 and repr(t.dtype) == "torch.float32" and str(t.device) == "cpu"
    assert t.element_size() == 4 and t.nbytes == 24 and t.is_leaf and not t.requires_grad


@pytest.mark.parametrize(
    ("data", "dtype"),
    [
        (1, "int64"),
        (1.5, "float32"),
        (True, "bool"),
        (1j, "complex64"),
        ([1, 2.0], "float32"),
        ([], "float32"),
        ([[True]], "bool"),
    ],
)
def test_inferred_dtype(data, dtype):
    assert torch.tensor(data).dtype.name == dtype


@pytest.mark.parametrize(
    ("data", "error", "words"),
    [
        ([[1, 2], [3]], ValueError, "expected sequence of length 2 at dim 1"),
        ("text", TypeError, "invalid data type 'str'"),
        (object(), RuntimeError, "Could not infer dtype of object"),
        (2**64, RuntimeError, "Overflow when unpacking long"),
    ],
)
def test_data_that_is_no_tensor(data, error, words):
    with pytest.raises(error, match=words):
        torch.tensor(data)


PROMOTIONS = [
    ("int32", "int64", "int64"), ("uint8", "int8", "int16"), ("int64", "float32", "float32"), ("float16", "float32", "float32"),
    ("bool", "uint8", "uint8"), ("float64", "complex64", "complex128"), ("int64", "float16", "float16"),
]  # fmt: skip


@pytest.mark.parametrize(("a", "b", "out"), PROMOTIONS)
def test_promotion(a, b, out):
    x, y = torch.ones(2, dtype=getattr(torch, a)), torch.ones(2, dtype=getattr(torch, b))
    assert (x + y).dtype.name == out and (y + x).dtype.name == out
    assert torch.promote_types(x.dtype, y.dtype).name == out


def test_a_dimensioned_tensor_wins_over_scalars_of_its_category():
    assert (torch.ones(2, dtype=torch.float16) + torch.tensor(1.0, dtype=torch.float64)).dtype is torch.float16
    assert (torch.ones(2, dtype=torch.uint8) + 300).dtype is torch.uint8
    assert (torch.ones(2, dtype=torch.int32) + 0.5).dtype is torch.float32
    assert (torch.ones(2, dtype=torch.bool) + 1).dtype is torch.int64
    assert (torch.tensor([1, 2]) / 2).dtype is torch.float32


def test_integers_wrap_as_in_c():
    assert (torch.tensor([250], dtype=torch.uint8) + 300).tolist() == [(250 + 300) % 256]


def test_memory_is_shared_with_numpy_both_ways():
    a = np.arange(6, dtype=np.float32).reshape(2, 3)
    t = torch.from_numpy(a)
    a[0, 0] = 7
    t[1, 1] = 9
    assert t[0, 0].item() == 7 and a[1, 1] == 9
    t.numpy()[0, 1] = 5
    assert t[0, 1].item() == 5


@pytest.mark.parametrize("array", [np.arange(6)[::-1], np.arange(4, dtype=">i4")])
def test_arrays_that_cannot_be_shared(array):
    with pytest.raises(ValueError, match="negative|byte order"):
        torch.from_numpy(array)


def test_views_of_arrays_with_gaps():
    a = np.arange(12, dtype=np.float64)[::2]
    t = torch.from_numpy(a)
    assert t.stride() == (2,) and t[1:].tolist() == [2, 4, 6, 8, 10]
    t[0] = -1
    assert a[0] == -1


def test_results_in_column_order_can_be_viewed():
    t = torch.arange(6.0).reshape(2, 3).t() * 2
    assert t.stride() == (1, 3)
    assert t[1].tolist() == [2, 8] and t[:, 0].tolist() == [0, 2, 4]


def test_numbers_out_of_tensors():
    assert float(torch.tensor(2.5)) == 2.5 and int(torch.tensor([3])) == 3 and bool(torch.tensor(True))
    assert [10, 20][torch.tensor(1)] == 20
    assert f"{torch.tensor(3.14159):.2f}" == "3.14"
    with pytest.raises(RuntimeError, match="Boolean value of Tensor with more than one value is ambiguous"):
        bool(torch.ones(2))
    with pytest.raises(RuntimeError, match="cannot be converted to Scalar"):
        torch.ones(2).item()
    with pytest.raises(TypeError, match="iteration over a 0-d tensor"):
        list(torch.tensor(1))


def test_numpy_refuses_a_tensor_on_the_tape():
    with pytest.raises(RuntimeError, match="Use tensor.detach"):
        torch.ones(1, requires_grad=True).numpy()


def test_errors_name_shapes():
    with pytest.raises(
        RuntimeError,
        match=r"The size of tensor a \(2\) must match the size of tensor b \(3\) at non-singleton dimension 0",
    ):
        torch.ones(2) + torch.ones(3)
    with pytest.raises(RuntimeError, match=r"mat1 and mat2 shapes cannot be multiplied \(2x3 and 2x3\)"):
        torch.ones(2, 3) @ torch.ones(2, 3)
    with pytest.raises(TypeError, match="unsupported operand"):
        torch.ones(2) + "a"


def test_copies_and_pickles():
    t = torch.rand(2, 3, requires_grad=True)
    for other in (copy.deepcopy(t), pickle.loads(pickle.dumps(t))):
        assert torch.equal(other, t) and other.requires_grad and other is not t
        assert other.data_ptr() != t.data_ptr()
    with pytest.raises(RuntimeError, match="graph leaves"):
        copy.deepcopy(t * 2)


def test_out_argument():
    out = torch.empty(2)
    assert torch.add(torch.ones(2), 1, out=out) is out and out.tolist() == [2, 2]
    with pytest.raises(RuntimeError, match="can't be cast"):
        torch.add(torch.ones(2), 1, out=torch.empty(2, dtype=torch.int64))
    with pytest.raises(RuntimeError, match="don't support automatic differentiation"):
        torch.exp(torch.ones(2, requires_grad=True), out=out)


def test_default_dtype_and_device():
    torch.set_default_dtype(torch.float64)
    try:
        assert torch.tensor(1.0).dtype is torch.float64 and (torch.tensor([1]) / 2).dtype is torch.float64
    finally:
        torch.set_default_dtype(torch.float32)
    with pytest.raises(RuntimeError, match="Expected one of .*cpu.* device type at start of device string: quantum"):
        torch.zeros(1, device="quantum")
