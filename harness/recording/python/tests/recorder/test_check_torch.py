"""`check` with tensors of torch's."""

from __future__ import annotations

import functools
from types import SimpleNamespace
from typing import Any

import compared
import pytest
from test_check import check, fake, twice

import cerith_triton
from cerith_triton.devices import watch_torch
from cerith_triton.inputs import Data
from cerith_triton.trials import Subject, list_held
from cerith_triton.wording import CodeWriter

torch = pytest.importorskip("torch")

__all__ = ["fake"]


FACTOR = torch.tensor(0.3)


def right(x: Any) -> Any:
    out = torch.empty_like(x)
    compared.double[(-(-x.numel() // 16),)](x, out, x.numel(), BLOCK=16)
    return out


def tensor() -> Any:
    return torch.arange(35, dtype=torch.float32).reshape(5, 7) / 8


def test_a_launcher_for_a_gpu_runs_without_one() -> None:
    def on_gpu(x: Any) -> Any:
        assert x.is_cuda and torch.cuda.current_device() == 0
        count = torch.cuda.get_device_properties(x.device).multi_processor_count
        out = torch.empty(x.shape, device=torch.device("cuda"), dtype=x.dtype)
        with torch.cuda.device(x.device):
            compared.double[(min(3, count),)](x.cuda(), out.to("cuda:0"), 35, BLOCK=16)
        return out

    x = tensor()
    assert check(on_gpu, args=[x]).ok
    if not torch.cuda.is_available():
        assert not x.is_cuda
        with pytest.raises((RuntimeError, AssertionError)):
            torch.empty(3, device="cuda")


def test_the_reference_gets_float64_and_the_rest_as_it_is() -> None:
    seen: list[Any] = []

    def like(x: Any, index: Any, dtype: Any) -> Any:
        seen.append((x.dtype, index.dtype, dtype, x.requires_grad))
        return (x * 2).detach()

    x = tensor().to(torch.float16).requires_grad_(True)
    index = torch.tensor([True, False])
    kwargs = {"dtype": torch.float16}
    found = check(lambda x, index, dtype: right(x.detach()), like, args=[x, index], kwargs=kwargs)
    assert found.ok, found.text
    assert set(seen) == {(torch.float64, torch.bool, torch.float16, True)}


def test_parameters_of_a_module_are_float64_too() -> None:
    class Twice(torch.nn.Module):  # type: ignore[misc, name-defined]
        def __init__(self) -> None:
            super().__init__()
            self.factor = torch.nn.Parameter(torch.tensor(2.0))

        def forward(self, x: Any) -> Any:
            assert x.dtype == self.factor.dtype == torch.float64
            return x * self.factor

    module = Twice()
    assert check(right, module, args=[tensor()]).ok
    assert module.factor.dtype == torch.float32


def test_tensors_that_a_launcher_holds_are_known() -> None:
    weight = torch.tensor([0.1, 0.2])
    module = torch.nn.Linear(2, 1)

    def closure(x: Any) -> Any:
        return x * weight.sum() * len(list(module.parameters()))

    assert any(one is weight for one in list_held(closure))
    assert len(list_held(closure)) == 3
    assert len(list_held(module)) == len(list_held(module.forward)) == 2
    assert [one is weight for one in list_held(functools.partial(closure, weight))] == [True]
    assert list_held(torch.add) == []
    assert any(one is FACTOR for one in list_held(lambda x: x * FACTOR))


@pytest.mark.parametrize("function", ["grad", "backward"])
def test_torch_is_watched_in_backward_functions(function: str) -> None:
    empty: list[tuple[int, ...]] = []
    devices: list[bool] = []

    class Double(torch.autograd.Function):  # type: ignore[misc]
        @staticmethod
        def forward(context: Any, x: Any) -> Any:
            return x * 2

        @staticmethod
        def backward(context: Any, gradient: Any) -> Any:
            devices.append(torch.empty(3, device="cuda").is_cuda and gradient.is_cuda)
            return gradient * 2

    leaf = tensor().requires_grad_(True)
    ones = torch.ones(5, 7)
    engine = torch.autograd.Variable._execution_engine
    with watch_torch(lambda one: empty.append(tuple(one.shape))):
        if torch.cuda.is_available():
            leaf = leaf.cuda().detach().requires_grad_(True)
        out = Double.apply(leaf)
        if function == "grad":
            torch.autograd.grad(out, leaf, ones.to(leaf.device))
        else:
            out.backward(ones.to(leaf.device))
    assert (empty, devices) == ([(3,)], [True])
    assert torch.autograd.Variable._execution_engine is engine


def test_gradients_are_outputs() -> None:
    class Twice(torch.autograd.Function):  # type: ignore[misc]
        @staticmethod
        def forward(context: Any, x: Any) -> Any:
            return right(x)

        @staticmethod
        def backward(context: Any, gradient: Any) -> Any:
            return right(gradient.contiguous())

    def launcher(x: Any, weight: Any) -> Any:
        out = Twice.apply(x)
        (gradient,) = torch.autograd.grad(out, x, weight)
        return out.detach(), gradient

    def like(x: Any, weight: Any) -> Any:
        out = x * 2
        return out, torch.autograd.grad(out, x, weight)[0]

    found = check(launcher, like, args=[tensor().requires_grad_(True), tensor() + 1])
    assert found.ok, found.text
    assert found.trials[0].launches == 2


def test_layouts_and_shared_memory_stay() -> None:
    seen: list[Any] = []

    def launcher(x: Any, row: Any, wide: Any) -> Any:
        seen.append((x.stride(), row.data_ptr() - x.data_ptr(), wide.stride(), wide.tolist()))
        return right(x)

    whole = torch.zeros(5, 14)
    x, wide = whole[:, ::2], torch.ones(3, 1).expand(3, 4)
    assert check(launcher, lambda x, row, wide: x * 2, args=[x, x[1], wide], data="integers").ok
    strides, distance, wide_strides, rows = seen[0]
    assert (strides, distance, wide_strides) == ((14, 2), 56, (1, 0))
    assert all(len(set(row)) == 1 for row in rows)
    assert not whole.any()


def test_a_test_keeps_the_strides_of_a_view() -> None:
    def wrong(x: Any) -> Any:
        return compared.launch(compared.wrong_double, x)

    x = torch.zeros(5, 14)[:, 1::2]
    for kind in ("given", "zeros"):
        data: Any = Data(kind, 0)
        test = CodeWriter(Subject(wrong, twice, [x], {}, [x], {}), data, None).write({})
        scope = {"cerith_triton": SimpleNamespace(check=lambda fn, **more: more), "torch": torch}
        scope.update(wrong=wrong, twice=twice)
        exec("\n".join(test).replace("    cerith_triton.check", "    return cerith_triton.check"), scope)  # noqa: S102
        made = scope["test_wrong"]()["args"][0]
        assert (made.shape, made.stride(), made.storage_offset()) == (x.shape, (14, 2), 1)
        assert bool(made.any()) == (kind == "zeros")


def test_outputs_of_the_host_need_a_tolerance() -> None:
    def host(x: Any) -> Any:
        return right(x) + 1

    found = check(host, lambda x: x * 2 + 1, args=[tensor()])
    assert not found.ok and found.verdict == "undecided"
    assert "the host computes it from the kernel's results" in found.text.replace("\n  ", " ")
    assert check(host, lambda x: x * 2 + 1, args=[tensor()], rtol=1e-6).ok
    found = check(host, lambda x: x * 2 + 2, args=[tensor()], rtol=1e-6)
    assert found.verdict == "wrong"

    def in_place(x: Any) -> Any:
        return right(x).add_(1)

    assert check(in_place, lambda x: x * 2 + 1, args=[tensor()]).verdict == "undecided"


def test_memory_that_nothing_wrote_is_not_an_output() -> None:
    def idle(make: Any) -> Any:
        def launcher(x: Any) -> Any:
            out = make(x)
            compared.idle[(3,)](x, out, 35, BLOCK=16)
            return out

        return launcher

    zeros = {"args": [tensor()], "data": "zeros"}
    for make in (torch.empty_like, lambda x: torch.empty(x.shape), lambda x: x.new_empty(x.shape)):
        assert check(idle(make), **zeros).verdict == "unwritten"
    for make in (torch.zeros_like, lambda x: torch.empty_like(x).zero_()):
        assert check(idle(make), **zeros).ok


@pytest.mark.parametrize("dtype", ["bfloat16", "float16", "float64", "float8_e5m2"])
@pytest.mark.parametrize("kind", ["distinct", "tiny", "large", "non-finite"])
def test_data_is_exact_in_the_tensors_dtype(dtype: str, kind: str) -> None:
    seen: list[Any] = []

    def launcher(x: Any) -> Any:
        seen.append(x.double())
        return right(x.float())

    def like(x: Any) -> Any:
        seen.append(x)
        return x * 2

    x = tensor().to(getattr(torch, dtype))
    cerith_triton.check(launcher, like=like, args=[x], data=kind, rtol=0.1, raises=False)
    assert torch.equal(seen[0].nan_to_num(3), seen[1].nan_to_num(3))
    assert not torch.equal(seen[0], x.double())


def test_points_are_tensors() -> None:
    made = cerith_triton.conforms(like=twice, shapes=[(3, 29)], dtypes=["float32"], data=["ties"])(right)
    assert all(made.run())
