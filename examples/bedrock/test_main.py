"""The example, against the stack at THROUGHLINE and the server in the place of Bedrock."""

import contextlib
import io
import json
import os
import secrets
import unittest

import main
from throughline import Client


class Example(unittest.TestCase):
    def test_two_screens_one_memory(self) -> None:
        user = "bedrock-" + secrets.token_hex(6)
        printed = io.StringIO()
        with contextlib.redirect_stdout(printed):
            main.main(user)
        self.assertEqual(printed.getvalue().splitlines()[0], "Noted.")
        main.httpx.post(main.BASE + "/dev/settle", json={}, timeout=60).raise_for_status()  # the index has all
        memory = Client(main.BASE, main.credential).as_user(user)
        question = "So what replaces the hip thrusts?"
        with contextlib.closing(main.boto3.client("bedrock-runtime")) as bedrock:
            found = main.answer_to(memory, bedrock, "coach", question)
        self.assertIn("glute bridges", found)
        said = [(m.role, m.content) for m in memory.list_messages("coach")]
        self.assertEqual(said[2:], [("user", question), ("assistant", found)])
        with open(os.environ["REQUESTS"]) as log:
            first, *_, asked, answered = [json.loads(line)["call"] for line in list(log)[1:]]
        self.assertIn("You share one memory", first["system"][0]["text"])
        self.assertEqual(first["system"][-1], {"cachePoint": {"type": "default"}})
        self.assertEqual(asked["toolConfig"]["tools"][0]["toolSpec"]["name"], "search_conversations")
        self.assertEqual([m["role"] for m in answered["messages"][-3:]], ["user", "assistant", "user"])

    def test_a_model_that_fails(self) -> None:
        memory = Client(main.BASE, main.credential).as_user("bedrock-" + secrets.token_hex(6))
        memory.get_or_create_session("coach", context="coach_conversation", coach_id="kim")
        with contextlib.closing(main.boto3.client("bedrock-runtime", endpoint_url="http://127.0.0.1:1")) as broken:
            with self.assertRaises(Exception):
                main.answer_to(memory, broken, "coach", "Hello.")
        with contextlib.closing(main.boto3.client("bedrock-runtime")) as bedrock:
            self.assertEqual(main.answer_to(memory, bedrock, "coach", "Hello again."), "Noted.")
        self.assertEqual([m.role for m in memory.list_messages("coach")], ["user", "user", "assistant"])


if __name__ == "__main__":
    unittest.main()
