"""What Flower starts: the one ClientApp, and a ServerApp around any main."""

import logging
from collections.abc import Callable, Mapping
from functools import partial

from flwr.app import Context, Message
from flwr.clientapp import ClientApp
from flwr.serverapp import Grid, ServerApp

from fedclade.fleet.flower.messages import header_in, packed, rows_in
from fedclade.fleet.site import Find, OwnNet, Trip, answer
from fedclade.nouns import FedcladeError

log = logging.getLogger("flwr")  # the log of Flower's processes


def client_app(find: Find, own_net: OwnNet | None = None, *, candid: bool = False) -> ClientApp:
    """The one ClientApp: it answers every verb from the data that `find` finds.

    An exception at a client is told to the server by its class alone, since its text may say something about the data,
    unless the client is `candid`, as a simulated one is.
    """
    app = ClientApp()

    def handle(trip: Trip, message: Message, context: Context) -> Message:
        try:
            header, rows = header_in(message.content), rows_in(message.content)
            told, arrays = answer(trip, header, rows, find(context.node_config, str(context.run_id)), own_net)
        except Exception as wrong:
            log.exception("%s failed", trip)
            told, arrays = {"failure": repr(wrong) if candid else f"{type(wrong).__name__} in {trip}"}, {}
        return Message(packed(told, arrays), reply_to=message)

    app.train()(partial(handle, "train"))
    app.evaluate()(partial(handle, "evaluate"))
    app.query("losses")(partial(handle, "losses"))
    app.query("sketch")(partial(handle, "sketch"))
    app.query("scatter")(partial(handle, "scatter"))
    app.query("moments")(partial(handle, "moments"))
    app.query("changed")(partial(handle, "changed"))
    app.query("enrol")(partial(handle, "enrol"))
    return app


def server_app(main: Callable[[Grid, Mapping[str, object]], None]) -> ServerApp:
    """A ServerApp whose main gets the grid and the run's configuration."""
    app = ServerApp()

    @app.main()
    def whole(grid: Grid, context: Context) -> None:
        try:
            main(grid, context.run_config)
        except FedcladeError as wrong:
            log.error("error: %s", wrong)
            raise

    return app


__all__ = ["ClientApp", "Grid", "ServerApp", "client_app", "server_app"]
