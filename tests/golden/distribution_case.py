"""What is asked of a distribution, by PyTorch (make_distributions.py) and by the engine (tests/engine/distributions).

A case is an expression over `t` (a tensor of float64 with gradients), `D` and `torch`.  The answer is plain data: floats with
seven digits, strings, and for what is refused the type of the error with its first line.
"""

import re
import warnings

CASES = [
    "D.Bernoulli(t(.2, .5, .9))", "D.Bernoulli(logits=t(-1., 0., 2.))", "D.Bernoulli(.3)", "D.Bernoulli(t(0., 1.))",
    "D.Beta(t(.5, 2., 30.), t(1., 3., .8))", "D.Beta(t([.5], [2.]), t(1., 3.))",
    "D.Binomial(10, t(.2, .5, .9))", "D.Binomial(t(1., 40.), logits=t(-.5, .3))", "D.Binomial(100, t(.4, .7))",
    "D.Categorical(t(.2, .3, .5))", "D.Categorical(logits=t([1., 2., 3.], [0., -1., .5]))", "D.Categorical(t(0., 1., 3.))",
    "D.Cauchy(t(0., 1.), t(1., 2.))", "D.Chi2(t(1., 3., 20.))",
    "D.ContinuousBernoulli(t(.2, .5, .9))", "D.ContinuousBernoulli(logits=t(-1., 0., 2.))",
    "D.Dirichlet(t(.5, 2., 3.))", "D.Dirichlet(t([.5, .2, .3], [1., 4., 10.]))", "D.Dirichlet(t([.5, .9], [3., 2.]))",
    "D.Exponential(t(.5, 2.))", "D.Exponential(1.5)", "D.FisherSnedecor(t(3., 9., 1.), t(5., 2., 9.))",
    "D.Gamma(t(.3, 2., 50.), t(1., 3., .5))", "D.Gamma(2., t(1., 4.))",
    "D.GeneralizedPareto(t(0., 1., 2.), t(1., 2., 3.), t(0., .3, -.4))",
    "D.Geometric(t(.2, .7, 1.))", "D.Geometric(logits=t(-1., .4))", "D.Gumbel(t(0., 1.), t(1., 2.))",
    "D.HalfCauchy(t(1., 2.))", "D.HalfNormal(t(1., 2.))",
    "D.Independent(D.Normal(t([0., 1.], [2., 3.]), t(1., 2.)), 1)", "D.Independent(D.Bernoulli(t(.2, .8)), 0)",
    "D.InverseGamma(t(.5, 1.5, 4.), t(1., 2., 3.))", "D.Kumaraswamy(t(.5, 2., 3.), t(.7, 2., 5.))",
    "D.LKJCholesky(3, t(.5, 2.))", "D.Laplace(t(0., 1.), t(1., 2.))", "D.LogNormal(t(0., 1.), t(1., .3))",
    "D.LogisticNormal(t(0., 1., -1.), t(1., .3, 2.))", "D.LogisticNormal(t([0., 1.], [.5, 0.]), t(1., .3))",
    "D.LowRankMultivariateNormal(t(0., 1., 2.), t([1., .5], [0., 2.], [.3, .1]), t(1., 2., .5))",
    "D.LowRankMultivariateNormal(t([0., 1.], [2., 1.]), t([1.], [.5]), t([1., 2.], [3., 1.]))",
    "D.MixtureSameFamily(D.Categorical(t(.2, .8)), D.Normal(t(0., 5.), t(1., 2.)))",
    "D.MixtureSameFamily(D.Categorical(t([.2, .8], [.5, .5])), D.Independent(D.Normal(t([[0., 5.], [1., 2.]], [[3., 1.], [0., 0.]]), 1.), 1))",
    "D.Multinomial(5, t(.2, .3, .5))", "D.Multinomial(3, logits=t([1., 2.], [0., -1.]))",
    "D.MultivariateNormal(t(0., 1.), covariance_matrix=t([2., .5], [.5, 1.]))",
    "D.MultivariateNormal(t([0., 1.], [2., 3.]), precision_matrix=t([2., .5], [.5, 1.]))",
    "D.MultivariateNormal(t(0., 1.), scale_tril=t([[2., 0.], [.5, 1.]], [[1., 0.], [.2, 3.]]))",
    "D.NegativeBinomial(5., t(.2, .5))", "D.NegativeBinomial(t(3., 0.), logits=t(-.5, -1.))",
    "D.Normal(t(0., 1., -2.), t(1., 2., .5))", "D.Normal(0., 1.)", "D.Normal(t([0.], [1.]), t(1., 2.))",
    "D.OneHotCategorical(t(.2, .3, .5))", "D.OneHotCategorical(logits=t([1., 2., 0.], [0., -1., 1.]))",
    "D.OneHotCategoricalStraightThrough(t(.2, .3, .5))", "D.Pareto(t(1., 2.), t(.5, 3.))",
    "D.Poisson(t(.5, 3., 30.))", "D.RelaxedBernoulli(t(.5), t(.2, .7))", "D.RelaxedBernoulli(t(.5), logits=t(.2, .7))",
    "D.RelaxedOneHotCategorical(t(.5), t(.2, .3, .5))", "D.RelaxedOneHotCategorical(t(2.), logits=t([1., 2.], [0., 3.]))",
    "D.StudentT(t(.5, 1.5, 8.), t(0., 1., 2.), t(1., 2., 3.))",
    "D.TransformedDistribution(D.Normal(t(0., 1.), 1.), [D.AffineTransform(1., -2.), D.ExpTransform()])",
    "D.TransformedDistribution(D.Uniform(t(0., 0.), 1.), [D.SigmoidTransform().inv, D.AffineTransform(t(1., 2.), t(3., .5))])",
    "D.TransformedDistribution(D.Normal(t(0., 1., 2.), 1.), D.StickBreakingTransform())",
    "D.TransformedDistribution(D.Normal(t(.1, .2, .3, .4), 1.), D.ReshapeTransform((4,), (2, 2)))",
    "D.Uniform(t(0., -1.), t(1., 3.))", "D.Uniform(2., 5.)", "D.VonMises(t(0., 1.), t(.5, 4.))",
    "D.Weibull(t(1., 2.), t(.5, 3.))", "D.Wishart(t(3., 5.), covariance_matrix=t([2., .5], [.5, 1.]))",
    "D.Wishart(4., scale_tril=t([2., 0.], [.5, 1.]))",
]  # fmt: skip

REFUSED = [
    "D.Normal(0., -1.)", "D.Normal(t(0., 1.), t(1., 0.))", "D.Normal(t(float('nan')), 1.)", "D.Normal('a', 1.)",
    "D.Bernoulli()", "D.Bernoulli(.5, .5)", "D.Bernoulli(t(1.2))", "D.Categorical(t(-.2, .5))", "D.Categorical(torch.tensor(1.))",
    "D.Categorical(logits=t(1., float('nan')))", "D.Dirichlet(torch.tensor(1.))", "D.Dirichlet(t(1., -1.))",
    "D.Binomial(-1, t(.5))", "D.Binomial(1.5, t(.5))", "D.Binomial(t(1., 2.), t(.5)).entropy()", "D.Gamma(0., 1.)",
    "D.Geometric(0.)", "D.LKJCholesky(1)", "D.Uniform(1., 0.)", "D.Multinomial(t(1.), t(.5, .5))", "D.Poisson(-1.)",
    "D.MultivariateNormal(torch.tensor(1.), torch.eye(2))", "D.MultivariateNormal(t(0., 1.))",
    "D.MultivariateNormal(t(0., 1.), t(1., 2.))", "D.MultivariateNormal(t(0., 1.), t([1., 2.], [2., 1.]))",
    "D.MultivariateNormal(t(0., 1.), scale_tril=t([1., 2.], [2., 1.]))", "D.Wishart(t(.5), torch.eye(2, dtype=torch.float64))",
    "D.LowRankMultivariateNormal(t(0., 1.), t([1.], [2.], [3.]), t(1., 1.))",
    "D.LowRankMultivariateNormal(t(0., 1.), t([1.], [2.]), t(1., 1., 1.))",
    "D.Independent(D.Normal(0., 1.), 1)", "D.MixtureSameFamily(D.Normal(0., 1.), D.Normal(t(0., 1.), 1.))",
    "D.MixtureSameFamily(D.Categorical(t(1., 1.)), D.Normal(t(0., 1., 2.), 1.))",
    "D.TransformedDistribution(D.Normal(0., 1.), 'exp')", "D.TransformedDistribution(D.Normal(0., 1.), ['exp'])",
    "D.TransformedDistribution(D.Normal(0., 1.), D.StickBreakingTransform())", "D.ExpTransform(cache_size=2)",
    "D.ReshapeTransform((2,), (3,))", "D.Normal(0., 1.).log_prob(1.)", "D.Normal(0., 1.).log_prob(t(float('nan')))",
    "D.Normal(t(0., 1.), 1.).log_prob(t(1., 2., 3.))", "D.Dirichlet(t(1., 1.)).log_prob(t(1., 2., 3.))",
    "D.Dirichlet(t(1., 1.)).log_prob(t(.5, .6))", "D.Bernoulli(.5).log_prob(t(.5))", "D.Categorical(t(1., 1.)).log_prob(t(2.))",
    "D.Exponential(1.).log_prob(t(-1.))", "D.Uniform(0., 1.).log_prob(t(2.))", "D.Poisson(1.).entropy()", "D.Poisson(1.).icdf(t(.5))",
    "D.Poisson(1.).rsample()", "D.Bernoulli(.5).cdf(t(.5))", "D.Normal(t(0., 1.), 1.).expand((3,))", "D.Distribution()",
    "D.kl_divergence(D.Normal(0., 1.), D.Poisson(1.))", "D.kl_divergence(D.Gamma(1., 1.), D.Laplace(0., 1.))",
    "D.biject_to(D.constraints.lower_cholesky)", "D.biject_to(D.constraints.boolean)", "D.constraints.dependent.check(t(1.))",
    "D.Distribution.support.fget.__name__ and D.Uniform.support.check(t(1.))", "D.Uniform.support.event_dim",
    "D.constraints.independent(D.constraints.real, -1)", "D.constraints.cat([1])", "D.Distribution.set_default_validate_args(3)",
    "D.StackTransform([D.ExpTransform()], 3)(t(1.))", "D.CatTransform([D.ExpTransform()], 0, [2])(t(1.))",
    "D.CorrCholeskyTransform().forward_shape((2,))",
    "type('My', (D.Normal,), {'__init__': lambda self: D.Normal.__init__(self, 0., 1.)})().expand((2,))",
]  # fmt: skip

PAIRS = [
    "D.Bernoulli(t(.2, 0.)), D.Bernoulli(t(.5, .3))", "D.Bernoulli(t(.2)), D.Poisson(t(2.))", "D.Beta(t(1., 2.), t(3., 1.)), D.Beta(2., 2.)",
    "D.Binomial(5, t(.2)), D.Binomial(5, t(.6))", "D.Binomial(6, t(.2)), D.Binomial(5, t(.6))",
    "D.Categorical(t(.2, .8)), D.Categorical(t(.5, .5))", "D.Categorical(t([.2, .8], [0., 1.])), D.Categorical(t(.5, .5))",
    "D.OneHotCategorical(t(.2, .8)), D.OneHotCategorical(t(.5, .5))", "D.Cauchy(t(0.), t(1.)), D.Cauchy(t(2.), t(3.))",
    "D.ContinuousBernoulli(t(.2)), D.ContinuousBernoulli(t(.7))", "D.Dirichlet(t(1., 2.)), D.Dirichlet(t(3., .5))",
    "D.Exponential(t(1.)), D.Exponential(t(3.))", "D.Gamma(t(1.), t(2.)), D.Gamma(t(3.), t(4.))", "D.Geometric(t(.2)), D.Geometric(t(.5))",
    "D.Gumbel(t(0.), t(1.)), D.Gumbel(t(2.), t(3.))", "D.HalfNormal(t(1.)), D.HalfNormal(t(3.))", "D.Laplace(t(0.), t(1.)), D.Laplace(t(2.), t(3.))",
    "D.Normal(t(0., 1.), t(1., 2.)), D.Normal(t(2.), t(3.))", "D.Pareto(t(1., 3.), t(2.)), D.Pareto(t(2.), t(3.))",
    "D.Poisson(t(1.)), D.Poisson(t(3.))",
    "D.Uniform(t(0., 1.), t(2.)), D.Uniform(t(.5), t(3.))", "D.LogNormal(t(0.), t(1.)), D.LogNormal(t(2.), t(3.))",
    "D.Independent(D.Normal(t(0., 1.), 1.), 1), D.Independent(D.Normal(t(1., 1.), 2.), 1)",
    "D.MultivariateNormal(t(0., 1.), t([2., .5], [.5, 1.])), D.MultivariateNormal(t([1., 1.], [0., 0.]), t([1., .2], [.2, 3.]))",
    "D.MultivariateNormal(t(0., 1.), t([2., .5], [.5, 1.])), D.LowRankMultivariateNormal(t(1., 1.), t([1.], [.5]), t(1., 2.))",
    "D.LowRankMultivariateNormal(t(1., 1.), t([1.], [.5]), t(1., 2.)), D.MultivariateNormal(t(0., 1.), t([2., .5], [.5, 1.]))",
    "D.LowRankMultivariateNormal(t(1., 1.), t([1.], [.5]), t(1., 2.)), D.LowRankMultivariateNormal(t(0., 1.), t([1., 0.], [.5, 1.]), t(3., 2.))",
    "D.Beta(t(2.), t(3.)), D.ContinuousBernoulli(t(.7))", "D.Beta(t(2.), t(3.)), D.Pareto(t(2.), t(3.))",
    "D.Beta(t(2.), t(3.)), D.Exponential(t(2.))",
    "D.Beta(t(2.), t(3.)), D.Gamma(t(2.), t(3.))", "D.Beta(t(2.), t(3.)), D.Normal(t(2.), t(3.))",
    "D.Beta(t(2.), t(3.)), D.Uniform(t(-1., .5), t(3.))",
    "D.ContinuousBernoulli(t(.2)), D.Exponential(t(2.))", "D.ContinuousBernoulli(t(.2)), D.Normal(t(2.), t(3.))",
    "D.ContinuousBernoulli(t(.2)), D.Uniform(t(-1.), t(3.))", "D.ContinuousBernoulli(t(.2)), D.Pareto(t(2.), t(3.))",
    "D.Exponential(t(2.)), D.Beta(t(2.), t(3.))", "D.Exponential(t(2.)), D.Gamma(t(2.), t(3.))", "D.Exponential(t(2.)), D.Gumbel(t(2.), t(3.))",
    "D.Exponential(t(2.)), D.Normal(t(2.), t(3.))", "D.Gamma(t(2.), t(3.)), D.Exponential(t(2.))", "D.Gamma(t(2.), t(3.)), D.Gumbel(t(2.), t(3.))",
    "D.Gamma(t(2.), t(3.)), D.Normal(t(2.), t(3.))", "D.Gumbel(t(2.), t(3.)), D.Normal(t(1.), t(2.))",
    "D.Gumbel(t(2.), t(3.)), D.Gamma(t(1.), t(2.))",
    "D.Laplace(t(2.), t(3.)), D.Normal(t(1.), t(2.))", "D.Normal(t(2.), t(3.)), D.Gumbel(t(1.), t(2.))",
    "D.Normal(t(2.), t(3.)), D.Laplace(t(1.), t(2.))",
    "D.Pareto(t(2.), t(3., .5)), D.Exponential(t(1.))", "D.Pareto(t(2.), t(3., .5)), D.Gamma(t(1.), t(2.))",
    "D.Pareto(t(2.), t(3., .5)), D.Normal(t(1.), t(2.))",
    "D.Poisson(t(2.)), D.Bernoulli(t(.5))", "D.Uniform(t(.2, -1.), t(.9)), D.Beta(t(2.), t(3.))",
    "D.Uniform(t(.2), t(.9)), D.ContinuousBernoulli(t(.7))",
    "D.Uniform(t(.2, -1.), t(3.)), D.Exponential(t(2.))", "D.Uniform(t(.2, -1.), t(3.)), D.Gamma(t(2.), t(3.))",
    "D.Uniform(t(.2, -1.), t(3.)), D.Gumbel(t(2.), t(3.))",
    "D.Uniform(t(.2, -1.), t(3.)), D.Normal(t(2.), t(3.))", "D.Uniform(t(2.2, 1.), t(3.)), D.Pareto(t(2.), t(3.))",
    "D.Wishart(t(3.), t([2., .5], [.5, 1.])), D.Wishart(t(4.), t([1., .5], [.5, 1.]))", "D.Chi2(t(2.)), D.Gamma(t(2.), t(3.))",
]  # fmt: skip

TRANSFORMS = [
    ("D.ExpTransform()", "t(-1., 2.)"), ("D.PowerTransform(t(2., -1.5))", "t(1., 2.)"), ("D.SigmoidTransform()", "t(-1., 2., 50.)"),
    ("D.SoftplusTransform()", "t(-1., 2., 30.)"), ("D.TanhTransform()", "t(-1., 2., 9.)"), ("D.AffineTransform(1., -2.)", "t(-1., 2.)"),
    ("D.AffineTransform(t(1., 2.), t(3., -4.), 1)", "t([-1., 2.], [0., 1.])"), ("D.StickBreakingTransform()", "t([-1., 2.], [0., 1.])"),
    ("D.CorrCholeskyTransform()", "t(.5, -1., .2)"), ("D.ReshapeTransform((4,), (2, 2))", "t(1., 2., 3., 4.)"),
    ("D.ComposeTransform([D.ExpTransform(), D.AffineTransform(0., 3.), D.ExpTransform().inv])", "t(-1., 2.)"),
    ("D.IndependentTransform(D.ExpTransform(), 1)", "t([-1., 2.], [0., 1.])"), ("D.SoftmaxTransform()", "t([-1., 2.], [0., 1.])"),
    ("D.LowerCholeskyTransform()", "t([-1., 2.], [.5, 1.])"), ("D.PositiveDefiniteTransform()", "t([-1., 0.], [.5, 1.])"),
    ("D.AbsTransform()", "t(-1., 2.)"), ("D.CatTransform([D.ExpTransform(), D.TanhTransform()], 0, [1, 2])", "t(-1., 2., .3)"),
    ("D.StackTransform([D.ExpTransform(), D.TanhTransform()], -1)", "t([-1., 2.], [.3, .1])"), ("D.identity_transform", "t(-1., 2.)"),
    ("D.CumulativeDistributionTransform(D.Normal(1., 2.))", "t(-1., 2.)"), ("D.biject_to(D.constraints.simplex)", "t(-1., 2.)"),
    ("D.transform_to(D.constraints.interval(t(1.), 5.))", "t(-1., 2.)"), ("D.transform_to(D.constraints.greater_than(2.))", "t(-1., 2.)"),
    ("D.biject_to(D.constraints.less_than(2.))", "t(-1., 2.)"), ("D.biject_to(D.constraints.real_vector)", "t(-1., 2.)"),
    ("D.transform_to(D.constraints.positive_definite)", "t([-1., 0.], [.5, 1.])"), ("D.biject_to(D.constraints.unit_interval)", "t(-1., 2.)"),
]  # fmt: skip


def plain(value):
    """A result as plain data."""
    if hasattr(value, "detach"):
        value = value.detach().tolist()
    if isinstance(value, bool | str | int) or value is None:
        return value
    if isinstance(value, list | tuple):
        return [plain(v) for v in value]
    return float(f"{value:.7g}") if isinstance(value, float) else str(value)


def tried(question):
    """The answer, or the error that refuses one."""
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            return plain(question())
    except Exception as error:
        words = re.sub(r"<class '[\w.]+\.(\w+)'>", r"\1", " ".join(str(error).split("\n")[0].split()))
        return f"{type(error).__name__}: {words}"


class Leaves:
    """Makes tensors, of float64 if nothing is said, that require gradients, and keeps them."""

    def __init__(self, torch, dtype=None):
        self.torch, self.made, self.dtype = torch, [], dtype or torch.float64

    def __call__(self, *values):
        made = self.torch.tensor(values if len(values) > 1 else values[0], dtype=self.dtype, requires_grad=True)
        self.made.append(made)
        return made

    def grads(self, value):
        """The gradients of a weighted sum of `value`."""
        if not self.made:
            return []
        weights = self.torch.arange(1, value.numel() + 1, dtype=value.dtype).reshape(value.shape)
        found = self.torch.autograd.grad((value * weights).sum(), self.made, allow_unused=True, retain_graph=True)
        return [None if g is None else plain(g) for g in found]


def evaluate(torch, expression, t=None):
    return eval(expression, {"D": torch.distributions, "torch": torch, "t": t or Leaves(torch)})


def distribution(torch, expression):
    """All that a distribution says of itself."""
    t = Leaves(torch)
    d = evaluate(torch, expression, t)
    answers = {"repr": repr(d), "shapes": [list(d.batch_shape), list(d.event_shape)]}
    answers["flags"] = [bool(d.has_rsample), bool(d.has_enumerate_support)]
    answers["support"] = tried(lambda: " ".join(repr(d.support).split()))
    for name in ("mean", "mode", "variance", "stddev"):
        answers[name] = tried(lambda: getattr(d, name))  # noqa: B023
    answers["entropy"] = tried(lambda: d.entropy())
    answers["entropy grads"] = tried(lambda: t.grads(d.entropy()))
    answers["perplexity"] = tried(lambda: d.perplexity())
    answers["enumerated"] = tried(lambda: d.enumerate_support())
    answers["listed"] = tried(lambda: d.enumerate_support(expand=False))
    torch.manual_seed(3)
    x = d.sample((2,))
    answers["sample"] = plain(x)
    torch.manual_seed(4)
    answers["another"] = tried(lambda: d.sample())
    torch.manual_seed(5)
    answers["rsample grads"] = tried(lambda: t.grads(d.rsample((2,))))
    answers["log_prob"] = tried(lambda: d.log_prob(x))
    answers["log_prob grads"] = tried(lambda: t.grads(d.log_prob(x)))
    answers["cdf"] = tried(lambda: d.cdf(x))
    u = torch.full(d.batch_shape, 0.3, dtype=torch.float64)
    answers["icdf"] = tried(lambda: d.icdf(u))
    grown = d.expand((2, *d.batch_shape))
    answers["grown"] = [repr(grown), list(grown.batch_shape), list(grown.event_shape)]
    torch.manual_seed(6)
    answers["grown sample"] = tried(lambda: grown.sample().sum().double())
    answers["grown log_prob"] = tried(lambda: grown.log_prob(x))
    return answers


def transform(torch, expression, at):
    """All that a transform does at a point."""
    t = Leaves(torch)
    f, x = evaluate(torch, expression, t), evaluate(torch, at, t)
    y = f(x)
    return {
        "y": plain(y), "grads": tried(lambda: t.grads(y)), "back": tried(lambda: f.inv(y)), "repr": repr(f), "inverse": repr(f.inv),
        "log_det": tried(lambda: f.log_abs_det_jacobian(x, y)), "shapes": tried(lambda: [f.forward_shape(x.shape), f.inverse_shape(y.shape)]),
        "sides": tried(lambda: [repr(f.domain), repr(f.codomain)]), "kind": tried(lambda: [f.bijective, f.sign, f.event_dim]),
        "equal": tried(lambda: f == evaluate(torch, expression)), "cached": tried(lambda: f.with_cache(1)(x)),
    }  # fmt: skip


def drawn(torch, expression):
    """Eight of the numbers that seed 0 gives for parameters of float32."""
    torch.manual_seed(0)
    sample = evaluate(torch, expression, Leaves(torch, torch.float32)).sample((20,))
    return [float(f"{v:.6g}") for v in sample.reshape(-1)[-8:].double().tolist()]


SAMPLERS = [
    "torch._standard_gamma(t([.1, .5, 1.], [2., 9., 400.]))", "torch._standard_gamma(torch.linspace(.05, 20, 500, dtype=torch.float64))[-3:]",
    "torch._sample_dirichlet(t([.1, .5, 1.], [2., 9., 400.]))", "torch.poisson(t(0., .3, 3., 9.9, 10., 55., 1e4))",
    "torch.poisson(torch.linspace(0, 40, 500))[-3:]", "torch.binomial(t(0., 5., 30., 100., 1e4, 7., 50.), t(.5, .3, .02, .5, .9, 1., .8))",
    "torch.binomial(torch.full((500,), 60.), torch.linspace(0, 1, 500))[200:203]", "torch.empty(3).cauchy_(1., 2.)",
    "torch.empty(3).log_normal_(0., .5)", "torch.empty(3).geometric_(.2)", "torch._standard_gamma(t(0., 2.))",
]  # fmt: skip


def sampler(torch, expression):
    """A draw after others, and what comes after it."""
    torch.manual_seed(7)
    torch.randn(3)
    t = Leaves(torch)
    first = evaluate(torch, expression, t)
    return [plain(first), plain(torch.rand(2).double()), plain(torch.randn(3).double())]
