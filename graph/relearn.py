"""Work on a knowledge base without a run: study documents, recheck items. Each item is recorded as it is done."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from secrets import randbits

from ..events.base import Context
from ..events.knowledge import KnowledgeBase, ProbeMeasured
from ..events.log import EventLog
from ..events.views.items import ClaimItem, RuleItem
from ..events.views.knowledge import KnowledgeView, catch_up, load_knowledge
from ..hardware.concerns import depends_on
from ..hardware.study import Document
from ..hardware.target import Target
from ..kernels.spec import KernelSpec
from ..knowledge.claims import claims_of
from ..knowledge.documents import digest_of
from ..knowledge.due import Due, due_items, stale_probes
from ..knowledge.probing import doubt, rests_on
from .steps.knowledge import (
    changed_sections,
    check_one,
    languages_of,
    note_documents,
    record_check,
    write_claims,
)

Told = Callable[[str, str, str], None]
"""Called with an item's id, what was found, and why."""


class Study:
    """A target's knowledge base, worked on by this process. Made anew it goes on where the last one was stopped."""

    def __init__(self, log: EventLog, target: Target, specs: Mapping[str, KernelSpec]) -> None:
        """Notes the toolchain that is installed. Raises TargetError when there is none."""
        self.log, self.target, self.specs = log, target, specs
        self.base = log.load(KnowledgeBase, target.name)
        self.known: KnowledgeView = load_knowledge(log, target.name)
        now = target.toolchain()
        self.toolchain = now.fingerprint
        self.context = Context(step="relearn", toolchain=now.fingerprint)
        self.base.seen(self.context, target.name, now.fingerprint, dict(now.parts), self.known.parts)
        self._save()

    def _save(self) -> None:
        self.log.record(self.base)
        catch_up(self.log, self.known, self.target.name)

    def read(self, documents: Sequence[Document]) -> int:
        """Write down the claims of documents; how many are new. Raises DocumentError."""
        new = 0
        note_documents(self.context, self.base, self.known, self.log.blobs, list(documents))
        self._save()
        languages = languages_of(self.target)
        for document in documents:
            digest = digest_of(document)
            if self.known.studied.get(document.name) == digest:
                continue
            parts = changed_sections(self.known, document)
            claims = [claim for part in parts for claim in claims_of(part, languages)]
            new += write_claims(self.context, self.base, self.log.blobs, document.name, digest, claims)
            self._save()
        return new

    def check(self, told: Told) -> int:
        """Check everything that is due, one item after the other; how many were checked. Raises TargetError."""
        done = 0
        for due in due_items(self.known, self.toolchain, device=self.target.has_device):
            item: ClaimItem | RuleItem = self.known.claims.get(due.item) or self.known.rules[due.item]
            found = check_one(self.target, self.specs, self.known, self.log.blobs, item, randbits(62))
            record_check(self.context, self.base, self.log.blobs, self.target, item, found)
            self._save()
            told(due.item, found.outcome, found.reason)
            done += 1
        if stale_probes(self.known, self.toolchain):
            done += self.measure(told)
        return done

    def measure(self, told: Told) -> int:
        """Measure the chip; how many probes were read. Raises TargetError."""
        probes = list(self.target.probes())
        for probe in probes:
            said = doubt(probe, probes)
            self.base.note(
                self.context,
                ProbeMeasured,
                target=self.target.name,
                run="",
                name=probe.name,
                question=probe.question,
                value=probe.value,
                unit=probe.unit,
                spread=probe.spread,
                repeats=probe.repeats,
                conditions=dict(probe.conditions),
                depends=depends_on(self.target, rests_on(probe)),
                doubt=said,
            )
            told(f"probe.{probe.name}", "failed" if said else "held", said or f"{probe.value:.4g} {probe.unit}")
        self._save()
        return len(probes)


def plan_for(log: EventLog, target: Target) -> tuple[list[Due], str]:
    """What is due under the toolchain that is installed, and its fingerprint, without recording anything.

    Raises TargetError when there is no toolchain.
    """
    known = load_knowledge(log, target.name)
    now = target.toolchain()
    known.toolchains.setdefault(now.fingerprint, dict(now.parts))
    due = due_items(known, now.fingerprint, device=target.has_device)
    stale = stale_probes(known, now.fingerprint)
    return [*due, *(Due(f"probe.{name}", "probe", "stale", 0.0, 0, 4) for name in stale)], now.fingerprint
