"""More programs like those of `tape_programs.py`: passes through a part of a graph, gradients that stay None, several calls, derivatives twice."""

from __future__ import annotations

from tapescope import engine as torch

from .tape_programs import chain, leaf, program


@program
def spent_and_fine(compiled):
    def g(x, y):
        loss = (x * x).sum()
        loss.backward()
        return loss, (y * y).sum()

    f = compiled(g)
    x, y = leaf(3), leaf(3, seed=1)
    a, b = f(x, y)
    b.backward()
    r = y.grad
    try:
        a.backward()
    except RuntimeError as e:
        return r, x.grad, str(e)[:30]


@program
def born_leaf(compiled):
    def g(x):
        w = torch.ones(3, requires_grad=True)
        return w, x * 2

    f = compiled(g)
    x = leaf(3)
    w, y = f(x)
    return w.requires_grad, w.is_leaf, y.is_leaf


@program
def born_hung(compiled):
    def g(x):
        w = torch.ones(3, dtype=torch.float64, requires_grad=True)
        return w, (x * w).sum()

    f = compiled(g)
    x = leaf(3)
    w, y = f(x)
    y.backward()
    return w.grad, x.grad


@program
def born_only(compiled):
    def g():
        w = torch.ones(3, requires_grad=True)
        return w * 2

    f = compiled(g)
    y = f()
    return y.requires_grad, y


@program
def view_chain_input(compiled):
    def g(x):
        a = x.view(-1)
        b = a.view(3, 2)
        return a, b

    f = compiled(g)
    x = leaf(2, 3)
    a, b = f(x)
    a.register_hook(lambda g: g * 3)
    b.sum().backward()
    return x.grad


@program
def view_base_inplace_then(compiled):
    def g(x):
        h = x * 2
        v = h.view(-1)
        return h, v, (v * v).sum()

    f = compiled(g)
    x = leaf(2, 3)
    h, v, loss = f(x)
    with torch.no_grad():
        pass
    loss.backward(retain_graph=True)
    h2 = h + v.view(2, 3)
    h2.sum().backward()
    return x.grad


@program
def inplace_view_breaks_saved(compiled):
    def g(x):
        h = x * 2
        v = h.view(-1)
        return h, v, (v * v).sum()

    f = compiled(g)
    x = leaf(2, 3)
    h, _v, loss = f(x)
    h.mul_(2)
    try:
        loss.backward()
    except RuntimeError as e:
        return "inplace" in str(e)


@program
def view_after_inplace(compiled):
    def g(x):
        h = x * 2
        v = h.view(-1)
        return h, v, (v + v).sum()

    f = compiled(g)
    x = leaf(2, 3)
    h, v, loss = f(x)
    v.retain_grad()
    h.mul_(2)
    (loss + v.sum()).backward()
    return x.grad, v.grad


@program
def hook_returns_none_and_dict(compiled):
    f = compiled(chain)
    x = leaf(3)
    h, loss = f(x)
    n = []
    h.register_hook(lambda g: n.append(1))
    h.register_hook(lambda g: None)
    loss.backward()
    return n, x.grad


@program
def retain_unreached(compiled):
    def g(x, y):
        return x.sin(), (y * 2).sum()

    f = compiled(g)
    x, y = leaf(3), leaf(3)
    a, b = f(x, y)
    a.retain_grad()
    b.backward()
    return a.grad, x.grad, y.grad


@program
def freed_partial(compiled):
    def g(x):
        a = x.sin()
        return a, a.exp().sum(), a.cos().sum()

    f = compiled(g)
    x = leaf(3)
    a, b, c = f(x)
    r = torch.autograd.grad(b, a)
    s = torch.autograd.grad(c, a)
    try:
        torch.autograd.grad(b, a)
    except RuntimeError as e:
        return r, s, str(e)[:40], torch.autograd.grad(a.sum(), x)


@program
def freed_nothing_saved(compiled):
    def g(x):
        a = x + 1
        return a, (a * 2).sum()

    f = compiled(g)
    x = leaf(3)
    a, b = f(x)
    b.backward()
    a.sum().backward()
    b.backward()
    return x.grad


@program
def gan(compiled):
    torch.manual_seed(0)
    D = torch.nn.Linear(3, 1).double()
    G = torch.nn.Linear(3, 3).double()

    def g(z, r):
        fake = G(z)
        return fake, D(r).mean() - D(fake.detach()).mean(), D(fake).mean()

    f = compiled(g)
    z, r = leaf(4, 3, needs=False), leaf(4, 3, seed=1, needs=False)
    fake, d, gl = f(z, r)
    d.backward(retain_graph=True)
    a = [p.grad.clone() for p in D.parameters()] + [p.grad for p in G.parameters()]
    gl.backward()
    return a, [p.grad for p in [*D.parameters(), *G.parameters()]], fake


@program
def adam_none_grads(compiled):
    torch.manual_seed(0)
    A = torch.nn.Linear(3, 1).double()
    B = torch.nn.Linear(3, 1).double()
    o = torch.optim.Adam([*A.parameters(), *B.parameters()], weight_decay=0.1)
    f = compiled(lambda x: (A(x).mean(), B(x).mean()))
    a, _b = f(leaf(4, 3, needs=False))
    a.backward()
    o.step()
    return list(B.parameters()), list(A.parameters())


@program
def detached_hook_view(compiled):
    def g(x):
        h = x.exp()
        d = h.detach()
        return h, d, d.view(-1), (h * 2).sum()

    f = compiled(g)
    x = leaf(3)
    h, d, v, loss = f(x)
    h.retain_grad()
    loss.backward()
    return h.grad, d.requires_grad, v.requires_grad


@program
def dict_results(compiled):
    def g(x):
        h = x.exp()
        return {"h": h, "l": (h * 2).sum(), "n": 3, "l2": [h.sin(), None]}

    f = compiled(g)
    x = leaf(3)
    o = f(x)
    o["h"].register_hook(lambda g: g * 2)
    (o["l"] + o["l2"][0].sum()).backward()
    return x.grad


@program
def many_layers(compiled):
    def g(x):
        out = []
        for _ in range(6):
            x = (x * 1.5).tanh()
            out.append(x)
        return out, x.sum()

    f = compiled(g)
    x = leaf(4)
    hs, loss = f(x)
    for i, h in enumerate(hs):
        h.retain_grad()
        h.register_hook(lambda g, i=i: g * (1 + i / 10))
    loss.backward()
    return [h.grad for h in hs], x.grad


@program
def twice_called(compiled):
    f = compiled(chain)
    x = leaf(3)
    r = []
    for k in range(3):
        h, loss = f(x)
        if k == 1:
            h.register_hook(lambda g: g * 2)
        loss.backward()
        r.append(x.grad.clone())
    return r


@program
def chained_calls(compiled):
    f = compiled(chain)
    x = leaf(3)
    h, loss = f(x)
    h2, loss2 = f(h)
    h2.retain_grad()
    h.retain_grad()
    (loss + loss2).backward()
    return h.grad, h2.grad, x.grad


@program
def chained_calls_grad(compiled):
    f = compiled(chain)
    x = leaf(3)
    h, loss = f(x)
    h2, loss2 = f(h)
    return torch.autograd.grad(loss2 + loss, [h, h2, x])


@program
def chained_double(compiled):
    f = compiled(chain)
    x = leaf(3)
    h, loss = f(x)
    _h2, loss2 = f(h)
    (g,) = torch.autograd.grad(loss2 + loss, h, create_graph=True)
    return g, torch.autograd.grad(g.sum(), [x])


@program
def unbind_double(compiled):
    def g(x):
        h = x * x
        a, b = h.unbind(0)
        return a, b, (a * b).sum()

    f = compiled(g)
    x = leaf(2, 3)
    a, _b, loss = f(x)
    (ga,) = torch.autograd.grad(loss, a, create_graph=True)
    return ga, torch.autograd.grad(ga.sum(), x)


@program
def view_double(compiled):
    def g(x):
        h = x * x
        v = h.view(-1)
        return h, v, (v**3).sum()

    f = compiled(g)
    x = leaf(2, 3)
    h, v, loss = f(x)
    gh, gv = torch.autograd.grad(loss, [h, v], create_graph=True)
    return gh, gv, torch.autograd.grad((gh.view(-1) * gv).sum(), x)


@program
def inplace_double(compiled):
    def g(x):
        h = x * x
        h.mul_(2)
        return h, (h**3).sum()

    f = compiled(g)
    x = leaf(3)
    h, loss = f(x)
    (gh,) = torch.autograd.grad(loss, h, create_graph=True)
    return gh, torch.autograd.grad(gh.sum(), x)


@program
def retain_create(compiled):
    f = compiled(chain)
    x = leaf(3)
    h, loss = f(x)
    h.retain_grad()
    x.register_hook(lambda g: g * 2)
    loss.backward(create_graph=True)
    return h.grad, x.grad


@program
def leaf_hook(compiled):
    f = compiled(chain)
    x = leaf(3)
    n = []
    x.register_hook(lambda g: (n.append(g.tolist()), g * 2)[1])
    _h, loss = f(x)
    loss.backward()
    return n, x.grad


@program
def prehook_inputs_output(compiled):
    f = compiled(chain)
    x = leaf(3)
    _h, loss = f(x)
    n = []
    loss.grad_fn.register_hook(lambda gi, go: n.append(go[0].tolist()))
    loss.backward()
    return n


@program
def custom_function(compiled):
    class Clip(torch.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            return x.clone()

        @staticmethod
        def backward(ctx, g):
            return g.clamp(-0.1, 0.1)

    def g(x):
        u = Clip.apply(x * 2)
        return u, (u * u).sum(), u.sum()

    f = compiled(g)
    x = leaf(3)
    u, a, b = f(x)
    u.retain_grad()
    (a + b).backward()
    return u.grad, x.grad


@program
def custom_two_outputs(compiled):
    class Two(torch.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            return x * 2, x * 3

        @staticmethod
        def backward(ctx, g, h):
            return g * 2 + h * 3 + 1

    def g(x):
        a, b = Two.apply(x)
        return a, b

    f = compiled(g)
    x = leaf(3)
    a, _b = f(x)
    a.sum().backward()
    return x.grad


@program
def inner_hook(compiled):
    def g(x):
        h = x * 2
        h.register_hook(lambda g: g.clamp(-1, 1))
        return h, (h * h).sum()

    f = compiled(g)
    x = leaf(3)
    h, loss = f(x)
    h.register_hook(lambda g: g + 1)
    loss.backward()
    return x.grad


@program
def multi_output_undefined(compiled):
    def g(x):
        v, i = x.sort()
        q, r = torch.linalg.qr(x.view(3, 1) @ x.view(1, 3) + torch.eye(3, dtype=torch.float64))
        return v, i, q, r.sum()

    f = compiled(g)
    x = leaf(3)
    v, i, _q, r = f(x)
    r.backward()
    return x.grad, v, i


@program
def cat_undefined(compiled):
    def g(x, y):
        return torch.cat([x, y]), x * y

    f = compiled(g)
    x, y = leaf(3), leaf(3, seed=2)
    a, b = f(x, y)
    b.sum().backward(retain_graph=True)
    r = x.grad.clone()
    a.sum().backward()
    return r, x.grad, y.grad


@program
def dynamic(compiled):
    f = compiled(lambda x: ((h := x.exp()), (h * h).sum()))
    r = []
    for n in (3, 4, 5, 6):
        x = leaf(n)
        h, loss = f(x)
        if n % 2:
            h.register_hook(lambda g: g * 2)
        loss.backward()
        r.append(x.grad)
        x = leaf(n)
        h, loss = f(x)
        h.sum().backward()
        r.append(x.grad)
    return r


@program
def with_saved_hooks(compiled):
    f = compiled(chain)
    x = leaf(3)
    n = []
    with torch.autograd.graph.saved_tensors_hooks(lambda t: (n.append(1), t)[1], lambda t: t):
        h, loss = f(x)
    h.retain_grad()
    loss.backward()
    return h.grad, x.grad


@program
def deleted_mid(compiled):
    f = compiled(chain)
    x = leaf(3)
    h, loss = f(x)
    seen = []
    h.register_hook(lambda g: seen.append(g.tolist()))
    del h
    loss.backward()
    return seen, x.grad


@program
def half_and_int(compiled):
    def g(x):
        h = x.float().tanh()
        return h, h.argsort(), h.sum()

    f = compiled(g)
    x = torch.tensor([1.0, 2.0, 3.0], dtype=torch.float64, requires_grad=True)
    h, i, loss = f(x)
    h.retain_grad()
    loss.backward()
    return h.grad, i, x.grad


@program
def checkpoint_result(compiled):
    checkpoint = torch.utils.checkpoint.checkpoint

    def g(x):
        h = checkpoint(lambda t: t.sin().exp(), x, use_reentrant=False)
        return h, (h * h).sum()

    f = compiled(g)
    x = leaf(3)
    h, loss = f(x)
    h.retain_grad()
    loss.backward()
    return h.grad, x.grad


@program
def no_input_grad(compiled):
    f = compiled(chain)
    x = leaf(3, needs=False)
    h, loss = f(x)
    return h.requires_grad, loss


@program
def saved_old_input(compiled):
    def g(y, w):
        z = y * w
        y.mul_(3)
        return z.sum() + (y * w).sum()

    f = compiled(g)
    x, w = leaf(3), leaf(3, seed=4)
    y = x * 1
    try:
        loss = f(y, w)
        loss.backward()
        return x.grad, w.grad
    except RuntimeError as e:
        return "inplace" in str(e)


@program
def saved_old_exp(compiled):
    def g(y):
        z = y.exp()
        y.mul_(3)
        return z.sum() + (y * y).sum()

    f = compiled(g)
    x = leaf(3)
    y = x * 1
    loss = f(y)
    loss.backward()
    return x.grad, y


@program
def two_graph_retains(compiled):
    def g(x):
        h = (x * 2).tanh()
        print("b")
        k = h * h
        print("c")
        h.retain_grad()
        k.retain_grad()
        (h.sum() + k.exp().sum()).backward()
        return h.grad, k.grad, x.grad

    return compiled(g)(leaf(3))
