"""Frames of a pipe."""

from __future__ import annotations

import io
import json
import unittest
from unittest import mock

from cerith_worker import wire

HEADER = {"text": 'a "ü" \n\ud800', "list": [1, 2.5, None, True, float("nan")], "empty": {}}


class Frames(unittest.TestCase):
    def test_a_frame_is_read_as_it_was_written(self) -> None:
        pipe = io.BytesIO()
        wire.write(pipe, HEADER, [b"ab", b"c"])
        pipe.seek(0)
        frame = wire.read(pipe)
        assert frame is not None
        header, blobs = frame
        self.assertEqual(json.dumps(header), json.dumps(HEADER))
        self.assertEqual(bytes(blobs), b"abc")

    def test_replaced_functions_of_json_are_not_used(self) -> None:
        pipe = io.BytesIO()
        one = mock.patch("json.dumps", lambda *_, **__: "{}")
        with one, mock.patch.object(json.JSONEncoder, "encode", lambda *_: "{}"):
            wire.write(pipe, {"changed": ["x"]}, [])
        self.assertIn(b'{"changed":["x"]}', pipe.getvalue())


if __name__ == "__main__":
    unittest.main()
