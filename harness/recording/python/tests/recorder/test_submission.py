"""The process of a submission of `cerith judge`, with torch."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from test_check import fake

from cerith_triton import arguments, submission
from cerith_triton.trials import Subject

torch = pytest.importorskip("torch")

__all__ = ["fake"]


def describe(tmp_path: Path, value: Any, text: str = "") -> dict[str, Any]:
    """The result of a call that returns a value, in the process of a submission with this text."""
    path = tmp_path / "submission.py"
    path.write_text(text, encoding="utf-8")
    run = submission._Run(None, str(path), {"entry": "run", "form": "plain"})  # type: ignore[arg-type]
    fields, _ = run._describe(value, submission._Inputs([], memoryview(b""), {}))
    return fields


def make_obstacles() -> list[Any]:
    from torch._C._functorch import _add_batch_dim
    from torch._subclasses import FakeTensorMode

    plain = torch.arange(6.0).reshape(2, 3)
    made = [
        torch._neg_view(plain),
        torch.zeros(2, 3, dtype=torch.complex64).conj().imag,
        torch._efficientzerotensor((2, 3)),
        plain.to("meta"),
        plain.to_sparse(),
        torch.nested.nested_tensor([plain[0], plain[1, :2]]),
        FakeTensorMode().from_tensor(plain),
        _add_batch_dim(plain, 0, 1),
    ]
    return made + ([plain.to_mkldnn()] if torch.backends.mkldnn.is_available() else [])


def test_only_plain_memory_is_a_result(tmp_path: Path) -> None:
    for value in make_obstacles():
        (one,) = describe(tmp_path, value)["outputs"]
        assert one["host"] == arguments.find_obstacle(value)
        assert "launch" not in one and "bits" not in one
    assert arguments.find_obstacle(torch.nn.Parameter(torch.ones(2)).data.t()) is None


def test_a_result_larger_than_memory_is_not_copied(tmp_path: Path) -> None:
    (one,) = describe(tmp_path, torch.ones(1, 1).expand(1 << 31, 1 << 31))["outputs"]
    assert one["host"] == "no launch wrote it" and "bits" not in one


def test_bits_of_a_lazily_negated_tensor_are_negated() -> None:
    assert arguments.read_values(torch._neg_view(torch.ones(2))).tolist() == [-1, -1]


@pytest.mark.usefixtures("fake")
def test_check_does_not_accept_them() -> None:
    for value in make_obstacles():
        subject = Subject(lambda x: value, lambda x: x, [torch.ones(2, 3)], {}, [torch.ones(2, 3)], {})  # noqa: B023
        oracle: Any = type(
            "_Oracle", (), {"changed_anything": True, "launches": 1, "writer_of": lambda *_: None}
        )()
        found: Any = subject._classify(oracle, "output", value, torch.ones(2, 3).numpy())
        assert found.reason
        assert found.verdict == ("undecided" if value.is_neg() else "wrong"), found
