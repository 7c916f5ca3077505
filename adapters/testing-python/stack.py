"""What the tests share: users of their own on the stack."""

import os
import secrets

import httpx
from throughline import Client

BASE = os.environ["THROUGHLINE"]


def token() -> str:
    return str(httpx.post(f"{BASE}/dev/tokens", json={"server": True}).json()["token"])


def new_client(http: httpx.Client | None = None) -> Client:
    """Return a client that acts for no user."""
    return Client(BASE, token, http=http)


class Line(httpx.HTTPTransport):
    """A connection to the stack that can be down."""

    is_down = False

    def handle_request(self, request: httpx.Request) -> httpx.Response:
        if self.is_down:
            raise httpx.ConnectError("the line is down", request=request)
        return super().handle_request(request)


def new_user() -> str:
    return f"user-{secrets.token_hex(8)}"


def settle() -> None:
    """Wait until everything that was stored is indexed."""
    assert httpx.post(f"{BASE}/dev/settle", json={"timeoutMs": 30000}, timeout=40).json()["settled"]
