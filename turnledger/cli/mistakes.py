"""How a command ends: one line on standard error for whatever went wrong, and an exit code.

0 is fine; 1 says that the store or a file holds something damaged; 2 that the command must be given
otherwise. No traceback reaches a user.
"""

import errno
import logging
import os
import sys
import warnings
from collections.abc import Sequence
from typing import Any

import click

from turnledger.cli.screen import make_safe
from turnledger.domain.errors import (
    ArtifactDropped,
    ConversationNotFound,
    CorruptEvent,
    StoreDamaged,
    StoreNotFound,
    TurnledgerError,
)
from turnledger.projections.legible import one_line

DAMAGE, MISTAKE, FAULT, STOPPED, PIPE_CLOSED = 1, 2, 70, 130, 141
_HINTS: dict[type[TurnledgerError], str] = {
    StoreNotFound: "'turnledger append' and 'turnledger import' make one",
    ConversationNotFound: "'turnledger show' lists those that there are",
    CorruptEvent: "'turnledger verify' finds all damage, 'turnledger export --salvage' saves what is sound",
}


class Commands(click.Group):
    """The group of all commands, which turns whatever they raise into one line and an exit code."""

    def main(
        self,
        args: Sequence[str] | None = None,
        prog_name: str | None = None,
        complete_var: str | None = None,
        standalone_mode: bool = True,
        **extra: Any,
    ) -> Any:
        if not standalone_mode:
            return super().main(args, prog_name, complete_var, standalone_mode, **extra)
        for stream in (sys.stdout, sys.stderr):
            make_safe(stream)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", ArtifactDropped)  # its log record says the same
            with _LogOnStderr():
                sys.exit(self._code_of(args, prog_name or "turnledger", complete_var, extra))

    def invoke(self, ctx: click.Context) -> Any:
        try:
            result = super().invoke(ctx)
            sys.stdout.flush()
        except BrokenPipeError:
            _let_output_go()
            raise click.exceptions.Exit(PIPE_CLOSED) from None
        return result

    def _code_of(
        self, args: Sequence[str] | None, prog_name: str, complete_var: str | None, extra: dict[str, Any]
    ) -> int:
        try:
            code = super().main(args, prog_name, complete_var, False, **extra)
        except click.UsageError as error:
            path = error.ctx.command_path if error.ctx else prog_name
            return _say(f"{error.format_message().rstrip('.')} ('{path} --help' shows how)", MISTAKE)
        except click.ClickException as error:
            return _say(error.format_message(), MISTAKE)
        except click.Abort:
            return _say("stopped", STOPPED)
        except TurnledgerError as error:
            damaged = isinstance(error, CorruptEvent | StoreDamaged)
            return _say(explained(error), DAMAGE if damaged else MISTAKE)
        except OSError as error:
            _let_output_go()
            return _say(_os_reason(error), MISTAKE)
        except MemoryError:
            return _say("out of memory: give less at once, or free some", MISTAKE)
        except Exception as error:
            return _say(f"a fault in turnledger itself, please report it: {error!r}", FAULT)
        return code if isinstance(code, int) else 0


def explained(error: BaseException) -> str:
    """What an error says, with what to do about it."""
    hint = next((text for cls, text in _HINTS.items() if isinstance(error, cls)), None)
    return f"{error}; {hint}" if hint else str(error)


def complain(message: str) -> None:
    """One line on standard error."""
    click.echo(f"turnledger: {one_line(message)}", err=True)


def _say(message: str, code: int) -> int:
    try:
        complain(message)
    except OSError:
        _let_output_go()
    return code


def _os_reason(error: OSError) -> str:
    if error.errno in (errno.ENOSPC, errno.EDQUOT):
        return f"no room to write the output ({error.strerror}): free some, then try again"
    named = f" {error.filename}" if error.filename else " the output or a file"
    return f"cannot read or write{named}: {error.strerror or error}"


def _let_output_go() -> None:
    """What is still to be written goes nowhere, so that the end of the process does not fail over it."""
    try:
        nowhere = os.open(os.devnull, os.O_WRONLY)
        os.dup2(nowhere, sys.stdout.fileno())
        os.close(nowhere)
    except (OSError, ValueError, AttributeError):
        return


class _LogOnStderr(logging.Handler):
    """While a command runs, what the store logs is a line on standard error."""

    def __enter__(self) -> "_LogOnStderr":
        self.setLevel(logging.WARNING)
        logging.getLogger("turnledger").addHandler(self)
        return self

    def __exit__(self, *exc_info: object) -> None:
        logging.getLogger("turnledger").removeHandler(self)

    def emit(self, record: logging.LogRecord) -> None:
        complain(f"warning: {record.getMessage()}")
