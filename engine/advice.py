"""What to try after an error: a sentence or two for the hundred mistakes that learners make most.

Messages of the engine are PyTorch's, so that people find them elsewhere too; they say what was wrong, and seldom what to do. `advice`
adds that: which tensors the operator was given, in which module, and what to write instead. It reads the exception and its frames and
changes nothing, so it costs nothing until something has failed. The notebook shows it under the traceback; `ADVICE` is the table.
"""

from __future__ import annotations

import difflib
import inspect
import re
from collections.abc import Callable
from types import ModuleType
from typing import Any

from . import advice_python, nn
from .autograd.failure import failed_call, last_error
from .autograd.node import ENGINE_FOLDER
from .ops import creation
from .ops.table import FUNCTIONS, OPS
from .tensor import Tensor

Operands = list[tuple[str, Tensor]]
Text = str | Callable[[re.Match[str], Operands], str]


def _reshape(match: re.Match[str], operands: Operands) -> str:
    wanted, size = [int(n) for n in match[1].replace(" ", "").split(",") if n], int(match[2])
    product = 1
    for n in wanted:
        product *= n if n != -1 else 1
    if -1 in wanted:
        return f"The other sizes multiply to {product}, which {size} is not a multiple of."
    return f"The sizes must multiply to the number of elements: {product} is not {size}. A -1 in one place lets that size be worked out."


def _inner(match: re.Match[str], operands: Operands) -> str:
    _, inner, other, columns = (int(n) for n in match.groups())
    if len(operands) > 1 and operands[1][0] == "weight":
        wants = f"The layer wants inputs whose last size is {other}; this one's is {inner}."
        return f"{wants} Give the layer in_features={inner}, or reshape the input."
    turned = " Here the second fits when transposed (.mT)." if inner == columns else ""
    return f"In a @ b the last size of a ({inner}) and the first of b ({other}) must be equal.{turned}"


def _rows(match: re.Match[str], operands: Operands) -> str:
    known = dict(operands)
    table, indices = known.get("weight"), known.get("indices") if "indices" in known else known.get("input")
    if table is not None and table.dim() == 2 and indices is not None:
        wrong = f"; the largest here is {int(indices.max().item())}" if indices._is_host and indices.numel() else ""
        return f"The table has {table.shape[0]} rows, so indices go from 0 to {table.shape[0] - 1}{wrong}. Is num_embeddings large enough?"
    return "Indices go from 0 to the size of the dimension less one."


def _classes(match: re.Match[str], operands: Operands) -> str:
    if operands and operands[0][1].dim() >= 1:
        scores = operands[0][1]
        count = int(scores.shape[1 if scores.dim() > 1 else 0])
        range_ = f"The scores are for {count} classes, so targets go from 0 to {count - 1}; {match[1]} is none of them."
        return f"{range_} Does the last layer have one output a class?"
    return "Targets are classes from 0 to the number of scores less one."


def _bounds(match: re.Match[str], operands: Operands) -> str:
    size = int(match[3])
    return (
        f"Indices of dimension {match[2]} go from 0 to {size - 1}, or from -{size} to -1."
        if size
        else "The dimension has no elements."
    )


def _not_implemented(match: re.Match[str], operands: Operands) -> str:
    if match[2] in ("Float", "Double", "Half", "BFloat16"):
        return "It computes with integers and booleans only: .bool(), .long(), or logical_and and its kin for masks."
    return "It computes with floating-point numbers: convert first, with .float()."


def _value(match: re.Match[str], operands: Operands) -> str:
    what = match["got"]
    if what in ("float", "int", "list", "tuple", "bool", "ndarray"):
        return f"Make a tensor of it first: torch.{'from_numpy' if what == 'ndarray' else 'tensor'}(...)."
    if what == "NoneType":
        return "A function that was to make it has returned nothing: is its `return` missing?"
    return f"It was given a {what}; are the arguments in the right order?"


def _features(match: re.Match[str], operands: Operands) -> str:
    return f"The layer was made for {match[2]} channels and got {match[1]}: give it num_features={match[1]}. Channels are dimension 1 of the input."


def _channels(match: re.Match[str], operands: Operands) -> str:
    shape = [int(n) for n in match[1].split(",")]
    last = " Here they seem to come last: x.movedim(-1, 1) puts them there." if str(shape[-1]) == match[2] else ""
    return f"Channels are dimension 1 of the input, [batch, channels, ...].{last or f' The layer was made with in_channels={match[2]}.'}"


def _ambiguous(match: re.Match[str], operands: Operands) -> str:
    if any(name in ("size_average", "reduce") for name, _ in operands):
        return (
            "A loss is made first and called then: nn.MSELoss()(input, target), or F.mse_loss(input, target) at once."
        )
    return "Say which is meant: (...).all() or (...).any(). To choose element by element use torch.where or a mask."


ADVICE: tuple[tuple[str, Text], ...] = (
    # shapes
    (r"mat1 and mat2 shapes cannot be multiplied \((\d+)x(\d+) and (\d+)x(\d+)\)", _inner),
    (
        r"(mat2|self|input|tensor) must be a matrix",
        "torch.mm takes two matrices; a @ b also takes vectors and batches.",
    ),
    (
        r"size mismatch, got input \((\d+)\), mat \((\d+)x(\d+)\), vec \((\d+)\)",
        "The matrix has {3} columns and the vector {4} elements; these must be equal.",
    ),
    (
        r"must match the size of tensor b .* at non-singleton dimension",
        "Shapes are compared from the right; two sizes fit if they are equal or one of them is 1. Reshape, "
        "transpose, or add a dimension of size 1 with unsqueeze().",
    ),
    (
        r"Expected size for first two dimensions of batch2 tensor",
        "Batches of matrices [B, N, M] are multiplied with [B, M, P]: the same B, and M in both.",
    ),
    (r"inconsistent tensor size", "A dot product is of two vectors of the same length."),
    (r"doesn't match the broadcast shape", "An operation in place cannot make its tensor larger: write a = a + b."),
    (r"shape '\[([-\d, ]*)\]' is invalid for input of size (\d+)", _reshape),
    (
        r"view size is not compatible",
        "The elements do not lie in that order in memory (it was transposed or cut); .reshape() copies them where "
        "it must.",
    ),
    (r"only one dimension can be inferred", "Write -1 for one size at most."),
    (
        r"Sizes of tensors must match except in dimension (\d+)",
        "torch.cat joins along dim={1}; all other sizes must be equal. Is it another dim that should grow?",
    ),
    (
        r"Tensors must have same number of dimensions",
        "Add the missing dimension with unsqueeze(), or join with torch.stack.",
    ),
    (
        r"stack expects each tensor to be equal size",
        "torch.stack makes a new dimension of tensors of one shape. torch.cat joins along a dimension that is "
        "there; nn.utils.rnn.pad_sequence brings sequences to one length. In a DataLoader, give a collate_fn.",
    ),
    (r"expected a non-empty list of Tensors", "The list is empty: did the loop that fills it run?"),
    (
        r"The expanded size of the tensor \((-?\d+)\) must match the existing size \((\d+)\)",
        "Only sizes of 1 can be expanded (or filled from); {2} cannot become {1}. repeat() copies instead.",
    ),
    (r"Dimension out of range", "Dimensions count from 0, or from the last one backwards: -1, -2."),
    (r"^permute", "Name every dimension of the tensor once."),
    (
        r"t\(\) expects a tensor with <= 2 dimensions",
        "For batches of matrices use .mT, which turns the last two dimensions.",
    ),
    (
        r"don't multiply up to the size of dim",
        "The new sizes must multiply to the size of the dimension; -1 in one place lets it be worked out.",
    ),
    (
        r"split_with_sizes expects split_sizes to sum exactly to (\d+)",
        "The parts must add up to {1}; split(n) with one number makes the last part smaller instead.",
    ),
    (r"chunk expects `chunks` to be greater than 0", "Ask for at least one part."),
    (r"einsum\(\): subscript (\w) has size", "One letter stands for one size everywhere: look at where {1} is used."),
    (r"einsum\(\): (fewer|more) operands", "There must be one tensor for each group of letters before the arrow."),
    (r"Expected 1-D argument", "It takes vectors; flatten() makes one of any tensor."),
    (r"must have length 3", "A cross product is of vectors of three numbers, along the dimension `dim`."),
    # indices
    (r"index (-?\d+) is out of bounds for dimension (\d+) with size (\d+)", _bounds),
    (
        r"too many indices for tensor of dimension (\d+)",
        "The tensor has {1} dimensions, so at most {1} indices; look at its .shape.",
    ),
    (
        r"tensors used as indices must be|only integers, slices",
        "Indices are whole numbers: .long() or int() makes them so; for masks, .bool().",
    ),
    (r"The shape of the mask", "A mask has the shape of what it chooses from, or of its first dimensions."),
    (
        r"Index tensor must have the same number of dimensions",
        "gather and scatter take an index of as many dimensions as the input; x[i] chooses whole rows instead.",
    ),
    (r"Expected dtype int(32/int)?64 for index", "Indices are whole numbers: .long() makes them so."),
    (r"index out of range in self", _rows),
    (r"Expected tensor for argument #1 'indices'", "Indices are whole numbers: .long() makes them so."),
    (r"exceeds dimension size \((\d+)\)", "start + length may be {1} at most."),
    (r"selected index k out of range", "k may be the size of the dimension at most."),
    (r"one_hot is only applicable", "one_hot takes classes as whole numbers: .long()."),
    (
        r"Class values must be smaller than num_classes",
        "Classes go from 0 to num_classes less one; leave num_classes out to take the largest.",
    ),
    (r"step must be greater than zero", "Tensors cannot be walked backwards; x.flip(0) reverses one."),
    # losses
    (
        r"Expected input batch_size \((\d+)\) to match target batch_size \((\d+)\)",
        "There are {1} rows of scores and {2} targets; each row needs its target.",
    ),
    (r"Target (-?\d+) is out of bounds", _classes),
    (
        r"expected target dtype to be Long",
        "Classes are whole numbers of type int64: target.long(). Probabilities of classes have the shape of the "
        "scores instead.",
    ),
    (
        r"0D or 1D target tensor expected",
        "Targets are one class a row, without a column of their own: target.squeeze(1).",
    ),
    (
        r"all elements of (input|target) should be between 0 and 1",
        "It takes probabilities. Put a sigmoid before it, or better use binary_cross_entropy_with_logits on the "
        "scores.",
    ),
    (
        r"Using a target size|Target size .* must be the same as input size",
        "Give both the same shape: target.unsqueeze(1), or input.squeeze(1).",
    ),
    # dtypes
    (
        r"expected m1 and m2 to have the same dtype|must have the same dtype|and bias type|and weight type|expected scalar type|Found dtype",
        "Weights are float32, while NumPy and Python data often are float64 or integers: x.float() converts the "
        "input (model.double() the model).",
    ),
    (r"mean\(\): could not infer output dtype", "Averages are of floating-point numbers: x.float().mean()."),
    (r"[Oo]nly Tensors of floating point", "Write the numbers with a point (1.0), or give dtype=torch.float32."),
    (
        r"can't be cast to the desired output type (\w+)",
        "An operation in place keeps the type of its tensor ({1}): convert it first, or write a = a + b.",
    ),
    (r"\"(\w+)\" not implemented for '(\w+)'", _not_implemented),
    (
        r"Subtraction, the `-` operator|Negation, the `-` operator",
        "For masks: ~a is not a, a ^ b is where they differ; .long() makes numbers of them.",
    ),
    (r"must be tuple of (Tensors|ints), not Tensor", "It takes a list: torch.cat([a, b])."),
    (r"argument '(?P<name>\w+)' \(position \d+\) must be Tensor, not (?P<got>\w+)", _value),
    (
        r"expected sequence of length",
        "The rows of a tensor are equally long. Fill the short ones up (nn.utils.rnn.pad_sequence), or keep a "
        "list of tensors.",
    ),
    (r"too many dimensions 'str'", "Tensors hold numbers. Give each word or letter a number by a table of your own."),
    (
        r"Could not infer dtype of NoneType",
        "There is a None where a number should be; did a function forget its return?",
    ),
    (r"Could not infer dtype of (\w+)", "Tensors hold numbers, not objects of type {1}."),
    (
        r"expected np.ndarray \(got (\w+)\)",
        "torch.tensor(...) takes lists and numbers; from_numpy takes NumPy's arrays only.",
    ),
    (r"can't convert np.ndarray of type", "Convert the array to numbers first, such as array.astype(np.float32)."),
    (r"argument 'dtype' must be torch.dtype, not str", "dtypes are objects: torch.float32, not 'float32'."),
    (
        r"must be tuple of ints, (but|not) ",
        "Sizes are whole numbers: int(n), or n // 2 in place of n / 2.",
    ),
    (r"negative dimension|must be non-negative", "Sizes are 0 or more; -1 is for reshape."),
    (
        r"random_ expects 'from' to be less than 'to'",
        "randint(low, high) draws from low up to high less one, so high must be larger.",
    ),
    (r"upper bound and lower bound inconsistent", "With a negative step, start above the end."),
    # one value, many values
    (r"Boolean value of Tensor with more than one value", _ambiguous),
    (
        r"a Tensor with \d+ elements cannot be converted|only one element tensors can be converted",
        "Choose one (x[0]), reduce it (x.mean()), or take all as a list: x.tolist().",
    ),
    (r"only integer tensors of a single element", "Take the number out first: int(x)."),
    (
        r"(len\(\)|iteration) (of|over) a 0-d tensor|invalid index of a 0-dim tensor",
        "It is a single number: .item() takes it out, .unsqueeze(0) makes a vector of it.",
    ),
    (
        r"probability tensor contains either",
        "Probabilities are not negative: softmax makes them of any scores. A NaN among them comes from earlier steps.",
    ),
    # backward
    (
        r"does not require grad and does not have a grad_fn",
        "Nothing it was computed from requires a gradient. Set requires_grad=True on the weights, and look for "
        ".detach(), .item(), .data or torch.no_grad() on the way to it.",
    ),
    (
        r"grad can be implicitly created only for scalar",
        "backward() starts from one number: reduce it first (loss.mean() or .sum()), or say how each counts: "
        "backward(torch.ones_like(y)).",
    ),
    (
        r"backward through the graph a second time",
        "Each run of the forward code makes a new tape, good for one backward(). Compute the loss anew in every "
        "step; a state that is carried from step to step wants .detach().",
    ),
    (r"Mismatch in shape: grad_output", "The gradient given to backward() has the shape of the tensor itself."),
    (
        r"leaf Variable that requires grad is being used in an in-place",
        "Change weights where nothing is recorded: `with torch.no_grad(): w -= lr * w.grad`, or let an optimizer "
        "do it.",
    ),
    (
        r"modified by an inplace operation",
        "Backward needs the value as it was. Write h = h + 1 in place of h += 1 (and relu(x) for relu_(x)), or "
        "change a clone().",
    ),
    (r"change requires_grad flags of leaf", "h.detach() is the same tensor without its history."),
    (
        r"appears to not have been used in the graph",
        "The loss does not depend on it: is another tensor used in its place, or was it detached?",
    ),
    (r"differentiated Tensors does not require grad", "Set requires_grad=True on it before it is used."),
    (r"support the deepcopy protocol", "Copy the values alone: x.detach().clone()."),
    (
        r"attempting to assign a gradient of size|assigned grad",
        "A gradient is a tensor of the shape of its tensor, or None.",
    ),
    (
        r"functions with out=... arguments don't support",
        "Take the result instead: y = torch.exp(x); or compute under torch.no_grad().",
    ),
    # modules
    (
        r"missing the required \"forward\" function",
        "Write `def forward(self, x):` in the class; check its indentation and its spelling.",
    ),
    (r"before Module.__init__\(\) call", "Call super().__init__() first in your __init__."),
    (r"Given groups=\d+, weight of size .*, expected input\[([\d, ]+)\] to have (\d+) channels", _channels),
    (
        r"Kernel size can't be greater than actual input size",
        "The picture has become smaller than the kernel: use padding, a smaller kernel, or fewer pooling steps before.",
    ),
    (
        r"Expected 3D \(unbatched\) or 4D|to conv\dd",
        "Images are [batch, channels, height, width]: x.unsqueeze(1) adds one channel, x.unsqueeze(0) a batch of one.",
    ),
    (r"must be divisible by groups", "Each group takes an equal share of the channels."),
    (
        r"Output size is too small",
        "Nothing is left to pool: the picture is smaller than the window. Leave a pooling step out, or use larger "
        "pictures.",
    ),
    (r"running_mean should contain (\d+) elements not (\d+)", _features),
    (
        r"Expected more than 1 value per channel when training",
        "A batch of one has no spread: call model.eval() to use it, or drop_last=True in the DataLoader to train.",
    ),
    (
        r"expected (\w+) input \(got (\w+) input\)",
        "BatchNorm1d is for [batch, features], BatchNorm2d for images [batch, channels, height, width].",
    ),
    (r"Given normalized_shape", "normalized_shape is the last size (or sizes) of the input."),
    (r"must be divisible by num_(groups|heads)", "Each gets an equal share: choose a number that divides it."),
    (r"dropout probability has to be between", "It is the share that is dropped: 0.1 for a tenth."),
    (
        r"must be equal to input_size",
        "The last size of the input is the layer's input_size. Inputs are [time, batch, features], or [batch, "
        "time, features] with batch_first=True.",
    ),
    (r"Expected input to be 2D or 3D", "Inputs are [time, batch, features]; without a batch [time, features]."),
    (r"Expected hidden (size|\[)", "The state is [layers, batch, hidden_size], with the batch of the input."),
    (
        r"is not a Module subclass",
        "It takes layers: nn.ReLU() in place of torch.relu, nn.Flatten() in place of torch.flatten.",
    ),
    (
        r"as parameter '(\w+)'",
        "Make a parameter of it, nn.Parameter(...), or copy the values: with torch.no_grad(): layer.{1}.copy_(...).",
    ),
    (
        r"Error\(s\) in loading state_dict",
        "The weights are of a model with other layers or sizes. Make the model as it was when they were saved; "
        "strict=False loads what fits by name.",
    ),
    (
        r"forward\(\) missing \d+ required positional",
        "A module is called with what its forward takes, such as layer(x).",
    ),
    (
        r"\.step\(\) missing 1 required positional argument: 'closure'",
        "LBFGS evaluates the loss several times a step: give step() a function that computes it, calls backward() "
        "and returns it.",
    ),
    (
        r"(\w+)(\.__init__)?\(\) missing \d+ required positional",
        "{1} needs this, too; Shift+Tab after its name shows all that it takes.",
    ),
    (r"^index \d+ is out of range$", "It has fewer parts; they count from 0."),
    # optimizers and data
    (
        r"optimizer got an empty parameter list",
        "model.parameters() gives nothing: layers kept in a plain list are not found (nn.ModuleList is), and a "
        "generator can be walked once only.",
    ),
    (r"Invalid learning rate", "Learning rates are positive, such as 0.01."),
    (r"params argument given to the optimizer", "Give a list: [w]."),
    (r"'(\w+)' object is not iterable", "If it is a module, give its parameters: model.parameters()."),
    (
        r"can't optimize a non-leaf Tensor",
        "It was computed from others. Make it first and set requires_grad_() last: w = (torch.randn(3) * "
        "0.1).requires_grad_().",
    ),
    (r"batch_size should be a positive", "Choose at least 1."),
    (
        r"Size mismatch between tensors",
        "All tensors of a TensorDataset have the same first size, the number of examples.",
    ),
    (r"default_collate: batch must contain", "Does the dataset's __getitem__ return its example?"),
    (
        r"Sum of input lengths does not equal",
        "The lengths add up to len(dataset); fractions such as [0.8, 0.2] do, too.",
    ),
    # devices, files, mathematics
    (
        r"CUDA enabled|device type at start of device string",
        "This engine computes on 'cpu' and 'webgpu'; torch.get_default_device() is the one to use for new tensors.",
    ),
    (r"No such file or directory", "Paths are relative to the notebook's folder; os.listdir() shows what is there."),
    (r"Parent directory .* does not exist", "Make the folder first: os.makedirs(folder, exist_ok=True)."),
    (
        r"the input matrix is singular",
        "It has no inverse. torch.linalg.lstsq or pinv give the best there is; adding a little of torch.eye(n) "
        "makes it invertible.",
    ),
    (r"batches of square matrices", "Only square matrices have an inverse; torch.linalg.pinv takes others."),
    (
        r"not positive-definite",
        "Is it symmetric, and are its eigenvalues positive? Adding a little of torch.eye(n) helps against rounding.",
    ),
    (r"Incompatible shapes of A and B", "A is [n, n], B [n] or [n, k] with the same n."),
    (
        r"to satisfy the constraint",
        "Keep the parameter in its range: softplus or exp for positive ones, sigmoid for those between 0 and 1. "
        "NaN comes from earlier steps.",
    ),
    (r"Expected p_in >= 0", "Probabilities lie between 0 and 1: put a sigmoid before it."),
    (r"either size or scale_factor should be defined", "Say how large: size=(32, 32), or scale_factor=2."),
    (
        r"Padding length must be divisible by 2",
        "Padding is given in pairs, before and after, from the last dimension on.",
    ),
    (r"vmap over calling .item\(\)", "Inside vmap an example has no value of its own; keep it a tensor."),
    (r"to return a scalar Tensor", "Gradients are of one number: sum or average the result."),
    (
        r"to return a Tensor, got",
        "The function must return what it has computed from its tensors; is its `return` missing?",
    ),
    (
        r"`inputs` argument to `grad\(\)` cannot be empty",
        "Give a list of the tensors whose gradients are wanted; parameters() can be walked once only.",
    ),
    (
        r"Inference tensors cannot be saved",
        "It came out of torch.inference_mode(): x.clone() makes a plain tensor, and no_grad() has plain ones from the start.",
    ),
    (r"extend should be called with an iterable", "It takes a list: nn.ModuleList([layer])."),
    (
        r"is not an Optimizer",
        "A schedule is given the optimizer itself, then its numbers: StepLR(optimizer, step_size=10).",
    ),
    (
        r"expected Tensor as element \d+ in argument",
        "All elements of the list are tensors; torch.tensor([3.0]) makes one of a number.",
    ),
    (r"new\(\): invalid data type", "Tensors hold numbers and are indexed by whole numbers, slices and masks."),
    (
        r"same size in the mapped dimension",
        "Each input has one entry an example, along the dimension that in_dims says; None hands an input to all.",
    ),
    (r"cannot vmap over non-Tensor", "None in in_dims hands an argument to all examples as it is: in_dims=(0, None)."),
    (r"maximum size for tensor at dimension", "The window is longer than the dimension."),
    (r"At least one of 'min' or 'max' must not be None", "Give a limit: clamp(min=0)."),
    (
        r"A callable function is expected",
        "torch.compile takes the function itself, without calling it: torch.compile(f), not torch.compile(f(x)).",
    ),
)
"""A pattern of a message, and what to try; `{1}` is the pattern's first group. The first that is found counts."""

_TABLE = [(re.compile(pattern), text) for pattern, text in ADVICE]


def advice(error: BaseException | None = None) -> str:
    """What `error` (by default the one reported last) was about and what to try, in a few sentences; "" where nothing is known.

    It names the operator, its module and its tensors with their shapes where the error arose in an operator.
    """
    error = error if error is not None else last_error()
    if error is None:
        return ""
    try:
        call = failed_call(error)
        sentence = _near_name(error) or _near_keyword(error)
        if not sentence and _is_ours(error):
            sentence = _entry(str(error), call[2] if call else [])
        sentence = sentence or advice_python.sentence(error)
        return " ".join(filter(None, (_given(call, error) if call else "", sentence)))
    except Exception:  # advice about an error must never be another
        return ""


def _is_ours(error: BaseException) -> bool:
    """Whether an error came out of the engine, or out of a call of one of its functions or layers that did not even begin."""
    at, last = error.__traceback__, None
    while at is not None:
        if at.tb_frame.f_code.co_filename.startswith(ENGINE_FOLDER):
            return True
        at, last = at.tb_next, at.tb_frame
    name = re.match(r"(\w+)(?:\.\w+)?\(\)", str(error)) if isinstance(error, TypeError) else None
    if name is None or last is None:
        return False
    own = last.f_locals.get(name[1], last.f_globals.get(name[1]))
    if own is not None and "tapescope.engine" not in (getattr(own, "__module__", "") or ""):
        return False  # a function of the user's by that name
    return name[1] in _known() or isinstance(getattr(nn, name[1], None), type) or hasattr(creation, name[1])


def _entry(message: str, operands: Operands) -> str:
    for pattern, text in _TABLE:
        match = pattern.search(message)
        if match is not None:
            if not isinstance(text, str):
                return text(match, operands)
            return re.sub(r"\{(\d)\}", lambda group, match=match: match[int(group[1])], text)
    return ""


def _given(call: tuple[str, str, Operands], error: BaseException) -> str:
    """ "linear was given input [8, 5], weight [2, 4] (in Net.fc1)."."""
    op, module, operands = call
    message = str(error)
    if op in ("backward", "grad") or "backward through" in message or "modified by an inplace" in message:
        return ""  # what backward was called on tells nothing
    if any(kind.__name__ == "DeviceError" for kind in type(error).__mro__):
        return ""  # a device that is gone or full is no matter of shapes
    types = len({t.dtype for _, t in operands}) > 1 or "type" in message or "implemented" in message
    shown = [
        f"{'' if name.startswith('args[') else (tensor._label or name) + ' '}[{', '.join(str(n) for n in tensor.shape)}]"
        + (f" {str(tensor.dtype).removeprefix('torch.')}" if types else "")
        for name, tensor in operands[:6]
    ]
    more = f" and {len(operands) - 6} more" if len(operands) > 6 else ""
    what = f"{op} was given" if op in _known() else "It was given"
    return f"{what} {', '.join(shown)}{more}{f' (in {module})' if module else ''}."


def _known() -> set[str]:
    """The names of operators, as people know them; those of the engine's own functions tell nothing."""
    return {*OPS, *(name for f in FUNCTIONS.values() for name in (f.name, *f.aliases))} - {"method"}


def _near_name(error: BaseException) -> str:
    """For an attribute of the engine's objects that does not exist: the name that may have been meant."""
    if not isinstance(error, AttributeError) or not error.name or error.obj is None:
        return ""
    owner = type(error.obj)
    if not (
        isinstance(error.obj, ModuleType) or any("tapescope.engine" in (c.__module__ or "") for c in owner.__mro__)
    ):
        return ""
    names = [n for n in dir(error.obj) if not n.startswith("_")]
    near = difflib.get_close_matches(error.name, names, 1, 0.7)
    lower = next((n for n in names if n.lower() == error.name.lower()), None)
    return f"Did you mean {lower or near[0]}?" if near or lower else ""


def _near_keyword(error: BaseException) -> str:
    """For a keyword that a function does not take: the one that may have been meant, and those there are."""
    found = re.search(r"(\w+)\(\) got an unexpected keyword argument '(\w+)'", str(error))
    if found is None or not isinstance(error, TypeError) or not _is_ours(error):
        return ""
    functions: list[Any] = [f.call for f in FUNCTIONS.values() if found[1] in (f.name, *f.aliases)]
    layer = getattr(nn, str(error).partition(".")[0], None)
    functions += [layer] if isinstance(layer, type) else []
    for function in functions:
        parameters = [n for n in inspect.signature(function).parameters if not n.startswith("_")]
        near = difflib.get_close_matches(found[2], parameters, 1, 0.5)
        meant = f"Did you mean {near[0]}=? " if near else ""
        return f"{meant}It takes {', '.join(parameters)}."
    return ""
