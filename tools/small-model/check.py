"""Plays a day on a local stack whose model is the small one, and looks at what became of it.

Usage: check.py STACK, with the binary of the local stack. It needs the packages of requirements.txt, and java for the stack.

The model is far too small to be right, and a server that nobody here wrote. So the check asks whether the server takes each
request, and whether nonsense stays out: each message is stored once, a memory names the messages that say it, a summary has
words that were said, and no request is made over and over, not even of a server that never answers.
"""

import concurrent.futures
import contextlib
import json
import os
import pathlib
import re
import signal
import socket
import subprocess
import sys
import urllib.request

from recorder import Recorder

SAID = {
    "morning": ["Hello! My left knee hurts when I squat.", "What did I say about my knee?"],
    "noon": ["I only have resistance bands at home.", "Should I swap the hip thrusts for glute bridges?"],
    "evening": ["I moved to Bern last week, into a flat with a garden.", "Tell me how to plan my training."],
    "night": ["My sister Ann is a nurse, and she runs with me on Sundays."],
}
SEARCH = ("search_conversations", {"query": "knee"})

# What a model made up: a fact that no message says, with a message that is not there, and a summary of nothing.
FACT = {"type": "PROFILE", "content": "Owns a yacht in Monaco.", "about": "", "status": "stated", "from": "", "until": "",
        "confidence": 1, "messageIds": ["m999"], "safety": "", "repeats": "", "supersedes": []}
MADE_UP = {
    "memory_extraction": {"facts": [FACT], "ended": [], "forgetMessages": [], "openLoops": [], "closedLoops": []},
    "session_summary": {"summary": "2026-11-28 09:04", "day": "2026-11-28 09:04", "tags": []},
}

# The most requests of the background for a session of one message that a server never answers: one for the summary and one for
# the memories as the session ends, and one more where the message is read before that.
MOST_UNANSWERED = 3
TRIES = 3


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


def ended(server):
    """Ends a server that was started."""
    server.send_signal(signal.SIGTERM)
    server.wait()


@contextlib.contextmanager
def served(stack, recorder):
    """Gives the API of a stack of its own, whose model is behind a recorder."""
    port = free_port()
    server = started([stack], {
        "PORT": str(port), "OPENAI_BASE_URL": recorder.url, "OPENAI_API_KEY": "none",
        "OPENAI_CHAT_MODEL": "smollm2-135m", "ANSWER_TOKENS": "40", "TRIGGERS": "sweep=10s",
    })
    try:
        yield Api(f"http://127.0.0.1:{port}")
    finally:
        ended(server)


class Api:
    """The API of a stack, for one user."""

    def __init__(self, url):
        self.url, self.token = url, None
        self.token = self.call("POST", "/dev/tokens", {"userId": "small"})["token"]

    def call(self, method, path, body=None, key=None):
        headers = {"Content-Type": "application/json", "Idempotency-Key": key or os.urandom(8).hex()}
        if self.token:
            headers["Authorization"] = "Bearer " + self.token
        data = None if body is None else json.dumps(body).encode()
        request = urllib.request.Request(self.url + path, data, headers, method=method)
        with urllib.request.urlopen(request, timeout=240) as answer:
            text = answer.read().decode()
        return text if text.startswith(("event:", ":")) else json.loads(text or "null")

    def say(self, session, text, key=None):
        stream = self.call("POST", "/v1/chat", {"sessionId": session, "message": text}, key)
        if "event: done" not in stream:
            sys.exit(f"no answer to {text!r}:\n{stream[-500:]}")

    def open(self, session, context):
        self.call("POST", "/v1/sessions", {"sessionId": session, "context": context, "coachId": "kim"})

    def end(self, session):
        self.call("PATCH", f"/v1/sessions/{session}", {"status": "completed"})
        if not self.call("POST", "/dev/settle", {"timeoutMs": 200_000})["settled"]:
            sys.exit(f"what is due for {session} does not end")

    def messages(self, session):
        return self.call("GET", f"/v1/sessions/{session}/messages?limit=50")["items"]

    def summary(self, session):
        return (self.call("GET", f"/v1/sessions/{session}").get("summary") or {}).get("text", "")

    def memories(self):
        return self.call("GET", "/v1/memories")["items"]


def words(text):
    return set(re.findall(r"\w{4,}", text.lower()))


def play(api, recorder):
    """Plays the day and yields what is wrong."""
    api.open("morning", "coach_conversation")
    for place, text in enumerate(SAID["morning"]):
        # The last question needs a search. A model as small as this calls no tool by itself.
        recorder.calls = SEARCH if place == 1 else None
        api.say("morning", text, f"morning-{place}")
    recorder.calls = None
    chats = recorder.count("chat")
    api.say("morning", SAID["morning"][0], "morning-0")
    if recorder.count("chat") != chats:
        yield "a chat that was repeated with its key asked the model again"
    api.end("morning")

    # A server that is busy may cut off what the background asks, so it is asked again, with what else was said.
    for number in range(TRIES):
        session = f"noon-{number}"
        api.open(session, "program_designer")
        for text in SAID["noon"]:
            api.say(session, text)
        api.end(session)
        if recorder.answered() >= {"chat", "memory_extraction", "session_summary"}:
            break
    else:
        yield f"the model never answered all kinds of requests: {recorder.requests}"

    recorder.made_up = MADE_UP
    api.open("evening", "coach_conversation")
    for text in SAID["evening"]:
        api.say("evening", text)
    api.end("evening")
    recorder.made_up = {}


def play_night(stack):
    """Plays a night whose server never answers, on a stack of its own, and yields what is wrong."""
    recorder = Recorder(model_port=0)
    recorder.stalls = True
    with served(stack, recorder) as api:
        api.open("night", "coach_conversation")
        api.call("POST", "/v1/sessions/night/messages", {"messages": [{"role": "user", "content": SAID["night"][0]}]})
        api.end("night")
        if not 1 <= len(recorder.requests) <= MOST_UNANSWERED:
            yield f"a server that never answers was asked {len(recorder.requests)} times: {recorder.requests}"
        yield from faults(api, recorder, ["night"])


def faults(api, recorder, sessions):
    """Yields what is wrong at the end."""
    for session in sessions:
        texts = SAID[session.split("-")[0]]
        found = api.messages(session)
        if [m["content"] for m in found if m["role"] == "user"] != texts:
            yield f"{session}: the user's messages are {[m['content'] for m in found if m['role'] == 'user']}"
        if session != "night" and len(found) != 2 * len(texts):
            yield f"{session}: {len(found)} messages for {len(texts)} turns"
        if not words(api.summary(session)) & words(" ".join(m["content"] for m in found)):
            yield f"{session}: a summary of nothing that was said: {api.summary(session)!r}"
    said = words(" ".join(text for texts in SAID.values() for text in texts))
    for memory in api.memories():
        if not memory.get("messageIds") or not said & words(memory["content"]):
            yield f"a memory that nobody said: {memory}"
    for request in recorder.requests:
        if request["status"] not in (0, 200):
            yield f"the model's server refused a request: {request}"
    if left := api.call("GET", "/dev/dead-letters")["items"]:
        yield f"the functions could not do: {left}"


def main(stack):
    model_port = free_port()
    recorder = Recorder(model_port)
    model = started([sys.executable, str(pathlib.Path(__file__).parent / "server.py"), str(model_port)], {})
    # The night is played meanwhile, because it waits for a minute.
    with concurrent.futures.ThreadPoolExecutor() as pool:
        try:
            night = pool.submit(lambda: [*play_night(stack)])
            with served(stack, recorder) as api:
                wrong = [*play(api, recorder), *faults(api, recorder, ["morning", "noon-0", "evening"]), *night.result()]
                print(f"small-model: {len(recorder.requests)} requests, {len(api.memories())} memories")
        finally:
            ended(model)
    for fault in wrong:
        print(fault, file=sys.stderr)
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1]))
