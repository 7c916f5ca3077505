"""The example under the server of its SDK, as the runtime calls it, against the stack at THROUGHLINE."""

import contextlib
import json
import os
import secrets
import socket
import subprocess
import sys
import time
import unittest
from collections.abc import Iterator

import httpx
from throughline import Client

STACK = os.environ["THROUGHLINE"]


def free_port() -> int:
    with socket.socket() as s:
        s.bind(("127.0.0.1", 0))
        return int(s.getsockname()[1])


@contextlib.contextmanager
def runtime() -> Iterator[str]:
    """Start the agent as the runtime does, and yield its address."""
    port = free_port()
    model = httpx.get(f"{STACK}/dev/info").json()["openaiBaseUrl"]
    # The machine of a test may be busy.
    environment = {"PORT": str(port), "OPENAI_BASE_URL": model, "MODEL": "throughline-offline", "MEMORY_SECONDS": "20"}
    server = subprocess.Popen([sys.executable, "main.py"], env={**os.environ, **environment})
    base = f"http://127.0.0.1:{port}"
    try:
        for _ in range(600):
            with contextlib.suppress(httpx.TransportError):
                httpx.get(f"{base}/ping").raise_for_status()
                break
            time.sleep(0.1)
        yield base
    finally:
        server.terminate()
        server.wait()


class Example(unittest.TestCase):
    def setUp(self) -> None:
        self.user = "agentcore-" + secrets.token_hex(6)
        self.token = httpx.post(f"{STACK}/dev/tokens", json={"userId": self.user}).json()["token"]

    def say(self, base: str, session: str, prompt: str, screen: str = "coach_conversation") -> str:
        headers = {"X-Amzn-Bedrock-AgentCore-Runtime-Session-Id": session, "Authorization": f"Bearer {self.token}"}
        with httpx.stream("POST", f"{base}/invocations", json={"prompt": prompt, "screen": screen}, headers=headers,
                          timeout=60) as answer:
            answer.raise_for_status()
            lines = [json.loads(line.removeprefix("data: ")) for line in answer.iter_lines() if line.startswith("data: ")]
        self.assertTrue(all(isinstance(line, str) for line in lines), lines)
        return "".join(lines)

    def test_a_session_goes_on_in_another_process_and_another_screen_knows_of_it(self) -> None:
        designer, coach = (secrets.token_hex(20) for _ in range(2))
        with runtime() as base:
            self.assertEqual(httpx.get(f"{base}/ping").json()["status"], "Healthy")
            self.say(base, designer, "I only have bands at home.", "program_designer")
        httpx.post(f"{STACK}/dev/settle", json={"timeoutMs": 30000}, timeout=40)
        with runtime() as base:
            self.assertIn("bands", self.say(base, coach, "What have I got at home?"))
            self.say(base, designer, "Thanks.", "program_designer")
        memory = Client(STACK, lambda: self.token)
        self.assertEqual([m.role for m in memory.list_messages(designer)], ["user", "assistant"] * 2)
        self.assertEqual([m.role for m in memory.list_messages(coach)], ["user", "assistant"])

    def test_without_a_token(self) -> None:
        with runtime() as base:
            answer = httpx.post(f"{base}/invocations", json={"prompt": "Hello."})
            self.assertIn("the runtime passes on a token", answer.text)


if __name__ == "__main__":
    unittest.main()
