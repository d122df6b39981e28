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


class Group(NamedTuple):
    """The captions that pools of one kind are drawn from.

    Pools of all groups with the same `compared_with` have the same size and the same composition,
    so that their results can be compared. `skill` is the skill of the group's items.
    """

    compared_with: str
    name: str
    skill: str | None


@dataclass(frozen=True)
class RawCaption:
    """A caption of raw retrieval and the scene that it was made for."""

    scene: DescribedScene
    text: Text
    composition: Composition = ()


class RawRetrieval:
    """Collects captions, then draws pools from all of them and makes an item for each image of a
    pool.

    In a pool each image has one caption of its own, and no two texts are equal. A caption may be
    true of several images: each item lists every caption of its pool that is true of its image, so
    that retrieving any of them can count as right. Captions that are undecided on another image of
    the group are left out.
    """

    def __init__(self, captioner: Captioner, protocol: str):
        self._captioner, self._protocol = captioner, protocol
        self._captions: defaultdict[Group, list[RawCaption]] = defaultdict(list)
        self._pools: dict[str, list[Text]] = {}

    def add(self, group: Group, caption: RawCaption) -> None:
        """Add a caption, unless it names relations that are not as familiar as its scene's
        split."""
        if self._captioner.relations_fit_split(caption.text.form, caption.scene):
            self._captions[group].append(caption)

    def items(self) -> Iterator[tuple[DescribedScene, Item]]:
        """Draw the pools, and yield the item of each image with its scene. Call it once, after the
        last `add`."""
        decided = {
            group: self._decidable(group, captions) for group, captions in self._captions.items()
        }
        for compared_with in dict.fromkeys(group.compared_with for group in decided):
            groups = {
                group: captions
                for group, captions in decided.items()
                if group.compared_with == compared_with
            }
            for group, number, members in draw_pools(groups):
                yield from self._items_of_pool(group, number, members)

    def pools(self) -> Mapping[str, Sequence[Text]]:
        """The texts of each pool that `items` drew."""
        return self._pools

    def _decidable(self, group: Group, captions: Sequence[RawCaption]) -> list[RawCaption]:
        """Captions of different images and different words that all images decide, in random
        order."""
        images: set[str] = set()
        said: set[str] = set()
        distinct = []
        for caption in Stream(RAW, self._protocol, *group[:2]).shuffled(captions):
            words = self._captioner.grammar.realise(*caption.text)
            if caption.scene.scene_id not in images and words not in said:
                images.add(caption.scene.scene_id)
                said.add(words)
                distinct.append(caption)
        undecided: defaultdict[int, set[int]] = defaultdict(set)
        for place, truths in enumerate(truths_of(distinct)):
            for scene_place, truth in truths.items():
                if truth is None:
                    undecided[place].add(scene_place)
                    undecided[scene_place].add(place)
        kept: set[int] = set()
        for place in range(len(distinct)):
            if kept.isdisjoint(undecided[place]):
                kept.add(place)
        return [distinct[place] for place in sorted(kept)]

    def _items_of_pool(
        self, group: Group, number: int, members: Sequence[RawCaption]
    ) -> Iterator[tuple[DescribedScene, Item]]:
        pool = f"{RAW}-{self._protocol}-{group.name}-{number}"
        self._pools[pool] = [member.text for member in members]
        also_true: defaultdict[int, list[Text]] = defaultdict(list)
        for place, truths in enumerate(truths_of(members)):
            for scene_place in truths:
                if scene_place != place:
                    also_true[scene_place].append(members[place].text)
        for place, member in enumerate(members):
            candidates = [Candidate(member.text, "c", True)]
            candidates += [Candidate(text, ALSO_TRUE, True) for text in also_true[place]]
            yield member.scene, Item(self._protocol, RAW, group.skill, tuple(candidates), pool)


def draw_pools(
    groups: Mapping[Group, Sequence[RawCaption]],
) -> Iterator[tuple[Group, int, list[RawCaption]]]:
    """Yield each pool as its group, its number in the group, and its members.

    A pool has, of each composition, as many captions as the group with the fewest has. So all pools
    have the same size N and the same composition; a group has K = min(20, …) pools, as many as it
    can fill (CREPE, appendix B.2). There are no pools if N is below two.
    """
    by_composition = {group: _by_composition(captions) for group, captions in groups.items()}
    compositions = sorted({each for members in by_composition.values() for each in members})
    counts = {
        each: min(len(members.get(each, ())) for members in by_composition.values())
        for each in compositions
    }
    shared = {each: count for each, count in counts.items() if count}
    if sum(shared.values()) < 2:
        return
    for group, members in by_composition.items():
        n_pools = min(MOST_POOLS, *(len(members[each]) // count for each, count in shared.items()))
        for number in range(n_pools):
            yield (
                group,
                number,
                [
                    caption
                    for each, count in shared.items()
                    for caption in members[each][number * count : (number + 1) * count]
                ],
            )


def _by_composition(captions: Sequence[RawCaption]) -> dict[Composition, list[RawCaption]]:
    found: dict[Composition, list[RawCaption]] = {}
    for caption in captions:
        found.setdefault(caption.composition, []).append(caption)
    return found


def truths_of(members: Sequence[RawCaption]) -> list[dict[int, Truth]]:
    """For each caption the images of which it is true (True) or undecided (None), by their place
    among the members.

    A caption is false of an image that shows no fitting object for one of its mentions. Only the
    other images are decided in full, which are few.
    """
    mentions = {mention for member in members for mention in member.text.form.objects}
    fitting: dict[Mention, set[int]] = {
        mention: {
            place for place, member in enumerate(members) if member.scene.facts.fitting(mention)
        }
        for mention in mentions
    }
    found: list[dict[int, Truth]] = []
    for member in members:
        form = member.text.form
        possible = set.intersection(*(fitting[mention] for mention in form.objects))
        truths = {place: members[place].scene.decide(form) for place in sorted(possible)}
        found.append({place: truth for place, truth in truths.items() if truth is not False})
    return found
