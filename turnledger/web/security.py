"""What a page on this machine must refuse: foreign names for it, writing, and anything but its own parts.

A web site can point a name of its own at 127.0.0.1 and then read whatever answers there; so a request is
answered only under the names that this server has. What is shown is foreign text: should one character of it
ever reach a page as markup, the policy lets it do nothing.
"""

from ipaddress import ip_address

from starlette.datastructures import MutableHeaders
from starlette.responses import PlainTextResponse, Response
from starlette.types import ASGIApp, Message, Receive, Scope, Send

POLICY = (
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; connect-src 'self'; "
    "frame-ancestors 'none'; base-uri 'none'; form-action 'self'"
)
HEADERS = {
    "content-security-policy": POLICY,
    "x-content-type-options": "nosniff",
    "referrer-policy": "no-referrer",
    "cross-origin-opener-policy": "same-origin",
    "cross-origin-resource-policy": "same-origin",
}
METHODS = ("GET", "HEAD")


class Guard:
    """Answers GET and HEAD under this server's own names, everything with the headers above.

    `host` is what the server listens on: on a loopback address only loopback names are its own; elsewhere
    also `host`, and any address in digits, which no foreign site can have made point here.
    """

    def __init__(self, app: ASGIApp, host: str) -> None:
        self._app = app
        self._host = host.lower()
        self._local = is_loopback(host)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        answer = self._refusal(scope) or self._app

        async def sending(message: Message) -> None:
            if message["type"] == "http.response.start":
                headers = MutableHeaders(scope=message)
                headers.update(HEADERS)
                headers.setdefault("cache-control", "no-store")
            await send(message)

        await answer(scope, receive, sending)

    def _refusal(self, scope: Scope) -> Response | None:
        hosts = [value.decode("latin-1") for name, value in scope["headers"] if name == b"host"]
        if len(hosts) != 1:
            return _refused("name one Host", 400)
        if not self.owns(hosts[0]):
            return _refused(
                "this page is not served under that name: use 127.0.0.1, or start it with --host NAME", 421
            )
        if scope["method"] not in METHODS:
            return _refused("this page only reads: use GET", 405, {"allow": ", ".join(METHODS)})
        return None

    def owns(self, host: str) -> bool:
        """Whether a Host header names this server."""
        name = _name(host)
        if name is None:
            return False
        if is_loopback(name) or name == self._host:
            return True
        return not self._local and _is_address(name)


def _refused(reason: str, status: int, headers: dict[str, str] | None = None) -> Response:
    return PlainTextResponse(f"{reason}\n", status, headers)


def _name(host: str) -> str | None:
    """The name in `name:port`, without the brackets of an IPv6 address; None for what is neither."""
    text = host.strip().lower()
    bracket, closing, rest = text.partition("]")
    if closing:
        name, port = bracket.removeprefix("["), rest.removeprefix(":")
        return name if bracket.startswith("[") and (not rest or _is_port(rest, port)) else None
    name, colon, port = text.partition(":")
    return (name.removesuffix(".") or None) if not colon or port.isdecimal() else None


def _is_port(rest: str, port: str) -> bool:
    return rest.startswith(":") and port.isdecimal()


def is_loopback(name: str) -> bool:
    """Whether a name can only mean this machine."""
    return name.lower() == "localhost" or (_is_address(name) and ip_address(name).is_loopback)


def _is_address(name: str) -> bool:
    try:
        ip_address(name)
    except ValueError:
        return False
    return True
