"""The pages: the list of runs, a run, one of its clients, runs side by side. Run folders are only read."""

import json
import re
import threading
from collections.abc import AsyncIterator, Callable, Sequence
from functools import cache, partial
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

from fedclade.core import Damaged, InputError
from fedclade.core.metric_text import metric_text
from fedclade.core.task import MetricKind
from fedclade.dashboard.clients import SHOWN_CLIENTS, SHOWN_GROUPS, last_lines
from fedclade.dashboard.guard import Guard
from fedclade.dashboard.listing import RUNNING
from fedclade.dashboard.model import has_models, model_of
from fedclade.dashboard.run_cache import RunCache
from fedclade.dashboard.safe_reading import content, short_text
from fedclade.dashboard.streams import (
    RUNS_PER_PAGE,
    ListHead,
    ServerEvent,
    TailPosition,
    compare_stream,
    field_values,
    list_stream,
    run_stream,
    runs_on_page,
)
from fedclade.report.palette import css_properties
from fedclade.store.client_table import CLIENT_SCHEMA
from fedclade.store.files import EXPERIMENT_FILE

STATIC = Path(__file__).parent / "static"
STATIC_TYPES = {
    "dash.js": "text/javascript",
    "dash.css": "text/css",
    "htmx.min.js": "text/javascript",
    "sse.min.js": "text/javascript",
}
MAX_COMPARED = 12  # runs that have a colour each
SHOWN_EVENT_LINES = 200
SEND_SECONDS = 10  # in which a page must take what is sent to it
GRACE_SECONDS = 1  # for streams when the dashboard is ended


def make_templates() -> Environment:
    """The templates of pages: everything that is put into them is escaped."""
    templates = Environment(
        loader=PackageLoader("fedclade.dashboard"),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    templates.globals.update(
        RUNNING=RUNNING,
        SHOWN_CLIENTS=SHOWN_CLIENTS,
        SHOWN_GROUPS=SHOWN_GROUPS,
        SHOWN_EVENT_LINES=SHOWN_EVENT_LINES,
        plotly=plotly_version(),
    )
    templates.filters.update(metric_text=metric_text, named_value=named_value, with_capital=with_capital)
    templates.filters.update(duration_text=duration_text, megabytes=megabytes, points=points)
    return templates


def named_value(value: float | None, kind: MetricKind) -> str:
    """A metric as text, with its name unless it is the accuracy: other runs may have another one."""
    text = metric_text(value, kind)
    return text if value is None or kind.label == "accuracy" else f"{kind.label} {text}"


def with_capital(label: str) -> str:
    """A label as the first word of a title."""
    return label[:1].upper() + label[1:]


def megabytes(count: float) -> str:
    """Bytes as megabytes."""
    return f"{count / 1e6:,.1f}" if count >= 1e7 else f"{count / 1e6:.2f}"


def duration_text(seconds: float) -> str:
    """A time as text, rounded."""
    if seconds < 90:
        return f"{max(1, round(seconds))} s"
    return f"{round(seconds / 60)} min" if seconds < 5400 else f"{seconds / 3600:.1f} h"


def points(found: Sequence[object]) -> str:
    """The points of a curve as JSON for the page's script."""
    return json.dumps([field_values(each) for each in found])


def plotly_version() -> str:
    """The release of plotly: the address of its script has it, so that browsers keep no old one."""
    from plotly import __version__ as release

    return str(release)


@cache
def plotly_script() -> bytes:
    """plotly.js, from the installed package."""
    from plotly.offline import get_plotlyjs

    return str(get_plotlyjs()).encode()


class Pages:
    """One function for each address. Functions that are not async run in a thread of their own."""

    def __init__(self, folder: Path) -> None:
        self.run_cache = RunCache(folder)
        self._templates = make_templates()

    def warm_up(self) -> None:
        """Do in advance what the first page would wait for."""
        self.run_cache.listing.runs()
        plotly_script()
        last_lines(CLIENT_SCHEMA.empty_table())

    def render(self, name: str, /, **values: object) -> str:
        """A template, filled in; what is no valid text becomes `?`."""
        text = self._templates.get_template(name).render(**values)
        return text.encode("utf-8", "replace").decode()

    def page(self, name: str, status: int = 200, /, **values: object) -> Response:
        """A template as an answer."""
        return Response(self.render(name, **values), status, media_type="text/html")

    def not_found(self, what: str) -> Response:
        """The answer that there is no such thing."""
        return self.page("error.html", 404, what=what)

    # -- the list -----------------------------------------------------------------------------------------------------

    def all_runs(self, request: Request) -> Response:
        """All runs."""
        page = page_number(request)
        version, runs = self.run_cache.listing.runs_with_version()
        return self.page(
            "runs.html",
            version=version,
            runs=runs_on_page(runs, page).values(),
            head=ListHead.of(self.run_cache.listing, runs),
            page=page,
            pages=-(-len(runs) // RUNS_PER_PAGE),
            most=MAX_COMPARED,
        )

    async def list_events(self, request: Request) -> Response:
        """The list as it changes."""
        page, heard = page_number(request), last_event_id(request)
        return stream_response(request, partial(list_stream, self.run_cache.listing, self.render, page, heard))

    # -- a run --------------------------------------------------------------------------------------------------------

    def run(self, request: Request, template: str) -> Response:
        """One run, or a part of its page."""
        try:
            run, tail = self.run_cache.run_with_tail(request.path_params["key"])
        except KeyError:
            return self.not_found("There is no such run")
        place = TailPosition.end_of(run, tail)
        clients, trouble = self.run_cache.clients(run)
        asked = content(run.path / EXPERIMENT_FILE, max_bytes=200_000).decode("utf-8", "replace")
        return self.page(
            template,
            run=run,
            tail=tail,
            clients=clients,
            trouble=trouble,
            place=str(place),
            asked=asked,
        )

    async def run_events(self, request: Request) -> Response:
        """A run as it goes on."""
        key = request.path_params["key"]
        if key not in await run_in_threadpool(self.run_cache.listing.runs):
            return self.not_found("There is no such run")
        heard = TailPosition.parse(last_event_id(request))
        return stream_response(request, partial(run_stream, self.run_cache, self.render, key, heard))

    # -- a client -----------------------------------------------------------------------------------------------------

    def client(self, request: Request) -> Response:
        """One client of a run."""
        client = request.path_params["client"]
        try:
            run, tail = self.run_cache.run_with_tail(request.path_params["key"])
            clients, trouble = self.run_cache.clients(run)
            if clients is None:
                return self.page("error.html", 500, what=f"The run is damaged: {trouble}")
            return self.page(
                "client.html",
                run=run,
                tail=tail,
                member=clients.members[client],
                history=clients.history(client),
                has_model=has_models(run.path),
            )
        except KeyError:
            return self.not_found("There is no such client")

    def model(self, request: Request) -> Response:
        """A client's model as a file."""
        try:
            run = self.run_cache.listing.runs()[request.path_params["key"]]
            clients, _ = self.run_cache.clients(run)
            name = clients.ids[request.path_params["client"]] if clients is not None else ""
        except KeyError:
            return self.not_found("There is no such client")
        try:
            model = model_of(run.path, name)
        except InputError:
            return self.not_found("There is no final model of this client")
        except (Damaged, OSError, ValueError, KeyError, TypeError):
            return self.page("error.html", 500, what="The run is damaged: its models are not as they were written")
        file = re.sub(r"[^A-Za-z0-9_-]+", "-", name)[:60].strip("-") or "client"
        headers = {"content-disposition": f'attachment; filename="{file}.safetensors"'}
        return Response(model, media_type="application/octet-stream", headers=headers)

    # -- side by side -------------------------------------------------------------------------------------------------

    def compare(self, request: Request, template: str) -> Response:
        """Runs side by side, or the part of that page that changes."""
        wanted = list(dict.fromkeys(request.query_params.getlist("run")))
        version, runs = self.run_cache.listing.runs_with_version()
        if not wanted or len(wanted) > MAX_COMPARED:
            return self.page("error.html", 400, what=f"Tick between one and {MAX_COMPARED} runs to compare them")
        if any(key not in runs for key in wanted):
            return self.not_found("There is no such run")
        runs_with_tails = [self.run_cache.run_with_tail(key) for key in wanted]
        curves = [
            {"name": short_text(run.name, 40), "points": [field_values(point) for point in tail.points]}
            for run, tail in runs_with_tails
        ]
        return self.page(
            template,
            runs_with_tails=runs_with_tails,
            curves=json.dumps(curves),
            title=with_capital(runs_with_tails[0][0].metric.label),
            query="&".join(f"run={key}" for key in wanted),
            version=version,
            live=any(run.may_change for run, _ in runs_with_tails),
        )

    async def compare_events(self, request: Request) -> Response:
        """Changes of the runs that are compared."""
        keys = request.query_params.getlist("run")[:MAX_COMPARED]
        return stream_response(request, partial(compare_stream, self.run_cache.listing, keys, last_event_id(request)))

    # -- what pages are made of ---------------------------------------------------------------------------------------

    def static(self, request: Request) -> Response:
        """Our own files, by their names: no other name is a file."""
        name = request.path_params["name"]
        if name not in STATIC_TYPES:
            return self.not_found("There is no such file")
        return FileResponse(STATIC / name, media_type=STATIC_TYPES[name], headers={"cache-control": "no-cache"})

    def palette(self, _: Request) -> Response:
        """The colours of pages and curves, as CSS."""
        return Response(css_properties(), media_type="text/css", headers={"cache-control": "no-cache"})

    def plotly(self, _: Request) -> Response:
        """The script that draws curves."""
        headers = {"cache-control": "private, max-age=86400"}
        return Response(plotly_script(), media_type="text/javascript", headers=headers)

    def no_such_page(self, _: Request, __: Exception) -> Response:
        """The answer to an unknown address."""
        return self.not_found("There is no such page")


def page_number(request: Request) -> int:
    """Which page of the list: the first, unless a positive number is asked for."""
    asked = request.query_params.get("page", "1")
    return int(asked) if re.fullmatch(r"[1-9]\d{0,5}", asked) else 1


def last_event_id(request: Request) -> str:
    """How far a page is: a browser sends the last id when it connects again, but not when the page is loaded again."""
    return request.headers.get("last-event-id") or request.query_params.get("after", "")


def stream_response(request: Request, stream: Callable[[anyio.Event], AsyncIterator[ServerEvent]]) -> Response:
    """Server-sent events; of a request for the head only, the head, since events never end."""
    if request.method == "HEAD":
        return Response(media_type="text/event-stream")
    shutdown = anyio.Event()
    return EventSourceResponse(
        stream(shutdown), send_timeout=SEND_SECONDS, shutdown_event=shutdown, shutdown_grace_period=GRACE_SECONDS
    )


def build_app(folder: Path, token: str, port: int) -> Starlette:
    """The app with the pages about the runs of a folder, for browsers that have the token."""
    pages = Pages(folder)
    threading.Thread(target=pages.warm_up, daemon=True).start()
    app = Starlette(
        routes=[
            Route("/", pages.all_runs),
            Route("/events", pages.list_events),
            Route("/run/{key}", partial(pages.run, template="run.html")),
            Route("/run/{key}/live", partial(pages.run, template="_live.html")),
            Route("/run/{key}/clients", partial(pages.run, template="_clients.html")),
            Route("/run/{key}/events", pages.run_events),
            Route("/run/{key}/client/{client}", pages.client),
            Route("/run/{key}/client/{client}/model", pages.model),
            Route("/compare", partial(pages.compare, template="compare.html")),
            Route("/compare/live", partial(pages.compare, template="_compared.html")),
            Route("/compare/events", pages.compare_events),
            Route("/static/{name}", pages.static),
            Route("/palette.css", pages.palette),
            Route("/plotly.js", pages.plotly),
        ],
        middleware=[Middleware(Guard, token=token, port=port)],
        exception_handlers={404: pages.no_such_page},
    )
    app.router.redirect_slashes = False
    return app
