"""The program: commands are registered here, and errors that people can act on are printed without a traceback."""

from __future__ import annotations

import sys

import typer

from .. import __version__
from . import (
    arena_commands,
    inspect_commands,
    knowledge_commands,
    log_commands,
    model_commands,
    run_commands,
    toolchain_commands,
    trust_commands,
)
from .logs import LEVELS, choose
from .output import fail, nearest

app = typer.Typer(
    name="kernelwright",
    help="Learns an AI accelerator and optimizes kernels for it; every step is an event in a log.",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
)


def _version(show: bool) -> None:
    if show:
        sys.stdout.write(f"kernelwright {__version__}\n")
        raise typer.Exit


@app.callback()
def _root(
    version: bool = typer.Option(  # noqa: ARG001  its callback does the work
        False, "--version", help="Print the version.", callback=_version, is_eager=True
    ),
    log_level: str = typer.Option(
        "warning", envvar="KERNELWRIGHT_LOG_LEVEL", help="Diagnostics on standard error: debug, info, warning, error."
    ),
    log_json: bool = typer.Option(False, "--log-json", help="Diagnostics as JSON lines."),
) -> None:
    """Options of the program itself."""
    if log_level not in LEVELS:
        fail(f"log level {log_level!r}; {nearest(log_level, LEVELS)}")
    choose(log_level, as_json=log_json)


run_commands.register(app)
inspect_commands.register(app)
model_commands.register(app)
log_commands.register(app)
knowledge_commands.register(app)
trust_commands.register(app)
arena_commands.register(app)
toolchain_commands.register(app)


def main() -> None:
    """The entry point of the console script."""
    app()
