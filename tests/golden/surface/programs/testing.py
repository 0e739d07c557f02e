# torch.testing: what is said of values that differ.
import sys

close = sys.modules[torch.__name__ + ".testing"].assert_close


def show(*args, **kwargs):
    try:
        print(close(*args, **kwargs))
    except (AssertionError, ValueError) as error:
        print(type(error).__name__, error)


t = torch.tensor
show(t([1.0, 2.0]), t([1.0, 2.0]))
show(t([1.0, 2.0, 3.0]), t([1.0, 2.5, 4.0]))
show(t([1, 2, 3]), t([1, 2, 5]))
show(t([1.0]), t([1.0], dtype=torch.float64))
show(t([1.0]), t([1.0], dtype=torch.float64), check_dtype=False)
show(t([1.0]), t([1.0, 2.0]))
show(t(1.0), t(2.0))
show(1.0, 1.0 + 1e-9)
show(1.0, 1.5)
show(1, 2)
show([t([1.0]), t([2.0])], [t([1.0]), t([3.0])])
show({"a": t([1.0])}, {"a": t([2.0])})
show([1.0], [1.0, 2.0])
show(t([float("nan")]), t([float("nan")]))
show(t([float("nan")]), t([float("nan")]), equal_nan=True)
show(t([[1.0, 2.0], [3.0, 4.0]]), t([[1.0, 2.0], [3.0, 9.0]]), rtol=0.1, atol=0.5)
show(t([1.0]), t([1.1]), rtol=0.2, atol=0)
show(t([1.0]), t([1.1]), rtol=0.2)
show(t([1.0]), t([2.0]), msg="not the same")
show(t([True, False]), t([True, True]))
show(None, None)
