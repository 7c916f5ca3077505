"""Stands between the stack and the model's server, and keeps what each request asked for and was answered."""

import contextlib
import http.client
import http.server
import json
import select
import threading
import time

# The most tokens of an answer in JSON: a model this small stops seldom, and writes ten a second.
JSON_TOKENS = 32

CALL = {"index": 0, "id": "call-1", "type": "function"}


class Recorder(http.server.ThreadingHTTPServer):
    """Passes requests on to the model's server at a port. requests has what each was for, its status and the seconds it took;
    the status is 0 where the caller went away.

    While stalls is set, no request gets an answer, as of a server that is far too slow. While calls is set, the first request
    of a chat is answered by a call of that tool: this model calls none by itself. made_up has answers, by what they are for,
    that are given in place of the model's.
    """

    daemon_threads = True

    def __init__(self, model_port):
        super().__init__(("127.0.0.1", 0), _Handler)
        self.model_port, self.requests = model_port, []
        self.stalls, self.calls, self.made_up = False, None, {}
        threading.Thread(target=self.serve_forever, daemon=True).start()

    @property
    def url(self):
        return f"http://127.0.0.1:{self.server_port}/v1"

    def count(self, purpose):
        return sum(request["purpose"] == purpose for request in self.requests)

    def answered(self):
        """Returns what the model itself has answered."""
        return {request["purpose"] for request in self.requests if request["status"] == 200 and not request.get("made_up")}


class _Handler(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def log_message(self, *_):
        pass

    def do_POST(self):
        text = self.rfile.read(int(self.headers["Content-Length"]))
        asked = json.loads(text)
        entry = {"purpose": purpose(asked), "status": 0, "seconds": 0.0}
        if entry["purpose"] != "chat":
            text = json.dumps({**asked, "max_tokens": JSON_TOKENS}).encode()
        self.server.requests.append(entry)
        began = time.monotonic()
        try:
            with contextlib.suppress(OSError):
                self.answer(text, asked, entry)
        finally:
            entry["seconds"] = time.monotonic() - began
            self.close_connection = True

    def answer(self, text, asked, entry):
        if self.server.stalls:
            while not self.gone():
                time.sleep(0.05)
        elif self.server.calls and entry["purpose"] == "chat" and asked["messages"][-1]["role"] == "user":
            entry.update(status=200, made_up=True)
            self.call(*self.server.calls)
        elif entry["purpose"] in self.server.made_up:
            entry.update(status=200, made_up=True)
            self.make_up(self.server.made_up[entry["purpose"]])
        else:
            self.pass_on(text, entry)

    def pass_on(self, text, entry):
        """Passes the request on, and ends it at the server when the caller has gone."""
        server = http.client.HTTPConnection("127.0.0.1", self.server.model_port)
        server.request("POST", self.path, text, {"Content-Type": "application/json"})
        while not select.select([server.sock], [], [], 0.05)[0]:
            if self.gone():
                server.close()
                return
        answer = server.getresponse()
        entry["status"] = answer.status
        self.begin(answer.status, answer.headers["Content-Type"])
        refusal = b""
        while piece := answer.read1(65536):
            refusal = refusal + piece if answer.status >= 400 else refusal
            self.wfile.write(piece)
        entry["refusal"] = refusal.decode()

    def call(self, name, arguments):
        """Answers with the call of a tool."""
        self.begin(200, "text/event-stream")
        call = {**CALL, "function": {"name": name, "arguments": json.dumps(arguments)}}
        for delta, reason in ({"role": "assistant", "tool_calls": [call]}, None), ({}, "tool_calls"):
            chunk = {"id": "made-up", "object": "chat.completion.chunk", "model": "small", "created": 0,
                     "choices": [{"index": 0, "delta": delta, "finish_reason": reason}]}
            self.wfile.write(b"data: " + json.dumps(chunk).encode() + b"\n\n")
        self.wfile.write(b"data: [DONE]\n\n")

    def make_up(self, answer):
        """Answers with a text of JSON."""
        self.begin(200, "application/json")
        choice = {"index": 0, "finish_reason": "stop", "message": {"role": "assistant", "content": json.dumps(answer)}}
        usage = {"prompt_tokens": 1, "completion_tokens": 1, "total_tokens": 2}
        self.wfile.write(json.dumps({"id": "made-up", "object": "chat.completion", "model": "small", "created": 0,
                                     "choices": [choice], "usage": usage}).encode())

    def begin(self, status, kind):
        self.send_response(status)
        self.send_header("Content-Type", kind)
        self.send_header("Connection", "close")
        self.end_headers()

    def gone(self):
        """Reports whether the caller closed the connection."""
        return bool(select.select([self.connection], [], [], 0)[0])


def purpose(asked):
    """Returns what a request is for: the name of the schema of its answer, or chat."""
    return asked.get("response_format", {}).get("json_schema", {}).get("name", "chat")
