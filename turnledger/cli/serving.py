"""`serve`: the page of a store, in a browser on this machine."""

import webbrowser
from importlib.util import find_spec
from pathlib import Path

import click

from turnledger.cli.mistakes import complain
from turnledger.cli.options import store_option_here, store_to_read
from turnledger.projections.legible import legible
from turnledger.store import named

PORT = 8300
NEEDED = ("jinja2", "starlette", "uvicorn")

_HELP = """Serve a page that shows the store's conversations, their events and every earlier state.

It reads only, and listens on this machine only unless --host says otherwise; whoever can reach it can read
every conversation. Ctrl+C stops it.

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
@store_option_here
def serve(host: str, port: int, opens: bool) -> None:
    require_web()
    from turnledger.web.security import is_loopback  # noqa: PLC0415
    from turnledger.web.serving import Server  # noqa: PLC0415

    with store_to_read() as store:
        path = legible(named(store))
        try:
            server = Server(store, name=Path(path).name, host=host, port=port)
        except (OSError, UnicodeError) as error:
            reason = getattr(error, "strerror", None) or error
            raise click.ClickException(
                f"cannot listen on {host} port {port}: {reason}; give another --host or --port"
            ) from error
        if not is_loopback(host):
            complain(f"whoever can reach {server.address} can read every conversation of {path}")
        click.echo(f"{path} is shown at {server.address}; Ctrl+C stops that")
        server.run(lambda: webbrowser.open(server.address) if opens else None)


def require_web() -> None:
    """Raises a mistake that says how to install what the page needs."""
    if any(find_spec(name) is None for name in NEEDED):
        raise click.ClickException("this needs more packages: pip install 'turnledger[web]'")
