"""The mistakes that learners make most, and what they are told: PyTorch's key phrase, and beside it the shapes and what to try.

`says` are pieces of the message or of the advice that the notebook shows under it (`engine/advice.py`, and `engine/advice_python.py` for errors
that Python raises). A mistake is added here as one entry; what it should say is added to `ADVICE`.
"""

from __future__ import annotations

import warnings
from typing import NamedTuple

import numpy as np
import pytest

from tapescope import engine as torch
from tapescope.engine.advice import ADVICE, advice


class Mistake(NamedTuple):
    """A short program that fails: with which error, PyTorch's phrase in its message, and what must be told as well."""

    name: str
    code: str
    error: str
    phrase: str
    says: tuple[str, ...]


MISTAKES: tuple[Mistake, ...] = (
    # Shapes
    Mistake(
        "matmul_inner",
        "torch.ones(2, 3) @ torch.ones(4, 5)",
        "RuntimeError",
        "mat1 and mat2 shapes cannot be multiplied (2x3 and 4x5)",
        ("[2, 3]", "[4, 5]", "(4) must be equal"),
    ),
    Mistake(
        "mm_vector",
        "torch.mm(torch.ones(2, 3), torch.ones(3))",
        "RuntimeError",
        "mat2 must be a matrix",
        ("[2, 3]", "[3]", "torch.mm"),
    ),
    Mistake(
        "matvec",
        "torch.ones(2, 3) @ torch.ones(4)",
        "RuntimeError",
        "size mismatch, got input (2), mat (2x3), vec (4)",
        ("[2, 3]", "[4]", "these must be equal"),
    ),
    Mistake(
        "batched_matmul",
        "torch.ones(2, 3, 4) @ torch.ones(3, 4, 5)",
        "RuntimeError",
        "The size of tensor a (2) must match the size of tensor b (3) at",
        ("[2, 3, 4]", "[3, 4, 5]", "unsqueeze()"),
    ),
    Mistake(
        "bmm_sizes",
        "torch.bmm(torch.ones(2, 3, 4), torch.ones(2, 5, 6))",
        "RuntimeError",
        "Expected size for first two dimensions of batch2 tensor to be: [2, 4]",
        ("[2, 3, 4]", "[2, 5, 6]", "and M in both"),
    ),
    Mistake(
        "dot_sizes",
        "torch.dot(torch.ones(3), torch.ones(4))",
        "RuntimeError",
        "inconsistent tensor size, expected tensor [3] and src [4] to have the",
        ("[3]", "[4]", "of the same length"),
    ),
    Mistake(
        "linear_features",
        "nn.Linear(4, 2)(torch.ones(8, 5))",
        "RuntimeError",
        "mat1 and mat2 shapes cannot be multiplied (8x5 and 4x2)",
        ("[8, 5]", "[2, 4]", "in_features=5"),
    ),
    Mistake(
        "linear_transposed",
        "F.linear(torch.ones(8, 4), torch.ones(4, 2))",
        "RuntimeError",
        "mat1 and mat2 shapes cannot be multiplied (8x4 and 2x4)",
        ("[8, 4]", "[4, 2]", "in_features=4"),
    ),
    Mistake(
        "add_shapes",
        "torch.ones(2, 3) + torch.ones(2, 4)",
        "RuntimeError",
        "The size of tensor a (3) must match the size of tensor b (4) at",
        ("[2, 3]", "[2, 4]", "unsqueeze()"),
    ),
    Mistake(
        "mul_shapes",
        "torch.ones(3) * torch.ones(4)",
        "RuntimeError",
        "The size of tensor a (3) must match the size of tensor b (4) at",
        ("[3]", "[4]", "unsqueeze()"),
    ),
    Mistake(
        "inplace_broadcast",
        "torch.ones(3).add_(torch.ones(2, 3))",
        "RuntimeError",
        "output with shape [3] doesn't match the broadcast shape [2, 3]",
        ("[3]", "[2, 3]", "= a + b"),
    ),
    Mistake(
        "reshape_size",
        "torch.ones(2, 3).reshape(4, 2)",
        "RuntimeError",
        "shape '[4, 2]' is invalid for input of size 6",
        ("[2, 3]", "size be worked out"),
    ),
    Mistake(
        "view_size",
        "torch.ones(6).view(4, 2)",
        "RuntimeError",
        "shape '[4, 2]' is invalid for input of size 6",
        ("[6]", "size be worked out"),
    ),
    Mistake(
        "view_not_contiguous",
        "torch.ones(2, 3).t().view(6)",
        "RuntimeError",
        "view size is not compatible with input tensor's size and stride (at",
        ("[3, 2]", ".reshape()"),
    ),
    Mistake(
        "view_ambiguous",
        "torch.ones(6).view(-1, -1)",
        "RuntimeError",
        "only one dimension can be inferred",
        ("[6]", "one size at most"),
    ),
    Mistake(
        "reshape_minus_one",
        "torch.ones(7).reshape(-1, 2)",
        "RuntimeError",
        "shape '[-1, 2]' is invalid for input of size 7",
        ("[7]", "not a multiple of"),
    ),
    Mistake(
        "cat_sizes",
        "torch.cat([torch.ones(2, 3), torch.ones(2, 4)])",
        "RuntimeError",
        "Sizes of tensors must match except in dimension 0. Expected size 3",
        ("[2, 3]", "dim=0"),
    ),
    Mistake(
        "cat_dims",
        "torch.cat([torch.ones(2, 3), torch.ones(2)])",
        "RuntimeError",
        "Tensors must have same number of dimensions: got 2 and 1",
        ("[2, 3]", "torch.stack"),
    ),
    Mistake(
        "stack_sizes",
        "torch.stack([torch.ones(2), torch.ones(3)])",
        "RuntimeError",
        "stack expects each tensor to be equal size, but got [2] at entry 0",
        ("[2]", "nn.utils.rnn.pad_sequence"),
    ),
    Mistake(
        "cat_empty",
        "torch.cat([])",
        "ValueError",
        "torch.cat(): expected a non-empty list of Tensors",
        ("that fills it run",),
    ),
    Mistake(
        "expand_sizes",
        "torch.ones(2, 3).expand(2, 4)",
        "RuntimeError",
        "The expanded size of the tensor (4) must match the existing size (3)",
        ("[2, 3]", "repeat()"),
    ),
    Mistake(
        "squeeze_range",
        "torch.ones(2).squeeze(3)",
        "IndexError",
        "Dimension out of range (expected to be in range of [-1, 0], but got 3)",
        ("[2]", "one backwards: -1, -2"),
    ),
    Mistake(
        "dim_range",
        "torch.ones(2, 3).sum(2)",
        "IndexError",
        "Dimension out of range (expected to be in range of [-2, 1], but got 2)",
        ("[2, 3]", "one backwards: -1, -2"),
    ),
    Mistake(
        "softmax_dim",
        "torch.softmax(torch.ones(2, 3), 2)",
        "IndexError",
        "Dimension out of range (expected to be in range of [-2, 1], but got 2)",
        ("[2, 3]", "one backwards: -1, -2"),
    ),
    Mistake(
        "transpose_dim",
        "torch.ones(2).transpose(0, 1)",
        "IndexError",
        "Dimension out of range (expected to be in range of [-1, 0], but got 1)",
        ("[2]", "one backwards: -1, -2"),
    ),
    Mistake(
        "permute_count",
        "torch.ones(2, 3, 4).permute(0, 1)",
        "RuntimeError",
        "permute(sparse_coo): number of dimensions in the tensor input does",
        ("[2, 3, 4]", "of the tensor once"),
    ),
    Mistake(
        "permute_twice",
        "torch.ones(2, 3).permute(0, 0)",
        "RuntimeError",
        "permute(): duplicate dims are not allowed.",
        ("[2, 3]", "of the tensor once"),
    ),
    Mistake(
        "t_dims",
        "torch.ones(2, 3, 4).t()",
        "RuntimeError",
        "t() expects a tensor with <= 2 dimensions, but self is 3D",
        ("[2, 3, 4]", "the last two dimensions"),
    ),
    Mistake(
        "unflatten",
        "torch.ones(6).unflatten(0, (4, 2))",
        "RuntimeError",
        "unflatten: Provided sizes [4, 2] don't multiply up to the size of dim",
        ("[6]", "it be worked out"),
    ),
    Mistake(
        "split_sizes",
        "torch.ones(5).split([2, 2])",
        "RuntimeError",
        "split_with_sizes expects split_sizes to sum exactly to 5 (input",
        ("[5]", "split(n)"),
    ),
    Mistake(
        "chunk_zero",
        "torch.ones(5).chunk(0)",
        "RuntimeError",
        "chunk expects `chunks` to be greater than 0, got: 0",
        ("[5]", "at least one part"),
    ),
    Mistake(
        "where_shapes",
        "torch.where(torch.tensor([True, False]), torch.ones(3), torch.ones(3))",
        "RuntimeError",
        "The size of tensor a (2) must match the size of tensor b (3) at",
        ("[2]", "[3]", "unsqueeze()"),
    ),
    Mistake(
        "einsum_size",
        "torch.einsum('ij,jk->ik', torch.ones(2, 3), torch.ones(4, 5))",
        "RuntimeError",
        "einsum(): subscript j has size 4 for operand 1 which does not",
        ("[2, 3]", "[4, 5]", "where j is used"),
    ),
    Mistake(
        "einsum_count",
        "torch.einsum('ij,jk->ik', torch.ones(2, 3))",
        "RuntimeError",
        "einsum(): fewer operands were provided than specified in the equation",
        ("[2, 3]", "letters before the arrow"),
    ),
    Mistake(
        "outer_dims",
        "torch.outer(torch.ones(2, 2), torch.ones(2))",
        "RuntimeError",
        "outer: Expected 1-D argument self, but got 2-D",
        ("[2, 2]", "[2]", "flatten()"),
    ),
    Mistake(
        "cross_size",
        "torch.linalg.cross(torch.ones(4), torch.ones(4))",
        "RuntimeError",
        "linalg.cross: inputs dimension -1 must have length 3. Got 4 and 4",
        ("[4]", "along the dimension `dim`"),
    ),
    # Indices
    Mistake(
        "index_range",
        "torch.ones(3)[3]",
        "IndexError",
        "index 3 is out of bounds for dimension 0 with size 3",
        ("[3]", "from -3 to -1"),
    ),
    Mistake(
        "index_too_many",
        "torch.ones(3)[0, 0]",
        "IndexError",
        "too many indices for tensor of dimension 1",
        ("[3]", "look at its .shape"),
    ),
    Mistake(
        "index_tensor_range",
        "torch.ones(3)[torch.tensor([0, 5])]",
        "IndexError",
        "index 5 is out of bounds for dimension 0 with size 3",
        ("[3]", "[2]", "from -3 to -1"),
    ),
    Mistake(
        "index_float",
        "torch.ones(3)[torch.tensor([0.0])]",
        "IndexError",
        "tensors used as indices must be long, int, byte or bool tensors",
        ("[3]", "[1]", ".bool()"),
    ),
    Mistake(
        "index_float_number",
        "torch.ones(3)[1.5]",
        "IndexError",
        "only integers, slices (`:`), ellipsis (`...`), None and long or byte",
        ("[3]", ".bool()"),
    ),
    Mistake(
        "mask_shape",
        "torch.ones(3)[torch.tensor([True, False])]",
        "IndexError",
        "The shape of the mask [2] at index 0 does not match the shape of the",
        ("[3]", "[2]", "of its first dimensions"),
    ),
    Mistake(
        "gather_range",
        "torch.ones(2, 3).gather(1, torch.tensor([[0, 3]]))",
        "RuntimeError",
        "index 3 is out of bounds for dimension 1 with size 3",
        ("[2, 3]", "[1, 2]", "from -3 to -1"),
    ),
    Mistake(
        "gather_dims",
        "torch.ones(2, 3).gather(1, torch.tensor([0, 1]))",
        "RuntimeError",
        "Index tensor must have the same number of dimensions as input tensor",
        ("[2, 3]", "[2]", "chooses whole rows instead"),
    ),
    Mistake(
        "gather_dtype",
        "torch.ones(2, 3).gather(1, torch.ones(2, 3))",
        "RuntimeError",
        "gather(): Expected dtype int32/int64 for index",
        ("[2, 3]", ".long()"),
    ),
    Mistake(
        "index_select_range",
        "torch.ones(3).index_select(0, torch.tensor([4]))",
        "IndexError",
        "index out of range in self",
        ("[3]", "[1]", "the dimension less one"),
    ),
    Mistake(
        "embedding_range",
        "nn.Embedding(5, 2)(torch.tensor([1, 5]))",
        "IndexError",
        "index out of range in self",
        ("[2]", "[5, 2]", "Is num_embeddings large enough"),
    ),
    Mistake(
        "embedding_float",
        "nn.Embedding(5, 2)(torch.tensor([1.0, 2.0]))",
        "RuntimeError",
        "Expected tensor for argument #1 'indices' to have one of the",
        ("[2]", "[5, 2]", ".long()"),
    ),
    Mistake(
        "assign_shape",
        "torch.zeros(2, 3)[0] = torch.ones(4)",
        "RuntimeError",
        "The expanded size of the tensor (3) must match the existing size (4)",
        ("[2, 3]", "[4]", "repeat()"),
    ),
    Mistake(
        "narrow_range",
        "torch.ones(3).narrow(0, 2, 2)",
        "RuntimeError",
        "start (2) + length (2) exceeds dimension size (3).",
        ("[3]", "be 3 at most"),
    ),
    Mistake(
        "topk_range",
        "torch.ones(3).topk(4)",
        "RuntimeError",
        "selected index k out of range",
        ("[3]", "the dimension at most"),
    ),
    Mistake(
        "one_hot_float",
        "F.one_hot(torch.ones(3))",
        "RuntimeError",
        "one_hot is only applicable to index tensor of type LongTensor.",
        ("[3]", ".long()"),
    ),
    Mistake(
        "one_hot_range",
        "F.one_hot(torch.tensor([1, 5]), 3)",
        "RuntimeError",
        "Class values must be smaller than num_classes.",
        ("[2]", "to take the largest"),
    ),
    Mistake("index_step", "torch.ones(5)[::-1]", "ValueError", "step must be greater than zero", ("[5]", "x.flip(0)")),
    # Losses
    Mistake(
        "ce_batch",
        "F.cross_entropy(torch.ones(4, 3), torch.tensor([0, 1, 2]))",
        "ValueError",
        "Expected input batch_size (4) to match target batch_size (3).",
        ("[4, 3]", "[3]", "row needs its target"),
    ),
    Mistake(
        "ce_range",
        "F.cross_entropy(torch.ones(2, 3), torch.tensor([0, 3]))",
        "IndexError",
        "Target 3 is out of bounds.",
        ("[2, 3]", "[2]", "one output a class"),
    ),
    Mistake(
        "ce_float_target",
        "F.cross_entropy(torch.ones(2, 3), torch.tensor([0.0, 1.0]))",
        "RuntimeError",
        "expected target dtype to be Long or Byte, but got Float",
        ("[2, 3]", "[2]", "target.long()"),
    ),
    Mistake(
        "ce_dtype",
        "F.cross_entropy(torch.ones(2, 3), torch.tensor([0, 1], dtype=torch.int32))",
        "RuntimeError",
        "expected target dtype to be Long or Byte, but got Int",
        ("[2, 3]", "[2]", "target.long()"),
    ),
    Mistake(
        "ce_target_column",
        "F.cross_entropy(torch.ones(2, 3), torch.tensor([[0], [1]]))",
        "RuntimeError",
        "0D or 1D target tensor expected, multi-target not supported",
        ("[2, 3]", "[2, 1]", "target.squeeze(1)"),
    ),
    Mistake(
        "bce_range",
        "F.binary_cross_entropy(torch.tensor([1.5]), torch.tensor([1.0]))",
        "RuntimeError",
        "all elements of input should be between 0 and 1",
        ("[1]", "binary_cross_entropy_with_logits on the scores"),
    ),
    Mistake(
        "bce_shape",
        "F.binary_cross_entropy(torch.ones(3, 1), torch.ones(3))",
        "ValueError",
        "Using a target size (torch.Size([3])) that is different to the input",
        ("[3, 1]", "[3]", "input.squeeze(1)"),
    ),
    Mistake(
        "bce_logits_shape",
        "F.binary_cross_entropy_with_logits(torch.ones(3, 1), torch.ones(3))",
        "ValueError",
        "Target size (torch.Size([3])) must be the same as input size",
        ("[3, 1]", "[3]", "input.squeeze(1)"),
    ),
    Mistake(
        "bce_int_target",
        "F.binary_cross_entropy(torch.tensor([0.5]), torch.tensor([1]))",
        "RuntimeError",
        "Found dtype Long but expected Float",
        ("float32", "int64", ".float()"),
    ),
    Mistake(
        "nll_int",
        "F.nll_loss(torch.ones(2, 3, dtype=torch.int64), torch.tensor([0, 1]))",
        "NotImplementedError",
        "\"nll_loss_out_frame\" not implemented for 'Long'",
        ("[2, 3]", ".float()"),
    ),
    Mistake(
        "mse_shape",
        "F.mse_loss(torch.ones(3), torch.ones(4))",
        "RuntimeError",
        "The size of tensor a (3) must match the size of tensor b (4) at",
        ("[3]", "[4]", "unsqueeze()"),
    ),
    Mistake(
        "kl_div_shape",
        "F.kl_div(torch.ones(2), torch.ones(3))",
        "RuntimeError",
        "The size of tensor a (3) must match the size of tensor b (2) at",
        ("[2]", "[3]", "unsqueeze()"),
    ),
    # Types
    Mistake(
        "float_double",
        "torch.ones(2, 3) @ torch.ones(3, 2, dtype=torch.float64)",
        "RuntimeError",
        "expected m1 and m2 to have the same dtype, but got: float != double",
        ("[2, 3]", "[3, 2]", "model.double()"),
    ),
    Mistake(
        "linear_double",
        "nn.Linear(2, 1)(torch.ones(1, 2, dtype=torch.float64))",
        "RuntimeError",
        "mat1 and mat2 must have the same dtype, but got Double and Float",
        ("[1, 2]", "[1]", "model.double()"),
    ),
    Mistake(
        "linear_int",
        "nn.Linear(2, 1)(torch.tensor([[1, 2]]))",
        "RuntimeError",
        "mat1 and mat2 must have the same dtype, but got Long and Float",
        ("[1, 2]", "[1]", "model.double()"),
    ),
    Mistake(
        "conv_double",
        "nn.Conv2d(1, 1, 3)(torch.ones(1, 1, 5, 5, dtype=torch.float64))",
        "RuntimeError",
        "Input type (double) and bias type (float) should be the same",
        ("[1, 1, 5, 5]", "[1, 1, 3, 3]", "model.double()"),
    ),
    Mistake(
        "mean_int",
        "torch.tensor([1, 2]).mean()",
        "RuntimeError",
        "mean(): could not infer output dtype. Input dtype must be either a",
        ("[2]", ".mean()"),
    ),
    Mistake(
        "requires_grad_int",
        "torch.tensor([1, 2], requires_grad=True)",
        "RuntimeError",
        "Only Tensors of floating point and complex dtype can require gradients",
        ("dtype=torch.float32",),
    ),
    Mistake(
        "requires_grad_int_later",
        "torch.tensor([1, 2]).requires_grad_()",
        "RuntimeError",
        "only Tensors of floating point dtype can require gradients",
        ("[2]", "dtype=torch.float32"),
    ),
    Mistake(
        "inplace_dtype",
        "torch.ones(2, dtype=torch.int64).add_(0.5)",
        "RuntimeError",
        "result type Float can't be cast to the desired output type Long",
        ("[2]", "= a + b"),
    ),
    Mistake(
        "div_inplace_int",
        "torch.ones(2, dtype=torch.int64).div_(2)",
        "RuntimeError",
        "result type Float can't be cast to the desired output type Long",
        ("[2]", "= a + b"),
    ),
    Mistake(
        "softmax_int",
        "torch.softmax(torch.tensor([1, 2]), 0)",
        "NotImplementedError",
        "\"softmax_lastdim_kernel_impl\" not implemented for 'Long'",
        ("[2]", ".float()"),
    ),
    Mistake(
        "bool_minus",
        "torch.tensor([True]) - torch.tensor([False])",
        "RuntimeError",
        "Subtraction, the `-` operator, with two bool tensors is not",
        ("[1]", ".long()"),
    ),
    Mistake(
        "bool_neg",
        "-torch.tensor([True])",
        "RuntimeError",
        "Negation, the `-` operator, on a bool tensor is not supported. If you",
        ("[1]", ".long()"),
    ),
    Mistake(
        "bitwise_float",
        "torch.ones(2) & torch.ones(2)",
        "NotImplementedError",
        "\"bitwise_and_cpu\" not implemented for 'Float'",
        ("[2]", ".long()"),
    ),
    Mistake(
        "sqrt_str",
        "torch.sqrt('a')",
        "TypeError",
        "sqrt(): argument 'input' (position 1) must be Tensor, not str",
        ("in the right order",),
    ),
    Mistake(
        "number_for_tensor",
        "torch.relu(3.0)",
        "TypeError",
        "relu(): argument 'input' (position 1) must be Tensor, not float",
        ("torch.tensor(...)",),
    ),
    Mistake(
        "list_for_tensor",
        "torch.cat(torch.ones(2))",
        "TypeError",
        "cat(): argument 'tensors' (position 1) must be tuple of Tensors, not",
        ("[2]", "torch.cat"),
    ),
    Mistake(
        "list_added",
        "torch.ones(2).matmul([1.0, 2.0])",
        "TypeError",
        "matmul(): argument 'other' (position ",
        ("[2]", "torch.tensor(...)"),
    ),
    Mistake(
        "tensor_ragged",
        "torch.tensor([[1, 2], [3]])",
        "ValueError",
        "expected sequence of length 2 at dim 1 (got 1)",
        ("nn.utils.rnn.pad_sequence",),
    ),
    Mistake("tensor_string", "torch.tensor(['a'])", "ValueError", "too many dimensions 'str'", ("table of your own",)),
    Mistake(
        "tensor_none",
        "torch.tensor(None)",
        "RuntimeError",
        "Could not infer dtype of NoneType",
        ("function forget its return",),
    ),
    Mistake(
        "tensor_object",
        "torch.tensor([object()])",
        "RuntimeError",
        "Could not infer dtype of object",
        ("objects of type object",),
    ),
    Mistake(
        "from_numpy_list",
        "torch.from_numpy([1, 2])",
        "TypeError",
        "expected np.ndarray (got list)",
        ("torch.tensor(...)",),
    ),
    Mistake(
        "from_numpy_str",
        "torch.from_numpy(np.array(['a']))",
        "TypeError",
        "can't convert np.ndarray of type ",
        ("array.astype(np.float32)",),
    ),
    Mistake(
        "numpy_grad",
        "torch.ones(2, requires_grad=True).numpy()",
        "RuntimeError",
        "Can't call numpy() on Tensor that requires grad. Use",
        ("[2]", "was given self [2]"),
    ),
    Mistake(
        "unknown_dtype",
        "torch.ones(2, dtype='float32')",
        "TypeError",
        "argument 'dtype' must be torch.dtype, not str",
        ("torch.float32",),
    ),
    Mistake(
        "zeros_float_size",
        "torch.zeros(2.5)",
        "TypeError",
        "must be tuple of ints, but found element of type float at pos 0",
        ("int(n)",),
    ),
    Mistake(
        "zeros_negative",
        "torch.zeros(-1)",
        "RuntimeError",
        "Trying to create tensor with negative dimension -1: [-1]",
        ("-1 is for reshape",),
    ),
    Mistake(
        "full_missing",
        "torch.full((2,))",
        "TypeError",
        "full() missing 1 required positional argument",
        ("all that it takes",),
    ),
    # Names
    Mistake(
        "unknown_kwarg",
        "torch.sum(torch.ones(2), dims=0)",
        "TypeError",
        "sum() got an unexpected keyword argument 'dims'",
        ("[2]", "dim, keepdim, dtype, out"),
    ),
    Mistake(
        "unknown_function",
        "torch.sofmax",
        "AttributeError",
        "module 'tapescope.engine' has no attribute 'sofmax'",
        ("Did you mean softmax",),
    ),
    Mistake(
        "unknown_method",
        "torch.ones(2).sofmax()",
        "AttributeError",
        "'Tensor' object has no attribute 'sofmax'",
        ("Did you mean softmax",),
    ),
    Mistake(
        "unknown_layer",
        "nn.Liner(2, 2)",
        "AttributeError",
        "module 'tapescope.engine.nn' has no attribute 'Liner'",
        ("Did you mean Linear",),
    ),
    Mistake(
        "randint_empty",
        "torch.randint(5, 5, (2,))",
        "RuntimeError",
        "random_ expects 'from' to be less than 'to', but got from=5 >= to=5",
        ("high must be larger",),
    ),
    Mistake(
        "arange_step",
        "torch.arange(0, 3, -1)",
        "RuntimeError",
        "upper bound and lower bound inconsistent with step sign",
        ("start above the end",),
    ),
    # One value, many values
    Mistake(
        "truth",
        "bool(torch.ones(2))",
        "RuntimeError",
        "Boolean value of Tensor with more than one value is ambiguous",
        ("[2]", "torch.where"),
    ),
    Mistake(
        "if_tensor",
        "if torch.ones(3) > 0: pass",
        "RuntimeError",
        "Boolean value of Tensor with more than one value is ambiguous",
        ("[3]", "torch.where"),
    ),
    Mistake(
        "item_many",
        "torch.ones(2).item()",
        "RuntimeError",
        "a Tensor with 2 elements cannot be converted to Scalar",
        ("[2]", "x.tolist()"),
    ),
    Mistake(
        "float_many",
        "float(torch.ones(2))",
        "ValueError",
        "only one element tensors can be converted to Python scalars",
        ("[2]", "x.tolist()"),
    ),
    Mistake(
        "int_index",
        "[1, 2][torch.ones(2)]",
        "TypeError",
        "only integer tensors of a single element can be converted to an index",
        ("[2]", "int(x)"),
    ),
    Mistake("len_scalar", "len(torch.tensor(1.0))", "TypeError", "len() of a 0-d tensor", (".unsqueeze(0)",)),
    Mistake(
        "iterate_scalar", "list(torch.tensor(1.0))", "TypeError", "iteration over a 0-d tensor", (".unsqueeze(0)",)
    ),
    Mistake(
        "index_scalar",
        "torch.tensor(1.0)[0]",
        "IndexError",
        "invalid index of a 0-dim tensor. Use `tensor.item()` in Python or",
        (".unsqueeze(0)",),
    ),
    Mistake(
        "multinomial_negative",
        "torch.multinomial(torch.tensor([-1.0, 2.0]), 1)",
        "RuntimeError",
        "probability tensor contains either `inf`, `nan` or element < 0",
        ("[2]", "comes from earlier steps"),
    ),
    # Backward
    Mistake(
        "backward_no_grad",
        "torch.ones(2).sum().backward()",
        "RuntimeError",
        "element 0 of tensors does not require grad and does not have a grad_fn",
        ("torch.no_grad()",),
    ),
    Mistake(
        "backward_vector",
        "torch.ones(2, requires_grad=True).exp().backward()",
        "RuntimeError",
        "grad can be implicitly created only for scalar outputs",
        ("torch.ones_like(y)",),
    ),
    Mistake(
        "backward_twice",
        "w = torch.ones(2, requires_grad=True); l = (w * w).sum(); l.backward(); l.backward()",
        "RuntimeError",
        "Trying to backward through the graph a second time (or directly",
        (".detach()",),
    ),
    Mistake(
        "backward_wrong_grad",
        "torch.ones(2, requires_grad=True).exp().backward(torch.ones(3))",
        "RuntimeError",
        "Mismatch in shape: grad_output[0] has a shape of torch.Size([3]) and",
        ("backward()",),
    ),
    Mistake(
        "inplace_leaf",
        "w = torch.ones(2, requires_grad=True); w += 1",
        "RuntimeError",
        "a leaf Variable that requires grad is being used in an in-place",
        ("[2]", "torch.no_grad()"),
    ),
    Mistake(
        "inplace_leaf_view",
        "w = torch.ones(2, requires_grad=True); w[0] = 1",
        "RuntimeError",
        "a view of a leaf Variable that requires grad is being used in an",
        ("[2]", "torch.no_grad()"),
    ),
    Mistake(
        "inplace_saved",
        "w = torch.ones(2, requires_grad=True); h = w.exp(); h2 = h * 2; h += 1; h2.sum().backward(); h.sum().backward()",
        "RuntimeError",
        "one of the variables needed for gradient computation has been",
        ("clone()",),
    ),
    Mistake(
        "requires_grad_nonleaf",
        "h = torch.ones(2, requires_grad=True) * 2; h.requires_grad = False",
        "RuntimeError",
        "you can only change requires_grad flags of leaf variables. If you",
        ("[2]", "h.detach()"),
    ),
    Mistake(
        "grad_unused",
        "x = torch.ones(1, requires_grad=True); y = torch.ones(1, requires_grad=True); torch.autograd.grad((x * 2).sum(), y)",
        "RuntimeError",
        "The differentiated Tensor at index 0 appears to not have been used in",
        ("or was it detached",),
    ),
    Mistake(
        "grad_not_required",
        "x = torch.ones(1, requires_grad=True); torch.autograd.grad((x * 2).sum(), torch.ones(1))",
        "RuntimeError",
        "One of the differentiated Tensors does not require grad",
        ("requires_grad=True",),
    ),
    Mistake(
        "deepcopy_nonleaf",
        "import copy; copy.deepcopy(torch.ones(1, requires_grad=True) * 2)",
        "RuntimeError",
        "Only Tensors created explicitly by the user (graph leaves) support",
        ("[1]", ".clone()"),
    ),
    Mistake(
        "assign_grad_shape",
        "w = torch.ones(2, requires_grad=True); w.grad = torch.ones(3)",
        "RuntimeError",
        "attempting to assign a gradient of size '[3]' to a tensor of size",
        ("its tensor, or None",),
    ),
    Mistake(
        "assign_grad_type",
        "w = torch.ones(2, requires_grad=True); w.grad = 1",
        "TypeError",
        "assigned grad expected to be a Tensor or None but got grad of type int",
        ("its tensor, or None",),
    ),
    Mistake(
        "out_with_grad",
        "torch.exp(torch.ones(2, requires_grad=True), out=torch.empty(2))",
        "RuntimeError",
        "exp(): functions with out=... arguments don't support automatic",
        ("[2]", "torch.no_grad()"),
    ),
    # Modules
    Mistake(
        "module_no_forward",
        "\nclass M(nn.Module): pass\nM()(1)",
        "NotImplementedError",
        'Module [M] is missing the required "forward" function',
        ("indentation and its spelling",),
    ),
    Mistake(
        "module_no_super",
        "\nclass M(nn.Module):\n    def __init__(self):\n        self.a = nn.Linear(1, 1)\nM()",
        "AttributeError",
        "cannot assign module before Module.__init__() call",
        ("super()",),
    ),
    Mistake(
        "module_attribute",
        "nn.Linear(2, 2).wieght",
        "AttributeError",
        "'Linear' object has no attribute 'wieght'",
        ("Did you mean weight",),
    ),
    Mistake(
        "forward_args",
        "nn.Linear(2, 2)()",
        "TypeError",
        "Linear.forward() missing 1 required positional argument: 'input'",
        ("layer(x)",),
    ),
    Mistake(
        "module_missing_args",
        "nn.Linear(2)",
        "TypeError",
        "Linear.__init__() missing 1 required positional argument:",
        ("all that it takes",),
    ),
    Mistake(
        "linear_float_size",
        "nn.Linear(2.5, 2)",
        "TypeError",
        "must be tuple of ints, but found element of type float at pos 1",
        ("int(n)",),
    ),
    Mistake(
        "conv_channels",
        "nn.Conv2d(3, 8, 3)(torch.ones(1, 1, 8, 8))",
        "RuntimeError",
        "Given groups=1, weight of size [8, 3, 3, 3], expected input[1, 1, 8,",
        ("[1, 1, 8, 8]", "[8, 3, 3, 3]", "in_channels=3"),
    ),
    Mistake(
        "conv_small",
        "nn.Conv2d(1, 1, 5)(torch.ones(1, 1, 3, 3))",
        "RuntimeError",
        "Calculated padded input size per channel: (3 x 3). Kernel size: (5 x",
        ("[1, 1, 3, 3]", "[1, 1, 5, 5]", "fewer pooling steps before"),
    ),
    Mistake(
        "conv_dims",
        "nn.Conv2d(1, 1, 3)(torch.ones(5, 5))",
        "RuntimeError",
        "Expected 3D (unbatched) or 4D (batched) input to conv2d, but got",
        ("[5, 5]", "[1, 1, 3, 3]", "x.unsqueeze(0)"),
    ),
    Mistake(
        "conv_groups",
        "nn.Conv2d(3, 4, 3, groups=2)",
        "ValueError",
        "in_channels must be divisible by groups",
        ("share of the channels",),
    ),
    Mistake(
        "pool_small",
        "F.max_pool2d(torch.ones(1, 1, 1, 1), 2)",
        "RuntimeError",
        "Given input size: (1x1x1). Calculated output size: (1x0x0). Output",
        ("[1, 1, 1, 1]", "or use larger pictures"),
    ),
    Mistake(
        "batchnorm_features",
        "nn.BatchNorm1d(4)(torch.ones(2, 3))",
        "RuntimeError",
        "running_mean should contain 3 elements not 4",
        ("[2, 3]", "[4]", "num_features=3"),
    ),
    Mistake(
        "batchnorm_one",
        "nn.BatchNorm1d(3)(torch.ones(1, 3))",
        "ValueError",
        "Expected more than 1 value per channel when training, got input size",
        ("[1, 3]", "[3]", "drop_last=True"),
    ),
    Mistake(
        "batchnorm_dims",
        "nn.BatchNorm2d(3)(torch.ones(2, 3))",
        "ValueError",
        "expected 4D input (got 2D input)",
        ("[2, 3]", "[batch, channels, height, width]"),
    ),
    Mistake(
        "layernorm_shape",
        "nn.LayerNorm(4)(torch.ones(2, 3))",
        "RuntimeError",
        "Given normalized_shape=[4], expected input with shape [*, 4], but got",
        ("[2, 3]", "[4]", "sizes) of the input"),
    ),
    Mistake(
        "groupnorm_channels",
        "nn.GroupNorm(2, 3)",
        "ValueError",
        "num_channels (3) must be divisible by num_groups (2)",
        ("number that divides it",),
    ),
    Mistake(
        "dropout_p",
        "nn.Dropout(1.5)",
        "ValueError",
        "dropout probability has to be between 0 and 1, but got 1.5",
        ("0.1 for a tenth",),
    ),
    Mistake(
        "lstm_size",
        "nn.LSTM(4, 8)(torch.ones(5, 2, 3))",
        "RuntimeError",
        "input.size(-1) must be equal to input_size. Expected 4, got 3",
        ("[5, 2, 3]", "batch_first=True"),
    ),
    Mistake(
        "lstm_dims",
        "nn.LSTM(4, 8)(torch.ones(4))",
        "ValueError",
        "LSTM: Expected input to be 2D or 3D, got 1D instead",
        ("a batch [time, features]",),
    ),
    Mistake(
        "rnn_hidden",
        "nn.GRU(4, 8)(torch.ones(5, 2, 4), torch.ones(1, 3, 8))",
        "RuntimeError",
        "Expected hidden size (1, 2, 8), got [1, 3, 8]",
        ("[1, 3, 8]", "batch of the input"),
    ),
    Mistake(
        "mha_heads",
        "nn.MultiheadAttention(5, 2)",
        "AssertionError",
        "embed_dim must be divisible by num_heads",
        ("number that divides it",),
    ),
    Mistake(
        "attention_mask",
        "F.scaled_dot_product_attention(torch.ones(1, 2, 3, 4), torch.ones(1, 2, 3, 5), torch.ones(1, 2, 3, 4))",
        "RuntimeError",
        "Expected size for first two dimensions of batch2 tensor to be: [",
        ("[1, 2, 3, 4]", "[1, 2, 3, 5]", "and M in both"),
    ),
    Mistake(
        "sequential_arg",
        "nn.Sequential(nn.Linear(1, 1), torch.relu)",
        "TypeError",
        "function is not a Module subclass",
        ("torch.flatten",),
    ),
    Mistake(
        "sequential_index",
        "nn.Sequential(nn.ReLU())[3]",
        "IndexError",
        "index 3 is out of range",
        ("they count from 0",),
    ),
    Mistake(
        "parameter_assign",
        "m = nn.Linear(1, 1); m.weight = torch.ones(1, 1)",
        "TypeError",
        "cannot assign 'torch.FloatTensor' as parameter 'weight'",
        ("[1, 1]", "layer.weight.copy_(...)"),
    ),
    Mistake("module_list_add", "nn.ModuleList([1])", "TypeError", "int is not a Module subclass", ("torch.flatten",)),
    Mistake(
        "load_missing",
        "nn.Linear(2, 2).load_state_dict({'weight': torch.ones(2, 2)})",
        "RuntimeError",
        "Error(s) in loading state_dict for Linear:",
        ("strict=False",),
    ),
    Mistake(
        "load_shape",
        "nn.Linear(2, 2).load_state_dict({'weight': torch.ones(3, 2), 'bias': torch.ones(2)})",
        "RuntimeError",
        "Error(s) in loading state_dict for Linear:",
        ("strict=False",),
    ),
    Mistake(
        "load_unexpected",
        "nn.Linear(1, 1).load_state_dict({'weight': torch.ones(1, 1), 'bias': torch.ones(1), 'scale': torch.ones(1)})",
        "RuntimeError",
        "Error(s) in loading state_dict for Linear:",
        ("strict=False",),
    ),
    # Optimizers and data
    Mistake(
        "optim_empty",
        "torch.optim.SGD([], lr=0.1)",
        "ValueError",
        "optimizer got an empty parameter list",
        ("nn.ModuleList",),
    ),
    Mistake(
        "optim_lr",
        "torch.optim.SGD([torch.ones(1, requires_grad=True)], lr=-1)",
        "ValueError",
        "Invalid learning rate: -1",
        ("[1]", "positive, such as 0.01"),
    ),
    Mistake(
        "optim_tensor",
        "torch.optim.Adam(torch.ones(1, requires_grad=True))",
        "TypeError",
        "params argument given to the optimizer should be an iterable of",
        ("[1]", "Give a list: [w]"),
    ),
    Mistake(
        "optim_module",
        "torch.optim.Adam(nn.Linear(1, 1))",
        "TypeError",
        "'Linear' object is not iterable",
        ("model.parameters()",),
    ),
    Mistake(
        "optim_nonleaf",
        "torch.optim.Adam([torch.ones(1, requires_grad=True) * 2])",
        "ValueError",
        "can't optimize a non-leaf Tensor",
        ("[1]", ".requires_grad_()"),
    ),
    Mistake(
        "optim_closure",
        "torch.optim.LBFGS([torch.ones(1, requires_grad=True)]).step()",
        "TypeError",
        "LBFGS.step() missing 1 required positional argument: 'closure'",
        ("backward()",),
    ),
    Mistake(
        "loader_collate",
        "next(iter(torch.utils.data.DataLoader([torch.ones(2), torch.ones(3)], batch_size=2)))",
        "RuntimeError",
        "stack expects each tensor to be equal size, but got [2] at entry 0",
        ("[2]", "nn.utils.rnn.pad_sequence"),
    ),
    Mistake(
        "loader_batch",
        "torch.utils.data.DataLoader([1, 2], batch_size=0)",
        "ValueError",
        "batch_size should be a positive integer value, but got batch_size=0",
        ("Choose at least 1",),
    ),
    Mistake(
        "dataset_lengths",
        "torch.utils.data.TensorDataset(torch.ones(2), torch.ones(3))",
        "AssertionError",
        "Size mismatch between tensors",
        ("[2]", "the number of examples"),
    ),
    Mistake(
        "loader_none",
        "next(iter(torch.utils.data.DataLoader([None, None])))",
        "TypeError",
        "default_collate: batch must contain tensors, numpy arrays, numbers,",
        ("__getitem__ return its example",),
    ),
    Mistake(
        "random_split",
        "torch.utils.data.random_split([1, 2, 3], [1, 1])",
        "ValueError",
        "Sum of input lengths does not equal the length of the input dataset!",
        ("len(dataset)",),
    ),
    # Devices, files, mathematics
    Mistake(
        "device_cuda",
        "torch.ones(2, device='cuda')",
        "RuntimeError",
        "Torch not compiled with CUDA enabled",
        ("torch.get_default_device()",),
    ),
    Mistake(
        "device_cuda_call",
        "torch.ones(2).cuda()",
        "AssertionError",
        "Torch not compiled with CUDA enabled",
        ("[2]", "torch.get_default_device()"),
    ),
    Mistake(
        "device_unknown",
        "torch.ones(2, device='gpu')",
        "RuntimeError",
        "device type at start of device string: gpu",
        ("torch.get_default_device()",),
    ),
    Mistake(
        "load_nothing",
        "torch.load('nowhere.pt')",
        "FileNotFoundError",
        "[Errno 2] No such file or directory: 'nowhere.pt'",
        ("os.listdir()",),
    ),
    Mistake(
        "save_folder",
        "torch.save(torch.ones(1), '/nowhere/at/all/x.pt')",
        "RuntimeError",
        "Parent directory /nowhere/at/all does not exist.",
        ("[1]", "exist_ok=True"),
    ),
    Mistake(
        "inverse_singular",
        "torch.linalg.inv(torch.zeros(2, 2))",
        "LinAlgError",
        "linalg.inv: The diagonal element 1 is zero, the inversion could not",
        ("[2, 2]", "torch.eye(n)"),
    ),
    Mistake(
        "inverse_shape",
        "torch.linalg.inv(torch.ones(2, 3))",
        "RuntimeError",
        "linalg.inv: A must be batches of square matrices, but they are 2 by 3",
        ("[2, 3]", "torch.linalg"),
    ),
    Mistake(
        "cholesky",
        "torch.linalg.cholesky(-torch.eye(2))",
        "LinAlgError",
        "linalg.cholesky: The factorization could not be completed because the",
        ("[2, 2]", "torch.eye(n)"),
    ),
    Mistake(
        "solve_shape",
        "torch.linalg.solve(torch.eye(2), torch.ones(3))",
        "RuntimeError",
        "linalg.solve: Incompatible shapes of A and B for the equation AX = B",
        ("[2, 2]", "[3]", "with the same n"),
    ),
    Mistake(
        "normal_scale",
        "torch.distributions.Normal(0.0, -1.0)",
        "ValueError",
        "Expected parameter scale (Tensor of shape ()) of distribution",
        ("comes from earlier steps",),
    ),
    Mistake(
        "bernoulli_range",
        "torch.bernoulli(torch.tensor([2.0]))",
        "RuntimeError",
        "Expected p_in >= 0 && p_in <= 1 to be true, but got false.",
        ("[1]", "a sigmoid before it"),
    ),
    Mistake(
        "interpolate_none",
        "F.interpolate(torch.ones(1, 1, 4, 4))",
        "ValueError",
        "either size or scale_factor should be defined",
        ("[1, 1, 4, 4]", "scale_factor=2"),
    ),
    Mistake(
        "pad_count",
        "F.pad(torch.ones(2), (1, 1, 1))",
        "RuntimeError",
        "Padding length must be divisible by 2",
        ("[2]", "the last dimension on"),
    ),
    Mistake(
        "vmap_item",
        "torch.func.vmap(lambda x: x.item())(torch.ones(2))",
        "RuntimeError",
        "vmap: It looks like you're calling .item() on a Tensor. We don't",
        ("keep it a tensor",),
    ),
    Mistake(
        "grad_vector",
        "torch.func.grad(lambda x: x * 2)(torch.ones(2))",
        "RuntimeError",
        "grad_and_value(f)(*args): Expected f(*args) to return a scalar Tensor, got tensor with 1 dims",
        ("[2]", "or average the result"),
    ),
    Mistake(
        "unfold_size",
        "torch.ones(3).unfold(0, 4, 1)",
        "RuntimeError",
        "maximum size for tensor at dimension 0 is 3 but size is 4",
        ("[3]", "longer than the dimension"),
    ),
    Mistake(
        "clamp_none",
        "torch.clamp(torch.ones(2))",
        "RuntimeError",
        "torch.clamp: At least one of 'min' or 'max' must not be None",
        ("[2]", "clamp(min=0)"),
    ),
    Mistake(
        "compile_number",
        "torch.compile(3)",
        "TypeError",
        "A callable function is expected, but <class 'int'> is provided.",
        ("f(x)",),
    ),
    Mistake(
        "function_without_dim",
        "torch.func.grad(lambda x: 3)(torch.ones(()))",
        "RuntimeError",
        "Expected f(*args) to return a Tensor, got <class 'int'>",
        ("[]", "return"),
    ),
    Mistake(
        "grad_of_nothing",
        "x = torch.ones(1, requires_grad=True); torch.autograd.grad(x * 2, [])",
        "RuntimeError",
        "`inputs` argument to `grad()` cannot be empty.",
        ("list of the tensors",),
    ),
    Mistake(
        "loss_made_with_tensors",
        "nn.CrossEntropyLoss(torch.ones(2, 3), torch.tensor([0, 1]))",
        "RuntimeError",
        "Boolean value of Tensor with more than one value is ambiguous",
        ("nn.MSELoss()(input, target)",),
    ),
    Mistake(
        "inference_saved",
        "\nwith torch.inference_mode(): i = torch.ones(2)\ni * torch.ones(2, requires_grad=True)",
        "RuntimeError",
        "Inference tensors cannot be saved for backward.",
        ("[2]", "clone"),
    ),
    Mistake(
        "module_list_of_one",
        "nn.ModuleList(nn.ReLU())",
        "TypeError",
        "ModuleList.extend should be called with an iterable, but got ReLU",
        ("[layer]",),
    ),
    Mistake(
        "schedule_of_a_number",
        "torch.optim.lr_scheduler.StepLR(0.1, 10)",
        "TypeError",
        "float is not an Optimizer",
        ("optimizer itself",),
    ),
    Mistake(
        "cat_number",
        "torch.cat((torch.ones(2), 3))",
        "TypeError",
        "expected Tensor as element 1 in argument 0, but got int",
        ("[2]", "torch.tensor"),
    ),
    Mistake(
        "index_name",
        "torch.ones(2)['a']",
        "TypeError",
        "new(): invalid data type 'str'",
        ("[2]", "whole numbers"),
    ),
    Mistake(
        "vmap_sizes",
        "torch.func.vmap(lambda x, y: x + y)(torch.ones(2), torch.ones(3))",
        "ValueError",
        "vmap: Expected all tensors to have the same size in the mapped dimension",
        ("[2]", "[3]", "in_dims"),
    ),
    Mistake(
        "vmap_number",
        "torch.func.vmap(lambda x, y: x + y)(torch.ones(2), 3)",
        "ValueError",
        "We cannot vmap over non-Tensor arguments, please use None as the respective in_dim",
        ("in_dims=(0, None)",),
    ),
    # Errors that Python raises
    Mistake(
        "zero_grad_before_backward",
        "w = torch.ones(2, requires_grad=True); w.grad.zero_()",
        "AttributeError",
        "'NoneType' object has no attribute 'zero_'",
        ("until backward() has run",),
    ),
    Mistake(
        "step_without_gradient",
        "w = torch.ones(2, requires_grad=True); w.data -= 0.1 * w.grad",
        "TypeError",
        "unsupported operand type(s) for *: 'float' and 'NoneType'",
        ("until backward() has run",),
    ),
    Mistake(
        "parameters_without_gradient",
        "m = nn.Linear(1, 1); [p.grad.norm() for p in m.parameters()]",
        "AttributeError",
        "'NoneType' object has no attribute 'norm'",
        ("until backward() has run",),
    ),
    Mistake(
        "forward_without_return",
        "\ndef f(x): x * 2\nx = torch.ones(2); y = f(x); y.sum()",
        "AttributeError",
        "'NoneType' object has no attribute 'sum'",
        ("`return`",),
    ),
    Mistake(
        "added_to_nothing",
        "\ndef f(x): x * 2\nx = torch.ones(2); x + f(x)",
        "TypeError",
        "unsupported operand type(s) for +: 'Tensor' and 'NoneType'",
        ("`return`",),
    ),
    Mistake(
        "backward_of_a_number",
        "loss = torch.ones(2, requires_grad=True).sum().item(); loss.backward()",
        "AttributeError",
        "'float' object has no attribute 'backward'",
        ("took off the tape",),
    ),
    Mistake(
        "backward_of_an_array",
        "torch.ones(2).numpy().backward()",
        "AttributeError",
        "'numpy.ndarray' object has no attribute 'backward'",
        ("torch.from_numpy",),
    ),
    Mistake(
        "backward_of_a_loss_layer",
        "nn.MSELoss().backward()",
        "AttributeError",
        "'MSELoss' object has no attribute 'backward'",
        ("nn.MSELoss()(input, target)",),
    ),
    Mistake(
        "mean_of_a_list",
        "[torch.ones(1), torch.ones(1)].mean()",
        "AttributeError",
        "'list' object has no attribute 'mean'",
        ("torch.stack",),
    ),
    Mistake(
        "lstm_output",
        "nn.LSTM(2, 3)(torch.ones(4, 2)).relu()",
        "AttributeError",
        "'tuple' object has no attribute 'relu'",
        ("output, state = layer(x)",),
    ),
    Mistake(
        "text_and_tensor",
        "torch.ones(2) + 'a'",
        "TypeError",
        "unsupported operand type(s) for +: 'Tensor' and 'str'",
        ("x.item():.3f",),
    ),
    Mistake(
        "list_and_tensor",
        "torch.ones(2) + [1, 2]",
        "TypeError",
        "unsupported operand type(s) for +: 'Tensor' and 'list'",
        ("torch.tensor(...)",),
    ),
    Mistake(
        "matmul_with_a_number",
        "torch.ones(2, 3) @ 3",
        "TypeError",
        "unsupported operand type(s) for @: 'Tensor' and 'int'",
        ("multiplies with *",),
    ),
    Mistake(
        "tensor_called",
        "x = torch.ones(2); x(0)",
        "TypeError",
        "'Tensor' object is not callable",
        ("x[0]",),
    ),
    Mistake(
        "shape_called",
        "torch.ones(2).shape()",
        "TypeError",
        "'Size' object is not callable",
        ("x.size()",),
    ),
    Mistake(
        "size_indexed",
        "x = torch.ones(2); x.size[0]",
        "TypeError",
        "not subscriptable",
        ("x.size()[0]",),
    ),
    Mistake(
        "layer_indexed",
        "layer = nn.Linear(2, 2); layer[0]",
        "TypeError",
        "'Linear' object is not subscriptable",
        ("layer(x)",),
    ),
)


def made(code: str) -> BaseException:
    """The error that a program ends with."""
    space = {"torch": torch, "nn": torch.nn, "F": torch.nn.functional, "np": np}
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            exec(compile(code, "<cell a:1>", "exec"), space)
    except Exception as error:
        return error
    pytest.fail(f"nothing was raised by: {code}")


@pytest.mark.parametrize("mistake", MISTAKES, ids=lambda m: m.name)
def test_a_mistake_gets_the_phrase_and_advice(mistake: Mistake):
    error = made(mistake.code)
    assert type(error).__name__ == mistake.error
    assert mistake.phrase in str(error)
    told = f"{error}\n{advice(error)}"
    for piece in mistake.says:
        assert piece in told, f"{piece!r} is missing in:\n{told}"


def test_there_are_many_and_each_once():
    assert len(MISTAKES) >= 200
    assert len({m.name for m in MISTAKES}) == len({m.code for m in MISTAKES}) == len(MISTAKES)


def test_every_entry_of_the_table_is_met():
    """No advice that nobody can get: each pattern is the first that fits for some mistake."""
    import re

    met = set()
    for mistake in MISTAKES:
        message = str(made(mistake.code))
        met.add(next((pattern for pattern, _ in ADVICE if re.search(pattern, message)), ""))
    assert {pattern for pattern, _ in ADVICE} - met == set()


def test_the_module_and_the_names_of_weights_are_told():
    class Net(torch.nn.Module):
        def __init__(self):
            super().__init__()
            self.fc1 = torch.nn.Linear(4, 2)

        def forward(self, x):
            return self.fc1(x)

    with pytest.raises(RuntimeError) as caught:
        Net()(torch.ones(8, 5))
    assert "Net.fc1" in advice(caught.value) and "[8, 5]" in advice(caught.value)


def test_a_line_that_can_be_read_decides_what_a_none_is(monkeypatch: pytest.MonkeyPatch):
    import linecache

    for code, told in (
        ("w = torch.ones(2, requires_grad=True); f = lambda x: None; f(w).sum()", "`return`"),
        ("w = torch.ones(2, requires_grad=True); w.grad.sum()", "until backward() has run"),
    ):
        monkeypatch.setitem(linecache.cache, "<cell a:1>", (len(code), None, [code + "\n"], "<cell a:1>"))
        assert told in advice(made(code))


def test_errors_of_others_get_no_advice():
    for code in (
        "open('nowhere')",
        "[1][3]",
        "len(3)",
        "def relu(x): pass\nrelu(y=1)",
        "float('a')",
        "class A: pass\nA().ones",
        "for x in 3: pass",
        "None.zero_()",
        "[1].mean()",
        "(3.0).norm()",
        "3 * None",
        "'a' + [1]",
        "(3)(4)",
        "len.x[0]",
    ):
        assert advice(made(code)) == ""
    assert advice(ValueError("mat1 and mat2 shapes cannot be multiplied (1x2 and 3x4)")) == ""


def test_advice_never_fails():
    class Odd(Exception):
        def __str__(self):
            raise RuntimeError

    assert advice(Odd()) == ""
