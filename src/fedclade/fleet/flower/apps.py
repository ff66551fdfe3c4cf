"""What Flower starts: the one ClientApp, and a ServerApp around any main."""

import logging
from collections.abc import Callable, Mapping
from functools import partial

from flwr.app import Context, Message
from flwr.clientapp import ClientApp
from flwr.serverapp import Grid, ServerApp

from fedclade.fleet.flower.messages import ENROL, header_in, packed, rows_in
from fedclade.fleet.site import Find, OwnNet, answer, enrol
from fedclade.nouns import FedcladeError
from fedclade.wire import Arrays
from fedclade.wire.verbs import EVALUATE, TRAIN, VERBS

log = logging.getLogger("flwr")  # the log of Flower's processes


def client_app(find: Find, own_net: OwnNet | None = None, *, candid: bool = False) -> ClientApp:
    """The one ClientApp: it answers every verb from the data that `find` finds.

    An exception at a client is told to the server by its class alone, since its text may say something about the data,
    unless the client is `candid`, as a simulated one is.
    """
    app = ClientApp()

    def handle(name: str, message: Message, context: Context) -> Message:
        arrays: Arrays = {}
        try:
            header, held = header_in(message.content), find(context.node_config, str(context.run_id))
            if name == ENROL:
                reply = enrol(header, held)
            else:
                reply, arrays = answer(header, rows_in(message.content), held, own_net)
        except Exception as error:
            log.exception("%s failed", name)
            reply, arrays = {"failure": repr(error) if candid else f"{type(error).__name__} in {name}"}, {}
        return Message(packed(reply, arrays), reply_to=message)

    for name in (*VERBS, ENROL):
        register = {TRAIN.name: app.train, EVALUATE.name: app.evaluate}.get(name)
        (app.query(name) if register is None else register())(partial(handle, name))
    return app


def server_app(main: Callable[[Grid, Mapping[str, object]], None]) -> ServerApp:
    """A ServerApp whose main gets the grid and the run's configuration."""
    app = ServerApp()

    @app.main()
    def whole(grid: Grid, context: Context) -> None:
        try:
            main(grid, context.run_config)
        except FedcladeError as error:
            log.error("error: %s", error)
            raise

    return app


__all__ = ["ClientApp", "Grid", "ServerApp", "client_app", "server_app"]
