"""Plays the vectors of ../vectors against their server, with both clients."""

import asyncio
import itertools
import json
import os
import re
import unittest
import urllib.request

from throughline import (
    AsyncClient, AsyncPages, CallTimeoutError, Client, LostAnswerError, Pages, ProblemError)
from throughline.codec import encode

SERVER = os.environ.get("VECTORS", "")


def get(path: str, method: str = "GET"):
    with urllib.request.urlopen(urllib.request.Request(SERVER + path, method=method)) as answer:
        return json.load(answer)


def snake(name: str) -> str:
    return re.sub(r"([a-z])([A-Z])", r"\1_\2", name).lower()


def arguments(vector: dict) -> tuple[str, list, dict]:
    """Return the method, and its arguments by place and by name."""
    call, options = vector["call"], vector.get("options", {})
    named = {snake(name): value for name, value in {**call.get("body", {}), **call.get("query", {})}.items()}
    if "key" in options:
        named["idempotency_key"] = options["key"]
    if "timeoutMs" in options:
        named["timeout"] = options["timeoutMs"] / 1000
    return snake(call["operation"]), call.get("path", []), named


def failure(error: Exception, said: dict) -> dict:
    """Return what a vector says about an error."""
    if isinstance(error, CallTimeoutError):
        return {"kind": "timeout"}
    if isinstance(error, LostAnswerError):
        return {"kind": "connection"}
    if not isinstance(error, ProblemError):
        raise error
    got = {"kind": "problem", "status": error.status, "code": error.code}
    if "retryAfterMs" in said:
        got["retryAfterMs"] = error.retry_after and error.retry_after * 1000
    if "requestId" in said:
        got["requestId"] = error.request_id
    return got | ({"errors": encode(error.errors)} if "errors" in said else {})


def expected(vector: dict) -> dict:
    return {name: vector[name] for name in ("result", "items", "events", "fails") if name in vector}


def source():
    counted = itertools.count(1)
    return lambda: f"token-{next(counted)}"


def play(vector: dict, base: str) -> dict:
    method, path, named = arguments(vector)
    name = "events" if "events" in vector else "items"
    got = {}
    with Client(base, source()) as client:
        user = vector.get("options", {}).get("user")
        try:
            answer = getattr(client.as_user(user) if user else client, method)(*path, **named)
            if isinstance(answer, Pages) or hasattr(answer, "__next__"):
                if name in vector:
                    got[name] = []
                for item in answer:
                    got[name].append(encode(item))
            else:
                got["result"] = encode(answer)
        except Exception as error:
            got["fails"] = failure(error, vector.get("fails", {}))
    return got


async def play_async(vector: dict, base: str) -> dict:
    method, path, named = arguments(vector)
    name = "events" if "events" in vector else "items"
    got = {}
    async with AsyncClient(base, source()) as client:
        user = vector.get("options", {}).get("user")
        try:
            answer = getattr(client.as_user(user) if user else client, method)(*path, **named)
            if isinstance(answer, AsyncPages) or hasattr(answer, "__anext__"):
                if name in vector:
                    got[name] = []
                async for item in answer:
                    got[name].append(encode(item))
            else:
                got["result"] = encode(await answer)
        except Exception as error:
            got["fails"] = failure(error, vector.get("fails", {}))
    return got


class Vectors(unittest.TestCase):
    def test_client(self) -> None:
        self.play_all(play)

    def test_async_client(self) -> None:
        self.play_all(lambda vector, base: asyncio.run(play_async(vector, base)))

    def play_all(self, player) -> None:
        self.assertTrue(SERVER, "run make clients, which starts the server of the vectors")
        vectors = get("/vectors")
        self.assertGreaterEqual(len(vectors), 25)
        for index, vector in enumerate(vectors):
            with self.subTest(vector["name"]):
                run = get(f"/runs/{index}", "POST")
                got = player(vector, run["base"])
                self.assertEqual(get(f"/runs/{run['run']}/verdict")["faults"], [])
                self.assertEqual(got, expected(vector))


if __name__ == "__main__":
    unittest.main()
