"""What the vectors cannot say: cancellation, tokens that expire, models, and what is in the package."""

import asyncio
import base64
import copy
import json
import pickle
import shutil
import subprocess
import sys
import tempfile
import time
import unittest
import zipfile
from datetime import datetime, timedelta, timezone
from pathlib import Path

import anyio
import httpx

from throughline import AsyncClient, CallTimeoutError, Client, ProblemError, adapter, models
from throughline.codec import decode, encode


def jwt(seconds: float) -> str:
    payload = base64.urlsafe_b64encode(json.dumps({"exp": time.time() + seconds}).encode()).decode().rstrip("=")
    return f"e30.{payload}.x"


class Answering(httpx.BaseTransport):
    """Answers every request with one body, and keeps the requests."""

    def __init__(self, body: str = '{"content": ""}') -> None:
        self.body, self.asked = body, []

    def handle_request(self, request: httpx.Request) -> httpx.Response:
        self.asked.append(request)
        return httpx.Response(200, text=self.body)


class Turning(httpx.BaseTransport):
    """Begins and finishes a turn, and keeps what it was finished with."""

    def __init__(self) -> None:
        self.finished = []

    def handle_request(self, request: httpx.Request) -> httpx.Response:
        if not request.url.path.endswith("/finish"):
            return httpx.Response(201, json={"turnId": "turn_1", "userMessageId": "m", "prompt": {}})
        self.finished.append(json.loads(request.content))
        return httpx.Response(200, json={"messageId": "a", "session": {}})


class Replacing(httpx.BaseTransport):
    """Has a session whose last question each turn replaces. The answer to the first begin is lost."""

    def __init__(self) -> None:
        self.last, self.begun, self.finished = "first", [], []

    def handle_request(self, request: httpx.Request) -> httpx.Response:
        if request.url.path.endswith("/messages"):
            message = {"messageId": self.last, "seq": 1, "sessionId": "s", "context": "c", "coachId": "k", "role": "user",
                       "content": "x", "timestamp": "2026-02-05T18:30:00.000Z", "mode": "chat"}
            return httpx.Response(200, json={"items": [message]})
        if request.url.path.endswith("/finish"):
            self.finished.append(json.loads(request.content)["content"])
            return httpx.Response(200, json={"messageId": "a", "session": {}})
        self.begun.append(json.loads(request.content))
        self.last = "edited"
        if len(self.begun) == 1:
            raise httpx.ReadTimeout("lost")
        return httpx.Response(201, json={"turnId": "turn_1", "userMessageId": "edited", "prompt": {}})


class TurnTest(unittest.TestCase):
    def test_a_turn_that_begins_again_replaces_the_same(self) -> None:
        replacing = Replacing()
        client = Client("http://api/", "t", http=httpx.Client(transport=replacing), attempts=1)
        failed: list[str] = []
        turn = adapter.begin_turn(client, adapter.Place("s"), "edited", "key",
                                  adapter.Softness(on_error=lambda error, during: failed.append(during)), replaces="last")
        self.assertEqual(turn.finish("answer"), "a")
        self.assertEqual((failed, replacing.finished), (["begin"], ["answer"]))
        self.assertEqual([begun["replaces"] for begun in replacing.begun], [{"messageId": "first"}] * 2)

    def test_a_turn_is_always_ended(self) -> None:
        turning = Turning()
        client = Client("http://api/", "t", http=httpx.Client(transport=turning))
        end = client.turn(lambda turn: {"content": turn.turn_id}, session_id="s", message="x")
        self.assertEqual(end.message_id, "a")

        def fail(_: models.BegunTurn) -> dict:
            raise RuntimeError("no model")

        with self.assertRaisesRegex(RuntimeError, "no model"):
            client.turn(fail, session_id="s", message="x")
        self.assertEqual(turning.finished, [{"content": "turn_1"}, {"error": "no model"}])


    def test_a_stream_is_finished_with_what_was_read(self) -> None:
        def texts(fails: bool = False):
            yield "One "
            if fails:
                raise RuntimeError("no model")
            yield "two."

        turning = Turning()
        client = Client("http://api/", "t", http=httpx.Client(transport=turning))
        self.assertEqual(list(client.finish_streaming("t", texts())), ["One ", "two."])
        with self.assertRaisesRegex(RuntimeError, "no model"):
            list(client.finish_streaming("t", texts(fails=True)))
        reader = client.finish_streaming("t", texts())
        next(reader)
        reader.close()
        self.assertEqual(turning.finished, [
            {"content": "One two."}, {"content": "One ", "error": "no model"}, {"content": "One ", "error": "GeneratorExit"},
        ])


class AsyncTurnTest(unittest.IsolatedAsyncioTestCase):
    async def test_a_reader_that_goes_away_leaves_what_it_read(self) -> None:
        turning, waits, model = Turning(), asyncio.Event(), asyncio.Event()
        client = AsyncClient("http://api/", "t", http=httpx.AsyncClient(transport=httpx.MockTransport(turning.handle_request)))

        async def texts():
            yield "One "
            waits.set()
            await model.wait()
            yield "two."

        async def read(scope=None) -> None:
            async for _ in client.finish_streaming("t", texts()):
                if scope:
                    scope.cancel()

        # Task.cancel cancels one await, and a scope of anyio, in which Starlette streams, each one until it is left.
        reading = asyncio.create_task(read())
        await waits.wait()
        reading.cancel()
        await asyncio.gather(reading, return_exceptions=True)
        with anyio.CancelScope() as scope:
            await read(scope)
        closed = client.finish_streaming("t", texts())
        await anext(closed)
        await closed.aclose()
        model.set()
        await read()
        await client.close()
        self.assertEqual([f["content"] for f in turning.finished], ["One ", "One ", "One ", "One two."])
        self.assertEqual(["error" in f for f in turning.finished], [True, True, True, False])

    async def test_an_answer_is_stored_when_the_task_is_cancelled_meanwhile(self) -> None:
        turning = Turning()
        client = AsyncClient("http://api/", "t", http=httpx.AsyncClient(transport=httpx.MockTransport(turning.handle_request)))
        with anyio.CancelScope() as scope:
            async def answer(_: models.BegunTurn) -> dict:
                scope.cancel()
                return {"content": "One two."}

            await client.turn(answer, session_id="s", message="x")
        await client.close()
        self.assertEqual(turning.finished, [{"content": "One two."}])


class ClientTest(unittest.TestCase):
    def client(self, answering: Answering, token="t", **options) -> Client:
        return Client("http://api/", token, http=httpx.Client(transport=answering), **options)

    def test_an_address_or_a_token_that_cannot_be_is_refused(self) -> None:
        for said, arguments in [
            ("base_url is None: it has to be an address such as", (None, "t")),
            ("base_url is 'localhost:8080'", ("localhost:8080", "t")), ("base_url ends in /v1", ("https://api/v1/", "t")),
            ("stream_url is 'coach'", ("https://api", "t", "coach")), ("token is missing", ("https://api", None)),
        ]:
            with self.subTest(said), self.assertRaisesRegex(ValueError, f"^{said}"):
                address, token, *stream = arguments
                Client(address, token, stream_url=stream[0] if stream else None)

    def test_each_attempt_is_logged_and_errors_can_be_copied(self) -> None:
        logged, traces = [], []

        def handle(request: httpx.Request) -> httpx.Response:
            traces.append(request.headers["X-Trace"])
            return httpx.Response(503, headers={"Retry-After": "0", "X-Request-Id": f"r{len(traces)}"})

        client = Client("http://api", "t", http=httpx.Client(transport=httpx.MockTransport(handle)), log=logged.append)
        with self.assertRaises(ProblemError) as raised:
            client.get_seed(attempts=2, headers={"X-Trace": "x"})
        self.assertEqual([(a.status, a.request_id) for a in logged], [(503, "r1"), (503, "r2")])
        self.assertEqual(traces, ["x", "x"])
        for again in pickle.loads(pickle.dumps(raised.exception)), copy.copy(raised.exception):
            self.assertEqual((again.request_id, again.retry_after, str(again)), ("r2", 0, str(raised.exception)))

    def test_token_is_kept_until_it_is_about_to_expire(self) -> None:
        ends = iter([60, 20, 20])
        client = self.client(Answering(), lambda: jwt(next(ends)))
        client.get_seed(), client.get_seed()
        self.assertEqual(next(ends), 20)
        client = self.client(Answering(), lambda: jwt(next(ends)))
        client.get_seed()
        self.assertRaises(StopIteration, client.get_seed)

    def test_streams_have_an_address_of_their_own(self) -> None:
        answering = Answering('{"kind":"end"}\n')
        client = self.client(answering, stream_url="http://coach/")
        self.assertEqual(list(client.export()), [{"kind": "end"}])
        client.get_seed()
        self.assertEqual([str(r.url) for r in answering.asked], ["http://coach/v1/export", "http://api/v1/seed"])

    def test_none_is_sent_as_null_and_what_is_not_given_is_not_sent(self) -> None:
        answering = Answering("{}")
        at = datetime(2026, 2, 5, 19, 30, tzinfo=timezone(timedelta(hours=1)))
        self.client(answering).change_memory("m", valid_until=None, said_at=at, content="ü")
        self.assertEqual(json.loads(answering.asked[0].content),
                         {"validUntil": None, "saidAt": "2026-02-05T18:30:00.000Z", "content": "ü"})
        list(self.client(answering := Answering('{"items": []}')).list_timeline(from_=at))
        self.assertEqual(answering.asked[0].url.params["from"], "2026-02-05T18:30:00.000Z")

    def test_models_have_the_api_s_names(self) -> None:
        answer = {"sessionId": "s", "startedAt": "2026-02-05T18:30:00.120Z", "messageCount": 1, "later": 1}
        session = decode(models.Session, answer)
        self.assertEqual(session.started_at, datetime(2026, 2, 5, 18, 30, 0, 120000, timezone.utc))
        self.assertEqual(encode(session), {k: v for k, v in answer.items() if k != "later"})
        prompt = {"openaiChat": {"messages": [{"role": "user", "content": "Hi"}]}}
        self.assertEqual(decode(models.Prompt, prompt).openai_chat, prompt["openaiChat"])
        self.assertEqual(decode(models.Prompt, prompt).anthropic, {})

    def test_a_wait_for_a_cancelled_task_ends(self) -> None:
        async def busy(request: httpx.Request) -> httpx.Response:
            return httpx.Response(503, headers={"Retry-After": "20"})

        async def cancelled() -> None:
            client = AsyncClient("http://api", "t", http=httpx.AsyncClient(transport=httpx.MockTransport(busy)))
            await asyncio.wait_for(client.get_seed(), 0.05)

        self.assertRaises(TimeoutError, asyncio.run, cancelled())

    def test_a_wait_for_a_token_counts(self) -> None:
        client = self.client(Answering(), lambda: time.sleep(0.02) or "t", timeout=0.01)
        self.assertRaises(CallTimeoutError, client.get_seed)

    def test_wheel(self) -> None:
        root = Path(__file__).parent.parent
        with tempfile.TemporaryDirectory() as folder:
            copied = Path(folder, "source")
            shutil.copytree(root, copied, ignore=shutil.ignore_patterns("build", "*.egg-info"))
            build = "import sys, setuptools.build_meta; setuptools.build_meta.build_wheel(sys.argv[1])"
            subprocess.run([sys.executable, "-c", build, folder], cwd=copied, check=True, stdout=subprocess.DEVNULL)
            wheel = next(Path(folder).glob("*.whl"))
            names = zipfile.ZipFile(wheel).namelist()
            for name in ("throughline/client.py", "throughline/operations.py", "throughline/py.typed"):
                self.assertIn(name, names)
            self.assertTrue(any(name.endswith("LICENSE") for name in names))
            self.assertFalse([name for name in names if "test" in name])
            self.assertLess(size := wheel.stat().st_size, 64 * 1024)
            print(f"throughline: {wheel.name} has {size} bytes")


if __name__ == "__main__":
    unittest.main()
