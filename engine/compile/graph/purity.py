"""Which nodes do more than give a value, so that no pass may drop, repeat or reorder them."""

from __future__ import annotations

from typing import Any

from .node import Node

RANDOM = frozenset(
    [
        "rand",
        "randn",
        "randint",
        "randperm",
        "rand_like",
        "randn_like",
        "randint_like",
        "bernoulli",
        "bernoulli_",
        "multinomial",
        "normal",
        "dropout",
        "dropout_",
        "alpha_dropout",
        "alpha_dropout_",
        "feature_dropout",
        "feature_alpha_dropout",
        "dropout1d",
        "dropout2d",
        "dropout3d",
        "rrelu",
        "rrelu_",
        "gumbel_softmax",
        "poisson",
        "binomial",
        "_standard_gamma",
        "_sample_dirichlet",
        "standard_gamma",
        "sample_dirichlet",
        "scaled_dot_product_attention",
        "multi_head_attention_forward",
        "fractional_max_pool2d",
        "fractional_max_pool3d",
        "fractional_max_pool2d_with_indices",
        "fractional_max_pool3d_with_indices",
        "draw",
        "svd_lowrank",
        "pca_lowrank",
    ]
)
"""Functions that may draw random numbers, by name."""

WRITING = frozenset(
    [
        "batch_norm",
        "instance_norm",
        "embedding",
        "embedding_bag",
        "backward",
        "grad",
        "get_grad",
        "set_grad",
        "setitem",
        "iadd",
        "isub",
        "imul",
        "itruediv",
        "ifloordiv",
        "imod",
        "ipow",
        "imatmul",
        "iand",
        "ior",
        "ixor",
        "ilshift",
        "irshift",
        "delitem",
        "copyto",
        "manual_seed",
        "set_grad_enabled",
        "resize_",
        "data",
    ]
)
"""Functions that may write to their arguments or to the state of the tape, by name."""


def target_name(target: Any) -> str:
    """The last part of the name of a target."""
    name = target if isinstance(target, str) else getattr(target, "name", None) or getattr(target, "__name__", "")
    return str(name).split(".")[-1]


def is_random(node: Node) -> bool:
    """Whether the node draws from a generator (as far as its name tells)."""
    if "random" in node.meta:
        return bool(node.meta["random"])
    return getattr(node.target, "kind", None) == "random" or target_name(node.target) in RANDOM


def is_impure(node: Node) -> bool:
    """Whether a node must stay although nobody uses its value. `meta["impure"]`, where set, decides."""
    if node.op in ("placeholder", "output"):
        return True
    if node.op == "get_attr":
        return False
    said = node.meta.get("impure")
    if said is not None:
        return bool(said)
    if is_random(node):
        return True
    if hasattr(node.target, "tensors"):  # a primitive: functional by contract
        return False
    name = target_name(node.target)
    if name.endswith("_") and not name.endswith("__"):
        return True
    return name in WRITING or "out" in node.kwargs or node.kwargs.get("inplace") is True or name.startswith("__set")
