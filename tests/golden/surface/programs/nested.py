# Nested tensors: components of different sizes under one name.
def show(make):
    try:
        print(make())
    except Exception as error:
        print(type(error).__name__, str(error).split(".")[0].split(":")[0][:60])


F = torch.nn.functional
a, b = torch.arange(6.0).view(2, 3), torch.arange(3.0).view(1, 3)
n = torch.nested.nested_tensor([a, b])
for make in (
    lambda: n, lambda: n.size(0), lambda: n.size(1), lambda: n.size(2), lambda: n.dim(), lambda: n + 1, lambda: n * n, lambda: n.relu(),
    lambda: F.linear(n, torch.ones(2, 3)), lambda: torch.nn.Linear(3, 2)(n).unbind()[0].shape, lambda: n.to_padded_tensor(9.0),
    lambda: torch.nested.to_padded_tensor(n, 9.0, (2, 3, 4)), lambda: torch.nested.to_padded_tensor(n, 9.0, (2, 1, 1)), lambda: n[0],
    lambda: n.numel(), lambda: F.softmax(n, -1), lambda: n.matmul(n.transpose(1, 2)), lambda: n.sum(-1, keepdim=True),
    lambda: F.dropout(n, 0.0), lambda: n.to(torch.float64), lambda: n.layout, lambda: n.is_nested, lambda: torch.add(n, torch.ones(2, 2, 3)),
    lambda: n.contiguous(), lambda: n.mean(), lambda: a.is_nested, lambda: torch.nested.nested_tensor([a, torch.ones(3)]),
    lambda: torch.cat([n, n]), lambda: torch.sin(n), lambda: n.clone(), lambda: n.detach(), lambda: n.unbind(),
    lambda: F.scaled_dot_product_attention(n.unsqueeze(1), n.unsqueeze(1), n.unsqueeze(1)), lambda: n.dtype, lambda: n.device,
    lambda: torch.nested.nested_tensor([1, 2]), lambda: n.transpose(0, 1),
):  # fmt: skip
    show(make)
w = torch.ones(2, 3, requires_grad=True)
m = torch.nested.as_nested_tensor([w, b]) * 2
m.to_padded_tensor(0.0).sum().backward()
print(w.grad)
n = torch.nested.nested_tensor([a, b], requires_grad=True)
(n * n).to_padded_tensor(0).sum().backward()
print(n.grad)
j = torch.nested.nested_tensor([a, b], layout=torch.jagged)
for make in (
    lambda: j.offsets(),
    lambda: j.values(),
    lambda: j.sum(),
    lambda: j.unbind(),
    lambda: j.sum(dim=1),
    lambda: j.to_padded_tensor(0.0),
    lambda: (j + 1).values(),
):
    show(make)
