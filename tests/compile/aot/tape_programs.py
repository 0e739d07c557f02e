"""Programs that ask for gradients at results of a compiled graph: hooks, retained gradients, views, parts of the pass.

Each takes `compiled` (what makes a function a compiled one, or nothing) and gives what must be the same either way. One thing is compiled,
and everything that asks stands outside of the graph, as it does behind a graph break.
"""

from __future__ import annotations

from tapescope import engine as torch

PROGRAMS = {}


def program(f):
    PROGRAMS[f.__name__] = f
    return f


def leaf(*shape, seed=0, needs=True):
    torch.manual_seed(seed)
    return torch.randn(*shape, dtype=torch.float64, requires_grad=needs)


def chain(x):
    h = x * 2 + 1
    h = h.tanh()
    y = h * h + x
    return h, y.sum()


@program
def hook_reads(compiled):
    f = compiled(chain)
    x = leaf(3)
    h, loss = f(x)
    seen = []
    h.register_hook(lambda g: seen.append(g.tolist()))
    loss.backward()
    return seen, x.grad


@program
def hook_changes(compiled):
    f = compiled(chain)
    x = leaf(3)
    h, loss = f(x)
    h.register_hook(lambda g: g * 3)
    loss.backward()
    return x.grad


@program
def two_hooks(compiled):
    f = compiled(chain)
    x = leaf(3)
    h, loss = f(x)
    h.register_hook(lambda g: g * 3)
    h.register_hook(lambda g: g + 1)
    loss.backward()
    return x.grad


@program
def hook_removed(compiled):
    f = compiled(chain)
    x = leaf(3)
    h, loss = f(x)
    k = h.register_hook(lambda g: g * 3)
    k.remove()
    loss.backward()
    return x.grad


@program
def retain(compiled):
    f = compiled(chain)
    x = leaf(3)
    h, loss = f(x)
    h.retain_grad()
    loss.backward()
    return h.grad, x.grad


@program
def retain_twice(compiled):
    f = compiled(chain)
    x = leaf(3)
    h, loss = f(x)
    h.retain_grad()
    h.retain_grad()
    loss.backward(retain_graph=True)
    a = h.grad.clone()
    loss.backward()
    return a, h.grad, x.grad


@program
def grad_mid(compiled):
    f = compiled(chain)
    x = leaf(3)
    h, loss = f(x)
    return torch.autograd.grad(loss, h)


@program
def grad_mid_then_rest(compiled):
    f = compiled(chain)
    x = leaf(3)
    h, loss = f(x)
    (g,) = torch.autograd.grad(loss, h)
    h.backward(g)
    return g, x.grad


@program
def grad_mid_and_input(compiled):
    f = compiled(chain)
    x = leaf(3)
    h, loss = f(x)
    return torch.autograd.grad(loss, (h, x))


@program
def backward_inputs(compiled):
    f = compiled(chain)
    x = leaf(3)
    h, loss = f(x)
    loss.backward(inputs=[h])
    return h._grad, x.grad


@program
def backward_inputs_both(compiled):
    f = compiled(chain)
    x = leaf(3)
    h, loss = f(x)
    loss.backward(inputs=[h, x])
    return h._grad, x.grad


@program
def post_accumulate(compiled):
    f = compiled(chain)
    x = leaf(3)
    h, loss = f(x)
    seen = []
    x.register_post_accumulate_grad_hook(lambda t: seen.append(t.grad.tolist()))
    h.register_hook(lambda g: g * 2)
    loss.backward()
    return seen


@program
def more_after(compiled):
    f = compiled(chain)
    x = leaf(3)
    h, loss = f(x)
    seen = []
    h.register_hook(lambda g: seen.append(g.tolist()))
    (loss * 2 + (h * h).sum()).backward()
    return seen, x.grad


@program
def detached_one(compiled):
    f = compiled(chain)
    x = leaf(3)
    h, loss = f(x)
    d = h.detach()
    d.requires_grad_()
    (loss + (d * d).sum()).backward()
    return x.grad, d.grad


@program
def detach_inside(compiled):
    def g(x):
        h = (x * 2).tanh()
        d = h.detach()
        return h, d, (d * x).sum() + h.sum()

    f = compiled(g)
    x = leaf(3)
    h, d, loss = f(x)
    h.retain_grad()
    loss.backward()
    return h.grad, x.grad, d.requires_grad


@program
def inplace_after(compiled):
    f = compiled(lambda x: ((h := x * 2), (h + 1).sum()))
    x = leaf(3)
    h, loss = f(x)
    h.mul_(3)
    h.retain_grad()
    (loss + h.sum()).backward()
    return x.grad, h.grad


@program
def inplace_after_hook_before(compiled):
    f = compiled(lambda x: ((h := x * 2), (h + 1).sum()))
    x = leaf(3)
    h, loss = f(x)
    h.register_hook(lambda g: g * 5)
    h.mul_(3)
    (loss + h.sum()).backward()
    return x.grad


@program
def view_hook(compiled):
    def g(x):
        h = (x * 2).tanh()
        v = h.view(-1)
        return h, v, (v * v).sum()

    f = compiled(g)
    x = leaf(2, 3)
    h, v, loss = f(x)
    seen = []
    h.register_hook(lambda g: seen.append(g.tolist()))
    v.register_hook(lambda g: seen.append(g.tolist()))
    loss.backward()
    return seen, x.grad


@program
def view_of_input(compiled):
    def g(x):
        v = x.view(-1)
        return v, (v * v).sum()

    f = compiled(g)
    x = leaf(2, 3)
    v, loss = f(x)
    v.register_hook(lambda g: g * 2)
    loss.backward()
    return x.grad


@program
def view_only(compiled):
    def g(x):
        h = (x * 2).tanh()
        v = h.t()
        return v, (v * v).sum()

    f = compiled(g)
    x = leaf(2, 3)
    v, loss = f(x)
    v.retain_grad()
    loss.backward()
    return v.grad, x.grad


@program
def view_inplace_after(compiled):
    def g(x):
        h = x * 2
        v = h.view(-1)
        return h, v, (v + 1).sum()

    f = compiled(g)
    x = leaf(2, 3)
    h, v, loss = f(x)
    v.mul_(2)
    (h.sum() + loss).backward()
    return h, v, x.grad


@program
def view_inplace_after_retain(compiled):
    def g(x):
        h = x * 2
        v = h.view(-1)
        return h, v, (v + 1).sum()

    f = compiled(g)
    x = leaf(2, 3)
    h, v, loss = f(x)
    v.mul_(2)
    h.retain_grad()
    v.retain_grad()
    (h.sum() + loss).backward()
    return h.grad, v.grad, x.grad


@program
def input_result(compiled):
    def g(x):
        return x, (x * x).sum()

    f = compiled(g)
    x = leaf(3)
    y = x * 1
    a, loss = f(y)
    a.register_hook(lambda g: g * 2)
    loss.backward()
    return x.grad, a is y


@program
def same_twice(compiled):
    def g(x):
        h = x.exp()
        return h, h, (h * 2).sum()

    f = compiled(g)
    x = leaf(3)
    a, b, loss = f(x)
    a.register_hook(lambda g: g * 2)
    loss.backward()
    return x.grad, a is b


@program
def nograd_result(compiled):
    def g(x):
        h = x.exp()
        with torch.no_grad():
            q = h * 2
        return h, q, (h * q).sum()

    f = compiled(g)
    x = leaf(3)
    h, q, loss = f(x)
    h.retain_grad()
    loss.backward()
    return q.requires_grad, h.grad, x.grad


@program
def integer_result(compiled):
    def g(x):
        h = x.exp()
        i = h.argmax()
        return h, i, h[i] * 2

    f = compiled(g)
    x = leaf(3)
    h, i, loss = f(x)
    h.retain_grad()
    loss.backward()
    return i, h.grad, x.grad


@program
def mutated_input(compiled):
    def g(y):
        y.mul_(3)
        return (y * y).sum()

    f = compiled(g)
    x = leaf(3)
    y = x * 1
    loss = f(y)
    y.register_hook(lambda g: g * 2)
    loss.backward()
    return x.grad


@program
def mutated_input_retain(compiled):
    def g(y):
        y.mul_(3)
        return (y * y).sum()

    f = compiled(g)
    x = leaf(3)
    y = x * 1
    loss = f(y)
    y.retain_grad()
    loss.backward()
    return y.grad, x.grad


@program
def mutated_view_input(compiled):
    def g(v):
        v.mul_(3)
        return (v * v).sum()

    f = compiled(g)
    x = leaf(2, 3)
    y = x * 1
    v = y.view(-1)
    loss = f(v)
    y.retain_grad()
    loss.backward()
    return y.grad, x.grad


@program
def two_losses(compiled):
    def g(x, y):
        return (x * x).sum(), (y * y * y).sum()

    f = compiled(g)
    x, y = leaf(3), leaf(3, seed=1)
    a, b = f(x, y)
    a.backward()
    r = [x.grad.clone(), y.grad]
    b.backward()
    return r, x.grad, y.grad


@program
def unused_stays_none(compiled):
    def g(x, y):
        return (x * x).sum(), (y * y * y).sum()

    f = compiled(g)
    x, y = leaf(3), leaf(3, seed=1)
    a, _b = f(x, y)
    a.backward()
    return x.grad, y.grad


@program
def undefined_inf(compiled):
    def g(x):
        return (x * 2).sum(), x.sqrt()

    f = compiled(g)
    x = torch.zeros(3, requires_grad=True)
    a, _b = f(x)
    a.backward()
    return x.grad


@program
def second_time_error(compiled):
    f = compiled(chain)
    x = leaf(3)
    _h, loss = f(x)
    loss.backward()
    try:
        loss.backward()
    except RuntimeError as e:
        return str(e)[:60], x.grad


@program
def second_through_shared(compiled):
    def g(x):
        u = x.exp()
        return u.sin(), u.cos()

    f = compiled(g)
    x = leaf(3)
    a, b = f(x)
    a.sum().backward()
    try:
        b.sum().backward()
    except RuntimeError as e:
        return str(e)[:60], x.grad


@program
def three_chain(compiled):
    def g(x):
        a = x.sin()
        b = a * a
        c = b.exp() * a
        return a, b, c.sum()

    f = compiled(g)
    x = leaf(3)
    a, b, c = f(x)
    log = []
    a.register_hook(lambda g: log.append(("a", g.tolist())))
    b.register_hook(lambda g: (log.append(("b", g.tolist())), g * 2)[1])
    a.retain_grad()
    c.backward()
    return log, a.grad, x.grad


@program
def grad_between(compiled):
    def g(x):
        a = x.sin()
        b = a * a
        c = b.exp() * a
        return a, b, c.sum()

    f = compiled(g)
    x = leaf(3)
    a, b, c = f(x)
    return (
        torch.autograd.grad(c, (a, b), retain_graph=True),
        torch.autograd.grad(b.sum(), a, retain_graph=True),
        torch.autograd.grad(c, x),
    )


@program
def grad_unrelated(compiled):
    def g(x, y):
        a = x.sin()
        b = y * 2
        return a, b, a.sum()

    f = compiled(g)
    x, y = leaf(3), leaf(3, seed=1)
    a, b, c = f(x, y)
    return torch.autograd.grad(c, (a, b), allow_unused=True)


@program
def grad_self(compiled):
    f = compiled(chain)
    x = leaf(3)
    h, loss = f(x)
    return torch.autograd.grad(h.sum(), h), torch.autograd.grad(loss, loss)


@program
def roots_both(compiled):
    f = compiled(chain)
    x = leaf(3)
    h, loss = f(x)
    h.retain_grad()
    torch.autograd.backward([loss, h], [None, torch.ones(3, dtype=torch.float64)])
    return h.grad, x.grad


@program
def fn_prehook(compiled):
    f = compiled(chain)
    x = leaf(3)
    h, loss = f(x)
    seen = []
    h.grad_fn.register_prehook(lambda gs: seen.append([None if g is None else g.tolist() for g in gs]))
    loss.backward()
    return seen, x.grad


@program
def fn_prehook_changes(compiled):
    f = compiled(chain)
    x = leaf(3)
    h, loss = f(x)
    h.grad_fn.register_prehook(lambda gs: tuple(g * 2 for g in gs))
    loss.backward()
    return x.grad


@program
def split_views(compiled):
    def g(x):
        h = x * 2
        a, b = h.split(1)
        return a, b, (a * b).sum()

    f = compiled(g)
    x = leaf(2, 3)
    a, _b, loss = f(x)
    a.register_hook(lambda g: g * 2)
    loss.backward()
    return x.grad


@program
def unbind_views(compiled):
    def g(x):
        h = x * 2
        a, b = h.unbind(0)
        return a, b, (a * b).sum()

    f = compiled(g)
    x = leaf(2, 3)
    a, b, loss = f(x)
    a.retain_grad()
    b.register_hook(lambda g: g * 2)
    loss.backward()
    return a.grad, x.grad


@program
def hook_on_loss_and_mid(compiled):
    f = compiled(chain)
    x = leaf(3)
    h, loss = f(x)
    loss.register_hook(lambda g: g * 2)
    h.register_hook(lambda g: g + 1)
    loss.backward()
    return x.grad


@program
def hook_raises(compiled):
    f = compiled(chain)
    x = leaf(3)
    h, loss = f(x)

    def bad(g):
        raise ValueError("no")

    h.register_hook(bad)
    try:
        loss.backward()
    except ValueError as e:
        return str(e), x.grad


@program
def hook_wrong_shape(compiled):
    f = compiled(chain)
    x = leaf(3)
    h, loss = f(x)
    h.register_hook(lambda g: g.sum())
    try:
        loss.backward()
    except RuntimeError as e:
        return str(e)[:50], x.grad


@program
def hook_not_called(compiled):
    f = compiled(chain)
    x = leaf(3)
    _h, _loss = f(x)
    seen = []

    def g(x, y):
        return x.sin(), (y * 2).sum()

    f = compiled(g)
    a, b = f(x, leaf(3))
    a.register_hook(lambda g: seen.append(1))
    b.backward()
    return seen, x.grad


@program
def inplace_inside(compiled):
    def g(x):
        h = x * 2
        h.add_(1)
        y = h * h
        h.mul_(1) if False else None
        return h, y.sum()

    f = compiled(g)
    x = leaf(3)
    h, loss = f(x)
    h.retain_grad()
    loss.backward()
    return h.grad, x.grad


@program
def view_inplace_inside(compiled):
    def g(x):
        h = x * 2
        v = h[0]
        v.mul_(3)
        return h, v, (h * h).sum() + v.sum()

    f = compiled(g)
    x = leaf(2, 3)
    h, v, loss = f(x)
    h.retain_grad()
    v.retain_grad()
    loss.backward()
    return h.grad, v.grad, x.grad


@program
def set_data_after(compiled):
    f = compiled(chain)
    x = leaf(3)
    h, loss = f(x)
    h.retain_grad()
    (loss * h.sum()).backward()
    return h.grad, x.grad


@program
def module_step(compiled):
    torch.manual_seed(0)
    m = torch.nn.Sequential(torch.nn.Linear(3, 4), torch.nn.Tanh(), torch.nn.Linear(4, 1)).double()

    def g(x):
        h = m[1](m[0](x))
        return h, m[2](h).square().mean()

    f = compiled(g)
    x = leaf(5, 3, needs=False)
    h, loss = f(x)
    h.register_hook(lambda g: g.clamp(-0.01, 0.01))
    h.retain_grad()
    loss.backward()
    return h.grad, [q.grad for q in m.parameters()]


@program
def checkpointed_hooks(compiled):
    seen = []

    def g(x):
        h = x.sin()
        y = h.exp()
        return h, y

    f = compiled(g)
    x = leaf(3)
    h, y = f(x)
    h.register_hook(lambda g: seen.append(g.tolist()))
    y.register_hook(lambda g: seen.append(g.tolist()))
    (y * h).sum().backward()
    return seen, x.grad


@program
def accumulate_twice(compiled):
    f = compiled(chain)
    x = leaf(3)
    h, loss = f(x)
    h.retain_grad()
    loss.backward(retain_graph=True)
    loss.backward(retain_graph=True)
    h.sum().backward()
    return h.grad, x.grad


@program
def param_result(compiled):
    w = torch.nn.Parameter(leaf(3).detach())

    def g(x):
        h = w * x
        return w, h, h.sum()

    f = compiled(g)
    x = leaf(3)
    ww, h, loss = f(x)
    ww.register_hook(lambda g: g * 2)
    h.register_hook(lambda g: g * 3)
    loss.backward()
    return ww is w, w.grad, x.grad


@program
def mixed_break(compiled):
    def g(x):
        h = x.tanh()
        y = h * 2
        print("break")
        h.register_hook(lambda g: g * 2)
        h.retain_grad()
        z = (y + h).sum()
        z.backward()
        return h.grad, x.grad

    return compiled(g)(leaf(3))


@program
def mixed_break_grad(compiled):
    def g(x):
        h = x.tanh()
        y = h * 2
        print("break")
        z = (y + h).sum()
        a = torch.autograd.grad(z, h, retain_graph=True)
        z.backward()
        return a, x.grad

    return compiled(g)(leaf(3))
