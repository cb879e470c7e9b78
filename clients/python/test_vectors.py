"""Runs the shared vectors: python3 -m unittest discover clients/python -p 'test_*.py'"""

import base64
import json
import unittest
from datetime import datetime
from pathlib import Path

from transfer_service_webhooks import SignatureError, verify

VECTORS = json.loads((Path(__file__).parent / "../vectors/signatures.json").read_text("utf-8"))


def verdict(case):
    now = datetime.fromisoformat(case["now"].replace("Z", "+00:00"))
    try:
        verify(
            case["header"],
            base64.b64decode(case["body_base64"]),
            case["secret"],
            now=now,
            tolerance_seconds=VECTORS["tolerance_seconds"],
        )
    except SignatureError as error:
        return error.code
    return "valid"


class Vectors(unittest.TestCase):
    def test_each_vector(self):
        for case in VECTORS["cases"]:
            with self.subTest(case["name"]):
                self.assertEqual(verdict(case), case["expected"])

    def test_wrong_use_is_no_verdict(self):
        header = VECTORS["cases"][0]["header"]
        with self.assertRaises(TypeError):
            verify(header, {"id": "1"}, "a secret of 16 characters")
        with self.assertRaises(ValueError):
            verify(header, b"", "")
        with self.assertRaises(ValueError):
            verify(header, b"", "a secret of 16 characters", tolerance_seconds=float("nan"))


if __name__ == "__main__":
    unittest.main()
