"""Which requests are answered: from this machine, by its own name, from our own pages, with the token, and GET only."""

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
# A page that leads on, and not a redirect: a browser that comes from another site sends the cookie only when a page of
# ours asks.
ENTRY_PAGE = (
    '<!doctype html><html lang="en"><meta charset="utf-8"><meta http-equiv="refresh" content="0; url=/">'
    '<link rel="icon" href="data:,"><title>fedclade</title><p><a href="/">The runs</a></p></html>'
)


class Guard:
    """Middleware that checks every request before the app sees it, and adds headers to every answer."""

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

        if scope["type"] != "http":  # there are no websockets here
            return
        answer = self._answer(scope)
        await (answer or self._app)(scope, receive, with_headers)

    def _answer(self, scope: Scope) -> Response | None:
        """The answer to a request that is refused; None: the app answers."""
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
        if scope["path"] == "/" and len(given) == 1 and self._is_token(given[0]):
            opened = HTMLResponse(ENTRY_PAGE)
            opened.set_cookie(self._cookie, self._token, httponly=True, samesite="strict", path="/")
            return opened
        if self._is_token(Request(scope).cookies.get(self._cookie, "")):
            return None
        return PlainTextResponse("open the address that fedclade dashboard has printed, with its token", 401)

    def _is_token(self, token: str) -> bool:
        return hmac.compare_digest(token.encode("utf-8", "replace"), self._token.encode())
