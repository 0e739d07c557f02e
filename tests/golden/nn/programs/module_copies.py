"""Copies and pickles of modules keep parameters, sharing, modes, buffers and hooks' dictionaries apart."""

import copy
import pickle

nn = torch.nn
net = nn.Sequential(nn.Linear(2, 2), nn.ReLU(), nn.Linear(2, 2))
net[2].weight = net[0].weight
net.register_buffer("kept", torch.ones(1))
net.eval()
for twin in (copy.deepcopy(net), pickle.loads(pickle.dumps(net))):
    print(twin, twin.training, twin[2].weight is twin[0].weight, twin[0].weight is not net[0].weight)
    print(torch.equal(twin[0].weight, net[0].weight), twin.kept, type(twin[0].weight).__name__)
    with torch.no_grad():
        twin[0].weight.add_(1)
    print(torch.equal(twin[0].weight, net[0].weight))
    twin(torch.ones(1, 2)).sum().backward()
    print(twin[0].weight.grad is not None, net[0].weight.grad)
    twin.register_forward_hook(print)
    print(len(net._forward_hooks))
shallow = copy.copy(net)
print(shallow[0].weight is net[0].weight)
p = nn.Parameter(torch.ones(2))
p.grad = torch.zeros(2)
q = copy.deepcopy(p)
print(q, q.requires_grad, type(q).__name__)
print(pickle.loads(pickle.dumps(p)))
