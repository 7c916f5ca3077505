"""The example, against the stack at THROUGHLINE."""

import contextlib
import io
import secrets
import unittest

import main
from throughline import Client


class Example(unittest.TestCase):
    def test_two_screens_one_memory(self):
        user = "python-" + secrets.token_hex(6)
        printed = io.StringIO()
        with contextlib.redirect_stdout(printed):
            main.main(user)
            main.main(user)  # A second run with the same keys stores nothing twice.
        self.assertIn("glute bridges", printed.getvalue().splitlines()[1])
        memory = Client(main.BASE, main.credential).as_user(user)
        for screen in "designer", "coach":
            self.assertEqual([m.role for m in memory.list_messages(screen)], ["user", "assistant"])

    def test_a_model_that_fails(self):
        memory = Client(main.BASE, main.credential).as_user("python-" + secrets.token_hex(6))
        memory.get_or_create_session("coach", context="coach_conversation", coach_id="kim")

        def broken(messages):
            raise main.httpx.ReadTimeout("no answer")

        whole, main.model = main.model, broken
        try:
            with self.assertRaises(main.httpx.ReadTimeout):
                main.say(memory, "coach", "Hello?", "1")
        finally:
            main.model = whole
        self.assertTrue(main.say(memory, "coach", "Hello?", "1"))
        self.assertEqual([m.role for m in memory.list_messages("coach")], ["user", "assistant"])


if __name__ == "__main__":
    unittest.main()
