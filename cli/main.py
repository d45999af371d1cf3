"""The program: commands are registered here, and errors that people can act on are printed without a traceback."""

from __future__ import annotations

import sys

import typer

from .. import __version__
from . import inspect_commands, run_commands

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
    version: bool = typer.Option(False, "--version", help="Print the version.", callback=_version, is_eager=True),
) -> None:
    """Options of the program itself."""


run_commands.register(app)
inspect_commands.register(app)


def main() -> None:
    """The entry point of the console script."""
    app()
