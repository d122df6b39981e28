"""Writes the tables of a benchmark, scene by scene; each distinct text gets one row."""

import hashlib
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence, Set

from generator.base.streams import Stream
from generator.dataset.writer import BenchmarkWriter
from generator.describe.captioner import Captioner, Item, Text
from generator.describe.protocol import Protocol
from generator.describe.scenes import DescribedScene, RenderedScene, place_scene
from generator.holdout.membership import CLAIMS, FAMILIAR, Placing, Rule, cluster_of, held_out_facts
from generator.language.form import count_held_out
from generator.plan.store import Assigned

TRAIN = "train"
"""The protocol of training texts, and the split of their scenes."""


Cell = tuple[str, str | None, str | None, str]
"""Protocol, kind, skill and split of items."""
_ASKED_SPLITS = (*CLAIMS, "partial")
"""The splits in which every question should occur that occurs in one of them: `val` is for choosing
models, and the other splits are for single protocols."""


_NEVER_ASKED = {("systematicity", "partial")}
"""Protocols and splits that a paper leaves out: CREPE has no split in which some compounds are
seen."""


def empty_cells(cells: Mapping[Cell, int], scenes: Mapping[str, int]) -> list[str]:
    """Name the cells without items, as "integration composed unseen".

    Args:
        cells: number of items by protocol, kind, skill and split.
        scenes: number of scenes by split.

    Returns: The protocols, kinds and skills that some split has and another one with scenes lacks;
        sorted.
    """
    with_scenes = [split for split in _ASKED_SPLITS if scenes.get(split)]
    questions = {
        (protocol, kind, skill) for protocol, kind, skill, split in cells if split in with_scenes
    }
    return sorted(
        " ".join(filter(None, (protocol, kind, skill, split)))
        for protocol, kind, skill in questions
        for split in with_scenes
        if (protocol, split) not in _NEVER_ASKED and not cells.get((protocol, kind, skill, split))
    )


class Tables:
    """Writes the rows of a benchmark and counts them.

    `rule` assigns scenes to splits; with `assigned` (by scene_id), scenes are in the splits that
    they were made for. A
    scene of FAMILIAR splits is in no split if training lacks one of its bindings that is not held
    out. Items whose id
    is in `without` are left out and counted as dropped; the remaining items are numbered without
    gaps. `scenes` counts
    scenes by split, `asked` items by split, `items` items by "protocol kind", `cells` items by
    protocol, kind, skill
    and split; `left_out` are the ids of items that were left out.
    """

    def __init__(
        self,
        writer: BenchmarkWriter,
        captioner: Captioner,
        rule: Rule,
        seed: int,
        assigned: Mapping[str, Assigned] | None,
        without: Set[str] = frozenset(),
    ):
        self._writer, self._captioner, self._rule = writer, captioner, rule
        self._seed, self._assigned = seed, assigned
        self._without = without
        self.left_out: set[str] = set()
        self._texts: set[int] = set()
        self._pools: set[str] = set()
        self._last: DescribedScene | None = None
        self.scenes: Counter[str] = Counter(dict.fromkeys(rule.splits, 0))
        self.items: Counter[str] = Counter()
        self.asked: Counter[str] = Counter()
        self.cells: Counter[Cell] = Counter()
        self._words: defaultdict[str, set[str]] = defaultdict(set)

    def unknown_words(self) -> dict[str, list[str]]:
        """The words in each protocol's texts that no training text has; sorted, in lower case,
        without punctuation."""
        if TRAIN not in self._rule.splits:
            return {}
        words = {
            name: {token.strip(".,").lower() for token in tokens}
            for name, tokens in self._words.items()
        }
        known = words.pop(TRAIN, set())
        return {
            name: sorted(unknown)
            for name, tokens in sorted(words.items())
            if (unknown := tokens - known)
        }

    def survey(self, row: RenderedScene, protocols: Sequence[Protocol]) -> None:
        """Show a scene to the protocols before any item is written."""
        scene, _ = self._described(row)
        if scene and scene.split != TRAIN:
            for protocol in protocols:
                if protocol.describes(scene.split):
                    protocol.survey(scene, self._stream(protocol, scene))

    def add_scene(
        self, row: RenderedScene, training: Protocol, protocols: Sequence[Protocol]
    ) -> None:
        """Add a scene to its split, with the items of `training` if the split is `train`, else of
        `protocols`.

        A twin must come right after its scene.
        """
        scene, placing = self._described(row)
        bindings, triples = (
            [" ".join(each) for each in group] for group in (placing.held_out, placing.triples)
        )
        self._writer.add(
            "splits", (row.scene_id, scene.split if scene else None, bindings, triples)
        )
        if scene is None:
            return
        self.scenes[scene.split] += 1
        for protocol in [training] if scene.split == TRAIN else protocols:
            if protocol.describes(scene.split):
                items = protocol.items(scene, self._stream(protocol, scene))
                for n, item in enumerate(
                    self._kept(items, f"{protocol.name}-{scene.scene_id}", scene)
                ):
                    self._add_item(f"{protocol.name}-{scene.scene_id}-{n}", scene, item)

    def add_pooled_items(self, protocol: Protocol) -> None:
        """Add the items of a protocol that need the captions of all scenes; call it after the last
        scene."""
        for scene, item in protocol.pooled_items():
            for kept in self._kept([item], f"{protocol.name}-{scene.scene_id}-{item.pool}", scene):
                self._add_item(f"{protocol.name}-{scene.scene_id}-{item.pool}", scene, kept)

    def _stream(self, protocol: Protocol, scene: DescribedScene) -> Stream:
        """The random numbers of a scene. A twin has those of its scene, so that both are asked
        about the same objects in the same words: the caption of each is then the foil of the other
        (`matching` of `binary`)."""
        original = scene.twin or scene
        return Stream("texts", self._seed, protocol.name, original.scene_id)

    def _described(self, row: RenderedScene) -> tuple[DescribedScene | None, Placing]:
        """The scene with the data that its items need (None if it is in no split), and its
        placing."""
        captioner, (scene_id, twin_of, scene, salience) = self._captioner, row
        holdout = captioner.holdout
        arrangement, facts, relations, placing = place_scene(scene, scene_id, self._rule)
        made_for = (self._assigned or {}).get(scene_id)
        split = placing.split if self._assigned is None else made_for.split if made_for else None
        if split is None or (split in FAMILIAR and not captioner.trains_all(arrangement)):
            return None, placing
        self._last = DescribedScene(
            scene_id,
            facts,
            split,
            held_out=tuple(holdout.holds_out(*binding) for binding in arrangement),
            salience=salience,
            twin=self._last if self._last and twin_of == self._last.scene_id else None,
            held_out_relations=(
                frozenset(held_out_facts(arrangement, relations, holdout))
                if placing.triples
                else None
            ),
            label_order=made_for.named if made_for else (),
            cluster=cluster_of(arrangement, placing.triples),
        )
        return self._last, placing

    def add_pools(self, protocol: str, pools: Mapping[str, Iterable[Text]]) -> None:
        """Add the retrieval pools of a protocol that items of the benchmark refer to."""
        for pool_id, texts in pools.items():
            if pool_id in self._pools:
                for text in texts:
                    self._writer.add("pools", (pool_id, self._text_id(text, protocol)))

    def _kept(self, items: Iterable[Item], of: str, scene: DescribedScene) -> Iterator[Item]:
        """Filters items: drops and counts items in `without`, and items whose captions name
        relations that are not as familiar as the split."""
        fitting = 0
        for item in items:
            captions = [
                candidate.text.form for candidate in item.candidates if candidate.slot in ("c", "p")
            ]
            if not all(self._captioner.relations_fit_split(form, scene) for form in captions):
                self._captioner.dropped[f"{item.protocol} {item.kind}: familiar relation"] += 1
                continue
            item_id, fitting = f"{of}-{fitting}", fitting + 1
            if item_id in self._without:
                self.left_out.add(item_id)
                self._captioner.dropped[f"{item.protocol} {item.kind}: left out"] += 1
            else:
                yield item

    def _add_item(self, item_id: str, scene: DescribedScene, item: Item) -> None:
        self.items[f"{item.protocol} {item.kind}"] += 1
        self.asked[scene.split] += 1
        self.cells[item.protocol, item.kind, item.skill, scene.split] += 1
        if item.pool is not None:
            self._pools.add(item.pool)
        familiarity: dict[bool, set[int]] = {True: set(), False: set()}
        text_ids = {
            id(candidate.text): self._text_id(candidate.text, item.protocol)
            for candidate in item.candidates
        }
        for candidate in item.candidates:
            form = candidate.text.form
            shown = scene.twin if candidate.of_twin and scene.twin else scene
            if shown.decide(form) is not candidate.truth:
                raise AssertionError(
                    f"{item_id}: {form} should be {candidate.truth} of scene {shown.scene_id}"
                )
            if candidate.slot in ("c", "n", "p", "0", "1"):
                familiarity[candidate.truth].add(count_held_out(form, self._captioner.holdout))
            of = text_ids[id(candidate.of)] if candidate.of is not None else None
            self._writer.add(
                "candidates",
                (
                    item_id,
                    shown.scene_id,
                    text_ids[id(candidate.text)],
                    candidate.slot,
                    candidate.truth,
                    candidate.kind,
                    list(candidate.changed),
                    of,
                ),
            )
        positive, negative = (
            next(iter(found)) if len(found) == 1 else None for found in familiarity.values()
        )
        self._writer.add(
            "items",
            (
                item_id,
                item.protocol,
                item.kind,
                item.skill,
                scene.split,
                scene.cluster,
                item.pool,
                positive,
                negative,
            ),
        )

    def _text_id(self, text: Text, protocol: str) -> str:
        """The text_id of a text of a protocol; its row is written on first use."""
        words = self._captioner.grammar.realise(text.form, text.template, text.wording)
        self._words[protocol].update(words.split())
        digest = hashlib.sha256(words.encode()).digest()[:8]
        text_id, number = digest.hex(), int.from_bytes(digest)
        if number not in self._texts:
            self._texts.add(number)
            form = text.form
            counts = form.level, form.n_objects, form.n_attributes, form.n_relations
            self._writer.add("texts", (text_id, words, form.to_json(), text.template, *counts))
        return text_id
