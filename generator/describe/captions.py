"""Captions that several protocols ask about: objects with their values, a pair under test, a related pair."""

from collections.abc import Sequence
from dataclasses import replace

from generator.base.streams import Stream
from generator.describe.captioner import Captioner
from generator.describe.described_scene import DescribedScene
from generator.language.form import Form, Link, Mention


def name_objects(scene: DescribedScene, objects: Sequence[int], kinds: Sequence[str]) -> Form:
    """The form that names objects of a scene, in this order, with their values of some attribute kinds."""
    facts = scene.facts
    return Form(
        tuple(
            Mention(facts.categories[i], tuple(sorted((kind, facts.values[i][kind]) for kind in kinds)))
            for i in objects
        )
    )


def draw_tested_pair(scene: DescribedScene, tested: str, stream: Stream) -> tuple[int, int] | None:
    """A random pair of unique objects that differ in the tested kind and fit the split, left one first; None if there
    is no such pair."""
    unique, values = scene.unique_objects, scene.facts.values
    pairs = [
        (i, j)
        for n, i in enumerate(unique)
        for j in unique[n + 1 :]
        if values[i][tested] != values[j][tested] and scene.objects_fit_split((i, j))
    ]
    return pairs[stream.below(len(pairs))] if pairs else None


def draw_related_pair(
    captioner: Captioner, scene: DescribedScene, stream: Stream, directed: bool = False
) -> Form | None:
    """A caption of two random unique objects and a relation in which the first stands to the second.

    The opposite relation is possible too. With `directed` the relation changes its meaning when its ends are exchanged,
    which `near` and `far` do not. None if the scene has no such pair.
    """
    axes, relations = captioner.substitutes.axes, captioner.vocabulary.relations
    usable = [
        axis
        for axis in axes.general
        if not directed or all(relations[name].converse != name for name in axes.relations[axis])
    ]
    options = [
        (i, axis, j)
        for i in scene.unique_objects
        for j in scene.unique_objects
        if i != j and scene.objects_fit_split((i, j))
        for axis in usable
        if scene.held_out_relations is None or _fits_split(captioner, scene, axis, i, j)
    ]
    if not options:
        return None
    i, axis, j = options[stream.below(len(options))]
    found = axes.between(scene.facts, axis, i, j)
    if found is None:
        return None
    form = replace(name_objects(scene, (i, j), ()), relations=(Link(0, found[1], 1),))
    return form if captioner.foils.possible(captioner.foils.flip_relation(form, 0).form) else None


def _fits_split(captioner: Captioner, scene: DescribedScene, axis: int, i: int, j: int) -> bool:
    found = captioner.substitutes.axes.between(scene.facts, axis, i, j)
    return found is not None and scene.relation_fits_split(i, found[1], j)
