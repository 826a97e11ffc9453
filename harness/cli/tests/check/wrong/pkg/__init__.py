import torch

from .device import DEVICE

assert torch.cuda.is_available(), DEVICE
