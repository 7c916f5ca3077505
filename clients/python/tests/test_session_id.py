"""The ids of vectors/session_ids.json, which all clients return."""

import json
import unittest
from pathlib import Path

from throughline import decode_session_id, encode_session_id


class SessionIds(unittest.TestCase):
    def test_vectors(self) -> None:
        vectors = json.loads((Path(__file__).parents[2] / "vectors" / "session_ids.json").read_text(encoding="utf-8"))
        self.assertGreaterEqual(len(vectors), 10)
        for v in vectors:
            with self.subTest(v["text"]):
                self.assertEqual(encode_session_id(v["text"]), v["id"])
                self.assertEqual(decode_session_id(v["id"]), v["text"] if v["reversible"] else None)
        for wrong in ("", "a b", "b64:a", "b64:YQ", "b64:YQ==", "sha256:x"):
            self.assertIsNone(decode_session_id(wrong), wrong)


if __name__ == "__main__":
    unittest.main()
