"""`PYTHONPATH=harness/worker python -m unittest discover -s harness/worker/tests`, with NumPy and no
Triton."""

from __future__ import annotations

import json
import unittest
from pathlib import Path

import numpy as np

from cerith_worker import layout
from cerith_worker.dtypes import DTYPES
from cerith_worker.memory import CPU, CUDA, Session, UntypedStorage
from cerith_worker.tensor import Lacking, Tensor

# Read off an H200 with torch 2.11.
GOLDEN = Path(__file__).parents[2] / "memory" / "tests" / "golden" / "cpu_copies.jsonl"
VIEWS = GOLDEN.with_name("torch_views.jsonl")


def make(kind: str, shape: list[int], strides: list[int], offset: int, device: object = CUDA) -> Tensor:
    """A tensor over a storage just big enough for it, each byte different from its neighbours."""
    item = DTYPES[kind].itemsize
    last = offset + sum((size - 1) * stride for size, stride in zip(shape, strides))
    size = (last + 1) * item if layout.numel(shape) else offset * item
    data = np.arange(size + 16, dtype=np.uint64).astype(np.uint8)
    session = Session()
    storage = UntypedStorage(session, device, data, 8, 8)
    session.storages.append(storage)
    return Tensor(storage, DTYPES[kind], shape, strides, offset)


class CopiesToTheHost(unittest.TestCase):
    def test_every_golden_line(self) -> None:
        lines = GOLDEN.read_text().splitlines()
        self.assertGreater(len(lines), 2800)
        for line in lines:
            case = json.loads(line)
            with self.subTest(line):
                tensor = make(case["dtype"], case["shape"], case["strides"], case["offset"])
                copy = tensor.cpu()
                self.assertEqual(list(copy.stride()), case["cpu_strides"])
                self.assertEqual(copy.storage_offset(), case["cpu_offset"])
                self.assertEqual(copy.untyped_storage().nbytes(), case["cpu_storage_bytes"])
                self.assertEqual(copy.device, CPU)
                np.testing.assert_array_equal(copy._elements(), tensor._elements())
                tensor.untyped_storage().session.close()

    def test_on_the_host_nothing_is_copied(self) -> None:
        tensor = make("float32", [2, 3], [3, 1], 1, CPU)
        self.assertIs(tensor.cpu(), tensor)
        self.assertIs(tensor.untyped_storage().cpu(), tensor.untyped_storage())


class Views(unittest.TestCase):
    """Views of torch 2.11, those that a stand-in has; others say that they are not there."""

    def test_every_golden_line(self) -> None:
        shown = 0
        for line in VIEWS.read_text().splitlines():
            case = json.loads(line)
            if "strides" not in case or "torch" in case["expr"]:
                continue
            shape = case["base"]["shape"]
            base = make(case["dtype"], shape, list(layout.contiguous_strides(shape)), 0)
            try:
                view = eval(case["expr"], {"base": base})
            except Lacking:
                continue
            finally:
                base.untyped_storage().session.close()
            shown += 1
            with self.subTest(case["expr"]):
                self.assertEqual(list(view.shape), case["shape"])
                self.assertEqual(list(view.stride()), case["strides"])
                self.assertEqual(view.storage_offset(), case["offset"])
        self.assertGreater(shown, 100)

    def test_operators_leave_values_of_triton_to_their_class(self) -> None:
        class Value:
            __module__ = "triton.language.core"

            def __radd__(self, other: object) -> str:
                return "Triton's"

        tensor = make("float32", [2, 3], [3, 1], 0)
        self.assertEqual(tensor + Value(), "Triton's")
        with self.assertRaises(TypeError) as raised:
            tensor * Value()
        self.assertNotIsInstance(raised.exception, Lacking)
        with self.assertRaisesRegex(AttributeError, "has no attribute 'scalar'"):
            _ = tensor.type.scalar
        tensor.untyped_storage().session.close()

    def test_what_a_stand_in_lacks_is_an_error_of_its_own(self) -> None:
        tensor = make("float32", [2, 3], [3, 1], 0)
        for asked in (
            lambda: tensor.sum(),
            lambda: tensor + 1,
            lambda: tensor[[0, 1]],
            lambda: tensor[0, 0] < 1,
            lambda: float(tensor[0, 0]),
        ):
            with self.assertRaises(Lacking):
                asked()
        self.assertFalse(hasattr(tensor, "no_such_thing"))
        self.assertTrue(tensor == tensor)  # noqa: PLR0124 (comparing works as for any object)
        tensor.untyped_storage().session.close()


class CopyBack(unittest.TestCase):
    def check(self, shape: list[int], strides: list[int], raises: bool) -> None:
        tensor = make("int32", shape, strides, 2)
        copy = tensor.cpu()
        if raises:
            with self.assertRaisesRegex(RuntimeError, "more than one element of the written-to tensor"):
                tensor.data.copy_(copy.to(tensor.device).data)
            return
        copy._elements()[...] += 1
        expected = copy._elements().copy()
        tensor.data.copy_(copy.to(tensor.device).data)
        np.testing.assert_array_equal(tensor._elements(), expected)

    def test_writes_through_strides_and_refuses_expanded_dimensions(self) -> None:
        self.check([4, 2], [6, 1], raises=False)
        self.check([3, 4], [1, 3], raises=False)
        self.check([3, 4], [0, 1], raises=True)
        self.check([1, 4], [0, 1], raises=False)
        self.check([0, 4], [0, 1], raises=False)

    def test_its_own_elements_are_written_nowhere(self) -> None:
        expanded = make("int32", [3, 2], [0, 1], 1, CPU)
        expanded.data.copy_(expanded.cpu())
        with self.assertRaisesRegex(RuntimeError, "more than one element"):
            expanded.copy_(make("int32", [3, 2], [2, 1], 0, CPU))

    def test_torch_does_not_look_for_other_overlaps(self) -> None:
        tensor = make("uint8", [3, 2], [1, 1], 0)
        tensor.copy_(tensor.clone())

    def test_bytes_between_the_elements_stay(self) -> None:
        tensor = make("uint8", [4], [3], 1)
        before = tensor.untyped_storage().bytes.copy()
        tensor.zero_()
        changed = np.nonzero(tensor.untyped_storage().bytes != before)[0]
        self.assertTrue(set(changed.tolist()) <= {8 + 1 + 3 * i for i in range(4)})


class Addresses(unittest.TestCase):
    def test_empty_tensors_have_none(self) -> None:
        self.assertEqual(make("float32", [0, 3], [3, 1], 0).data_ptr(), 0)
        self.assertEqual(make("float32", [0], [1], 0).untyped_storage().data_ptr(), 0)

    def test_device_addresses_are_apart_and_aligned(self) -> None:
        session = Session()
        first, second = (UntypedStorage(session, CUDA, np.zeros(64, np.uint8), 16, 16) for _ in range(2))
        self.assertEqual(first.data_ptr() % 512, 0)
        self.assertGreaterEqual(second.data_ptr() - first.data_ptr(), 1 << 32)

    def test_host_addresses_are_those_of_the_bytes(self) -> None:
        tensor = make("uint8", [4], [1], 3, CPU)
        self.assertEqual(tensor.data_ptr() % 64, 3)
        self.assertEqual(tensor._elements().__array_interface__["data"][0], tensor.data_ptr())

    def test_views_share_the_storage_and_must_stay_inside(self) -> None:
        tensor = make("float16", [4], [1], 0)
        view = tensor.new_empty(0, device="cuda")
        view.set_(tensor.untyped_storage(), 2, (2,), (1,))
        self.assertEqual(view.data_ptr() - tensor.data_ptr(), 4)
        with self.assertRaisesRegex(RuntimeError, "out of bounds for storage of size 8"):
            view.set_(tensor.untyped_storage(), 3, (2,), (1,))

    def test_addresses_in_memory_are_found_and_named(self) -> None:
        session = Session()
        target = UntypedStorage(session, CUDA, np.zeros(64, np.uint8), 16, 16)
        table = UntypedStorage(session, CUDA, np.zeros(40, np.uint8), 0, 0)
        session.storages += [target, table]
        host = target.cpu()
        words = table.body().view(np.uint64)
        words[:] = [target.address + 4, 12345, host.address + 8, target.address - 4, table.address]
        found = session.find_relocations(table)
        self.assertEqual(found, [(0, 0, 4), (16, 0, 8), (24, 0, -4), (32, 1, 0)])
        session.blank_addresses(table, found)
        self.assertEqual(words.tolist(), [0, 12345, 0, 0, 0])


class GuardZones(unittest.TestCase):
    def test_stray_writes_to_host_copies_show(self) -> None:
        tensor = make("uint8", [4], [1], 0)
        storage = tensor.untyped_storage()
        before = storage.bytes.copy()
        whole, strided = storage.cpu(), tensor.cpu().untyped_storage()
        whole.bytes[7] ^= 0xFF
        strided.bytes[-8] ^= 0xFF
        storage.session.settle()
        self.assertEqual(np.nonzero(storage.bytes != before)[0].tolist(), [7, len(before) - 8])


class Neighbours(unittest.TestCase):
    def test_nothing_else_lives_near_a_storage(self) -> None:
        session = Session()
        sizes = (0, 1, 100, 1 << 20, 8 << 20, 3)
        storages = [UntypedStorage(session, CPU, np.ones(size, np.uint8), 0, 0) for size in sizes]
        storages.sort(key=lambda storage: storage.address)
        for left, right in zip(storages, storages[1:]):
            self.assertGreaterEqual(right.address - left.address - left.nbytes(), 64 << 10)

    def test_a_storage_that_no_memory_holds_has_a_size_and_an_address(self) -> None:
        session = Session()
        storages = [UntypedStorage(session, CUDA, size, 0, 0) for size in (1 << 47, 4, (1 << 28) + 1)]
        self.assertEqual([storage.nbytes() for storage in storages], [1 << 47, 4, (1 << 28) + 1])
        for left, right in zip(storages, storages[1:]):
            self.assertGreaterEqual(right.address, left.address + left.nbytes())
        self.assertEqual(storages[0].body()[1 << 46 : (1 << 46) + 3].tolist(), [0, 0, 0])


if __name__ == "__main__":
    unittest.main()
