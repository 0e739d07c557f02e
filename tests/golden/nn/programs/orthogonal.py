"""The orthogonal parametrization with its three maps, for square, wide and tall weights."""

nn, orthogonal = torch.nn, torch.nn.utils.parametrizations.orthogonal


def tried(f, *args, **kwargs):
    try:
        print(f(*args, **kwargs))
    except Exception as e:
        print(type(e).__name__, e)


def run(rows, columns, **options):
    layer = orthogonal(nn.Linear(columns, rows), **options)
    step = torch.optim.SGD(layer.parameters(), 0.1)
    for _ in range(2):
        (layer.weight * torch.arange(rows * columns).reshape(rows, columns)).sum().backward()
        step.step()
    print(rows, columns, options, layer.weight.detach().round(decimals=3))
    q = torch.linalg.qr(torch.randn(max(rows, columns), min(rows, columns)))[0]
    layer.weight = q if rows >= columns else q.mT
    print(torch.allclose(layer.weight, q if rows >= columns else q.mT, atol=1e-5))


for shape in ((3, 3), (4, 2), (2, 4)):
    run(*shape)
    for name in ("matrix_exp", "cayley", "householder"):
        tried(run, *shape, orthogonal_map=name)
        tried(run, *shape, orthogonal_map=name, use_trivialization=False)
print(orthogonal(nn.Linear(2, 2)))
tried(orthogonal, nn.Linear(2, 2), "bias")
tried(orthogonal, nn.Linear(2, 2), "nothing")
tried(orthogonal, nn.Linear(2, 2), orthogonal_map="other")
tried(setattr, orthogonal(nn.Linear(2, 2)), "weight", torch.ones(3, 3))
