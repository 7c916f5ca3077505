"""Starts a local stack, runs schemathesis over its OpenAPI document, and exits with its status.

Usage: check.py STACK EXAMPLES, with the binary of the local stack and the number of examples per operation. It needs
schemathesis, and java for the stack.
"""

import json
import os
import pathlib
import signal
import socket
import subprocess
import sys
import tempfile
import urllib.request

SEED = "1"
FOLDER = pathlib.Path(__file__).parent


def free_port():
    with socket.socket() as s:
        s.bind(("127.0.0.1", 0))
        return s.getsockname()[1]


def start(binary, port):
    """Starts a stack and waits until it is ready."""
    stack = subprocess.Popen([binary], env={**os.environ, "PORT": str(port)}, stdout=subprocess.PIPE, text=True)
    lines = []
    for line in stack.stdout:
        lines.append(line)
        if line.startswith("ready"):
            return stack
    sys.exit("the stack did not start:\n" + "".join(lines))


def token(url):
    request = urllib.request.Request(
        url + "/dev/tokens", json.dumps({"userId": "schemathesis"}).encode(), {"Content-Type": "application/json"}
    )
    with urllib.request.urlopen(request) as response:
        return json.load(response)["token"]


def main(binary, examples):
    port = free_port()
    url = f"http://127.0.0.1:{port}"
    stack = start(binary, port)
    try:
        command = [
            str(pathlib.Path(sys.executable).parent / "schemathesis"), "--config-file",
            str(FOLDER / "schemathesis.toml"), "run", url + "/openapi.json", "--header", "Authorization: Bearer " + token(url), "--seed", SEED,
            "--max-examples", examples, "--no-color", "--warnings", "off",
        ]
        environment = {**os.environ, "PYTHONPATH": str(FOLDER)}
        with tempfile.TemporaryDirectory() as crashes:
            return subprocess.run(command, cwd=crashes, env=environment).returncode
    finally:
        stack.send_signal(signal.SIGTERM)
        stack.communicate(timeout=60)


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
