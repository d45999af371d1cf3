"""Steps on the knowledge base: study a document, check an item on the toolchain."""

from __future__ import annotations

from collections.abc import Mapping

from ...events.base import Context
from ...events.blobs import Blobs
from ...events.knowledge import DocumentSeen, DocumentStudied, KnowledgeBase
from ...events.views.items import ClaimItem, RuleItem
from ...events.views.knowledge import KnowledgeView
from ...hardware.concerns import depends_on
from ...hardware.outcome import Outcome
from ...hardware.study import Document, Documented, TriesSnippets
from ...hardware.target import Target
from ...kernels.spec import KernelSpec
from ...knowledge.checking import Checked, check_claim
from ...knowledge.claims import Claim, claims_of
from ...knowledge.documents import Section, digest_of, sections
from ...knowledge.expectation import Expectation
from ...knowledge.rules import Verify, Witnesses, check_rule
from ..step import Step
from ..workbench import Workbench
from .team import librarian_claims

PLAYBOOK = "playbook/librarian"


def note_documents(
    context: Context, base: KnowledgeBase, known: KnowledgeView, blobs: Blobs, documents: list[Document]
) -> list[str]:
    """Record documents that are new or have changed, section by section; their names."""
    changed = []
    for document in documents:
        digest = digest_of(document)
        seen = known.documents.get(document.name)
        if seen is not None and seen.digest == digest:
            continue
        parts = sections(document)
        base.note(
            context,
            DocumentSeen,
            document=document.name,
            digest=digest,
            text=blobs.put(document.text),
            headings=tuple(part.heading for part in parts),
            lines=tuple((part.first_line, part.last_line) for part in parts),
            digests=tuple(part.digest for part in parts),
        )
        changed.append(document.name)
    return changed


def own_documents(target: Target) -> list[Document]:
    """The documentation that a target brings; none for one that brings none."""
    return list(target.documentation()) if isinstance(target, Documented) else []


def write_claims(
    context: Context,
    base: KnowledgeBase,
    blobs: Blobs,
    document: str,
    digest: str,
    claims: list[Claim],
    by: str = PLAYBOOK,
) -> int:
    """Record the claims of a document and that it has been studied; how many of them are new."""
    new = 0
    for claim in claims:
        made = base.claim(
            context,
            claim=claim.id,
            sentence=claim.sentence,
            document=claim.document,
            heading=claim.heading,
            first_line=claim.first_line,
            last_line=claim.last_line,
            section=claim.section,
            by=by,
            snippet=None if claim.snippet is None else blobs.put(claim.snippet),
            expect={} if claim.expectation is None else claim.expectation.as_dict(),
        )
        new += made is not None
    base.note(context, DocumentStudied, document=document, digest=digest, by=by, claims=len(claims))
    return new


def changed_sections(known: KnowledgeView, document: Document) -> list[Section]:
    """The sections of a document that no claim was made from yet: what has changed since it was studied."""
    told = {claim.made.section for claim in known.claims.values() if claim.made.document == document.name}
    return [section for section in sections(document) if section.digest not in told]


def languages_of(target: Target) -> tuple[str, ...]:
    """Languages whose snippets a target can try."""
    return target.snippets().languages if isinstance(target, TriesSnippets) else ()


def study(wb: Workbench, step: Step) -> str:
    """Write down the claims of a document's sections that are new or have changed."""
    name = step.item.partition("@")[0]
    seen = wb.known.documents[name]
    document = Document(name, wb.log.blobs.text(seen.text))
    languages = languages_of(wb.target)
    parts = changed_sections(wb.known, document)
    told = [librarian_claims(wb, section, languages) for section in parts]
    claims = [c for section in parts for c in claims_of(section, languages)]
    write_claims(wb.context, wb.knowledge, wb.log.blobs, name, seen.digest, claims)
    for model, more in told:
        if more:
            by = f"{model}/librarian"
            write_claims(wb.context, wb.knowledge, wb.log.blobs, name, seen.digest, more, by)
    return "ok"


def check_item(wb: Workbench, step: Step) -> str:
    """Check a claim or a rule on the toolchain and record what was found."""
    item = wb.known.claims.get(step.item) or wb.known.rules[step.item]
    seed = wb.secret("check", step.item, step.turn)
    with wb.timed("build"):
        found = check_one(wb.target, wb.specs, wb.known, wb.log.blobs, item, seed)
    record_check(wb.context, wb.knowledge, wb.log.blobs, wb.target, item, found)
    return found.outcome


def check_one(
    target: Target,
    specs: Mapping[str, KernelSpec],
    known: KnowledgeView,
    blobs: Blobs,
    item: ClaimItem | RuleItem,
    seed: int,
) -> Checked:
    """Try an item on the toolchain that is installed. Raises TargetError when the machine is unfit."""
    if isinstance(item, ClaimItem):
        assert item.made.snippet is not None, "only what can be checked is due"
        others = {}
        for other in known.claims.values():
            expect = other.made.expect
            if other.made.document == item.made.document and other.made.snippet and expect.get("name"):
                others[expect["name"]] = blobs.text(other.made.snippet)
        return check_claim(target, blobs.text(item.made.snippet), Expectation.from_dict(item.made.expect), others, seed)
    derived = item.derived
    spec = specs.get(derived.kernel)
    if spec is None:
        return Checked("unable", f"the kernel {derived.kernel} is not at hand", "compile", 0.0)
    witnesses = Witnesses(blobs.text(derived.failing), blobs.text(derived.passing), blobs.text(derived.original))
    return check_rule(target, spec, derived, witnesses, verifier(target, spec, seed))


def verifier(target: Target, spec: KernelSpec, seed: int) -> Verify:
    """Builds and runs a source on fresh inputs, where the target can (``no-values`` where it cannot)."""

    def verify(source: str) -> tuple[Outcome, str]:
        built = target.build(spec, source)
        if not built.ok:
            return built.outcome, built.diagnostics
        with target.open(spec, seed) as bench:
            report = bench.verify(built, seed + 1)
        return report.outcome, report.reason

    return verify


def record_check(
    context: Context, base: KnowledgeBase, blobs: Blobs, target: Target, item: ClaimItem | RuleItem, found: Checked
) -> None:
    """Record what a check found, with the parts of the toolchain that it rests on."""
    base.check(
        context,
        item=item.id,
        kind="claim" if isinstance(item, ClaimItem) else "rule",
        outcome=found.outcome,
        reason=found.reason,
        depends=depends_on(target, found.concern),
        seconds=found.seconds,
        log=blobs.put(found.log) if found.log else None,
    )
