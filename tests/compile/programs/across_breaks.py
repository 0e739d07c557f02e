"""Programs whose tape, autocast region or hooks reach over a graph break: every backend must give what eager execution gives."""

from __future__ import annotations

import itertools
import sys

from tapescope import engine as torch

from .harness import program

nn = torch.nn


def weight(*values: float) -> torch.Tensor:
    return torch.tensor(values or (1.0, 2.0, 4.0), requires_grad=True)


@program(["print", "outer-tape"])
def step_after_a_print():
    """A break between forward and backward: the optimizer must not take the parameters for untouched."""
    w = weight()
    optimizer = torch.optim.SGD([w], 0.5)

    def f(x):
        loss = (w * x).sum()
        print("forward is done")
        loss.backward()
        optimizer.step()
        return w.grad

    return f, [(torch.ones(3),)] * 3, w


@program(["item", "outer-tape"])
def training_that_reads_its_loss():
    """The commonest loop: `loss.item()` before backward."""
    m = nn.Linear(2, 1)
    with torch.no_grad():
        m.weight.fill_(0.5)
        m.bias.fill_(0.25)
    optimizer = torch.optim.SGD(m.parameters(), 0.5, momentum=0.5)

    def f(x, y):
        optimizer.zero_grad()
        loss = ((m(x) - y) ** 2).mean()
        value = loss.item()
        loss.backward()
        optimizer.step()
        return value

    return f, [(torch.ones(2, 2), torch.ones(2, 1))] * 3, m


@program(["outer-tape"])
def loss_as_an_argument():
    """What was computed outside is gone back through outside."""
    w = weight()

    def f(loss):
        loss.backward()
        return None if w.grad is None else w.grad * 2

    return f, [((w * 2).sum(),), ((w * 4).sum(),)], w


@program(["outer-tape"])
def more_of_a_loss_from_outside():
    """A graph that goes on from a loss, then back through both."""
    w = weight()

    def f(part):
        loss = part * 3 + (w * w).sum()
        loss.backward()
        return w.grad

    return f, [((w * 2).sum(),)] * 1, w


@program(["outer-tape"])
def several_losses():
    """`autograd.backward` of two, one of them from outside."""
    w = weight()

    def f(part):
        torch.autograd.backward([part, (w * 4).sum()])
        return w.grad

    return f, [((w * 2).sum(),)], w


@program(["outer-tape"])
def gradients_of_a_loss_from_outside():
    """`autograd.grad` down to a leaf behind an argument."""
    w = weight()

    def f(h):
        (g,) = torch.autograd.grad((h * h).sum(), w)
        return g + 1, w.grad

    return f, [(w * 2,), (w * 3,)], w


@program(graphs=1)
def gradients_up_to_an_argument():
    """Down to the argument itself nothing of the tape before it is needed: one graph."""
    w = weight()

    def f(h):
        (g,) = torch.autograd.grad((h * h).sum(), h)
        return g

    return f, [(w * 2,), (w * 3,)], w


@program(graphs=1)
def gradients_of_what_is_made_inside():
    """Neither where the tensor asked for was made inside."""
    w = weight()

    def f(h):
        inner = h * 2
        (g,) = torch.autograd.grad((inner * inner).sum(), inner)
        return g

    return f, [(w * 2,)], w


@program(["print", "outer-tape"])
def unused_gradient():
    """What autograd.grad refuses, it refuses on the real tape."""
    w, other = weight(), weight()

    def f(x):
        loss = (w * x).sum()
        print("break")
        try:
            return torch.autograd.grad(loss, other)
        except RuntimeError as error:
            return type(error).__name__

    return f, [(torch.ones(3),)]


@program(["print", "outer-tape", "outer-tape"])
def backward_twice():
    """The second time the tape is spent, and says so."""
    w = weight()

    def f(x):
        loss = (w * w * x).sum()
        print("break")
        loss.backward()
        try:
            loss.backward()
        except RuntimeError:
            return w.grad, "spent"
        return w.grad

    return f, [(torch.ones(3),)], w


@program(["print", "outer-tape", "outer-tape"])
def retained_graph():
    """With `retain_graph` it is not."""
    w = weight()

    def f(x):
        loss = (w * w * x).sum()
        print("break")
        loss.backward(retain_graph=True)
        loss.backward()
        return w.grad

    return f, [(torch.ones(3),)], w


@program(["inner-tape", "print", "outer-tape"])
def retained_gradient():
    """`retain_grad` of what leaves the graph: its gradient is kept wherever backward runs."""
    w = weight()

    def f(x):
        h = w * x
        h.retain_grad()
        loss = (h * h).sum()
        print("break")
        loss.backward()
        return h.grad

    return f, [(torch.ones(3),)] * 2, w


@program(["inner-tape"])
def retained_gradient_of_a_result():
    """The caller goes back."""
    w = weight()

    def f(x):
        h = w * x
        h.retain_grad()
        return (h * h).sum(), h

    return f, [(torch.ones(3),)], w


@program(["outer-tape", "hook"])
def retained_gradient_of_an_argument():
    """`retain_grad` of an argument stays with it."""
    w = weight()

    def f(h):
        h.retain_grad()
        (h * h).sum().backward()
        return h.grad

    return f, [(w * 2,), (w * 3,)], w


@program(["hook", "outer-tape"])
def hook_of_an_argument():
    """A hook that is there when backward comes by."""
    w = weight()
    seen: list[object] = []

    def f(h):
        loss = (h * h).sum()
        h.register_hook(lambda g: seen.append(g.tolist()))
        loss.backward()
        return w.grad

    return f, [(w * 2,)], w, seen


@program(["print", "outer-tape"])
def clipped_gradients():
    """What reads gradients after backward sees the real ones."""
    w = weight(3.0, 4.0)

    def f(x):
        loss = (w * x).sum()
        print("break")
        loss.backward()
        norm = torch.nn.utils.clip_grad_norm_([w], 100.0)
        return norm, w.grad * 2

    return f, [(torch.tensor([3.0, 4.0]),)], w


@program(["inner-tape", "print", "outer-tape"])
def leaf_made_inside():
    """A leaf that was made in the graph before the break."""

    def f(x):
        y = x.clone().requires_grad_()
        loss = (y * y).sum()
        print("break")
        loss.backward()
        return y.grad

    return f, [(torch.ones(2),)] * 2


@program(["print", "outer-tape"])
def gradient_of_a_gradient():
    """`create_graph` over a break."""
    w = weight()

    def f(x):
        y = (w * w * w * x).sum()
        (g,) = torch.autograd.grad(y, w, create_graph=True)
        loss = g.sum()
        print("break")
        loss.backward()
        return w.grad

    return f, [(torch.ones(3),)], w


@program(graphs=2)
def history_of_an_argument():
    """The tape behind an argument is the real one."""
    x = torch.ones(2, requires_grad=True)

    def f(y):
        out, nodes = [], [y.grad_fn]
        while nodes:
            node = nodes.pop()
            if node is not None:
                out.append(type(node).__name__)
                nodes += [n for n, _ in node.next_functions]
        return out, y + 1

    return f, [(x**2,), ((x * 2).exp(),), (x**2,)]


@program(["print"])
def autocast_over_a_break():
    """A region that is open when the graph ends is open in the next one."""
    w = torch.ones(2, 2)

    def f(x):
        with torch.autocast("cpu", dtype=torch.bfloat16):
            y = w @ x
            print("break")
            z = y @ w
        return y, z, w @ x

    return f, [(torch.ones(2, 2),)] * 2


@program(["print", "print"])
def autocast_regions_in_each_other():
    """Two regions, with a break in each, and a backward pass through all of it."""
    w = torch.ones(2, 2, requires_grad=True)

    def f(x):
        with torch.autocast("cpu", dtype=torch.bfloat16):
            y = w @ x
            print("outer")
            with torch.autocast("cpu", enabled=False):
                z = y.float() @ w
                print("inner")
            u = w @ w
        return y.dtype, z.dtype, u.dtype, w @ x, torch.is_autocast_enabled("cpu")

    return f, [(torch.ones(2, 2),)] * 2, w


@program(["print"])
def transform_of_what_was_before_a_break():
    """The result of `func.grad` has a history where the function closes over something that has one."""
    w = weight()

    def f(x):
        y = (w * x).sum()
        print("break")
        return torch.func.grad(lambda v: (v * y).sum())(x)

    return f, [(torch.ones(3),)]


@program(["mutation"])
def first_call_of_a_lazy_layer():
    """The parameters get their shapes in the graph: other memory for tensors that existed before."""
    torch.manual_seed(3)
    m = nn.Sequential(nn.LazyLinear(3), nn.ReLU())

    def f(x):
        return m(x)

    return f, [(torch.ones(1, 2),)] * 2


@program()
def shape_of_an_argument_changed_in_place():
    """`t_` and `unsqueeze_` are seen by the caller."""

    def f(x, y):
        x.t_()
        y.unsqueeze_(0)
        return x + 1, y

    return f, [(torch.arange(6.0).reshape(2, 3), torch.ones(2))] * 2


@program(graphs=1)
def accumulated_tensors():
    """Sums of tensors, and of numbers that were not looked at before."""

    def f(x, n):
        total = sum(itertools.accumulate([x, x]))
        return (
            total,
            list(itertools.accumulate([n, 2, 3])),
            list(itertools.accumulate([x, x], lambda a, b: a * b, initial=x)),
        )

    return f, [(torch.ones(2), 1)] * 2


@program()
def sequence_of_schedulers():
    """`SequentialLR` looks for its place with `bisect`."""
    w = nn.Parameter(torch.ones(2))
    optimizer = torch.optim.SGD([w], 0.5)
    rates = torch.optim.lr_scheduler
    scheduler = rates.SequentialLR(
        optimizer, [rates.ConstantLR(optimizer, 0.5, 2), rates.StepLR(optimizer, 1, 0.5)], [2]
    )

    def f(x):
        optimizer.zero_grad()
        (w * x).sum().backward()
        optimizer.step()
        scheduler.step()
        return scheduler.get_last_lr()

    return f, [(torch.ones(2),)] * 4, w


@program(
    ["print" if sys.version_info < (3, 14) else "escape"]
)  # from 3.14 on, iterators of itertools cannot be put together half-way
def accumulation_over_a_break():
    """An iterator that stands half-way when the graph ends."""

    def f(x, n):
        sums = itertools.accumulate([x, x * n, x])
        first = next(sums)
        print("break")
        return first, list(sums)

    return f, [(torch.ones(2), 1), (torch.ones(2), 2)]
