"""The apps that Flower starts: the one ClientApp, and a ServerApp around any main."""

import logging
from collections.abc import Callable, Mapping
from functools import partial
from typing import TYPE_CHECKING

from flwr.app import Context, Message
from flwr.clientapp import ClientApp
from flwr.serverapp import Grid, ServerApp

from fedclade.core import FedcladeError
from fedclade.fleet.flower.messages import ENROL, MAX_REQUEST_LENGTH, header_in, pack_message, request_arrays_in
from fedclade.fleet.site import FindClient, OwnNet, answer, enrol
from fedclade.wire import Arrays
from fedclade.wire.verbs import EVALUATE, TRAIN, VERBS

if TYPE_CHECKING:
    from fedclade.nets.own_task import OwnTask  # it loads torch, which not every message needs

log = logging.getLogger("flwr")  # the log of Flower's processes


def client_app(
    find: FindClient,
    own_net: OwnNet | None = None,
    own_task: "OwnTask | None" = None,
    *,
    send_error_text: bool = False,
) -> ClientApp:
    """A ClientApp that answers every verb from the data that `find` finds.

    Of an exception at a client the server learns the class alone, since its text may say something about the data;
    with `send_error_text`, as for a simulated client, the text too.
    """
    app = ClientApp()

    def handle(name: str, message: Message, context: Context) -> Message:
        arrays: Arrays = {}
        try:
            header, held = (
                header_in(message.content, MAX_REQUEST_LENGTH),
                find(context.node_config, str(context.run_id)),
            )
            if name == ENROL:
                reply = enrol(header, request_arrays_in(message.content), held)
            else:
                reply, arrays = answer(header, request_arrays_in(message.content), held, own_net, own_task)
        except Exception as error:
            log.exception("%s failed", name)
            reply, arrays = {"failure": repr(error) if send_error_text else f"{type(error).__name__} in {name}"}, {}
        return Message(pack_message(reply, arrays), reply_to=message)

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
