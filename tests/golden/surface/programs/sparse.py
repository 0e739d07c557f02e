# Sparse tensors in coordinate form: made, printed, combined, refused, differentiated.
def show(make):
    try:
        print(make())
    except Exception as error:
        print(type(error).__name__, str(error).split(".")[0].split(":")[0][:70])


places, values = torch.tensor([[0, 1, 1], [2, 0, 2]]), torch.tensor([3.0, 4.0, 5.0])
s = torch.sparse_coo_tensor(places, values, (2, 3))
twice = torch.sparse_coo_tensor([[0, 0, 1], [1, 1, 0]], torch.tensor([1.0, 2.0, 5.0]), (2, 2))
print(
    s, s.to_dense(), s.is_sparse, s.layout, s.shape, s._nnz(), s.is_coalesced(), s.sparse_dim(), s.dense_dim(), s.dtype
)
print(twice.coalesce(), twice.to_dense(), twice.coalesce().indices(), twice.coalesce().values())
for make in (
    lambda: s.indices(), lambda: s.values(), lambda: torch.ones(2).indices(), lambda: torch.ones(2).coalesce(), lambda: s + s, lambda: s * 2,
    lambda: 2 * s, lambda: s / 2, lambda: -s, lambda: s - s, lambda: s @ torch.ones(3, 2), lambda: torch.spmm(s, torch.ones(3, 2)),
    lambda: torch.sparse.mm(s, torch.ones(3, 2)), lambda: torch.mm(s, torch.ones(3, 2)), lambda: torch.mv(s, torch.ones(3)),
    lambda: s.mm(s.t()), lambda: torch.exp(s), lambda: s.sum(), lambda: torch.sparse.sum(s, dim=0), lambda: torch.sparse.sum(s, dim=1),
    lambda: s.t(), lambda: s.transpose(0, 1), lambda: s[0], lambda: s.numpy(), lambda: s + torch.ones(2, 3), lambda: torch.ones(2, 3) + s,
    lambda: s * torch.ones(2, 3), lambda: torch.eye(3).to_sparse(), lambda: torch.sparse_coo_tensor(places, values), lambda: torch.relu(s),
    lambda: s.to(torch.float64), lambda: s.double().to_dense(), lambda: s.abs(), lambda: s.sqrt(), lambda: torch.sparse.softmax(s, dim=1),
    lambda: torch.sparse.log_softmax(s, dim=1), lambda: torch.cat([s, s]), lambda: torch.cat([s, s], 1), lambda: torch.stack([s]),
    lambda: s.size(0), lambda: s.numel(), lambda: len(s), lambda: s.view(6), lambda: s.to_dense().to_sparse(1), lambda: s.item(),
    lambda: torch.sparse_coo_tensor(places, torch.tensor([[1, 2], [3, 4], [5, 6]]), (2, 3, 2)), lambda: s.unsqueeze(0), lambda: s.clone(),
    lambda: s.detach(), lambda: torch.sparse.addmm(torch.ones(2, 2), s, torch.ones(3, 2)),
):  # fmt: skip
    show(make)
w = torch.ones(3, requires_grad=True)
(torch.sparse_coo_tensor(places, w * 2, (2, 3)) @ torch.arange(6.0).view(3, 2)).sum().backward()
print(w.grad)
x = torch.ones(3, 2, requires_grad=True)
torch.sparse.mm(s, x).square().sum().backward()
print(x.grad)
a = torch.ones(2, 3).to_sparse().requires_grad_()
torch.sparse.mm(a, torch.ones(3, 1)).sum().backward()
print(a.grad)
