"""Every pruning rule, alone and in turn, what is refused, and making it lasting."""

nn, prune = torch.nn, torch.nn.utils.prune


def tried(f, *args, **kwargs):
    try:
        print(f(*args, **kwargs))
    except Exception as e:
        print(type(e).__name__, str(e).split(" Found method")[0])


def layer(scale=1.0):
    out = nn.Linear(4, 3)
    out.weight.data = (torch.arange(12.0).reshape(3, 4) * 1.125 - 5) * scale  # no two of one magnitude
    return out


net = prune.l1_unstructured(layer(), "weight", amount=0.3)
print(net, list(dict(net.named_parameters())), list(dict(net.named_buffers())), prune.is_pruned(net))
print(net.weight, net.weight_mask)
net(torch.ones(1, 4)).sum().backward()
print(net.weight_orig.grad)
prune.l1_unstructured(net, "weight", amount=2)
print(net.weight_mask, type(next(iter(net._forward_pre_hooks.values()))).__name__)
prune.ln_structured(net, "weight", amount=1, n=2, dim=0)
print(net.weight_mask, len(next(iter(net._forward_pre_hooks.values()))))
print(prune.remove(net, "weight"), net.weight, list(net.state_dict()), prune.is_pruned(net))
tried(prune.remove, net, "weight")

print(prune.random_unstructured(layer(), "weight", amount=5).weight)
print(prune.random_structured(layer(), "weight", amount=1, dim=1).weight)
print(prune.random_structured(layer(), "weight", amount=0.0, dim=1).weight)
print(prune.ln_structured(layer(), "weight", amount=0.5, n=float("-inf"), dim=-1).weight)
print(prune.l1_unstructured(layer(), "weight", 3, importance_scores=torch.arange(12.0).reshape(3, 4)).weight)
print(prune.identity(layer(), "bias").bias_mask)
print(prune.custom_from_mask(layer(), "weight", torch.eye(3, 4)).weight)

pair = nn.Sequential(layer(), nn.ReLU(), layer(1.03))
prune.global_unstructured([(pair[0], "weight"), (pair[2], "weight")], prune.L1Unstructured, amount=7)
print(pair[0].weight, pair[2].weight)
print(prune.L1Unstructured(amount=1).prune(torch.tensor([3.0, -1.0, 2.0])))


class Every(prune.BasePruningMethod):
    PRUNING_TYPE = "unstructured"

    def compute_mask(self, t, default_mask):
        mask = default_mask.clone()
        mask.view(-1)[::2] = 0
        return mask


own = layer()
Every.apply(own, "weight")
print(own.weight)
Every.apply(own, "weight")
print(own.weight)

tried(prune.l1_unstructured, layer(), "weight", 13)
tried(prune.l1_unstructured, layer(), "weight", 1.5)
tried(prune.l1_unstructured, layer(), "weight", -1)
tried(prune.l1_unstructured, layer(), "weight", "all")
tried(prune.ln_structured, layer(), "bias", 1, n=1, dim=0)
tried(prune.ln_structured, layer(), "weight", 1, n=1, dim=2)
tried(prune.custom_from_mask, layer(), "weight", torch.ones(2))
tried(prune.l1_unstructured, layer(), "weight", 1, importance_scores=torch.ones(2))
tried(prune.global_unstructured, 3, prune.L1Unstructured, amount=1)
tried(prune.global_unstructured, [(own, "bias")], prune.RandomStructured, amount=1)
tried(prune.PruningContainer().add_pruning_method, 3)
