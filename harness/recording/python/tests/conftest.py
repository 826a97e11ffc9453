"""Requirements of the tests, and the reasons for skipping them."""

from __future__ import annotations

import importlib.util
import os
from pathlib import Path

import pytest

from cerith_triton import binary

pytest_plugins = ["pytester"]

PACKAGE = Path(binary.__file__).parent


@pytest.fixture
def needs_cerith() -> str:
    """The program, which must know recordings."""
    try:
        return binary.find()
    except binary.CerithError as error:
        pytest.skip(f"no program to judge with: {error}")


@pytest.fixture
def needs_torch() -> None:
    """A Triton with torch, for launches with CPU tensors."""
    for module in ("torch", "triton"):
        if importlib.util.find_spec(module) is None:
            pytest.skip(f"no {module} in this environment")


@pytest.fixture
def interpreted(monkeypatch: pytest.MonkeyPatch, needs_torch: None, needs_cerith: str) -> None:
    """Processes that the test starts interpret their kernels, and find this package."""
    monkeypatch.setenv("TRITON_INTERPRET", "1")
    monkeypatch.setenv("PYTHONPATH", os.pathsep.join([str(PACKAGE.parent), os.environ.get("PYTHONPATH", "")]))
