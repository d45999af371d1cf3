"""Metamorphic relations on this target: the changed weights that they need, laid beside the copies, and how they are run.

Weights are sealed once they are laid, so that a relation which changes weights has its changed ones laid with them, for
one draw of inputs. A relation that changes nothing but a call's own arguments is checked on fresh inputs every time.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

from ...kernels.metamorphic import Broken, Runner, broken_relations
from ...kernels.spec import Inputs, KernelSpec, Relation
from .layout import is_own


@dataclass(frozen=True)
class Change:
    """A relation that changes weights. ``inputs`` are those of the unchanged call, complete, with copy 0 of the weights;
    ``own`` are the own arguments of the changed call, ``weights`` the changed weights alone (empty once they are laid)."""

    relation: Relation
    inputs: Inputs
    own: Inputs
    weights: Inputs

    def laid(self) -> Change:
        """The same without the weights themselves, which need not be held twice."""
        return replace(self, weights={})


def changed_weights(spec: KernelSpec, before: Inputs, after: Inputs) -> dict[str, object]:
    """Those weights and tables that are other arrays after a change than before it."""
    return {a.name: after[a.name] for a in spec.arguments if not is_own(a) and after[a.name] is not before[a.name]}


def weight_changes(spec: KernelSpec, inputs: Inputs) -> list[Change]:
    """The relations of ``spec`` that change weights, as far as they apply to ``inputs``, which are complete."""
    found = []
    for relation in spec.relations:
        after = relation.change(inputs)
        weights = {} if after is None else changed_weights(spec, inputs, after)
        if after is not None and weights:
            own = {a.name: after[a.name] for a in spec.arguments if is_own(a) and a.name in after}
            found.append(Change(relation, inputs, own, {name: after[name] for name in weights}))
    return found


def first_broken(
    spec: KernelSpec, run: Runner, fresh: Inputs, changes: Sequence[Change], run_change: Sequence[Runner]
) -> Broken | None:
    """The first relation that does not hold; None when all do.

    ``run`` makes a call on copy 0 of the weights. ``fresh`` are complete inputs for the relations that leave weights
    alone; ``run_change`` makes the changed call of each of ``changes``, on the weights that were laid for it.
    """
    laid = {change.relation.name for change in changes}

    def own_only(relation: Relation) -> Relation:
        def change(inputs: Inputs) -> Inputs | None:
            after = relation.change(inputs)
            return None if after is None or changed_weights(spec, inputs, after) else after

        return replace(relation, change=change)

    free = tuple(own_only(each) for each in spec.relations if each.name not in laid)
    found = broken_relations(replace(spec, relations=free), run, fresh) if free else []
    if not found and changes:

        def dispatch(inputs: Inputs) -> Inputs:
            for change, changed_run in zip(changes, run_change, strict=True):
                if inputs is change.own:
                    return changed_run(inputs)
            return run(inputs)

        # The changes themselves were made when the weights were laid; here their own arguments stand for them.
        prepared = tuple(replace(change.relation, change=_giving(change.own)) for change in changes)
        found = broken_relations(replace(spec, relations=prepared), dispatch, changes[0].inputs)
    return found[0] if found else None


def _giving(own: Inputs) -> Callable[[Inputs], Inputs]:
    return lambda _inputs: own
