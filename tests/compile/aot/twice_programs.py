"""Programs that differentiate a backward pass through a compiled graph (`create_graph=True`)."""

from __future__ import annotations

from tapescope import engine as torch

from .tape_programs import chain, leaf, program


@program
def grad_mid_create(compiled):
    f = compiled(chain)
    x = leaf(3)
    h, loss = f(x)
    (g,) = torch.autograd.grad(loss, h, create_graph=True)
    return g, torch.autograd.grad(g.sum(), x)


@program
def hook_create_graph(compiled):
    f = compiled(chain)
    x = leaf(3)
    h, loss = f(x)
    h.register_hook(lambda g: g * g)
    (g,) = torch.autograd.grad(loss, x, create_graph=True)
    return g, torch.autograd.grad(g.sum(), x)


@program
def random_create(compiled):
    def g(x):
        h = torch.nn.functional.dropout(x.exp(), 0.5)
        return h, (h * h).sum()

    f = compiled(g)
    x = leaf(8)
    torch.manual_seed(3)
    _h, loss = f(x)
    (g,) = torch.autograd.grad(loss, x, create_graph=True)
    return g, torch.autograd.grad(g.sum(), x), torch.rand(1)


@program
def temporaries_create(compiled):
    def g(y):
        h = y.exp()
        return h, (h * h).sum()

    f = compiled(g)
    x = leaf(3)
    _h, loss = f(x * 2)
    (g,) = torch.autograd.grad(loss, x, create_graph=True)
    return g, torch.autograd.grad(g.sum(), x)


@program
def bn_create(compiled):
    bn = torch.nn.BatchNorm1d(3).double()

    def g(x):
        h = bn(x)
        return h, (h * h * h).sum()

    f = compiled(g)
    x = leaf(4, 3)
    _h, loss = f(x)
    (g,) = torch.autograd.grad(loss, x, create_graph=True)
    return g, torch.autograd.grad(g.square().sum(), x), bn.running_mean, bn.num_batches_tracked


@program
def second_order_between(compiled):
    f = compiled(lambda x: ((h := x.sin()), (h**3).sum()))
    x = leaf(3)
    h, loss = f(x)
    (g,) = torch.autograd.grad(loss, h, create_graph=True)
    (gg,) = torch.autograd.grad(g.sum(), h, create_graph=True)
    (gx,) = torch.autograd.grad(gg.sum(), x)
    return g, gg, gx


@program
def penalty_across(compiled):
    def g(x):
        y = (x * 2).tanh()
        print("break")
        loss = (y * y).sum()
        print("again")
        (gx,) = torch.autograd.grad(loss, x, create_graph=True)
        p = gx.square().sum()
        p.backward()
        return p, x.grad

    return compiled(g)(leaf(3))
