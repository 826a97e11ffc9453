"""Where the tensors are: on the CPU for the interpreter, else on a GPU; or where EXAMPLE_DEVICE says."""

import os

import pytest


@pytest.fixture
def device() -> str:
    usual = "cpu" if os.environ.get("TRITON_INTERPRET") == "1" else "cuda"
    return os.environ.get("EXAMPLE_DEVICE", usual)
