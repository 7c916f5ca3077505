"""Plays a conversation on a local stack whose model is the small one, and looks at what became of it.

Usage: check.py STACK, with the binary of the local stack. It needs the packages of requirements.txt, and java for the stack.

The model is far too small to be right, and a server that nobody here wrote. So the check asks whether the server takes each
request, and whether nonsense stays out: each message is stored once, a memory names the messages that say it, the summary has
words that were said, and the number of requests is that of the calls.
"""

import json
import os
import pathlib
import re
import signal
import socket
import subprocess
import sys
import urllib.request

SAID = [
    "Hello! My left knee hurts when I squat.",
    "I only have resistance bands at home.",
    "Should I swap the hip thrusts for glute bridges?",
]


def free_port():
    with socket.socket() as s:
        s.bind(("127.0.0.1", 0))
        return s.getsockname()[1]


def started(command, environment):
    """Starts a server and waits until it says that it is ready."""
    server = subprocess.Popen(command, env={**os.environ, **environment}, stdout=subprocess.PIPE, text=True)
    lines = []
    for line in server.stdout:
        lines.append(line)
        if line.startswith("ready"):
            return server
    sys.exit("a server did not start:\n" + "".join(lines))


class Api:
    """The API of a stack, for one user."""

    def __init__(self, url):
        self.url, self.token = url, None
        self.token = self.call("POST", "/dev/tokens", {"userId": "small"})["token"]

    def call(self, method, path, body=None):
        headers = {"Content-Type": "application/json", "Idempotency-Key": os.urandom(8).hex()}
        if self.token:
            headers["Authorization"] = "Bearer " + self.token
        data = None if body is None else json.dumps(body).encode()
        request = urllib.request.Request(self.url + path, data, headers, method=method)
        with urllib.request.urlopen(request, timeout=240) as answer:
            text = answer.read().decode()
        return text if text.startswith(("event:", ":")) else json.loads(text or "null")


def play(api):
    """Says all of SAID, and ends the session. It returns what the stack has of it."""
    api.call("POST", "/v1/sessions", {"sessionId": "s", "context": "coach_conversation", "coachId": "kim"})
    for text in SAID:
        stream = api.call("POST", "/v1/chat", {"sessionId": "s", "message": text})
        if "event: done" not in stream:
            sys.exit(f"no answer to {text!r}:\n{stream[-500:]}")
    api.call("PATCH", "/v1/sessions/s", {"status": "completed"})
    api.call("POST", "/dev/settle", {"timeoutMs": 180_000})
    messages = api.call("GET", "/v1/sessions/s/messages?limit=50")["items"]
    memories = api.call("GET", "/v1/memories")["items"]
    return messages, memories, api.call("GET", "/v1/sessions/s").get("summary")


def faults(messages, memories, summary):
    """Yields what is wrong."""
    said = [m["content"] for m in messages if m["role"] == "user"]
    if said != SAID:
        yield f"the user's messages are {said}"
    if len(messages) != 2 * len(SAID):
        yield f"{len(messages)} messages for {len(SAID)} turns"
    words = set(re.findall(r"\w{4,}", " ".join(SAID).lower()))
    for memory in memories:
        if not memory.get("messageIds") or not words & set(re.findall(r"\w{4,}", memory["content"].lower())):
            yield f"a memory that nobody said: {memory}"
    if summary is None or not words & set(re.findall(r"\w{4,}", summary["text"].lower())):
        yield f"a summary of nothing that was said: {summary}"


def main(stack):
    model_port, port = free_port(), free_port()
    server = pathlib.Path(__file__).parent / "server.py"
    model = started([sys.executable, str(server), str(model_port)], {})
    served = None
    try:
        served = started([stack], {
            "PORT": str(port), "OPENAI_BASE_URL": f"http://127.0.0.1:{model_port}/v1", "OPENAI_API_KEY": "none",
            "OPENAI_CHAT_MODEL": "smollm2-135m", "ANSWER_TOKENS": "100",
        })
        found = play(Api(f"http://127.0.0.1:{port}"))
        wrong = list(faults(*found))
        print(f"small-model: {len(found[0])} messages, {len(found[1])} memories, summary: {found[2]}")
        for fault in wrong:
            print(fault, file=sys.stderr)
        return 1 if wrong else 0
    finally:
        for process in (served, model):
            if process is not None:
                process.send_signal(signal.SIGTERM)
                process.wait()


if __name__ == "__main__":
    sys.exit(main(sys.argv[1]))
