"""Programs that once broke, or lost something, for no reason of their own: run with every backend."""

# ruff: noqa (the programs are odd on purpose)
# pyright: basic

import collections
import contextlib
import copy

from tapescope import engine as torch

from .harness import program

nn, F = torch.nn, torch.nn.functional


def _one():
    return torch.ones(1)


@program(graphs=1)
def ensemble_by_vmap_of_functional_call():
    """What `functional_call` exchanges it puts back: no effect."""
    models = [nn.Sequential(nn.Linear(3, 4), nn.ReLU(), nn.Linear(4, 2)) for _ in range(3)]
    params, buffers = torch.func.stack_module_state(models)
    base = copy.deepcopy(models[0])

    def call(p, b, x):
        return torch.func.functional_call(base, (p, b), (x,))

    return lambda x: torch.func.vmap(call, in_dims=(0, 0, None))(params, buffers, x), [(torch.randn(4, 3),)] * 2, base


@program("transform")
def vmap_of_a_function_that_leaves_something():
    """What is not put back is an effect."""
    box = {"n": 0, "k": 1}

    def call(x):
        box["n"] += 1
        before, box["k"] = box["k"], 5
        box["k"] = before
        return x * 2

    return lambda x: torch.func.vmap(call)(x), [(torch.ones(4, 3),)] * 2, box


@program()
def written_and_put_back():
    """An item and an attribute that have their values again are no effects; one deleted and put back comes last."""

    class C:
        pass

    c, d, order = C(), {"a": [1], "b": [2]}, {"a": [1], "b": [2]}
    c.x = [3]

    def f(t):
        x, a, o = c.x, d["a"], order["a"]
        c.x = d["a"] = 7
        t = t * c.x * d["a"]
        c.x, d["a"] = x, a
        del order["a"]
        order["a"] = o
        return t

    return f, [(_one(),)] * 2, c, d, order


@program(graphs=1)
def hessian_is_off_the_tape():
    """Within the batch of a Jacobian the alias that is differentiated stands outside of the batch."""

    def g(x):
        return (x**3).sum()

    def f(x):
        again = torch.func.jacrev(torch.func.jacrev(g))(x)
        return torch.func.hessian(g)(x), again, torch.func.jacfwd(torch.func.grad(g))(x)

    return f, [(torch.randn(3),)] * 2


@program(graphs=1)
def what_a_tensor_is_a_view_of():
    """A twin does not know the base of its tensor, nor does it know that it is a view."""

    def f(x):
        v = x[1:]
        w = v.view(-1)
        return v, v._base is x, w._base is v._base, x._base is None, x.detach()._base, x._is_view(), v._is_view()

    return f, [(torch.ones(3, 2).t(),)] * 2


@program(backend="eager")
def versions_of_tensors():
    """How often something was written to, before the graph and in it, through other tensors, too."""

    def f(x, y):
        before = x._version
        x.add_(1)
        y.mul_(2)
        z = x * 2
        z.add_(1)
        return before, x._version, z._version, y._version, (x * 1)._version

    x, y, z = torch.ones(3), torch.ones(3), torch.ones(4)
    return f, [(x, y)] * 3 + [(z[:3], z[1:])]


@program(graphs=1)
def views_of_a_dictionary_as_arguments():
    """`items()`, `keys()` and `values()` of a dictionary from outside are views of what stands for it."""
    d = {"a": torch.ones(1), "b": 2}

    def f(x, items, keys, values):
        for _, v in items:
            x = x + v
        for v in values:
            x = x * v
        return x, "a" in keys, len(items), list(reversed(keys)), keys

    return f, [(_one(), d.items(), d.keys(), d.values())] * 2


@program()
def a_view_and_its_dictionary():
    """A view sees what is put into its dictionary, and a dictionary that has grown is another one."""
    d = {"a": 1}

    def f(x, d, items):
        d["b"] = 5
        return x * len(items) + sum(v for _, v in items)

    return f, [(_one(), d, d.items()), (_one(), {"a": 1}, {"q": 7}.items()), (_one(), d, d.items())]


@program(graphs=3)
def next_of_an_iterator_from_outside():
    """Where it stands is not asked: what it gives next is."""
    batches = iter([torch.ones(2), torch.ones(2) * 2, torch.ones(2) * 3, torch.ones(2) * 4])
    order = iter({"a": 1, "b": 2, "c": 3}.items())

    def f(x):
        k, v = next(order, ("none", 0))
        return x * next(batches) + v, k

    def g(x):
        return f(x), next(iter("xy"))

    return g, [(torch.ones(2),)] * 4, batches


@program()
def next_and_then_a_loop():
    """The first is taken, the loop goes on behind it; at the end StopIteration is the program's own."""

    def f(x, it):
        x = x * next(it)
        for v in it:
            x = x + v
        try:
            next(it)
        except StopIteration:
            x = -x
        return x

    return f, [(_one(), iter([2, 3, 4])), (_one(), iter([2, 5])), (_one(), iter((2,)))]


@program(graphs=1)
def exit_stacks():
    """`contextlib.ExitStack` is Python; only `sys.exc_info` in it is not."""
    log = []

    @contextlib.contextmanager
    def region(name):
        log.append("in " + name)
        try:
            yield name
        finally:
            log.append("out " + name)

    def f(x):
        with contextlib.ExitStack() as stack:
            stack.enter_context(torch.no_grad())
            names = [stack.enter_context(region(n)) for n in "ab"]
            stack.callback(log.append, "called")
            x = x * len(names)
        try:
            with contextlib.ExitStack() as stack:
                stack.enter_context(region("c"))
                raise KeyError("k")
        except KeyError as error:
            return x + 1, error.args, torch.is_grad_enabled()

    return f, [(torch.ones(1, requires_grad=True),)] * 2, log


@program(graphs=1)
def counters_heaps_and_getters():
    """`Counter`, `heapq`, `operator.itemgetter` and `iter(f, sentinel)` are C, and do what Python would."""
    import heapq
    import operator

    second = operator.itemgetter(1)

    def f(x, words):
        count = collections.Counter(words)
        count.update("ab")
        heap = [5, 3, 8, 1]
        heapq.heapify(heap)
        heapq.heappush(heap, 2)
        rows = sorted(count.items(), key=second)
        feed = iter([1, 2, 0, 3]).__next__
        taken = list(iter(feed, 0))
        most = count.most_common(1), heapq.nlargest(2, heap), heapq.heappop(heap), heapq.heappushpop(heap, 9)
        return (
            x * count["a"],
            count,
            rows,
            most,
            heap,
            taken,
            operator.attrgetter("shape")(x)[0],
            operator.methodcaller("dim")(x),
        )

    return f, [(_one(), "abca")] * 2


@program(graphs=1)
def containers_of_collections():
    """defaultdict, deque, OrderedDict and ChainMap made inside."""

    def f(x):
        d = collections.defaultdict(list)
        d["a"].append(x)
        q = collections.deque([1, 2], maxlen=3)
        q.append(x)
        q.appendleft(4)
        q.rotate(1)
        o = collections.OrderedDict(a=1, b=x)
        o.move_to_end("a")
        c = collections.ChainMap({"a": 1}, {"b": 2})
        e = collections.defaultdict(lambda: x)
        return e["q"] * len(q) + c["b"], d, q, list(o.items()), o

    return f, [(_one(),)] * 2


@program(graphs=1)
def parameter_made_inside():
    """A parameter that stays inside is a node like any other."""

    def f(x):
        p, q = nn.Parameter(x * 2), nn.Parameter(torch.zeros(3), requires_grad=False)
        (p * x).sum().backward()
        return p.grad * 3, isinstance(p, nn.Parameter), q.requires_grad, type(p).__name__

    return f, [(torch.ones(3),)] * 2


@program(graphs=1)
def module_made_inside():
    """A module that is made, used and dropped: its parameters draw the same numbers."""

    def f(x):
        return nn.Sequential(nn.Linear(3, 2), nn.ReLU())(x).detach()

    return f, [(torch.ones(3),)] * 2


@program("escape")
def parameter_that_leaves():
    """One that leaves the graph is made outside of it."""

    def f(x):
        p = nn.Parameter(x * 2)
        return p, p.sum()

    return f, [(torch.ones(3),)] * 2


@program(graphs=1)
def attributes_hung_on_tensors():
    """Attributes of the program's own on tensors from outside, on results, and on what stays inside."""

    def f(x, p):
        x.tag = "hi"
        y = x * 2
        y.scale = 3
        y.other = z = y + 1
        z.back = y
        p.seen = getattr(p, "seen", 0) + 1
        if hasattr(p, "gone"):
            del p.gone
        inner = y - 1
        inner.unused = 1
        return y * y.scale, x.tag, y, hasattr(p, "gone")

    p = nn.Parameter(torch.ones(3))
    p.seen = 4.5
    return lambda x: f(x, p)[:3], [(torch.ones(3),)], p


@program()
def attributes_of_tensors_change():
    """What hangs on a tensor is looked at again at every call."""

    def f(x):
        if hasattr(x, "gone"):
            del x.gone
            return x + 100
        x.count = getattr(x, "count", 0) + 1
        return x * x.count

    x, y = torch.ones(2), torch.ones(2)
    y.gone = 1
    return f, [(x,), (x,), (x,), (y,), (y,), (x,)]


def _training(name, **options):
    def build():
        m = nn.Linear(3, 2)
        o = getattr(torch.optim, name)(m.parameters(), **options)

        def step(x):
            o.zero_grad()
            loss = m(x).square().sum()
            loss.backward()
            o.step()
            return loss

        return step, [(torch.randn(4, 3),) for _ in range(8)], m

    build.__name__ = f"training_with_{name.lower()}"
    build.__doc__ = "A step that hangs on its counter is one graph: both ways are computed."
    return build


for _name, _options in (("RAdam", {}), ("ASGD", {"t0": 3}), ("Adafactor", {})):
    program()(_training(_name, **_options))


@program(graphs=1)
def limits_of_dtypes():
    """`finfo` and `iinfo` are plain numbers: masks are made of them."""

    def f(x):
        return x.masked_fill(x > 0, torch.finfo(x.dtype).min) + torch.finfo().eps, torch.iinfo(torch.int8).max

    return f, [(torch.randn(4),)] * 2


@program(graphs=1)
def sorting_by_comparisons():
    """Keys with a `__lt__` of the program, and `functools.cmp_to_key`: compared as often, and in the same order, as by Python."""
    import functools

    class V:
        def __init__(self, v):
            self.v = v

        def __lt__(self, other):
            log.append((self.v, other.v))
            return self.v < other.v

    log, vs = [], [V(3), V(1), V(2)]

    def by(a, b):
        log.append((a, b))
        return b - a

    def f(x, row):
        down = sorted(row, key=functools.cmp_to_key(by))
        least = sorted(vs)[0].v
        made = sorted([V(5), V(4)])[0].v
        return x * down[0] + least, made, min(vs).v

    return f, [(_one(), [1, 5, 3, 2])] * 2, log


@program("print")
def base_of_a_view_over_a_break():
    """A view of an argument that leaves a graph is one of the argument still."""

    def f(x):
        v = x[1:]
        w = x.detach()
        print("break")
        v.add_(1)
        return v, v._base is x, w._base, x

    return f, [(torch.ones(3),)] * 2
