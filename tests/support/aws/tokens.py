"""Tokens of the tests' own keys, and requests that carry them."""

import json
import time
from base64 import urlsafe_b64encode
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from http import HTTPStatus
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any, Final, NamedTuple

from cryptography.hazmat.primitives.asymmetric.padding import PKCS1v15
from cryptography.hazmat.primitives.asymmetric.rsa import RSAPrivateKey, generate_private_key
from cryptography.hazmat.primitives.hashes import SHA256

from demo.embedded.stack import Deployment
from tests.support.aws import servers
from tests.support.aws.deployed_api import answer_of

AUDIENCE: Final = "standings-of-the-test"
SCOPES: Final = ("standings/read", "standings/write", "standings/admin")
MEMBER: Final = "u1"
"""The member that a token names, unless the test says otherwise."""
_HOUR: Final = 3600
_KEY_ID: Final = "key-of-the-test"


class Call(NamedTuple):
    """A route, the scope that it needs, and its answer to a token with that scope."""

    method: str
    path: str
    body: Any
    scope: str
    status: int


@dataclass
class Issuer:
    """Signs tokens, and serves the public key at an address on loopback."""

    address: str = ""
    key: RSAPrivateKey = field(default_factory=lambda: generate_private_key(65537, 2048))

    def token(self, **claims: Any) -> str:
        """Make a token that is valid for everything, except for the given claims."""
        now = int(time.time())
        said: dict[str, Any] = {
            "iss": self.address,
            "aud": AUDIENCE,
            "sub": MEMBER,
            "iat": now - _HOUR,
            "nbf": now - _HOUR,
            "exp": now + _HOUR,
            "scope": " ".join(SCOPES),
        }
        parts = [{"alg": "RS256", "typ": "JWT", "kid": _KEY_ID}, said | claims]
        text = ".".join(_encoded(json.dumps(part).encode()) for part in parts)
        return f"{text}.{_encoded(self.key.sign(text.encode(), PKCS1v15(), SHA256()))}"

    def keys(self) -> dict[str, Any]:
        numbers = self.key.public_key().public_numbers()
        modulus = _encoded(numbers.n.to_bytes(256, "big"))
        exponent = _encoded(numbers.e.to_bytes(3, "big"))
        return {"keys": [{"kty": "RSA", "alg": "RS256", "use": "sig", "kid": _KEY_ID, "n": modulus, "e": exponent}]}


def _encoded(data: bytes) -> str:
    return urlsafe_b64encode(data).rstrip(b"=").decode()


@contextmanager
def published(issuer: Issuer) -> Iterator[None]:
    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            said = {
                "/.well-known/openid-configuration": {"issuer": issuer.address, "jwks_uri": f"{issuer.address}/keys"},
                "/keys": issuer.keys(),
            }.get(self.path)
            self.send_response(HTTPStatus.OK if said else HTTPStatus.NOT_FOUND)
            self.end_headers()
            self.wfile.write(json.dumps(said).encode())

        def log_message(self, *_: Any) -> None:
            """Keep quiet."""

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    issuer.address = f"http://127.0.0.1:{server.server_port}"
    with servers.listening(server):
        yield


def ask(deployment: Deployment, call: Call, token: str | None) -> tuple[int, Any]:
    bearer = {"Authorization": f"Bearer {token}"} if token else {}
    status, answer = answer_of(deployment, call.method, call.path, call.body, **bearer)
    return status, {} if answer is None else answer
