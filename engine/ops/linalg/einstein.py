"""`einsum`: sums of products by labelled dimensions, of any number of tensors.

The equation is parsed to lists of labels, the operands contracted from left to right, two at a time, each pair by one (stack of)
matrix products. Everything is written with other operators, so gradients follow.
"""

from __future__ import annotations

import functools
import math
from typing import Any

from ... import dispatch
from ...tensor import Tensor
from ..declare import operator
from ..matmul import bmm, mm

Labels = list[Any]
_LETTERS = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz"


def _letters(text: str, where: str, start: int) -> Labels:
    """Labels of one term of the equation; `...` for the ellipsis."""
    out: Labels = []
    i = 0
    while i < len(text):
        c = text[i]
        if c == ".":
            if ... in out:
                raise RuntimeError(f"einsum(): found '.' for {where} for which an ellipsis was already found")
            if text[i : i + 3] != "...":
                ending = " (...)" if where == "output" else ""
                raise RuntimeError(f"einsum(): found '.' for {where} that is not part of any ellipsis{ending}")
            out.append(...)
            i += 3
            continue
        if c != " ":
            if c not in _LETTERS:
                raise RuntimeError(
                    f"einsum(): invalid subscript given at index {start + i} in the equation string, subscripts must be in [a-zA-Z]"
                )
            out.append(_LETTERS.index(c))
        i += 1
    return out


@functools.lru_cache(512)
def _parse(equation: str) -> tuple[list[Labels], Labels | None]:
    """Labels of every operand and of the output (None where none is given); not to be changed."""
    left, arrow, right = equation.partition("->")
    terms, start = [], 0
    for i, term in enumerate(left.split(",")):
        terms.append(_letters(term, f"operand {i}", start))
        start += len(term) + 1
    return terms, _letters(right, "output", len(left) + 2) if arrow else None


def _listed(args: tuple[Any, ...]) -> tuple[list[Labels], Labels | None, list[Tensor]]:
    """The form `einsum(tensor, [0, 1], tensor, [1, 2], [0, 2])`."""

    def labels(given: Any) -> Labels:
        out = [v if v is ... else int(v) for v in given]
        if any(v is not ... and not 0 <= v < 52 for v in out):
            raise ValueError("einsum(): subscript in subscript list is not within the valid range [0, 52)")
        return out

    pairs = len(args) // 2
    tensors = [args[2 * i] for i in range(pairs)]
    return [labels(args[2 * i + 1]) for i in range(pairs)], labels(args[-1]) if len(args) % 2 else None, tensors


def _diagonals(t: Tensor, labels: Labels, which: int) -> tuple[Tensor, Labels]:
    """The tensor with a dimension for each label: of repeated ones the diagonal."""
    out = list(labels)
    at = 0
    while at < len(out):
        again = next((i for i in range(at + 1, len(out)) if out[i] == out[at]), None)
        if again is None:
            at += 1
            continue
        if t.shape[at] != t.shape[again]:
            raise RuntimeError(
                f"einsum(): subscript {_named(out[at])} is repeated for operand {which} but the sizes don't match, "
                f"{t.shape[again]} != {t.shape[at]}"
            )
        t = t.diagonal(0, at, again)
        out = [*out[:at], *out[at + 1 : again], *out[again + 1 :], out[at]]
        at = 0
    return t, out


def _named(label: Any) -> str:
    return _LETTERS[label] if isinstance(label, int) else "..."


def _spelled(tensors: list[Tensor], terms: list[Labels], output: Labels | None) -> tuple[list[Labels], Labels]:
    """Labels without ellipses (those of its dimensions are pairs), and the output's, by default in alphabetical order."""
    spelled, wide = [], 0
    for i, (t, labels) in enumerate(zip(tensors, terms, strict=True)):
        letters = len([v for v in labels if v is not ...])
        if ... not in labels and letters != t.ndim:
            raise RuntimeError(
                f"einsum(): the number of subscripts in the equation ({letters}) does not match the number of dimensions ({t.ndim}) "
                f"for operand {i} and no ellipsis was given"
            )
        if letters > t.ndim:
            raise RuntimeError(
                f"einsum(): the number of subscripts in the equation ({letters}) is more than the number of dimensions ({t.ndim}) for "
                f"operand {i}"
            )
        extra = t.ndim - letters
        wide = max(wide, extra if ... in labels else 0)
        spelled.append(
            [v for label in labels for v in ([("...", -k) for k in range(extra, 0, -1)] if label is ... else [label])]
        )
    ellipsis: Labels = [("...", -k) for k in range(wide, 0, -1)]
    letters_used = [v for term in spelled for v in term if isinstance(v, int)]
    if output is None:
        return spelled, [*ellipsis, *sorted({v for v in letters_used if letters_used.count(v) == 1})]
    for label in output:
        if label is ...:
            continue
        if output.count(label) > 1:
            raise RuntimeError(f"einsum(): output subscript {_named(label)} appears more than once in the output")
        if label not in letters_used:
            raise RuntimeError(
                f"einsum(): output subscript {_named(label)} does not appear in the equation for any input operand"
            )
    return spelled, [v for label in output for v in (ellipsis if label is ... else [label])]


def _check_sizes(tensors: list[Tensor], terms: list[Labels]) -> None:
    seen: dict[Any, int] = {}
    for i, (t, labels) in enumerate(zip(tensors, terms, strict=True)):
        for label, n in zip(labels, t.shape, strict=True):
            have = seen.get(label, 1)
            if n not in (1, have) and have != 1:
                raise RuntimeError(
                    f"einsum(): subscript {_named(label)} has size {n} for operand {i} which does not broadcast with previously seen "
                    f"size {have}"
                )
            seen[label] = max(have, n) if n else n


def _sum_out(t: Tensor, labels: Labels, keep: set[Any]) -> tuple[Tensor, Labels]:
    """Summed over the dimensions that nobody else needs."""
    gone = [i for i, v in enumerate(labels) if v not in keep]
    return (t.sum(gone), [v for v in labels if v in keep]) if gone else (t, labels)


def _arranged(t: Tensor, labels: Labels, order: Labels) -> Tensor:
    """The dimensions in the order given, with ones for labels that the tensor has not."""
    have = [labels.index(v) for v in order if v in labels]
    out = t if have == list(range(t.ndim)) else t.permute(*have)
    shape = iter(out.shape)
    return out if len(have) == len(order) else out.reshape([next(shape) if v in labels else 1 for v in order])


def _shaped(t: Tensor, *shape: int) -> Tensor:
    return t if tuple(t._data.shape) == shape else t.reshape(shape)


def _pair(a: Tensor, la: Labels, b: Tensor, lb: Labels, keep: set[Any]) -> tuple[Tensor, Labels]:
    """Two operands contracted over the labels that only they have."""
    a, la = _sum_out(a, la, keep | set(lb))
    b, lb = _sum_out(b, lb, keep | set(la))
    shared = [v for v in la if v in lb]
    over = [v for v in shared if v not in keep]
    for v in list(over):  # a dimension of size 1 is repeated: the other's elements are summed
        n, m = a.shape[la.index(v)], b.shape[lb.index(v)]
        if n != m:
            a, b = (a.sum(la.index(v), keepdim=True), b) if m == 1 else (a, b.sum(lb.index(v), keepdim=True))
    batch = [v for v in shared if v in keep]
    order = [*batch, *[v for v in la if v not in lb], *[v for v in lb if v not in la]]
    if not over:
        return _arranged(a, la, order) * _arranged(b, lb, order), order
    mine, theirs = [v for v in la if v not in lb], [v for v in lb if v not in la]
    left = _arranged(a, la, [*batch, *mine, *over])
    right = _arranged(b, lb, [*batch, *over, *theirs])
    k = len(batch)
    mine_sizes, their_sizes = left._data.shape[k : k + len(mine)], right._data.shape[k + len(over) :]
    rows, columns = math.prod(mine_sizes), math.prod(their_sizes)
    inner = math.prod(left._data.shape[k + len(mine) :])
    if not batch:
        out = mm(_shaped(left, rows, inner), _shaped(right, inner, columns))
        return out.reshape(*mine_sizes, *their_sizes), order
    lead = [max(a._data.shape[la.index(v)], b._data.shape[lb.index(v)]) for v in batch]
    left, right = left.expand(*lead, *left._data.shape[k:]), right.expand(*lead, *right._data.shape[k:])
    count = math.prod(lead)
    out = bmm(_shaped(left, count, rows, inner), _shaped(right, count, inner, columns))
    return out.reshape(*lead, *mine_sizes, *their_sizes), order


@operator(method=False)
def einsum(*args: Any) -> Tensor:
    """Sums of products: `einsum("ij,jk->ik", a, b)` is the matrix product.

    Letters name dimensions; those that the output lacks are summed over, `...` stands for all others, and without `->` the output has
    the letters that appear once, in alphabetical order. Operands may also be given with lists of numbers in the place of letters.
    Raises RuntimeError for an equation that does not fit the operands.
    """
    if len(args) < 2:
        raise ValueError(
            "einsum(): must specify the equation string and at least one operand, or at least one operand and its subscripts list"
        )
    if isinstance(args[0], Tensor):
        terms, output, tensors = _listed(args)
    else:
        if not isinstance(args[0], str):
            raise TypeError(f"einsum(): argument 'equation' (position 1) must be str, not {type(args[0]).__name__}")
        tensors = list(args[1]) if len(args) == 2 and isinstance(args[1], (list, tuple)) else list(args[1:])
        terms, output = _parse(args[0])
    for i, t in enumerate(tensors):
        if not isinstance(t, Tensor):
            raise TypeError(f"expected Tensor as element {i} in argument 1, but got {type(t).__name__}")
    if len(terms) != len(tensors):
        how = "fewer" if len(terms) > len(tensors) else "more"
        raise RuntimeError(f"einsum(): {how} operands were provided than specified in the equation")
    spelled, result = _spelled(tensors, terms, output)
    made = [_diagonals(t, labels, i) for i, (t, labels) in enumerate(zip(tensors, spelled, strict=True))]
    operands, labels = [m[0] for m in made], [m[1] for m in made]
    _check_sizes(operands, labels)
    for t in operands[1:]:
        if t._dtype is not operands[0]._dtype and not dispatch.casting():
            raise RuntimeError(
                f"expected scalar type {dispatch.type_name(operands[0]._dtype)} but found {dispatch.type_name(t._dtype)}"
            )
    out, have = operands[0], labels[0]
    for i in range(1, len(operands)):
        keep = set(result).union(*labels[i + 1 :])
        out, have = _pair(out, have, operands[i], labels[i], keep)
    out, have = _sum_out(out, have, set(result))
    order = [have.index(v) for v in result]
    return out.permute(*order) if out is operands[0] or order != list(range(len(order))) else out
