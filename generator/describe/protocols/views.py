"""The protocol `views`: questions in words about two images, of which the second may be the turn
twin of the first."""

from collections.abc import Iterator, Mapping, Sequence

from generator.base.streams import Stream
from generator.describe.captioner import Candidate, Captioner, Draft, Item, Text
from generator.describe.protocol import Protocol, Recipe
from generator.describe.scenes import DescribedScene, changed_objects, decide_view
from generator.language.complexity import LeastUsed
from generator.language.form import FIRST_IMAGE, SAME_SCENE, Form, Mention

SAME, TURNS, SIDES = "same-scene", "quarter-turns", "taken-from"
"""The kinds of items: which image shows the world of the first one; how far the camera moved; on
which side of an object it stood."""
_FIRST = "first"
"""The slot of the first image, which every question shows."""
_TEMPLATE = "view"
"""Stands in the table of texts: these texts have no template of captions."""
_QUARTERS = (90.0, 180.0, 270.0)
"""The turns that have words."""


class Views(Protocol):
    """`same-scene`: of two images, one is the turn twin of the first and one the scene of another
    pair, as similar as can be. `quarter-turns`: the turns of the world as options. `taken-from`:
    the four sides of an object with a front.

    An item is about a turn twin; the slot `first` holds the scene whose twin it is.
    """

    name = "views"
    kinds: tuple[str, ...] = (SAME, TURNS, SIDES)
    needs = (
        "it needs turn twins (gen render --turns 90,180,270), which are planned with their world"
    )
    surveys = True

    def __init__(self, captioner: Captioner, kinds: Sequence[str] | None = None):
        """Begin the protocol.

        Args:
            captioner: the language of the benchmark.
            kinds: the kinds to write; by default all.

        Raises:
            UserError: a kind is unknown.
        """
        super().__init__(captioner)
        self._turns: set[float] = set()
        """The turns of the world's twins, degrees."""
        self._originals: dict[str, list[DescribedScene]] = {}
        """By split, the scenes that have a turn twin."""
        self._used_sides = LeastUsed()
        self.recipes = {
            SAME: Recipe(self._find_other_scene, _write_same_scene),
            TURNS: Recipe(self._list_turns, _write_options),
            SIDES: Recipe(self._list_sides, _write_options),
        }
        self.select(kinds)

    def survey(self, scene: DescribedScene, stream: Stream) -> None:
        if _is_turn_twin(scene):
            assert scene.twin is not None
            self._turns.add(_turn_of(scene))
            self._originals.setdefault(scene.split, []).append(scene.twin)

    def recipes_of(self, scene: DescribedScene) -> Mapping[str, Recipe]:
        """The recipes if the scene is a turn twin, else none."""
        return self.recipes if _is_turn_twin(scene) else {}

    def _find_other_scene(self, draft: Draft) -> DescribedScene | None:
        """The most similar scene of another pair, at random among several: of the same place, then
        with the most equal objects. It is never a twin, so that an image is the right answer to all
        questions or to none."""
        scene = draft.scene
        best: list[DescribedScene] = []
        most = (False, -1)
        for other in self._originals.get(scene.split, ()):
            if scene.twin is None or other.scene_id == scene.twin.scene_id:
                continue
            same_place = other.facts.environment == scene.facts.environment
            n_equal_objects = len(_objects_of(other) & _objects_of(scene))
            likeness = (same_place, n_equal_objects)
            if likeness > most:
                most = likeness
                best = []
            if likeness == most:
                best.append(other)
        return draft.pick(best)

    def _list_turns(self, draft: Draft) -> list[Form] | None:
        """The turns of the world; None if it has one, which would be the answer to all questions,
        or some that have no words."""
        turns = sorted(self._turns)
        have_words = self._turns <= set(_QUARTERS)
        if len(turns) < 2 or not have_words:
            return None
        return [Form((), view=f"turn {turn:g}") for turn in turns]

    def _list_sides(self, draft: Draft) -> list[Form] | None:
        """The sides of an object with a front, which decide where the camera stands. The true sides
        are equally frequent in a split."""
        scene = draft.scene
        options: dict[tuple[str, str], list[list[Form]]] = {}
        sides = ("front", "behind", "left", "right")
        for i in scene.unique_objects:
            mention = Mention(scene.facts.categories[i])
            forms = [Form((mention,), view=f"from {side}") for side in sides]
            truths = [decide_view(form, scene.twin, scene) for form in forms]
            # An object without a front decides none, and one seen from a corner not all.
            if None not in truths and truths.count(True) == 1:
                true_form = forms[truths.index(True)]
                key = (scene.split, str(true_form.view))
                options.setdefault(key, []).append(forms)
        if not options:
            return None
        side_of_split = self._used_sides.pick(list(options), draft.stream)
        return draft.pick(options[side_of_split])


def _is_turn_twin(scene: DescribedScene) -> bool:
    """Whether a scene is the turn twin of a scene of the same split."""
    twin = scene.twin
    return (
        twin is not None
        and twin.split == scene.split
        and scene.facts.azimuth is not None
        and not changed_objects(scene, twin)
    )


def _turn_of(scene: DescribedScene) -> float:
    """The turn of the camera from the first image to its twin, degrees."""
    assert scene.twin is not None
    assert scene.facts.azimuth is not None
    assert scene.twin.facts.azimuth is not None
    return (scene.facts.azimuth - scene.twin.facts.azimuth) % 360


def _objects_of(scene: DescribedScene) -> set[Mention]:
    """Each object as the mention that names its category and all of its values."""
    facts = scene.facts
    mentions = set()
    for category, values in zip(facts.categories, facts.values, strict=True):
        mentions.add(Mention(category, tuple(sorted(values.items()))))
    return mentions


def _first_image() -> Candidate:
    """The candidate of the first image, which no question has among its options."""
    text = Text(Form((), view=FIRST_IMAGE), _TEMPLATE)
    return Candidate(text, _FIRST, True, of_twin=True)


def _write_same_scene(draft: Draft, other: DescribedScene) -> Iterator[Item]:
    """Write the item of a turn twin and another scene."""
    text = Text(Form((), view=SAME_SCENE), _TEMPLATE)
    has_same_objects = _objects_of(other) == _objects_of(draft.scene)
    candidates = (
        _first_image(),
        Candidate(text, "c", True),
        Candidate(text, "n", False, of=text, of_scene=other),
    )
    skill = "same objects" if has_same_objects else "other objects"
    yield Item(draft.protocol, SAME, skill, candidates)


def _write_options(draft: Draft, forms: Sequence[Form]) -> Iterator[Item]:
    """Write the item of several statements, of which one is true."""
    truths = [decide_view(form, draft.scene.twin, draft.scene) for form in forms]
    if truths.count(True) != 1 or None in truths:
        return
    true_text = Text(forms[truths.index(True)], _TEMPLATE)
    candidates = [_first_image(), Candidate(true_text, "c", True)]
    for form, truth in zip(forms, truths, strict=True):
        if not truth:
            changed = (f"0:view:{true_text.form.view}>{form.view}",)
            text = Text(form, _TEMPLATE)
            candidates.append(Candidate(text, "n", False, changed=changed, of=true_text))
    kind = TURNS if str(forms[0].view).startswith("turn") else SIDES
    yield Item(draft.protocol, kind, None, tuple(candidates))
