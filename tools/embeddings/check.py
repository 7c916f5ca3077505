"""Checks the embeddings server and prints what a text takes: starts one, compares vectors and errors, and stops it.

Usage: check.py, with the Python that has the packages of requirements.txt.
"""

import base64
import json
import pathlib
import statistics
import struct
import subprocess
import sys
import time
import urllib.error
import urllib.request

QUERY = "When did she start to train for the marathon?"
TURN = (
    "Tuesday, 14 May 2024, Coach. User: I have finally signed up for the half marathon in October, so from next week "
    "on I run four times a week, before work, and keep Thursday for strength. (after: What would you like to work on?)"
)


def post(url, body):
    """Posts a body, and returns the status and the answer."""
    raw = body if isinstance(body, bytes) else json.dumps(body).encode()
    request = urllib.request.Request(url, raw, {"Content-Type": "application/json"})
    try:
        with urllib.request.urlopen(request) as response:
            return response.status, json.load(response)
    except urllib.error.HTTPError as error:
        return error.code, json.load(error)


def embed(url, *texts, **more):
    status, answer = post(url, {"model": "all-MiniLM-L6-v2", "input": list(texts), **more})
    assert status == 200, answer
    assert [d["index"] for d in answer["data"]] == list(range(len(texts)))
    return [d["embedding"] for d in answer["data"]]


def cosine(a, b):
    return sum(x * y for x, y in zip(a, b))


def check_vectors(url):
    texts = "She runs a marathon.", "A woman is jogging a long race.", "Taxes are due in April."
    run, run_again, tax = embed(url, *texts)
    assert len(run) == 384 and abs(cosine(run, run) - 1) < 1e-4, "vectors have 384 dimensions and length 1"
    assert cosine(run, run_again) > cosine(run, tax) + 0.2, "sentences of one meaning are nearer"
    assert embed(url, "She runs a marathon.") == [run], "a text has one vector, alone and with others"
    packed = base64.b64decode(embed(url, "She runs a marathon.", encoding_format="base64")[0])
    assert list(struct.unpack("<384f", packed)) == run, "both encodings hold the same vector"
    first = embed(url, "run " * 300)[0]
    assert embed(url, "run " * 300 + "tax " * 100) == [first], "a long text is embedded by its beginning"


def check_errors(url):
    model = {"model": "all-MiniLM-L6-v2"}
    wrong = {
        400: [
            b"{", [], {}, model, {**model, "input": ""}, {**model, "input": []}, {**model, "input": [1, 2]},
            {**model, "input": "x", "dimensions": 1536}, {**model, "input": ["x"] * 2049},
            {**model, "input": "x " * 9000}, {**model, "input": ["x " * 8000] * 40},
        ],
        404: [{"model": "text-embedding-3-small", "input": "x"}],
    }
    for want, bodies in wrong.items():
        for body in bodies:
            status, answer = post(url, body)
            assert status == want and answer["error"]["message"], (str(body)[:60], status, answer)
    assert post(url.replace("embeddings", "chat/completions"), model)[0] == 404


def milliseconds(url, text, repeats):
    """Returns the median time of a request, and of a text in a request of 64."""
    times = {1: [], 64: []}
    for size, seen in times.items():
        for i in range(repeats if size == 1 else 3):
            start = time.perf_counter()
            embed(url, *(f"{text} {i} {j}" for j in range(size)))
            seen.append((time.perf_counter() - start) * 1000 / size)
    return [statistics.median(seen) for seen in times.values()]


def main():
    script = pathlib.Path(__file__).parent / "server.py"
    server = subprocess.Popen([sys.executable, script, "0"], stdout=subprocess.PIPE, text=True)
    try:
        start = time.perf_counter()
        url = server.stdout.readline().split()[1] + "/embeddings"
        print(f"ready after {time.perf_counter() - start:.1f} s")
        check_vectors(url)
        check_errors(url)
        for name, text in ("query", QUERY), ("turn", TURN):
            alone, together = milliseconds(url, text, 50)
            print(f"a {name}: {alone:.1f} ms in a request of its own, {together:.1f} ms in one of 64")
    finally:
        server.terminate()
    assert server.wait(10) == 0, "the server ends when it is asked to"


if __name__ == "__main__":
    main()
