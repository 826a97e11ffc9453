"""Limits of GPUs that nothing here has, by compute capability."""

from __future__ import annotations

# Bytes of shared memory that a block may have, by compute capability (CUDA C programming guide, technical
# specifications per compute capability).
SHARED = {80: 166912, 86: 101376, 87: 166912, 89: 101376, 120: 101376, 121: 101376}
SHARED_ELSE = 232448
# An H100's or H200's; nothing that is compiled here depends on it.
MULTIPROCESSORS = 132
MAX_THREADS = 1024
