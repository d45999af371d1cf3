"""How each measurement is shown, and the sentence that says how it was taken."""

from __future__ import annotations

from typing import Any

from .report import Column, bullet, count, heading, percent, plain, ratio, table, text

Row = dict[str, Any]

_EQUAL = [Column("accepted_equal", "false acceptance", percent), Column("runs_equal", "runs, equal", count)]
_GAIN = [Column("accepted_gain", "power at 2 %", percent), Column("runs_gain", "runs at 2 %", count)]


def figures(rows: list[Row], headline: Row) -> str:
    """The figures that the policy is held to."""
    note = """\
Noise of one run: 1 % lognormal, 5 % of runs 10 % slower, level drifting by 0.05 % per run and walking by 0.1 % per run.
Two device runs make a pair. E is looked at after every pair, the comparison stops at once, cap 48 pairs; each comparison
has a scale of its own, from 32 simulated A/A pairs.

"""
    columns = [
        Column("figure", "figure", text),
        Column("wanted", "wanted", text),
        Column("measured", "measured", plain),
        Column("met", "met", text),
    ]
    spread = (
        f"{headline['sequences']} comparisons of equal candidates and as many of candidates 2 % faster; standard errors "
        f"{headline['false_acceptance_error']:.1e} (false acceptance) and {headline['power_error']:.1e} (power)"
    )
    equal = (
        f"equal candidates: {headline['equal_rejected']:.1%} rejected, {headline['equal_undecided']:.1%} undecided, "
        f"{headline['mean_runs_equal']:.1f} runs on average"
    )
    better = (
        f"2 % faster: 95 in 100 end within {headline['p95_runs_at_gain']:.0f} runs, "
        f"{headline['missed_as_futile']:.3%} are rejected"
    )
    return heading("Figures") + note + table(rows, columns) + bullet(spread) + bullet(equal) + bullet(better) + "\n"


def fixed(rows: list[Row], headline: Row, peeked: float) -> str:
    """Fixed-size tests beside the sequential one."""
    note = """\
Fixed tests: one-sided at 1 %, looked at once, every candidate costs the same; the smallest size with the power is found
by bisection over simulated comparisons under the same noise ("-": not within 300 runs).

"""
    own = {
        "test": "this policy (mean runs)",
        "runs": headline["mean_runs_at_gain"],
        "power": headline["power"],
        "false_acceptance": headline["false_acceptance"],
    }
    columns = [
        Column("test", "test", text),
        Column("runs", "device runs", count),
        Column("power", "power", percent),
        Column("false_acceptance", "false acceptance", percent),
    ]
    peeking = f"a signed-rank test at 1 %, looked at after every pair up to the cap, accepts {peeked:.1%} of equals"
    title = heading("Device runs for a power of 99.9 % at 2 %")
    return title + note + table([own, *rows], columns) + bullet(peeking) + "\n"


def campaign(rows: list[Row]) -> str:
    """Whole campaigns."""
    note = f"{rows[0]['campaigns']} campaigns; the other 39 gain 0.5, 1, 2, 4 or 8 %, drawn evenly.\n\n"
    columns = [
        Column("case", "the 261", text),
        Column("false_acceptances", "false acceptances", plain),
        Column("error", "standard error", plain),
        Column("campaigns_with_none", "campaigns with none", percent),
        Column("found_of_2_percent_and_more", "found of those with 2 % or more", percent),
        Column("runs_per_candidate", "runs per candidate", count),
    ]
    return heading("300 candidates, 261 of them no better") + note + table(rows, columns)


def variants(rows: list[Row]) -> str:
    """Other ways to bet."""
    double = [Column("accepted_double", "power at 2x", percent), Column("runs_double", "runs at 2x", count)]
    return heading("Other ways to bet") + table(rows, [Column("variant", "variant", text), *_EQUAL, *_GAIN, *double])


def hostile(rows: list[Row]) -> str:
    """Noise outside the model."""
    note = "Equal candidates (the last two: slower ones). The bound is 1 % whatever the noise.\n\n"
    columns = [
        Column("case", "case", text),
        Column("false_acceptance", "false acceptance", percent),
        Column("error", "standard error", percent),
        Column("mean_runs", "runs", count),
    ]
    return heading("False acceptance under other noise") + note + table(rows, columns)


def scales(rows: list[Row]) -> str:
    """Wrong calibrations."""
    columns = [
        Column("case", "scale given", text),
        Column("scale", "log ratio", plain),
        Column("false_acceptance", "false acceptance", percent),
        Column("runs_equal", "runs, equal", count),
        Column("power", "power at 2 %", percent),
        Column("runs_gain", "runs at 2 %", count),
    ]
    return heading("A wrong scale") + table(rows, columns)


def processes(rows: list[Row]) -> str:
    """Placement effects."""
    note = """\
What placement does to a pair of processes is drawn once for each, with a standard deviation in units of the noise of a
pair. Pairs of one process that are taken as separate break the bound; as one bet they keep it, and cost runs.

"""
    columns = [
        Column("placement", "placement", plain),
        Column("per_process", "pairs per process", count),
        Column("treated", "taken as", text),
        *_EQUAL,
        *_GAIN,
    ]
    return heading("Placement that differs between processes") + note + table(rows, columns)


def costs(rows: list[Row]) -> str:
    """Noisier devices."""
    note = """\
The other noise as above. c: the detectable gain (80 % power within 48 pairs) is c * sigma / sqrt(48); below the futile
gain of 1 % it cannot fall much, since such candidates are rejected.

"""
    columns = [
        Column("sigma", "sigma of a run", percent),
        Column("power_2", "power at 2 %", percent),
        Column("runs_2", "runs at 2 %", count),
        Column("power_10", "power at 10 %", percent),
        Column("runs_10", "runs at 10 %", count),
        Column("false_acceptance", "false acceptance", percent),
        Column("runs_equal", "runs, equal", count),
        Column("detectable", "detectable gain", percent),
        Column("constant", "c", ratio),
    ]
    return heading("What is detected on noisier devices") + note + table(rows, columns)


def estimates(row: Row) -> str:
    """Claims from deciding and from fresh pairs."""
    means = (
        f"mean gain over {row['accepted']} accepted: {row['mean_gain_deciding_pairs']:.2%} by the pairs that decided, "
        f"{row['mean_gain_fresh_pairs']:.2%} by fresh ones"
    )
    interval = (
        f"the interval from fresh pairs covers the truth in {row['coverage']:.1%} (stated {row['coverage_stated']:.1%}); "
        f"mean half width {row['mean_half_width']:.2%}"
    )
    return heading("Claimed gains where the true gain is 1 %") + bullet(means) + bullet(interval) + "\n"


def alarms(rows: list[Row]) -> str:
    """Alarms after ten claims."""
    columns = [
        Column("case", "truth", text),
        Column("alarm", "alarm", percent),
        Column("outside_bare_interval", "product outside the bare measured interval", percent),
    ]
    return heading("Champion against anchor, after ten claims of 2 %") + table(rows, columns)


def same_kernel(rows: list[Row]) -> str:
    """Real A/A pairs."""
    note = f"""\
Readings of one and the same kernel on a real device, split into A/A pairs {rows[0]["splits"]} times. Power: the same pairs
with one side made faster by the gain given, within the pairs there are.

"""
    columns = [
        Column("readings", "readings", text),
        Column("pairing", "pairing", text),
        Column("pairs", "pairs", count),
        Column("scale", "scale of a pair", percent),
        Column("false_acceptance", "false acceptance", percent),
        Column("rejected", "rejected", percent),
        Column("power_0.02", "power at 2 %", percent),
        Column("power_0.05", "at 5 %", percent),
        Column("power_0.1", "at 10 %", percent),
    ]
    return heading("Real readings: identical kernels against themselves") + note + table(rows, columns)


def paired_sets(rows: list[Row]) -> str:
    """Real comparisons."""
    note = """\
B (or the candidate) against A (or the incumbent). The scale of a kernel comes from its A/A pairs above; sets of bare
differences are taken relative to the kernel's median. These jobs flipped no coin for the order, so this is what the
policy says of the numbers, without the guarantee. "continue": it asks for more pairs (there is no verdict before 8).

"""
    columns = [
        Column("id", "set", text),
        Column("kernel", "kernel", text),
        Column("protocol", "protocol", text),
        Column("pairs", "pairs", count),
        Column("gain", "gain", percent),
        Column("low", "low", percent),
        Column("high", "high", percent),
        Column("coverage", "coverage", percent),
        Column("e_accept", "E, B faster", plain),
        Column("e_futile", "E, futile", plain),
        Column("verdict", "verdict", text),
        Column("e_other_way", "E, A faster", plain),
    ]
    return heading("Real readings: recorded comparisons") + note + table(rows, columns)
