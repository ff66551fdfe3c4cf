"""The pages: the list of runs, a run, one of its clients, runs side by side. Every one of them is only read."""

import json
import re
import threading
from collections.abc import AsyncIterator, Callable, Sequence
from functools import cache
from pathlib import Path

import anyio
from jinja2 import Environment, PackageLoader, StrictUndefined
from sse_starlette.sse import EventSourceResponse
from starlette.applications import Starlette
from starlette.concurrency import run_in_threadpool
from starlette.middleware import Middleware
from starlette.requests import Request
from starlette.responses import FileResponse, Response
from starlette.routing import Route

from fedclade import __version__
from fedclade.dashboard.crowd import SHOWN, SHOWN_GROUPS, last_lines
from fedclade.dashboard.guard import Guard
from fedclade.dashboard.listing import RUNNING
from fedclade.dashboard.model import has_models, model_of
from fedclade.dashboard.reading import content, number, word
from fedclade.dashboard.streams import ON_A_PAGE, Head, Place, Sent, as_list, changes, list_stream, on_page, run_stream
from fedclade.dashboard.watching import Desk
from fedclade.nouns import Damaged, InputError
from fedclade.runs.client_table import CLIENTS

STATIC = Path(__file__).parent / "static"
OURS = {
    "dash.js": "text/javascript",
    "dash.css": "text/css",
    "htmx.min.js": "text/javascript",
    "sse.min.js": "text/javascript",
}
MOST_COMPARED = 12  # runs: as many as can be told apart
HAPPENED = 200  # lines
SLOWEST = 10  # seconds in which a page must take what is sent to it
GRACE = 1  # seconds for streams when the dashboard is ended


def templates() -> Environment:
    """The pages' templates: everything that is put into them is escaped."""
    made = Environment(
        loader=PackageLoader("fedclade.dashboard"),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    made.globals.update(
        version=__version__,
        RUNNING=RUNNING,
        SHOWN=SHOWN,
        SHOWN_GROUPS=SHOWN_GROUPS,
        HAPPENED=HAPPENED,
        plotly=plotly_version(),
    )
    made.filters.update(percent=percent, span=span, megabytes=megabytes, points=points)
    return made


def percent(share: object) -> str:
    """A share of 1 as a reader wants it."""
    found = number(share)
    return "-" if found is None else f"{100 * found:.1f} %"


def megabytes(count: float) -> str:
    """Bytes as megabytes."""
    return f"{count / 1e6:,.1f}" if count >= 1e7 else f"{count / 1e6:.2f}"


def span(seconds: float) -> str:
    """A time, roughly."""
    if seconds < 90:
        return f"{max(1, round(seconds))} s"
    return f"{round(seconds / 60)} min" if seconds < 5400 else f"{seconds / 3600:.1f} h"


def points(found: Sequence[object]) -> str:
    """Points of a curve as the page's script reads them."""
    return json.dumps([as_list(each) for each in found])


def plotly_version() -> str:
    """The release that the drawing script comes with: another release, another address."""
    from plotly import __version__ as release

    return str(release)


@cache
def plotly_script() -> bytes:
    """plotly.js, from the installed package: no network, and always the one that fits."""
    from plotly.offline import get_plotlyjs

    return str(get_plotlyjs()).encode()


class Pages:
    """One function for each address."""

    def __init__(self, folder: Path) -> None:
        self.desk = Desk(folder)
        self._templates = templates()

    def warm_up(self) -> None:
        """Do ahead what the first visitor would wait for."""
        self.desk.runs()
        plotly_script()
        last_lines(CLIENTS.empty_table())

    def draw(self, name: str, /, **values: object) -> str:
        """A template, filled in."""
        drawn = self._templates.get_template(name).render(**values)
        return drawn.encode("utf-8", "replace").decode()

    def page(self, name: str, status: int = 200, /, **values: object) -> Response:
        """A template as an answer."""
        return Response(self.draw(name, **values), status, media_type="text/html")

    def missing(self, what: str) -> Response:
        """There is no such thing."""
        return self.page("error.html", 404, what=what)

    # -- the list -----------------------------------------------------------------------------------------------------

    async def all_runs(self, request: Request) -> Response:
        """All runs."""
        return await run_in_threadpool(self._all_runs, page_asked(request))

    def _all_runs(self, page: int) -> Response:
        version, runs = self.desk.versioned()
        return self.page(
            "runs.html",
            version=version,
            runs=on_page(runs, page).values(),
            head=Head.of(self.desk, runs),
            page=page,
            pages=-(-len(runs) // ON_A_PAGE),
            most=MOST_COMPARED,
        )

    async def list_events(self, request: Request) -> Response:
        """The list as it changes."""
        page, heard = page_asked(request), heard_by(request)
        return streamed(request, lambda leaving: list_stream(self.desk, self.draw, page, heard, leaving))

    # -- a run --------------------------------------------------------------------------------------------------------

    async def run(self, request: Request) -> Response:
        """One run."""
        return await run_in_threadpool(self._run, request.path_params["key"], "run.html")

    async def run_live(self, request: Request) -> Response:
        """The part of a run's page that changes."""
        return await run_in_threadpool(self._run, request.path_params["key"], "_live.html")

    def _run(self, key: str, template: str) -> Response:
        try:
            run, story = self.desk.told(key)
        except KeyError:
            return self.missing("There is no such run")
        crowd, trouble = self.desk.crowd(run)
        asked = content(run.path / "experiment.toml", most=200_000).decode("utf-8", "replace")
        return self.page(
            template, run=run, story=story, crowd=crowd, trouble=trouble, place=str(Place.of(story)), asked=asked
        )

    async def run_clients(self, request: Request) -> Response:
        """The table of a run's clients."""
        return await run_in_threadpool(self._run, request.path_params["key"], "_clients.html")

    async def run_events(self, request: Request) -> Response:
        """A run as it goes on."""
        key = request.path_params["key"]
        if key not in await run_in_threadpool(self.desk.runs):
            return self.missing("There is no such run")
        heard = Place.parsed(heard_by(request))
        return streamed(request, lambda leaving: run_stream(self.desk, self.draw, key, heard, leaving))

    # -- a client -----------------------------------------------------------------------------------------------------

    async def client(self, request: Request) -> Response:
        """One client of a run."""
        return await run_in_threadpool(self._client, request.path_params["key"], request.path_params["client"])

    def _client(self, key: str, client: str) -> Response:
        try:
            run, story = self.desk.told(key)
            crowd, trouble = self.desk.crowd(run)
            if crowd is None:
                return self.page("error.html", 500, what=f"The run is damaged: {trouble}")
            return self.page(
                "client.html",
                run=run,
                story=story,
                member=crowd.members[client],
                history=crowd.history(client),
                has_model=has_models(run.path),
            )
        except KeyError:
            return self.missing("There is no such client")

    async def model(self, request: Request) -> Response:
        """A client's model, to keep."""
        return await run_in_threadpool(self._model, request.path_params["key"], request.path_params["client"])

    def _model(self, key: str, client: str) -> Response:
        try:
            run = self.desk.runs()[key]
            crowd, _ = self.desk.crowd(run)
            name = crowd.ids[client] if crowd is not None else ""
        except KeyError:
            return self.missing("There is no such client")
        try:
            found = model_of(run.path, name)
        except InputError:
            return self.missing("There is no final model of this client")
        except (Damaged, OSError, ValueError, KeyError, TypeError):
            return self.page("error.html", 500, what="The run is damaged: its models are not as they were written")
        file = re.sub(r"[^A-Za-z0-9_-]+", "-", name)[:60].strip("-") or "client"
        return Response(
            found,
            media_type="application/octet-stream",
            headers={"content-disposition": f'attachment; filename="{file}.safetensors"'},
        )

    # -- side by side -------------------------------------------------------------------------------------------------

    async def compare(self, request: Request) -> Response:
        """Runs side by side."""
        return await run_in_threadpool(self._compare, request.query_params.getlist("run"), "compare.html")

    async def compare_live(self, request: Request) -> Response:
        """The part of that page that changes."""
        return await run_in_threadpool(self._compare, request.query_params.getlist("run"), "_compared.html")

    def _compare(self, keys: Sequence[str], template: str) -> Response:
        wanted = list(dict.fromkeys(keys))
        version, runs = self.desk.versioned()
        if not wanted or len(wanted) > MOST_COMPARED:
            return self.page("error.html", 400, what=f"Tick between one and {MOST_COMPARED} runs to compare them")
        if any(key not in runs for key in wanted):
            return self.missing("There is no such run")
        told = [self.desk.told(key) for key in wanted]
        curves = [
            {"name": word(run.name, 40), "points": [as_list(point) for point in story.points]} for run, story in told
        ]
        return self.page(
            template,
            told=told,
            curves=json.dumps(curves),
            query="&".join(f"run={key}" for key in wanted),
            version=version,
            live=any(run.may_change for run, _ in told),
        )

    async def compare_events(self, request: Request) -> Response:
        """That one of the runs has changed."""
        keys = request.query_params.getlist("run")[:MOST_COMPARED]
        heard = heard_by(request)
        return streamed(request, lambda leaving: changes(self.desk, keys, heard, leaving))

    # -- what pages are made of ---------------------------------------------------------------------------------------

    async def static(self, request: Request) -> Response:
        """Our own files, by their names: no other name is a file."""
        name = request.path_params["name"]
        if name not in OURS:
            return self.missing("There is no such file")
        return FileResponse(STATIC / name, media_type=OURS[name], headers={"cache-control": "no-cache"})

    async def plotly(self, _: Request) -> Response:
        """What draws."""
        script = await run_in_threadpool(plotly_script)
        return Response(script, media_type="text/javascript", headers={"cache-control": "private, max-age=86400"})

    async def nowhere(self, _: Request, __: Exception) -> Response:
        """No such address."""
        return self.missing("There is no such page")


def page_asked(request: Request) -> int:
    """Which page of the list: the first, if nothing sensible is asked for."""
    asked = request.query_params.get("page", "1")
    return int(asked) if re.fullmatch(r"[1-9]\d{0,5}", asked) else 1


def heard_by(request: Request) -> str:
    """How far a page is. A browser sends the last id when it connects again, but not when the page is loaded again."""
    return request.headers.get("last-event-id") or request.query_params.get("after", "")


def streamed(request: Request, stream: Callable[[anyio.Event], AsyncIterator[Sent]]) -> Response:
    """Server-sent events; who only asks for the head does not get one that never ends."""
    if request.method == "HEAD":
        return Response(media_type="text/event-stream")
    leaving = anyio.Event()
    return EventSourceResponse(
        stream(leaving), send_timeout=SLOWEST, shutdown_event=leaving, shutdown_grace_period=GRACE
    )


def page_of(folder: Path, token: str, port: int) -> Starlette:
    """The page about the runs of a folder, for whoever has the token."""
    pages = Pages(folder)
    threading.Thread(target=pages.warm_up, daemon=True).start()
    made = Starlette(
        routes=[
            Route("/", pages.all_runs),
            Route("/events", pages.list_events),
            Route("/run/{key}", pages.run),
            Route("/run/{key}/live", pages.run_live),
            Route("/run/{key}/clients", pages.run_clients),
            Route("/run/{key}/events", pages.run_events),
            Route("/run/{key}/client/{client}", pages.client),
            Route("/run/{key}/client/{client}/model", pages.model),
            Route("/compare", pages.compare),
            Route("/compare/live", pages.compare_live),
            Route("/compare/events", pages.compare_events),
            Route("/static/{name}", pages.static),
            Route("/plotly.js", pages.plotly),
        ],
        middleware=[Middleware(Guard, token=token, port=port)],
        exception_handlers={404: pages.nowhere},
    )
    made.router.redirect_slashes = False
    return made
