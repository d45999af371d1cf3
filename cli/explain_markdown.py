"""The story of a design as Markdown, for a pull request."""

from __future__ import annotations

from typing import Any

from .explain_view import decision_lines, knowledge_text, later_lines, origin_text, reading_lines


def markdown(data: dict[str, Any]) -> str:
    """Sections for origin, checks, comparison, decision and source, with the plot of the pairs in a code block."""
    accepted = data["accepted"]
    gain = f" ({accepted['gain']:.3f}x over {accepted['over']})" if accepted is not None else ""
    lines = [
        f"## {data['kernel']}/{data['design']}: {_text(data['title'])} - {data['status']}{gain}",
        "",
        f"{_text(data['why'])}",
        "",
        "| | |",
        "|---|---|",
        f"| run | `{data['run']}` |",
        f"| proposed | {data['proposed_at']}, from {data['parent'] or 'nothing'} |",
        f"| by | {_cell(origin_text(data))} |",
        f"| shown | {_cell(knowledge_text(data))} |",
        f"| levers | {_cell(', '.join(f'{key}={value}' for key, value in data['levers'].items()) or '-')} |",
    ]
    for found in [*data["earlier"], data]:
        lines += ["", f"### Under toolchain `{found['judged_under'] or '-'}`", "", *_found_out(found)]
    later = later_lines(data)
    if later:
        lines += ["", "### Later", "", *(f"- {_text(each)}" for each in later)]
    if data["diff"]:
        lines += ["", f"### Source, against {data['parent']}", "", *_fenced(data["diff"], "diff")]
    return "\n".join(lines)


def _found_out(found: dict[str, Any]) -> list[str]:
    identity = found["identity"]
    loaded = ", ".join(f"`{each[:12]}`" for each in identity["loaded"]) or "-"
    lines = [f"- reopened ({each['why']}): {_text(each['reason'])}" for each in found["reopened"]]
    lines += [
        f"Source `{identity['source'][:12]}` -> artifact `{(identity['artifact'] or '-')[:12]}` -> loaded {loaded}.",
        "",
        "| check | outcome | seconds | reason |",
        "|---|---|---|---|",
    ]
    lines += [
        f"| {check['check']} | {check['outcome']} | {check['seconds']:.2f} | {_cell(check['reason'] or '-')} |"
        for check in found["checks"]
    ]
    for check in found["checks"]:
        if check["output"]:
            lines += ["", f"Output of {check['check']}:", "", *_fenced(check["output"].rstrip())]
    for reading in found["readings"]:
        heading = (
            f"{reading['purpose']} against {reading['against']}, evidence `{reading['evidence']}`, {reading['outcome']}"
        )
        lines += ["", heading, "", *_fenced("\n".join(reading_lines(reading)))]
    return [*lines, "", *(f"- {_text(each)}" for each in decision_lines(found))]


def _fenced(text: str, language: str = "") -> list[str]:
    """A code block that its content cannot end."""
    fence = "```"
    while fence in text:
        fence += "`"
    return [f"{fence}{language}", text, fence]


def _text(text: str) -> str:
    return " ".join(text.split()).replace("<", "&lt;")


def _cell(text: str) -> str:
    return _text(text).replace("|", "\\|")
