"""Commands on toolchains that are installed for a target: toolchain add, list, remove."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from typing import TYPE_CHECKING, Annotated

import typer

from .inspect_commands import Json
from .output import emit_json, fail, say

if TYPE_CHECKING:
    from ..hardware.environments import Environment, Installs, ToolchainOption

group = typer.Typer(no_args_is_help=True, help="Install toolchains of a target, each in an environment of its own.")
TargetArgument = Annotated[str, typer.Argument(help="The accelerator: tpu, rngd, or one that is installed.")]


def register(app: typer.Typer) -> None:
    """Add the commands to the program."""
    app.add_typer(group, name="toolchain")


@group.command(context_settings={"allow_extra_args": True, "ignore_unknown_options": True})
def add(context: typer.Context, target: TargetArgument, as_json: Json = False) -> None:
    """Make a toolchain from the package index. Its options depend on the target, such as --jax 0.10.2 --libtpu 0.0.52."""
    from ..hardware.environments import add_environment
    from ..hardware.target import TargetError

    try:
        offers = _installs(target, as_json=as_json)
        chosen = parsed(target, context.args, offers.toolchain_options(), as_json=as_json)
        recipe = offers.recipe(chosen)

        def told(line: str) -> None:
            if not as_json:
                sys.stderr.write(f"{line}\n")

        told(recipe.describe)
        made = add_environment(target, recipe, told)
    except TargetError as error:
        fail(str(error), as_json=as_json, code=1)
    if as_json:
        emit_json(_data(made))
    else:
        say(f"{target} {made.name}: {_facts(made)}")
        say(f"  kernelwright run --target {target} --toolchain {made.name}")


@group.command("list")
def list_(
    target: Annotated[str | None, typer.Argument(help="The accelerator; all of them when left out.")] = None,
    as_json: Json = False,
) -> None:
    """List the toolchains that are installed."""
    from ..hardware.discovery import target_names
    from ..hardware.environments import environments
    from ..hardware.target import TargetError

    try:
        found = [each for name in ([target] if target else target_names()) for each in environments(name)]
    except TargetError as error:
        fail(str(error), as_json=as_json, code=1)
    if as_json:
        emit_json([_data(each) for each in found])
        return
    for each in found:
        say(f"{each.target}  {each.name}  {_facts(each)}  {each.path}")
    if not found:
        say("no toolchains are installed; add one with `kernelwright toolchain add TARGET`")


@group.command()
def remove(
    target: TargetArgument,
    name: Annotated[str, typer.Argument(help="Its name, as `kernelwright toolchain list` shows it.")],
    as_json: Json = False,
) -> None:
    """Delete a toolchain. Runs made with it keep their log; their results stay bound to its fingerprint."""
    from ..hardware.environments import remove_environment
    from ..hardware.target import TargetError

    try:
        remove_environment(target, name)
    except TargetError as error:
        fail(str(error), as_json=as_json, code=1)
    if as_json:
        emit_json({"removed": name, "target": target})
    else:
        say(f"removed {target} {name}")


def parsed(
    target: str, arguments: Sequence[str], options: Sequence[ToolchainOption], *, as_json: bool
) -> dict[str, str]:
    """The options given on the command line over their defaults; what is not an option ends the command."""
    known = {option.name: option for option in options}
    chosen = {option.name: option.default for option in options if option.default}
    rest = list(arguments)
    while rest:
        name, sign, value = rest.pop(0).partition("=")
        option = known.get(name.removeprefix("--")) if name.startswith("--") else None
        if option is None:
            fail(f"{target} has no option {name!r}; {_offer(options) or 'it takes none'}", as_json=as_json)
        if option.flag:
            if sign:
                fail(f"--{option.name} takes no value", as_json=as_json)
            chosen[option.name] = "yes"
            continue
        if not sign and not rest:
            fail(f"--{option.name} needs a value: {option.help}", as_json=as_json)
        chosen[option.name] = value if sign else rest.pop(0)
    return chosen


def _offer(options: Sequence[ToolchainOption]) -> str:
    said = []
    for option in options:
        default = f", {option.default} if left out" if option.default else ""
        said.append(f"--{option.name}{'' if option.flag else ' VALUE'} ({option.help}{default})")
    return "; ".join(said)


def _installs(target: str, *, as_json: bool) -> Installs:
    from ..hardware.discovery import find_target
    from ..hardware.environments import Installs

    made = find_target(target, {})
    if not isinstance(made, Installs):
        fail(f"the toolchain of target {target} is the system's own: there is nothing to add", as_json=as_json)
    return made


def _data(each: Environment) -> dict[str, object]:
    return {"target": each.target, "name": each.name, "path": str(each.path), "facts": dict(each.facts)}


def _facts(each: Environment) -> str:
    return ", ".join(f"{name} {value}" for name, value in each.facts.items())
