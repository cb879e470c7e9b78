"""Runs the shared vectors through the recipe: DATABASE_URL=… python3 -m unittest test_inbox_recipe. Needs psycopg."""

import base64
import json
import os
import unittest
from datetime import datetime
from pathlib import Path
from unittest import mock

import psycopg

import inbox_recipe
from transfer_service_webhooks import verify

VECTORS = json.loads((Path(__file__).parent / "../vectors/signatures.json").read_text("utf-8"))
TABLES = [line.strip() for line in inbox_recipe.__doc__.splitlines() if line.startswith("    create")]


def an_event(number, second, transfer="00000000-0000-7000-8000-00000000000a"):
    event_id = f"00000000-0000-7000-8000-{number:012d}"
    return {"id": event_id, "data": {"id": transfer}, "created_at": f"2026-11-28T10:00:{second:02d}.000"}


class Recipe(unittest.TestCase):
    def setUp(self):
        self.db = psycopg.connect(os.environ["DATABASE_URL"], autocommit=True)
        self.addCleanup(self.db.close)
        self.db.execute("create temp table effects (id text, late boolean)")
        for table in TABLES:
            self.db.execute(table.replace("create table", "create temp table"))

    def effect(self, event, tx, is_late):
        tx.execute("insert into effects values (%s, %s)", [event["id"], is_late])

    def effects(self):
        return self.db.execute("select id, late from effects").fetchall()

    def test_each_vector(self):
        for case in VECTORS["cases"]:
            now = datetime.fromisoformat(case["now"].replace("Z", "+00:00"))
            at_that_time = mock.patch.object(
                inbox_recipe, "verify", lambda header, body, secret, now=now: verify(header, body, secret, now=now)
            )
            with self.subTest(case["name"]), at_that_time, mock.patch.object(inbox_recipe, "handle") as handled:
                body = base64.b64decode(case["body_base64"])
                valid = case["expected"] == "valid"
                with mock.patch.object(inbox_recipe.json, "loads"):
                    status = inbox_recipe.receive(self.db, case["header"], body, [case["secret"]], self.effect)
                self.assertEqual((status, handled.called), (204, True) if valid else (401, False))

    def test_each_event_once_and_late(self):
        pages = [([an_event(2, 2)], "one", True), ([an_event(1, 1), an_event(2, 2)], "two", False), ([], "two", False)]
        asked = []

        def read_page(cursor):
            asked.append(cursor)
            data, next_cursor, has_more = pages[len(asked) - 1]
            return {"data": data, "next_cursor": next_cursor, "has_more": has_more}

        for _ in range(2):
            inbox_recipe.poll(self.db, read_page, self.effect)
        self.assertEqual(asked, [None, "one", "two"])
        self.assertEqual(self.effects(), [(an_event(2, 2)["id"], False), (an_event(1, 1)["id"], True)])

    def test_a_failure_leaves_nothing(self):
        def fails(event, tx, is_late):
            self.effect(event, tx, is_late)
            raise ValueError

        with self.assertRaises(ValueError):
            inbox_recipe.handle(self.db, an_event(1, 1), fails)
        self.assertEqual(self.effects(), [])
        inbox_recipe.handle(self.db, an_event(1, 1), self.effect)
        self.assertEqual(len(self.effects()), 1)
