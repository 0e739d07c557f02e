"""An interpreter of canonical instructions whose meaning is a domain's business. Knows nothing of tensors."""

from . import handlers_flow  # fills in what runs each instruction
from .concrete import ConcreteDomain
from .domain import Domain
from .frame import (
    DISCARD,
    EXHAUSTED,
    NULL,
    PUSH,
    UNBOUND,
    Break,
    Control,
    Convert,
    Frame,
    OnReturn,
    Raised,
    Returned,
    UnsupportedOpcode,
    Yielded,
)
from .generators import InterpretedGenerator
from .loop import Interpreter
