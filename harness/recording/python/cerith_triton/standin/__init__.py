"""Tensors that behave like torch's where Triton looks at them, for processes without torch.

The workers of Cerith's engines have the same files, as links.
"""
