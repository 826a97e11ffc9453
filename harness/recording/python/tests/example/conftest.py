"""Where the tensors are: CPU tensors with Triton's interpreter, else CUDA's."""

import os

import pytest


@pytest.fixture
def device() -> str:
    return "cpu" if os.environ.get("TRITON_INTERPRET") == "1" else "cuda"
