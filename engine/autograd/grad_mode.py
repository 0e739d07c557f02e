"""Context managers and decorators that switch recording: no_grad, enable_grad, set_grad_enabled, inference_mode,
anomaly detection.  They set per-thread switches and nothing else."""

from __future__ import annotations

import functools
import inspect
from typing import Any

from ..state import state


class _Switch:
    """A context manager that also decorates functions, generator functions and classes' methods."""

    def __enter__(self) -> Any:
        raise NotImplementedError

    def __exit__(self, *error: object) -> None:
        raise NotImplementedError

    def _again(self) -> _Switch:
        return type(self)()

    def __call__(self, function: Any) -> Any:
        if inspect.isclass(function):
            raise TypeError(
                "Cannot decorate classes, it is ambiguous whether or not only the constructor or all methods should be decorated"
            )
        if inspect.isgeneratorfunction(function):

            @functools.wraps(function)
            def generator(*args: Any, **kwargs: Any) -> Any:
                with self._again():
                    inner = function(*args, **kwargs)
                sent, failed = None, None
                while True:
                    try:
                        with self._again():
                            value = inner.throw(failed) if failed is not None else inner.send(sent)
                    except StopIteration as end:
                        return end.value
                    sent, failed = None, None
                    try:
                        sent = yield value
                    except GeneratorExit:
                        inner.close()
                        raise
                    except BaseException as error:
                        failed = error

            return generator

        @functools.wraps(function)
        def wrapped(*args: Any, **kwargs: Any) -> Any:
            with self._again():
                return function(*args, **kwargs)

        return wrapped


class _GradSwitch(_Switch):
    value = True

    def __new__(cls, function: Any = None) -> Any:
        out = object.__new__(cls)
        if function is not None:
            return out(function)
        return out

    def __enter__(self) -> None:
        self._before = state.grad_enabled
        state.grad_enabled = self.value

    def __exit__(self, *error: object) -> None:
        state.grad_enabled = self._before


class no_grad(_GradSwitch):
    """Nothing is recorded inside."""

    value = False


class enable_grad(_GradSwitch):
    """Recording is on inside, also within `no_grad`."""

    value = True


class set_grad_enabled(_Switch):
    """Switch recording at once; as a context manager, until its end."""

    def __init__(self, mode: bool):
        self._before = state.grad_enabled
        self.mode = bool(mode)
        state.grad_enabled = self.mode

    def __call__(self, function: Any) -> Any:
        state.grad_enabled = self._before
        return super().__call__(function)

    def _again(self) -> _Switch:
        return set_grad_enabled(self.mode)

    def __enter__(self) -> None:
        state.grad_enabled = self.mode

    def __exit__(self, *error: object) -> None:
        state.grad_enabled = self._before


class inference_mode(_Switch):
    """Nothing is recorded inside, and nothing made inside can be recorded later."""

    def __new__(cls, mode: Any = True) -> Any:
        out = object.__new__(cls)
        if callable(mode):
            out.mode = True
            return out(mode)
        return out

    def __init__(self, mode: bool = True):
        self.mode = mode

    def _again(self) -> _Switch:
        return inference_mode(self.mode)

    def __enter__(self) -> None:
        self._before = state.grad_enabled, state.inference
        state.grad_enabled, state.inference = not self.mode and state.grad_enabled, self.mode

    def __exit__(self, *error: object) -> None:
        state.grad_enabled, state.inference = self._before


def is_grad_enabled() -> bool:
    """Whether operators are recorded now."""
    return state.grad_enabled


def is_inference_mode_enabled() -> bool:
    """Whether inference mode is on."""
    return state.inference


class set_detect_anomaly:
    """Anomaly mode: backward names the forward line of a node that fails or makes NaNs."""

    def __init__(self, mode: bool, check_nan: bool = True):
        self._before = state.anomaly, state.anomaly_check_nan
        state.anomaly, state.anomaly_check_nan = mode, check_nan

    def __enter__(self) -> None:
        pass

    def __exit__(self, *error: object) -> None:
        state.anomaly, state.anomaly_check_nan = self._before


class detect_anomaly(_Switch):
    """Anomaly mode inside `with`."""

    def __init__(self, check_nan: bool = True):
        import warnings

        self.check_nan = check_nan
        warnings.warn(
            "Anomaly Detection has been enabled. This mode will increase the runtime and should only be enabled for debugging.",
            stacklevel=2,
        )

    def __enter__(self) -> None:
        self._before = state.anomaly, state.anomaly_check_nan
        state.anomaly, state.anomaly_check_nan = True, self.check_nan

    def __exit__(self, *error: object) -> None:
        state.anomaly, state.anomaly_check_nan = self._before


def is_anomaly_enabled() -> bool:
    """Whether anomaly mode is on."""
    return state.anomaly
