"""What comes before the search: the toolchain, the chip, and for each kernel its baseline, its floor and its noise."""

from __future__ import annotations

import hashlib
from dataclasses import replace

from ...events.base import canonical
from ...hardware.concerns import depends_on
from ...hardware.target import Toolchain
from ...kernels.spec import KernelSpec
from ...knowledge.probing import doubt, rests_on
from ..step import Step
from ..workbench import Workbench
from .knowledge import note_documents, own_documents
from .propose import register
from .upgrade import enter


def observe(wb: Workbench, _step: Step) -> str:
    """Note what is installed; parts that differ from the last observation are named."""
    now = wb.target.toolchain()
    before = wb.view.toolchain
    changed = now.changed(Toolchain(before.parts)) if before is not None else ()
    wb.run.observe(wb.context, now.fingerprint, dict(now.parts), changed, device=wb.target.has_device)
    wb.knowledge.seen(
        replace(wb.context, toolchain=now.fingerprint), wb.target.name, now.fingerprint, dict(now.parts), wb.known.parts
    )
    note_documents(wb.context, wb.knowledge, wb.known, wb.log.blobs, own_documents(wb.target))
    if changed:
        enter(wb, wb.context, now, changed)
    # The outcome of this step belongs to what was found, so that a replay as of the toolchain before ends ahead of it.
    wb.context = replace(wb.context, toolchain=now.fingerprint)
    return "changed" if changed else "ok"


def probe(wb: Workbench, _step: Step) -> str:
    """Measure the chip."""
    with wb.timed("device"):
        probes = wb.target.probes()
    assert wb.view.started is not None
    for each in probes:
        wb.knowledge.measured(
            wb.context,
            target=wb.target.name,
            run=wb.view.name,
            name=each.name,
            question=each.question,
            value=each.value,
            unit=each.unit,
            spread=each.spread,
            repeats=each.repeats,
            conditions=dict(each.conditions),
            depends=depends_on(wb.target, rests_on(each)),
            doubt=doubt(each, probes),
        )
    return "ok"


def spec_digest(spec: KernelSpec) -> str:
    """A digest (16 hex digits) of what a spec says: names, arguments, dimensions, tolerance."""
    text = canonical(
        {
            "name": spec.name,
            "dimensions": dict(spec.dimensions),
            "arguments": [[a.name, a.dtype, list(a.shape), a.direction, a.role] for a in spec.arguments],
            "tolerance": [spec.tolerance.absolute, spec.tolerance.relative],
            "families": list(spec.families),
        }
    )
    return hashlib.sha256(text.encode()).hexdigest()[:16]


def admit_kernel(wb: Workbench, step: Step) -> str:
    """Enter a kernel into the run. That its reference tells right from wrong was shown when it was registered."""
    spec = wb.specs[step.kernel]
    wb.trees[step.kernel].start(
        wb.context,
        run=wb.view.name,
        kernel=step.kernel,
        spec=spec_digest(spec),
        dimensions=dict(spec.dimensions),
        streamed_bytes=spec.streamed_bytes,
    )
    return "ok"


def register_baseline(wb: Workbench, step: Step) -> str:
    """Register the source to start from."""
    register(
        wb,
        step.kernel,
        parent=None,
        kind="baseline",
        by="spec",
        title="the kernel's baseline",
        rationale="what a competent person writes before tuning",
        levers={},
        source=wb.target.baseline(wb.specs[step.kernel]),
    )
    return "ok"
