"""Draws the pools of raw retrieval: images of one split and their captions, without foils (CREPE,
Ma et al. 2023, appendices A.5 and B.2)."""

from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple

from generator.base.streams import Stream
from generator.dataset.records import RAW
from generator.describe.captioner import Candidate, Captioner, Item, Text
from generator.describe.scenes import DescribedScene
from generator.language.form import Mention
from generator.language.truth import Truth

ALSO_TRUE = "r"
"""Slot of a caption of the pool that is true of the item's image but was made for another image."""
MOST_POOLS = 20
"""The largest number of pools of one group (CREPE, appendix B.2: K = min(20, …))."""

Composition = tuple[int, ...]
"""What pools of different groups must have equally many captions of, such as (objects, attributes,
relations)."""


class PoolGroup(NamedTuple):
    """The captions that pools of one kind are drawn from."""

    compared_with: str
    """Pools of all groups with the same value have the same size and the same composition, so that
    their results can be compared."""
    name: str
    """Names its pools."""
    skill: str | None
    """The skill of its items."""


@dataclass(frozen=True)
class RawCaption:
    """A caption of raw retrieval and the scene that it was made for."""

    scene: DescribedScene
    """The scene that it was made for."""
    text: Text
    """The caption."""
    composition: Composition = ()
    """Empty if pools need not agree in composition."""


class RawRetrieval:
    """Collects captions, then draws pools from all of them and makes an item for each image of a
    pool.

    In a pool each image has one caption of its own, and no two texts are equal. A caption may be
    true of several images: each item lists every caption of its pool that is true of its image, so
    that retrieving any of them can count as right. Captions that are undecided on another image of
    the group are left out.
    """

    def __init__(self, captioner: Captioner, protocol: str):
        self._captioner = captioner
        self._protocol = protocol
        self._captions: defaultdict[PoolGroup, list[RawCaption]] = defaultdict(list)
        self._pools: dict[str, list[Text]] = {}

    def add(self, group: PoolGroup, caption: RawCaption) -> None:
        """Add a caption, unless it names relations that are not as familiar as its scene's
        split."""
        if self._captioner.relations_fit_split(caption.text.form, caption.scene):
            self._captions[group].append(caption)

    def items(self) -> Iterator[tuple[DescribedScene, Item]]:
        """Draw the pools, and yield the item of each image with its scene. Call it once, after the
        last `add`."""
        compared: dict[str, dict[PoolGroup, list[RawCaption]]] = {}
        for group, captions in self._captions.items():
            decidable = self._select_decidable(group, captions)
            compared.setdefault(group.compared_with, {})[group] = decidable
        for groups in compared.values():
            for group, number, members in draw_pools(groups):
                yield from self._make_items(group, number, members)

    def pools(self) -> Mapping[str, Sequence[Text]]:
        """The texts of each pool that `items` drew."""
        return self._pools

    def _select_decidable(
        self, group: PoolGroup, captions: Sequence[RawCaption]
    ) -> list[RawCaption]:
        """Select captions of different images and different words that all selected images decide,
        in random order."""
        # Keep the first caption of an image and of a text.
        images: set[str] = set()
        wordings: set[str] = set()
        distinct: list[RawCaption] = []
        stream = Stream(RAW, self._protocol, group.compared_with, group.name)
        for caption in stream.shuffled(captions):
            words = self._captioner.grammar.realise(*caption.text)
            if caption.scene.scene_id not in images and words not in wordings:
                images.add(caption.scene.scene_id)
                wordings.add(words)
                distinct.append(caption)

        # Two captions cannot share a pool if the image of one leaves the other undecided.
        conflicts: defaultdict[int, set[int]] = defaultdict(set)
        for place, truths in enumerate(truths_of(distinct)):
            for image_place, truth in truths.items():
                if truth is None:
                    conflicts[place].add(image_place)
                    conflicts[image_place].add(place)

        # Greedy, in random order: the largest set without conflicts is too slow to find.
        selected: set[int] = set()
        for place in range(len(distinct)):
            if selected.isdisjoint(conflicts[place]):
                selected.add(place)
        return [distinct[place] for place in sorted(selected)]

    def _make_items(
        self, group: PoolGroup, number: int, members: Sequence[RawCaption]
    ) -> Iterator[tuple[DescribedScene, Item]]:
        """Record a pool, and make the item of each of its images."""
        pool = f"{RAW}-{self._protocol}-{group.name}-{number}"
        self._pools[pool] = [member.text for member in members]
        also_true: defaultdict[int, list[Text]] = defaultdict(list)
        for place, truths in enumerate(truths_of(members)):
            # All members decide each other, so these texts are true of the images.
            for image_place in truths:
                if image_place != place:
                    also_true[image_place].append(members[place].text)
        for place, member in enumerate(members):
            candidates = [Candidate(member.text, "c", True)]
            candidates += [Candidate(text, ALSO_TRUE, True) for text in also_true[place]]
            item = Item(self._protocol, RAW, group.skill, tuple(candidates), pool)
            yield member.scene, item


def draw_pools(
    groups: Mapping[PoolGroup, Sequence[RawCaption]],
) -> Iterator[tuple[PoolGroup, int, list[RawCaption]]]:
    """Divide the captions of groups into pools that can be compared (CREPE, appendix B.2).

    A pool has, of each composition, as many captions as the group with the fewest has. So all pools
    have the same size N and the same composition; a group has K = min(20, …) pools, as many as it
    can fill. There are no pools if N is below two.

    Args:
        groups: the captions of each group, in random order.

    Yields:
        Each pool as its group, its number in the group, and its members.
    """
    captions_of = {group: _by_composition(captions) for group, captions in groups.items()}

    # How many captions of each composition every pool has.
    compositions: set[Composition] = set()
    for by_composition in captions_of.values():
        compositions |= by_composition.keys()
    shared: dict[Composition, int] = {}
    for composition in sorted(compositions):
        numbers = []
        for by_composition in captions_of.values():
            numbers.append(len(by_composition.get(composition, ())))
        fewest = min(numbers)
        if fewest:
            shared[composition] = fewest
    if sum(shared.values()) < 2:
        return

    # The pools that each group can fill: the composition that runs out first decides.
    for group, by_composition in captions_of.items():
        can_fill = []
        for composition, count in shared.items():
            can_fill.append(len(by_composition[composition]) // count)
        for number in range(min(MOST_POOLS, *can_fill)):
            members: list[RawCaption] = []
            for composition, count in shared.items():
                start = number * count
                members += by_composition[composition][start : start + count]
            yield group, number, members


def _by_composition(captions: Sequence[RawCaption]) -> dict[Composition, list[RawCaption]]:
    by_composition: dict[Composition, list[RawCaption]] = {}
    for caption in captions:
        by_composition.setdefault(caption.composition, []).append(caption)
    return by_composition


def truths_of(members: Sequence[RawCaption]) -> list[dict[int, Truth]]:
    """For each caption, the images of which it is true (True) or undecided (None), by their place
    among the members.

    A caption is false of an image that shows no fitting object for one of its mentions. Only the
    other images are decided in full, which are few.
    """
    # The images that show an object for each mention.
    mentions = {mention for member in members for mention in member.text.form.objects}
    fitting: dict[Mention, set[int]] = {}
    for mention in mentions:
        fitting[mention] = set()
        for place, member in enumerate(members):
            if member.scene.facts.fitting(mention):
                fitting[mention].add(place)

    truths: list[dict[int, Truth]] = []
    for member in members:
        form = member.text.form
        possible = set.intersection(*(fitting[mention] for mention in form.objects))
        truths_of_form: dict[int, Truth] = {}
        for place in sorted(possible):
            truth = members[place].scene.decide(form)
            if truth is not False:
                truths_of_form[place] = truth
        truths.append(truths_of_form)
    return truths
