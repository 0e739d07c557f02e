"""What is drawn for bfloat16 and float16, in blocks and not, and where the stream stands afterwards."""

for kind in (torch.bfloat16, torch.float16):
    for n in (5, 17, 40, 1000):
        for name, given in (
            ("uniform_", ()),
            ("uniform_", (-3, 7)),
            ("normal_", ()),
            ("normal_", (-3, 7)),
            ("exponential_", ()),
            ("bernoulli_", ()),
            ("random_", ()),
            ("cauchy_", ()),
            ("geometric_", (0.3,)),
        ):
            torch.manual_seed(n)
            drawn = getattr(torch.empty(n, dtype=kind), name)(*given)
            print(kind, n, name, given, (drawn.double() * torch.arange(n)).sum(), drawn[-3:], torch.rand(1))
        torch.manual_seed(n)
        print(torch.rand(n, dtype=kind)[:4], torch.randn(n, dtype=kind)[:4], torch.randint(0, 9, (n,), dtype=kind)[:4])
        print(torch.nn.functional.dropout(torch.ones(n, dtype=kind))[:4], torch.normal(1.0, 2.0, (n,), dtype=kind)[:4])
    print(torch.nn.Linear(3, 2, dtype=kind).weight)
