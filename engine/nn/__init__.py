"""`torch.nn`: modules, parameters, containers, losses and their functions."""

from . import functional, init, parameter
from .activation import *
from .container import ModuleDict, ModuleList, ParameterDict, ParameterList, Sequential
from .dropout import *
from .linear import Bilinear, Identity, Linear
from .loss import *
from .module import Module
from .parameter import Buffer, Parameter
