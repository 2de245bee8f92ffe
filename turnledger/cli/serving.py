"""`serve`: the page of a store, in a browser on this machine."""

import webbrowser
from contextlib import ExitStack
from importlib.util import find_spec
from pathlib import Path

import click

from turnledger.cli.mistakes import complain
from turnledger.cli.options import read_models_option, store_option_here, store_to_read
from turnledger.domain.errors import InvalidArgument, StoreNotFound
from turnledger.infrastructure.read_models import ReadModels
from turnledger.projections.legible import legible
from turnledger.store import ConversationStore, named

PORT = 8300
NEEDED = ("jinja2", "starlette", "uvicorn")

_HELP = """Serve a page that shows the store's conversations, their events and every earlier state.

It reads only, and listens on this machine only unless --host says otherwise; whoever can reach it can read
every conversation. Ctrl+C stops it. Where there are read models ('turnledger follow') it searches in them.

\b
Examples:
  turnledger serve
  turnledger serve --port 9000 --open
"""


@click.command(help=_HELP)
@click.option("--host", default="127.0.0.1", show_default=True, metavar="ADDRESS", help="Where to listen.")
@click.option(
    "--port",
    type=click.IntRange(0, 65535),
    default=PORT,
    show_default=True,
    help="The port; 0 takes a free one.",
)
@click.option("--open", "opens", is_flag=True, help="Open the page in a browser.")
@read_models_option
@store_option_here
def serve(host: str, port: int, opens: bool, read_models: str | None) -> None:
    require_web()
    from turnledger.web.security import is_loopback  # noqa: PLC0415
    from turnledger.web.serving import Server  # noqa: PLC0415

    with ExitStack() as stack:
        store = stack.enter_context(store_to_read())
        models = _read_models(store, read_models)
        if models is not None:
            stack.enter_context(models)
        path = legible(named(store))
        try:
            server = Server(store, name=Path(path).name, host=host, port=port, read_models=models)
        except (OSError, UnicodeError) as error:
            reason = getattr(error, "strerror", None) or error
            raise click.ClickException(
                f"cannot listen on {host} port {port}: {reason}; give another --host or --port"
            ) from error
        if not is_loopback(host):
            complain(f"whoever can reach {server.address} can read every conversation of {path}")
        click.echo(f"{path} is shown at {server.address}; Ctrl+C stops that")
        server.run(lambda: webbrowser.open(server.address) if opens else None)


def _read_models(store: ConversationStore, named: str | None) -> ReadModels | None:
    """The read models to search in: those that are named, or stand beside the store already."""
    try:
        return store.read_models(named, create=named is not None)
    except (StoreNotFound, InvalidArgument):
        if named is not None:
            raise
        return None


def require_web() -> None:
    """Raises a mistake that says how to install what the page needs."""
    if any(find_spec(name) is None for name in NEEDED):
        raise click.ClickException("this needs more packages: pip install 'turnledger[web]'")
