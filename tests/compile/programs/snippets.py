"""Short programs as text: each is the body of `f(x, y)`, called three times with tensors of three elements.

A line `# breaks: a b` names the breaks in order; lines before `---` stand at the top of the module.
"""

# ruff: noqa (the programs are odd on purpose)

from typing import Any

from tapescope import engine as torch

from .harness import program

SNIPPETS: dict[str, str] = {
    "swap": "x, y = y, x\nreturn x - y",
    "chained_assignment": "a = b = [x]\na.append(y)\nreturn len(b), a is b",
    "augmented_list": "a = [1]\nb = a\na += [2]\na = a + [3]\nreturn a, b, x + 1",
    "nested_unpack": "(a, [b, *c]), d = (x, [y, 1, 2]), 3\nreturn a + b, c, d",
    "dict_comprehension": "d = {k: v * 2 for k, v in zip('ab', (x, y))}\nreturn d, list(d), {v: k for k, v in {'p': 1}.items()}",
    "set_operations": "s = {1, 2} | {3}\ns ^= {1}\nreturn s, s >= {2}, x, 2 in s",
    "ternary_chain": "n = 3\nreturn x if n < 2 else y if n < 4 else x + y",
    "boolean_values": "return (x and 0) if False else (0 or 'a'), None or x, [] and y, not [], bool('')",
    "string_methods": "s = ' Hello '\nreturn s.strip().lower(), s.find('l'), 'a,b'.partition(','), s.title(), 'x'.join(['a', 'b']), s.encode(), x",
    "number_formats": "return f'{3.14159:.3f} {255:#x} {1e10:g} {-5:+d} {0.25:%}', x + int('12') + float('0.5') + int(3.9)",
    "integer_arithmetic": "return 7 // -2, 7 % -2, -7 // 2, divmod(-7, 2), 2 ** -1, 1 << 4, ~5, 6 & 3 | 8, x",
    "complex_numbers": "c = 1 + 2j\nreturn c.real, abs(c), c.conjugate(), x",
    "bytes_and_ranges": "r = range(10, 0, -3)\nreturn list(r), r[1], len(r), 7 in r, bytes([1, 2]) if False else b'ab'[0], x",
    "slices_of_lists": "a = list(range(6))\na[1:3] = [9]\ndel a[::2]\nreturn a, a[-2:], x",
    "multiple_with": "out = []\nclass C:\n    def __init__(s, n): s.n = n\n    def __enter__(s): out.append(s.n); return s\n    def __exit__(s, *e): out.append(-s.n)\nwith C(1) as a, C(2) as b:\n    x = x * a.n + b.n\nreturn x, out",
    "for_else": "for i in range(3):\n    if i == 5: break\nelse:\n    x = x + 1\nreturn x, i",
    "nested_loops": "out = []\nfor i in range(3):\n    for j in range(3):\n        if j > i: break\n        if i == 1: continue\n        out.append(x[i] * j)\nreturn out",
    "loop_variable_after": "for t in (x, y): pass\nreturn t * 2",
    "try_in_loop": "out = []\nfor i in (1, 0, 2):\n    try:\n        out.append(4 // i)\n    except ZeroDivisionError:\n        continue\n    finally:\n        out.append('f')\nreturn out, x",
    "reraise": "try:\n    try:\n        raise KeyError('a')\n    except KeyError:\n        raise\nexcept LookupError as e:\n    return x, e.args",
    "exception_chaining": "try:\n    try:\n        1 / 0\n    except ZeroDivisionError as e:\n        raise ValueError('v') from e\nexcept ValueError as e:\n    return x, type(e.__cause__).__name__, e.__suppress_context__",
    "exception_groups": "try:\n    raise ExceptionGroup('g', [ValueError(1), KeyError(2)])\nexcept* ValueError as e:\n    a = len(e.exceptions)\nexcept* KeyError as e:\n    b = type(e).__name__\nreturn x, a, b",
    "custom_exception": "class E(Exception):\n    def __init__(s, code): super().__init__('code %d' % code); s.code = code\ntry:\n    raise E(7)\nexcept E as e:\n    return x + e.code, str(e)",
    "assert_message": "try:\n    assert x.shape[0] == 4, f'size {x.shape[0]}'\nexcept AssertionError as e:\n    return y, str(e)",
    "generator_expression": "return sum(t.sum() for t in (x, y)), max(i * 2 for i in range(3)), list(t for t in [x] if True)",
    "generator_return": "def g():\n    v = yield 1\n    return v\ni = g()\nnext(i)\ntry:\n    i.send(x)\nexcept StopIteration as e:\n    return e.value + 1",
    "yield_from_list": "def g():\n    yield from [x, y]\n    yield from (t * 2 for t in [x])\nreturn list(g())",
    "recursive_generator": "def walk(t):\n    if isinstance(t, list):\n        for c in t:\n            yield from walk(c)\n    else:\n        yield t\nreturn sum(walk([x, [y, [x]]]))",
    "infinite_generator": "def count():\n    n = 0\n    while True:\n        yield n\n        n += 1\nreturn [x * i for i, _ in zip(count(), range(3))]",
    "closure_counter": "def make():\n    n = 0\n    def inc(by=1):\n        nonlocal n\n        n += by\n        return n\n    return inc\na, b = make(), make()\na(); a(3); b()\nreturn x * a(), b()",
    "closure_over_loop": "fs = {}\nfor k in 'ab':\n    fs[k] = lambda t, k=k: (k, t)\nreturn fs['a'](x), fs['b'](y)",
    "function_attributes": "def g(t):\n    g.calls = getattr(g, 'calls', 0) + 1\n    return t\ng(x); g(y)\nreturn g.calls, x",
    "keyword_only": "def g(a, /, b, *, c=3, **k): return a * b + c, k\nreturn g(x, b=y, d=1), g(x, y, c=5)",
    "argument_defaults_evaluated_once": "def g(a, acc=[]):\n    acc.append(1)\n    return len(acc)\nreturn g(x), g(x), g(x, [])",
    "wrong_arguments": "def g(a): return a\ntry:\n    g(x, y)\nexcept TypeError as e:\n    return str(e)",
    "class_with_slots": "class P:\n    __slots__ = ('a', 'b')\n    def __init__(s, a): s.a = a\np = P(x)\np.b = y\ntry:\n    p.c = 1\nexcept AttributeError:\n    return p.a + p.b",
    "class_attributes": "class C:\n    n = 1\n    def bump(s): s.n += 1; return s.n\na, b = C(), C()\na.bump()\nC.n = 10\nreturn a.n, b.n, x",
    "inheritance_diamond": "class A:\n    def f(s, t): return t + 1\nclass B(A):\n    def f(s, t): return super().f(t) * 2\nclass C(A):\n    def f(s, t): return super().f(t) - 3\nclass D(B, C): pass\nreturn D().f(x), [k.__name__ for k in D.__mro__]",
    "descriptor": "class Twice:\n    def __set_name__(s, o, n): s.n = '_' + n\n    def __get__(s, i, o): return getattr(i, s.n) * 2\n    def __set__(s, i, v): setattr(i, s.n, v)\nclass C:\n    t = Twice()\nc = C()\nc.t = x\nreturn c.t, vars(c).keys() == {'_t'}",
    "getattr_hook": "class C:\n    def __getattr__(s, n): return n.upper()\n    def __setattr__(s, n, v): s.__dict__[n + '_'] = v\nc = C()\nc.a = x\nreturn c.hello, c.a_",
    "call_and_contains": "class C:\n    def __call__(s, t): return t * 3\n    def __contains__(s, v): return v == 2\nc = C()\nreturn c(x), 2 in c, 3 not in c, callable(c)",
    "iterator_class": "class R:\n    def __init__(s, n): s.n = n\n    def __iter__(s): return s\n    def __next__(s):\n        if s.n == 0: raise StopIteration\n        s.n -= 1\n        return s.n\nreturn [x * i for i in R(3)], list(R(2)), sum(R(4))",
    "indexing_class": "class V:\n    def __init__(s): s.d = {}\n    def __getitem__(s, k): return s.d.get(k, x)\n    def __setitem__(s, k, v): s.d[k] = v\n    def __delitem__(s, k): del s.d[k]\n    def __len__(s): return len(s.d)\nv = V()\nv['a'] = y\nv[1, 2] = 3\ndel v[1, 2]\nreturn v['a'], v['z'], len(v), bool(V())",
    "comparison_methods": "import functools\n@functools.total_ordering\nclass N:\n    def __init__(s, n): s.n = n\n    def __eq__(s, o): return s.n == o.n\n    def __lt__(s, o): return s.n < o.n\nreturn N(1) < N(2), N(2) >= N(1), sorted([N(3), N(1)])[0].n, x",
    "hash_and_equality": "class K:\n    def __init__(s, k): s.k = k\n    def __eq__(s, o): return s.k == o.k\n    def __hash__(s): return hash(s.k)\nd = {K('a'): x}\nreturn d[K('a')] + 1, K('b') in d",
    "static_and_class_methods": "class C:\n    @staticmethod\n    def s(t): return t + 1\n    @classmethod\n    def c(cls, t): return cls.__name__, t\nreturn C.s(x), C().s(x), C.c(y), C().c(y)",
    "format_hook": "class C:\n    def __format__(s, spec): return f'<{spec}>'\n    def __str__(s): return 'C!'\nreturn f'{C():abc} {C()!s}', x",
    "abstract_method": "from abc import ABC, abstractmethod\nclass A(ABC):\n    @abstractmethod\n    def f(s): ...\ntry:\n    A()\nexcept TypeError:\n    return x",
    "dataclass_inside": "from dataclasses import dataclass, field\n@dataclass\nclass P:\n    a: object\n    b: int = 2\n    c: list = field(default_factory=list)\np = P(x)\np.c.append(1)\nreturn p.a * p.b, p.c",
    "match_class": "from collections import namedtuple\nP = namedtuple('P', 'a b')\nmatch P(x, 3):\n    case P(a, 2): return a\n    case P(a=t, b=k) if k > 2: return t * k\nreturn None",
    "match_mapping_rest": "match {'k': x, 'm': 1, 'n': 2}:\n    case {'k': t, **rest}: return t, rest",
    "walrus_in_comprehension": "return [(n, m) for n in range(4) if (m := n * 2) > 2], m, x",
    "global_in_module": "g = 0\n---\nglobal g\ng += 1\nreturn x * g",
    "module_function": "def helper(t, k=2):\n    return t * k\nK = 3\n---\nreturn helper(x) + helper(y, K)",
    "lambda_table": "OPS = {'add': lambda a, b: a + b, 'mul': lambda a, b: a * b}\n---\nreturn {k: f(x, y) for k, f in OPS.items()}",
    "tensor_methods_chained": "return x.view(3, 1).expand(3, 2).t().contiguous().flatten().unsqueeze(0).squeeze().sum(-1, keepdim=True)",
    "tensor_comparisons": "return (x > y).float(), (x == x).all(), torch.where(x > 0, x, y), x.argmax(), (x >= 0) & (y < 0)",
    "tensor_iteration": "return [t * 2 for t in x], len(x), list(enumerate(y))[1][0], sum(x)",
    "tensor_in_place_chain": "z = x.clone()\nz.add_(1).mul_(y).clamp_(-1, 1)\nz[0], z[1] = z[1].clone(), 7\nreturn z",
    "einsum_and_cat": "return torch.einsum('i,j->ij', x, y), torch.cat([x, y]).reshape(2, 3), torch.stack((x, y)).mean(0)",
    "out_argument": "z = torch.empty(3)\ntorch.add(x, y, out=z)\nreturn z",
    "no_grad_decorator": "@torch.no_grad()\ndef g(t): return t * 2\nw = x.clone().requires_grad_()\nreturn g(w).requires_grad, (w * 2).requires_grad",
    "double_backward": "w = x.clone().requires_grad_()\n(g,) = torch.autograd.grad((w ** 3).sum(), w, create_graph=True)\ng.sum().backward()\nreturn w.grad",
    "print_in_lambda": "# breaks: print\ng = lambda t: (print('in'), t * 2)[1]\nreturn g(x) + y",
    "print_in_except": "# breaks: print\ntry:\n    {}['a']\nexcept KeyError as e:\n    print('missing', e)\n    x = x + 1\nreturn x",
    "print_in_generator": "# breaks: print\ndef g():\n    yield x\n    print('between')\n    yield y\nreturn list(g())",
    "print_keeps_locals": "# breaks: print\na = [x]\nb = {'a': a}\nprint('now')\na.append(y)\nreturn b['a'] is a, len(b['a'])",
    "break_in_init_of_subclass": "# breaks: print\nclass A:\n    def __init__(s, t):\n        print('A')\n        s.t = t\nclass B(A):\n    def __init__(s, t):\n        super().__init__(t * 2)\n        s.u = s.t + 1\n---\nb = B(x)\nreturn b.t + b.u",
    "item_twice": "# breaks: item item\na = x.sum().item()\nb = y.sum().item()\nreturn x * a + b",
    "branch_in_helper": "# breaks: branch\ndef sign(t):\n    if t.sum() > 0:\n        return 1\n    return -1\n---\nreturn x * sign(x) + y * 0",
}  # fmt: skip


def _enter(name: str, text: str) -> None:
    head, _, body = text.rpartition("---\n")
    expected: tuple[str, ...] = ()
    for line in (head + body).splitlines():
        if line.startswith("# breaks:"):
            expected = tuple(line.removeprefix("# breaks:").split())

    def make() -> Any:
        space: dict[str, Any] = {"torch": torch, "__name__": "snippet"}
        source = head + "def f(x, y):\n" + "".join(f"    {line}\n" for line in body.splitlines())
        exec(compile(source, f"<snippet {name}>", "exec"), space)
        return space["f"], [(torch.randn(3), torch.randn(3)) for _ in range(3)]

    make.__module__, make.__name__ = __name__, name
    program(expected)(make)


for _name, _text in SNIPPETS.items():
    _enter(_name, _text)
