"""The route of stream.py, served by uvicorn, against the stack at THROUGHLINE."""

import asyncio
import contextlib
import secrets
import socket
import unittest

import httpx
import stream
import uvicorn
from throughline import AsyncClient


@contextlib.asynccontextmanager
async def served():
    """Serves the app, and yields a page and its user."""
    with socket.create_server(("127.0.0.1", 0)) as listener:
        server = uvicorn.Server(uvicorn.Config(stream.app, log_level="error", lifespan="off"))
        serving = asyncio.create_task(server.serve([listener]))
        user = "stream-" + secrets.token_hex(6)
        address = f"http://127.0.0.1:{listener.getsockname()[1]}"
        try:
            async with httpx.AsyncClient(base_url=address, cookies={"user": user}, timeout=30) as page:
                yield page, user
        finally:
            server.should_exit = True
            await serving


async def stored(user):
    async with AsyncClient(stream.BASE, stream.credential).as_user(user) as memory:
        return [message async for message in memory.list_messages("chat")]


def said(message):
    return {"session": "chat", "message": message}


class Streaming(unittest.IsolatedAsyncioTestCase):
    async def asyncSetUp(self):
        stream.server = AsyncClient(stream.BASE, stream.credential)

    async def test_the_page_that_goes_away(self):
        gone = asyncio.Event()

        async def slow(turn):
            yield "You swapped them "
            try:
                await asyncio.Event().wait()
            finally:
                gone.set()

        whole, stream.model = stream.model, slow
        self.addCleanup(setattr, stream, "model", whole)
        async with served() as (page, user):
            async with page.stream("POST", "/api/chat", json=said("What did I swap?")) as answer:
                self.assertEqual(await anext(answer.aiter_text()), "You swapped them ")
            await asyncio.wait_for(gone.wait(), 10)
            await stream.server.close()
        messages = await stored(user)
        self.assertEqual([(m.role, m.content) for m in messages],
                         [("user", "What did I swap?"), ("assistant", "You swapped them ")])
        self.assertIs(messages[1].metadata["interrupted"], True)

    async def test_the_page_that_stays(self):
        async with served() as (page, user):
            answer = await page.post("/api/chat", json=said("I swapped the hip thrusts for glute bridges."))
            await stream.server.close()
        question, stated = await stored(user)
        self.assertEqual(stated.content, answer.raise_for_status().text)
        self.assertIn("glute bridges", stated.content)


if __name__ == "__main__":
    unittest.main()
