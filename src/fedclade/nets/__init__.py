"""Architectures, and how a module becomes one row of numbers and back."""

from torch.nn import Module

from fedclade.nets.net import Net
from fedclade.nets.registry import NETS, net_for, net_of

__all__ = ["NETS", "Module", "Net", "net_for", "net_of"]
