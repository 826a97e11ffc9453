"""Row-wise kernels: softmax and RMS norm."""

from rowwise.norm import rms_norm
from rowwise.softmax import softmax

__all__ = ["rms_norm", "softmax"]
