"""Clipping, vectors, parametrizations, weight and spectral normalisation, in both forms, with a step of training each."""

import copy

nn, utils = torch.nn, torch.nn.utils


def tried(f, *args, **kwargs):
    try:
        print(f(*args, **kwargs))
    except Exception as e:
        print(type(e).__name__, e)


def trained(net, *shape):
    step = torch.optim.SGD(net.parameters(), 0.1)
    net(torch.linspace(-1, 1, torch.Size(shape).numel()).reshape(shape)).square().mean().backward()
    step.step()
    print({name: p.detach().round(decimals=4) for name, p in net.named_parameters()})
    return net


# gradients and vectors
net = nn.Linear(2, 2)
net(torch.ones(1, 2)).sum().backward()
print(utils.clip_grad_norm_(net.parameters(), 1.0), net.weight.grad, net.bias.grad)
print(utils.clip_grad_norm_(net.parameters(), 0.5, norm_type=float("inf")), net.weight.grad)
utils.clip_grad_value_(net.parameters(), 0.1)
print(net.weight.grad, utils.get_total_norm([net.weight.grad, net.bias.grad]))
net.bias.grad.fill_(float("nan"))
tried(utils.clip_grad_norm_, net.parameters(), 1.0, error_if_nonfinite=True)
vector = utils.parameters_to_vector(net.parameters())
print(vector.shape, vector.grad_fn is not None)
utils.vector_to_parameters(torch.arange(6.0), net.parameters())
print(net.weight, net.bias)
tried(utils.vector_to_parameters, [1.0], net.parameters())


# parametrizations
class Symmetric(nn.Module):
    def forward(self, x):
        return x.triu() + x.triu(1).transpose(-1, -2)

    def right_inverse(self, a):
        return a.triu()


class Scaled(nn.Module):
    def forward(self, x):
        return 2 * x


class Rank1(nn.Module):
    def forward(self, x, y):
        return x.unsqueeze(-1) @ y.unsqueeze(-2)

    def right_inverse(self, z):
        return z[:, 0], z[0]


class Narrow(nn.Module):
    def forward(self, x):
        return x[:1]


P = utils.parametrize
layer = nn.Linear(3, 3)
print(P.register_parametrization(layer, "weight", Symmetric()) is layer, layer)
print(torch.equal(layer.weight, layer.weight.T), type(layer).__name__, isinstance(layer, nn.Linear))
print(list(dict(layer.named_parameters())), list(layer.state_dict()), P.is_parametrized(layer, "bias"))
trained(layer, 2, 3)
layer.weight = torch.arange(9.0).reshape(3, 3)
print(layer.weight, layer.parametrizations.weight.original)
P.register_parametrization(layer, "weight", Scaled())
print(layer.weight, layer.parametrizations.weight)
tried(setattr, layer, "weight", torch.zeros(3, 3))
with P.cached():
    print(layer.weight is layer.weight)
print(layer.weight is layer.weight)
twin = copy.deepcopy(layer)
print(
    torch.equal(twin.weight, layer.weight),
    twin.parametrizations.weight.original is layer.parametrizations.weight.original,
)
print(P.type_before_parametrizations(layer) is nn.Linear)
print(P.remove_parametrizations(layer, "weight"), layer.weight, type(layer.weight).__name__)
plain = P.register_parametrization(nn.Linear(2, 2), "weight", Scaled())
P.remove_parametrizations(plain, "weight", leave_parametrized=False)
print(plain.weight)
tried(P.remove_parametrizations, layer, "weight")
tried(P.register_parametrization, layer, "weight", Narrow())
tried(P.register_parametrization, layer, "nothing", Narrow())
two = P.register_parametrization(nn.Linear(2, 3), "weight", Rank1())
print(list(dict(two.named_parameters())), two.weight.shape)
trained(two, 2, 2)
tried(P.remove_parametrizations, two, "weight", leave_parametrized=False)
P.register_parametrization(layer, "bias", Narrow(), unsafe=True)
print(layer.bias)

# weight normalisation
newer = utils.parametrizations.weight_norm(nn.Linear(3, 2))
print(newer)
trained(newer, 2, 3)
state = newer.state_dict()
print(list(state))
older_state = {"bias": state["bias"], "weight_g": torch.ones(2, 1), "weight_v": torch.ones(2, 3)}
print(newer.load_state_dict(older_state), newer.weight)
trained(utils.parametrizations.weight_norm(nn.Conv1d(2, 2, 2), dim=None), 1, 2, 3)
older = utils.weight_norm(nn.Linear(3, 2), dim=1)
trained(older, 2, 3)
trained(older, 2, 3)
tried(utils.weight_norm, older)
print(utils.remove_weight_norm(older), type(older.weight).__name__, older.weight.detach())
tried(utils.remove_weight_norm, older)

# spectral normalisation
newer = utils.parametrizations.spectral_norm(nn.Linear(3, 2))
print(newer)
trained(trained(newer, 2, 3), 2, 3)
print(newer.eval().weight)
newer = utils.parametrizations.spectral_norm(nn.ConvTranspose1d(2, 2, 2), n_power_iterations=2)
trained(newer, 1, 2, 3)
tried(utils.parametrizations.spectral_norm, nn.Linear(2, 2), "nothing")
tried(utils.parametrizations.spectral_norm, nn.Linear(2, 2), n_power_iterations=0)
older = utils.spectral_norm(nn.Linear(3, 2))
print(list(older.state_dict()))
trained(trained(older, 2, 3), 2, 3)
tried(utils.spectral_norm, older)
print(utils.remove_spectral_norm(older), older.weight.detach(), list(older.state_dict()))
tried(utils.remove_spectral_norm, older)

print(utils.skip_init(nn.Linear, 2, 3, bias=False).weight.shape)
tried(utils.skip_init, nn.ReLU)

# fusing
for bias in (True, False):
    conv, bn = nn.Conv2d(2, 3, 3, bias=bias), nn.BatchNorm2d(3)
    bn.running_mean.normal_()
    bn.running_var.uniform_(0.5, 2)
    bn.weight.data.normal_()
    tried(utils.fuse_conv_bn_eval, conv, bn)
    pair = nn.Sequential(conv, bn).eval()
    one = utils.fuse_conv_bn_eval(conv, bn)
    x = torch.randn(1, 2, 4, 4)
    print(one, torch.allclose(one(x), pair(x), atol=1e-5), one.bias)
linear, bn = nn.Linear(2, 3), nn.BatchNorm1d(1).eval()
tried(utils.fuse_linear_bn_eval, linear.eval(), nn.BatchNorm1d(2).eval())
print(utils.fuse_linear_bn_eval(linear, bn).weight)
