import torch

DEVICE = torch.cuda.get_device_properties(0)
