"""The protocol `frames` (protocols.md, section 17): whose left and right, from two sides of one
world.

The method: a question of two images needs a turn twin and two objects, of which the second has a
front. One axis (left and right, or in front and behind) is asked about, on which the viewer's truth
is exchanged between the images. So the captions of all kinds differ in the words for one axis, and
the frame alone decides whether their truth changes.
"""

from collections.abc import Hashable, Iterator, Mapping, Sequence
from itertools import permutations
from typing import Any, NamedTuple, TypeVar

from generator.base.errors import UserError
from generator.dataset.relations import OWN
from generator.describe.captioner import Candidate, Captioner, Draft, Item, Text
from generator.describe.protocol import Protocol, Recipe
from generator.describe.scenes import DescribedScene, changed_objects
from generator.holdout.holdout import Holdout
from generator.language.complexity import LeastUsed
from generator.language.form import Form
from generator.language.truth import Facts
from generator.vocabulary.relations import bare_phrase
from generator.vocabulary.schema import Vocabulary

_Key = TypeVar("_Key", bound=Hashable)
_Option = TypeVar("_Option")

VIEWER, OBJECT, ASSUMED = "viewer", "object", "assumed"
"""The kinds of items: captions in the viewer's frame, in the object's frame, and without one."""
BOTH_IMAGES = (VIEWER, OBJECT)
"""The kinds that ask about two images; `ASSUMED` asks about one."""
_TEMPLATES = ("that-is", "photo", "clauses")
_UNSEEN = "unseen"
_TOWARD, _ASIDE, _AWAY = "toward", "aside", "away"
"""Where an object looks, by the angle between its front and the direction to the camera: below 45
degrees, between, and above 135."""


class _Relation(NamedTuple):
    """A relation of two objects of a scene, in each frame."""

    subject: int
    """The object that stands somewhere."""
    ground: int
    """The object whose frame may be meant."""
    viewer: str
    """The viewer's direction in which the subject stands to the ground object, such as "left"."""
    own: str
    """The direction in which it stands as the ground object looks, also such as "left"."""

    @property
    def frames_agree(self) -> bool:
        """Whether the bare direction is the same in both frames."""
        return self.viewer == self.own


class Frames(Protocol):
    """Questions of whose left. `viewer`: two captions exchange their truth over a turn of the
    camera. `object`: a caption and its foil keep theirs. `assumed`: captions that leave the frame
    out, of images where the two frames disagree: what a model chooses says which frame it takes.

    The skill of an item says where the ground object looks, in both images or the one.
    """

    name = "frames"
    kinds: tuple[str, ...] = (VIEWER, OBJECT, ASSUMED)
    """The kinds that can be requested."""
    needs = (
        "it needs relations of the viewer's and of the object's frame (gen render --family "
        "pug-frames), and for the kinds 'viewer' and 'object' turn twins (--turns 180), which are "
        "planned with their world"
    )

    def __init__(
        self,
        captioner: Captioner,
        kinds: Sequence[str] = BOTH_IMAGES,
        fallback_template: str | None = None,
    ):
        """Begin the protocol.

        Args:
            captioner: the language of the benchmark.
            kinds: the kinds to write. `assumed` has captions with two readings, so it is only
                written if requested.
            fallback_template: used for captions that the requested template cannot say; None to
                leave them out.

        Raises:
            UserError: a kind is unknown, or the family has no words that leave the frame out.
        """
        super().__init__(captioner)
        self._used = LeastUsed()
        self._fallback = fallback_template
        vocabulary = captioner.vocabulary
        self._axes = vocabulary.axes_of_both_frames
        self._holds_out_frames = bool(captioner.holdout.own_frames)
        self._bare_phrases = bare_phrases(vocabulary)
        self.recipes = {}
        self.select(kinds)
        self._has_bare_items = ASSUMED in kinds
        self._two_image_kinds = tuple(kind for kind in self.kinds if kind in BOTH_IMAGES)
        if self._has_bare_items and len(self._bare_phrases) < 2 * len(self._axes):
            raise UserError(
                "The kind 'assumed' needs words that leave the frame out: the phrases of "
                "'left' and 'own-left' should both begin with words such as 'to the left of {b}', "
                "and so for each direction."
            )

    @classmethod
    def first_options(cls, holdout: Holdout) -> Mapping[str, Any]:
        return {"fallback_template": "that-is"}

    def recipes_of(self, scene: DescribedScene) -> Mapping[str, Recipe]:
        """The recipes of a scene: of two images if it is a turn twin, of one if its family has both
        frames."""
        recipes: dict[str, Recipe] = {}
        if not self._axes:
            return recipes
        is_turn_twin = scene.twin is not None and not changed_objects(scene, scene.twin)
        if self._two_image_kinds and is_turn_twin:
            recipes["turn"] = Recipe(
                self._draw_over_turn, self._write_over_turn, kinds=self._two_image_kinds
            )
        if self._has_bare_items:
            recipes[ASSUMED] = Recipe(self._draw_disagreement, self._write_bare_item)
        return recipes

    def _draw_over_turn(self, draft: Draft) -> _Relation | None:
        """Draw a relation whose viewer's direction is the opposite in the twin, and which the
        ground object's own frame decides.

        True own directions are equally frequent in a split, so that no caption is true more often.
        """
        scene, twin = draft.scene, draft.scene.twin
        assert twin is not None
        if scene.split != twin.split:
            return None
        relations: dict[tuple[str, str], list[_Relation]] = {}
        tested = scene.tested_relations or ()
        for relation in self._relations(draft):
            # An unseen scene is asked about the own direction that training never shows.
            own_fact = (relation.subject, OWN[relation.own], relation.ground)
            if self._holds_out_frames and scene.split == _UNSEEN and own_fact not in tested:
                continue
            opposite = draft.vocabulary.relations[relation.viewer].opposite
            if twin.facts.holds[opposite][relation.subject][relation.ground]:
                key = (scene.split, relation.own)
                relations.setdefault(key, []).append(relation)
        return self._pick_least_used(relations, draft)

    def _draw_disagreement(self, draft: Draft) -> _Relation | None:
        """Draw a relation whose two frames disagree.

        Within a split, each direction is equally often the one of the viewer, so that no caption is
        more often the viewer's than the object's.
        """
        relations: dict[tuple[str, str], list[_Relation]] = {}
        for relation in self._relations(draft):
            if not relation.frames_agree:
                key = (draft.scene.split, relation.viewer)
                relations.setdefault(key, []).append(relation)
        return self._pick_least_used(relations, draft)

    def _pick_least_used(
        self, options: Mapping[_Key, Sequence[_Option]], draft: Draft
    ) -> _Option | None:
        """A random option of the key that was picked least often; None if there are none."""
        if not options:
            return None
        key = self._used.pick(list(options), draft.stream)
        return draft.pick(options[key])

    def _relations(self, draft: Draft) -> Iterator[_Relation]:
        """The relations between two unique objects that fit the split, where both frames decide
        an axis."""
        for subject, ground in permutations(draft.scene.unique_objects, 2):
            if not draft.scene.objects_fit_split((subject, ground)):
                continue
            for axis in self._axes:
                viewer, own = _directions(draft.scene.facts, axis, subject=subject, ground=ground)
                if viewer is not None and own is not None:
                    yield _Relation(subject, ground, viewer, own)

    def _write_over_turn(self, draft: Draft, relation: _Relation) -> Iterator[Item]:
        """Write the items of both kinds about one relation."""
        for kind in self._two_image_kinds:
            name = relation.viewer if kind == VIEWER else OWN[relation.own]
            form = draft.name_related_pair(relation.subject, name, relation.ground)
            item = self._make_item_of_two_images(kind, draft, form=form, ground=relation.ground)
            if item is not None:
                yield item

    def _write_bare_item(self, draft: Draft, relation: _Relation) -> Iterator[Item]:
        """Write the item of one image: a bare caption for each frame."""
        # The form of a bare caption is the viewer's, since it has to have one.
        form = draft.name_related_pair(relation.subject, relation.viewer, relation.ground)
        other_form = draft.name_related_pair(relation.subject, relation.own, relation.ground)
        template = self._draw_template(draft, [form, other_form])
        if template is None or not draft.accepts(other_form, form):
            return
        text = self._bare_text(form, relation.viewer, template)
        other_text = self._bare_text(other_form, relation.own, template)
        changed = draft.foils.flip_relation(form, 0).changed
        candidates = (
            Candidate(text, "c", True, VIEWER),
            Candidate(other_text, "n", False, OBJECT, changed, text),
        )
        yield Item(draft.protocol, ASSUMED, _looks(draft.scene, relation.ground), candidates)

    def _bare_text(self, form: Form, direction: str, template: str) -> Text:
        """The text of a form with a relation, in words that leave the frame out."""
        relation_place = (0, "relation")
        return Text(form, template, ((relation_place, self._bare_phrases[direction]),))

    def _make_item_of_two_images(
        self, kind: str, draft: Draft, *, form: Form, ground: int
    ) -> Item | None:
        """Make the item of a caption and its opposite, of a scene and its turn twin.

        The slot of a candidate is the number of its caption. A `viewer` caption is true of one
        image, so caption k belongs to image k. In `object`, caption 0 is true of both images. None
        if a template or a truth is missing.
        """
        scene, twin = draft.scene, draft.scene.twin
        assert twin is not None
        to_foil = draft.foils.flip_relation(form, 0)
        foil = to_foil.form
        template = self._draw_template(draft, [form, foil])
        twin_truth = kind == OBJECT
        has_truths = twin.decide(form) is twin_truth and twin.decide(foil) is not twin_truth
        if template is None or not has_truths or not draft.accepts(foil, form):
            return None

        text, foil_text = Text(form, template), Text(foil, template)
        changes = {
            text: draft.foils.flip_relation(foil, 0).changed,
            foil_text: to_foil.changed,
        }
        # Captions that belong to one image each are in random order, as the images are.
        numbered = [text, foil_text]
        if kind == VIEWER:
            numbered = draft.stream.shuffled(numbered)
        sides = draft.stream.shuffled((False, True))
        candidates = []
        for slot, own in enumerate(numbered):
            other = numbered[1 - slot]
            for of_twin in sides:
                truth = (twin if of_twin else scene).decide(own.form)
                if truth:
                    candidates.append(Candidate(own, str(slot), True, of_twin=of_twin))
                else:
                    candidates.append(
                        Candidate(
                            own, str(slot), False, changed=changes[own], of=other, of_twin=of_twin
                        )
                    )
        # Sorted: which image comes first is random.
        looks = sorted((_looks(scene, ground), _looks(twin, ground)))
        return Item(draft.protocol, kind, " and ".join(looks), tuple(candidates))

    def _draw_template(self, draft: Draft, forms: Sequence[Form]) -> str | None:
        """A template that can say all forms; None if there is none."""
        template = draft.captioner.draw_template(forms, draft.stream, _TEMPLATES)
        return template or self._fallback


def bare_phrases(vocabulary: Vocabulary) -> dict[str, str]:
    """Find the words for directions that leave the frame out.

    Args:
        vocabulary: Of the family.

    Returns:
        By direction of the viewer, the words that both frames use; directions without such words
        are left out.
    """
    phrases = {}
    for axis in vocabulary.axes_of_both_frames:
        for rule in axis:
            words = bare_phrase(vocabulary.relations[rule], vocabulary.relations[OWN[rule]])
            if words is not None:
                phrases[rule] = words
    return phrases


def _directions(
    facts: Facts, axis: tuple[str, str], *, subject: int, ground: int
) -> tuple[str | None, str | None]:
    """The direction of an axis in which an object stands to another, for the viewer and in the
    frame of the other; None where it is undecided."""
    viewer = own = None
    for direction in axis:
        if facts.holds[direction][subject][ground]:
            viewer = direction
        if facts.holds[OWN[direction]][subject][ground]:
            own = direction
    return viewer, own


def _looks(scene: DescribedScene, ground: int) -> str:
    """Where an object with a front looks in the image of a scene."""
    bearing = scene.facts.camera_bearings[ground]
    assert bearing is not None  # the family gives every object of an own frame a front
    angle = abs(bearing)
    if angle < 45:
        return _TOWARD
    return _AWAY if angle > 135 else _ASIDE
