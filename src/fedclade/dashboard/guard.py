"""Who may ask, and how: this machine, by its own name, from its own page, with the token; and only to look."""

import hmac
from urllib.parse import parse_qs

from starlette.datastructures import Headers, MutableHeaders
from starlette.requests import Request
from starlette.responses import HTMLResponse, PlainTextResponse, Response
from starlette.types import ASGIApp, Message, Receive, Scope, Send

# No inline script. plotly.js sets styles in the page itself.
POLICY = (
    "default-src 'none'; script-src 'self'; style-src 'self' 'unsafe-inline'; img-src 'self' data: blob:; "
    "connect-src 'self'; form-action 'self'; base-uri 'none'; frame-ancestors 'none'; object-src 'none'"
)
HEADERS = {
    "content-security-policy": POLICY,
    "x-content-type-options": "nosniff",
    "x-frame-options": "DENY",
    "referrer-policy": "no-referrer",
    "cross-origin-opener-policy": "same-origin",
    "cross-origin-resource-policy": "same-origin",
}
# The page goes on by itself and is not a redirect: a browser that came from another site holds the cookie back until
# a page of ours asks.
OPENED = (
    '<!doctype html><html lang="en"><meta charset="utf-8"><meta http-equiv="refresh" content="0; url=/">'
    '<link rel="icon" href="data:,"><title>fedclade</title><p><a href="/">The runs</a></p></html>'
)


class Guard:
    """Stands before the page. What it lets through has been checked; what it does not, the page never sees."""

    def __init__(self, app: ASGIApp, *, token: str, port: int) -> None:
        self._app = app
        self._token = token
        bare = {"127.0.0.1", "localhost"} if port == 80 else set()  # a browser leaves this port out
        self._hosts = frozenset({f"127.0.0.1:{port}", f"localhost:{port}"} | bare)
        self._cookie = f"fedclade-{port}"  # browsers keep one jar for all ports of a machine

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        async def with_headers(message: Message) -> None:
            if message["type"] == "http.response.start":
                headers = MutableHeaders(scope=message)
                headers.update(HEADERS)
                headers.setdefault("cache-control", "no-store")
            await send(message)

        if scope["type"] != "http":  # nothing else is spoken here
            return
        answer = self._answer(scope)
        await (answer or self._app)(scope, receive, with_headers)

    def _answer(self, scope: Scope) -> Response | None:
        """What is said instead of a page; None: let it through."""
        headers = Headers(scope=scope)
        hosts = headers.getlist("host")
        if len(hosts) != 1 or hosts[0].lower() not in self._hosts:
            return PlainTextResponse("this page has another name: ask for 127.0.0.1", 421)
        if scope["method"] not in ("GET", "HEAD"):
            return PlainTextResponse("there is nothing to change here", 405, {"allow": "GET, HEAD"})
        own = {f"http://{host}" for host in self._hosts}
        if any(origin.lower() not in own for origin in headers.getlist("origin")):
            return PlainTextResponse("another page may not ask", 403)
        if headers.get("sec-fetch-site", "none") not in ("none", "same-origin") and (
            headers.get("sec-fetch-mode") != "navigate" or headers.get("sec-fetch-dest") != "document"
        ):
            return PlainTextResponse("another page may not ask", 403)
        given = parse_qs(scope["query_string"].decode("latin-1")).get("token", [])
        if scope["path"] == "/" and len(given) == 1 and self._right(given[0]):
            opened = HTMLResponse(OPENED)
            opened.set_cookie(self._cookie, self._token, httponly=True, samesite="strict", path="/")
            return opened
        if self._right(Request(scope).cookies.get(self._cookie, "")):
            return None
        return PlainTextResponse("open the address that fedclade dashboard has printed, with its token", 401)

    def _right(self, token: str) -> bool:
        return hmac.compare_digest(token.encode("utf-8", "replace"), self._token.encode())
