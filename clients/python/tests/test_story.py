"""The story of two screens, at a stack: faults, lost answers and cuts, and nothing is doubled or lost."""

import asyncio
import json
import os
import time
import unittest

import httpx

from throughline import AsyncClient, Client, ProblemError, models

BASE = os.environ.get("THROUGHLINE", "")
USER = f"python-{time.time_ns():x}"


def dev(path: str, body: dict) -> dict:
    return httpx.post(BASE + path, json=body, timeout=30).json()


def token() -> str:
    return dev("/dev/tokens", {"userId": USER})["token"]


def credential() -> str:
    return dev("/dev/tokens", {"server": True})["token"]


def recorded(server: Client, prompt_id: str) -> models.PromptRecord:
    """Return the record of a prompt, which may be stored shortly after the answer."""
    for _ in range(50):
        try:
            return server.get_prompt(prompt_id)
        except ProblemError as error:
            if error.code != "not_found":
                raise
        time.sleep(0.1)
    return server.get_prompt(prompt_id)


class Losing(httpx.HTTPTransport):
    """Does what is asked, and loses each answer once."""

    def __init__(self) -> None:
        super().__init__()
        self.seen = set()

    def handle_request(self, request: httpx.Request) -> httpx.Response:
        answer = super().handle_request(request)
        call = (request.method, str(request.url), request.headers.get("Idempotency-Key"))
        if call not in self.seen:
            self.seen.add(call)
            answer.read()
            raise httpx.ReadError("the connection was closed", request=request)
        return answer


class Cut(httpx.AsyncByteStream):
    def __init__(self, stream: httpx.AsyncByteStream) -> None:
        self.stream = stream

    async def __aiter__(self):
        left = 300
        async for piece in self.stream:
            yield piece[:left]
            left -= len(piece)
            if left <= 0:
                raise httpx.ReadError("the connection was closed")

    async def aclose(self) -> None:
        await self.stream.aclose()


class Cutting(httpx.AsyncHTTPTransport):
    """Cuts the first answer of the chat after 300 bytes."""

    cuts = 0

    async def handle_async_request(self, request: httpx.Request) -> httpx.Response:
        answer = await super().handle_async_request(request)
        if self.cuts == 0 and request.url.path == "/v1/chat" and answer.status_code == 200:
            self.cuts += 1
            return httpx.Response(answer.status_code, headers=answer.headers, stream=Cut(answer.stream))
        return answer


class Story(unittest.TestCase):
    def test_two_screens_one_memory(self) -> None:
        self.assertTrue(BASE, "run make clients, which starts a stack")
        designer = Client(BASE, token, http=httpx.Client(transport=Losing()))
        self.addCleanup(designer.close)
        designer.create_session(context="program_designer", coach_id="kim", session_id="designer")
        swap = "I only have bands at home: swap the hip thrusts for glute bridges."
        appended = designer.append_messages("designer", messages=[
            models.NewMessage(role="user", content=swap), {"role": "assistant", "content": "I can do that."}])
        self.assertEqual(appended.session.message_count, 2)

        text, prompt_id = asyncio.run(self.coach())
        with Client(BASE, credential) as server:
            prompt = recorded(server.as_user(USER), prompt_id)
        self.assertIn("glute bridges", json.dumps(prompt, default=vars))
        stored = list(designer.list_messages("coach", limit=1))
        self.assertEqual([(m.role, m.content) for m in stored][1:], [("assistant", text)])
        self.assertEqual(len(list(designer.list_timeline(order="asc"))), 4)
        with Client(BASE, token) as client:
            records = list(client.export())
        self.assertEqual(sum(r["kind"] == "message" for r in records), 4)
        designer.delete_session("designer")
        with self.assertRaises(ProblemError) as raised:
            designer.get_session("designer")
        self.assertEqual(raised.exception.code, "not_found")

    async def coach(self) -> tuple[str, str]:
        """Ask the coach through cuts and faults, and return the answer and the prompt's id."""
        transport = Cutting()
        async with AsyncClient(BASE, token, http=httpx.AsyncClient(transport=transport)) as client:
            await client.create_session(context="coach_conversation", coach_id="kim", session_id="coach")
            dev("/dev/faults", {"dynamodb": {"errorRate": 0.05}})
            try:
                events = [e async for e in client.chat(
                    session_id="coach", message="What should I do tomorrow? My glutes are sore.")]
            finally:
                dev("/dev/faults", {"dynamodb": {}})
        self.assertEqual(transport.cuts, 1)
        self.assertEqual([e.event for e in events if e.event != "token"], ["prompt", "done"])
        return "".join(e.data.text for e in events if e.event == "token"), events[0].data.prompt_id


if __name__ == "__main__":
    unittest.main()
