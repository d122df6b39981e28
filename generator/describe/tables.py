"""Writes the tables of a benchmark, scene by scene; each distinct text gets one row."""

import hashlib
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence, Set

from generator.base.streams import Stream
from generator.dataset.questions import WITHOUT_RIGHT_ANSWER
from generator.dataset.records import TRAIN
from generator.dataset.writer import BenchmarkWriter
from generator.describe.captioner import Candidate, Captioner, Item, Text
from generator.describe.protocol import Protocol
from generator.describe.scenes import DescribedScene, RenderedScene, decide_view, place_scene
from generator.holdout.membership import CLAIMS, FAMILIAR, Placing, Rule, cluster_of, tested_facts
from generator.language.form import count_held_out
from generator.plan.store import Assigned

QuestionCell = tuple[str, str | None, str | None, str]
"""Protocol, kind, skill and split of items."""
_ASKED_SPLITS = (*CLAIMS, "partial")
"""The splits in which every question should occur that occurs in one of them: `val` is for choosing
models, and the other splits are for single protocols."""
_NEVER_ASKED = {("systematicity", "partial")}
"""Protocols and splits that a paper leaves out: CREPE has no split in which some compounds are
seen."""
_COMPARED_SLOTS = ("c", "n", "p", "0", "1")
"""Slots whose texts an item compares with one another. Texts of other slots, such as decomposed
captions, have a familiarity of their own."""


def empty_cells(cells: Mapping[QuestionCell, int], scenes: Mapping[str, int]) -> list[str]:
    """Name the questions that a split lacks, as "integration composed unseen".

    Args:
        cells: number of items by protocol, kind, skill and split.
        scenes: number of scenes by split.

    Returns:
        The protocols, kinds and skills that some split has and another one with scenes lacks, each
        with the split that lacks it; sorted.

    >>> empty_cells({("binary", "swap", "attribute", "seen"): 9}, {"seen": 30, "unseen": 30})
    ['binary swap attribute unseen']
    """
    splits = [split for split in _ASKED_SPLITS if scenes.get(split)]
    questions = set()
    for protocol, kind, skill, split in cells:
        if split in splits:
            questions.add((protocol, kind, skill))
    names = []
    for protocol, kind, skill in questions:
        for split in splits:
            has_items = cells.get((protocol, kind, skill, split))
            if not has_items and (protocol, split) not in _NEVER_ASKED:
                words = [word for word in (protocol, kind, skill, split) if word]
                names.append(" ".join(words))
    return sorted(names)


class BenchmarkTables:
    """Writes the rows of a benchmark and counts them.

    A scene of FAMILIAR splits is in no split if training lacks one of its bindings that is not held
    out. Items that are left out are counted as dropped; the remaining items are numbered without
    gaps.
    """

    def __init__(
        self,
        writer: BenchmarkWriter,
        captioner: Captioner,
        rule: Rule,
        *,
        seed: int,
        assigned: Mapping[str, Assigned] | None,
        without: Set[str] = frozenset(),
    ):
        """Begin the tables.

        Args:
            writer: writes the rows.
            captioner: the language of the benchmark.
            rule: assigns scenes to splits.
            seed: of the texts.
            assigned: the splits that scenes were made for, by scene_id; None to follow the rule.
            without: ids of items to leave out.
        """
        self._writer = writer
        self._captioner = captioner
        self._rule = rule
        self._seed = seed
        self._assigned = assigned
        self._without = without
        self.left_out: set[str] = set()
        """Ids of the items that were left out."""
        self.scenes: Counter[str] = Counter(dict.fromkeys(rule.splits, 0))
        """Number of scenes by split."""
        self.items: Counter[str] = Counter()
        """Number of items by "protocol kind"."""
        self.items_of_split: Counter[str] = Counter()
        """Number of items by split."""
        self.cells: Counter[QuestionCell] = Counter()
        """Number of items by protocol, kind, skill and split."""
        self._text_numbers: set[int] = set()
        """The texts that have a row, by the number of their text_id."""
        self._pools: set[str] = set()
        """The pools that items refer to."""
        self._last_scene: DescribedScene | None = None
        self._words: defaultdict[str, set[str]] = defaultdict(set)
        """The words of each protocol's texts, as they stand there."""

    def unknown_words(self) -> dict[str, list[str]]:
        """By protocol, the words of its texts that no training text has; sorted, in lower case,
        without punctuation."""
        if TRAIN not in self._rule.splits:
            return {}
        words: dict[str, set[str]] = {}
        for protocol, tokens in self._words.items():
            words[protocol] = {token.strip(".,").lower() for token in tokens}
        known = words.pop(TRAIN, set())
        unknown: dict[str, list[str]] = {}
        for protocol in sorted(words):
            if not words[protocol] <= known:
                unknown[protocol] = sorted(words[protocol] - known)
        return unknown

    def survey(self, row: RenderedScene, protocols: Sequence[Protocol]) -> None:
        """Show a scene to the protocols before any item is written.

        Args:
            row: The scene.
            protocols: Those that survey scenes (`Protocol.surveys`).
        """
        scene, _ = self._assign_split(row)
        if scene is None or scene.split == TRAIN:
            return
        for protocol in protocols:
            if protocol.describes(scene.split):
                protocol.survey(scene, self._stream(protocol, scene))

    def add_scene(
        self, row: RenderedScene, training: Protocol, protocols: Sequence[Protocol]
    ) -> None:
        """Add a scene to its split, with its items.

        A twin must come right after its scene.

        Args:
            row: The scene.
            training: Writes the items of a scene of the split `train`.
            protocols: Write the items of scenes of all other splits.
        """
        scene, placing = self._assign_split(row)
        bindings = [" ".join(binding) for binding in placing.held_out]
        triples = [" ".join(triple) for triple in placing.triples]
        split = scene.split if scene else None
        self._writer.add("splits", (row.scene_id, split, bindings, triples))
        if scene is None:
            return
        self.scenes[scene.split] += 1
        for protocol in [training] if scene.split == TRAIN else protocols:
            if not protocol.describes(scene.split):
                continue
            items = protocol.items(scene, self._stream(protocol, scene))
            prefix = f"{protocol.name}-{scene.scene_id}"
            for number, item in enumerate(self._filter_items(items, prefix, scene)):
                self._add_item(f"{prefix}-{number}", scene, item)

    def add_pooled_items(self, protocol: Protocol) -> None:
        """Add the items of a protocol that need the captions of all scenes; call it after the last
        scene."""
        for scene, item in protocol.pooled_items():
            item_id = f"{protocol.name}-{scene.scene_id}-{item.pool}"
            for accepted in self._filter_items([item], item_id, scene):
                self._add_item(item_id, scene, accepted)

    def add_pools(self, protocol: str, pools: Mapping[str, Iterable[Text]]) -> None:
        """Add the retrieval pools that items of the benchmark refer to.

        Args:
            protocol: Name of the protocol.
            pools: The texts of each pool, by its name.
        """
        for pool_id, texts in pools.items():
            # The items of a pool may all have been dropped.
            if pool_id not in self._pools:
                continue
            for text in texts:
                text_id = self._text_id(text, protocol)
                self._writer.add("pools", (pool_id, text_id))

    def _stream(self, protocol: Protocol, scene: DescribedScene) -> Stream:
        """The random numbers of a scene.

        A twin has those of its scene, so that both are asked about the same objects in the same
        words: the caption of each is then the foil of the other (`matching` of `binary`).
        """
        original = scene.twin or scene
        return Stream("texts", self._seed, protocol.name, original.scene_id)

    def _assign_split(self, row: RenderedScene) -> tuple[DescribedScene | None, Placing]:
        """Assign a scene to its split.

        Returns:
            The scene with the data that its items need, None if it is in no split; and its placing
            by the rule.
        """
        scene_id = row.scene_id
        arrangement, facts, relations, placing = place_scene(row.scene, scene_id, self._rule)
        assignment = (self._assigned or {}).get(scene_id)
        if self._assigned is None:
            split = placing.split
        else:
            split = assignment.split if assignment else None
        if split is None:
            return None, placing
        if split in FAMILIAR and not self._captioner.trains_all(arrangement):
            return None, placing

        holdout = self._captioner.holdout
        tested = []
        if holdout.triples:
            tested = tested_facts(arrangement, relations, holdout=holdout, split=split)
        twin = None
        if self._last_scene is not None:
            # The steps of a ladder are all twins of its first scene.
            first = self._last_scene.twin or self._last_scene
            if row.twin_of == first.scene_id:
                twin = first
        self._last_scene = DescribedScene(
            scene_id,
            facts,
            split,
            held_out=tuple(holdout.holds_out(*binding) for binding in arrangement),
            salience=row.salience,
            twin=twin,
            tested_relations=frozenset(tested) if tested else None,
            label_order=assignment.named if assignment else (),
            cluster=cluster_of(arrangement, placing.triples),
            rung=row.scene.rung,
        )
        return self._last_scene, placing

    def _filter_items(
        self, items: Iterable[Item], prefix: str, scene: DescribedScene
    ) -> Iterator[Item]:
        """Drop and count items to leave out, and items whose captions name relations that are not
        as familiar as the split.

        Args:
            items: the items.
            prefix: of their ids. An item to leave out takes a number, so that the ids in `without`
                stay those of the benchmark that lists them.
            scene: their scene.
        """
        number = 0
        for item in items:
            if not self._relations_fit_split(item, scene):
                self._captioner.dropped[f"{item.protocol} {item.kind}: familiar relation"] += 1
                continue
            item_id = f"{prefix}-{number}"
            number += 1
            if item_id in self._without:
                self.left_out.add(item_id)
                self._captioner.dropped[f"{item.protocol} {item.kind}: left out"] += 1
            else:
                yield item

    def _relations_fit_split(self, item: Item, scene: DescribedScene) -> bool:
        # Its captions leave out whose direction they mean, so none says what is held out.
        if (item.protocol, item.kind) == WITHOUT_RIGHT_ANSWER:
            return True
        return all(
            self._captioner.relations_fit_split(candidate.text.form, scene)
            for candidate in item.candidates
            if candidate.slot in ("c", "p")
        )

    def _add_item(self, item_id: str, scene: DescribedScene, item: Item) -> None:
        """Write the rows of an item and of its candidates."""
        self.items[f"{item.protocol} {item.kind}"] += 1
        self.items_of_split[scene.split] += 1
        self.cells[item.protocol, item.kind, item.skill, scene.split] += 1
        if item.pool is not None:
            self._pools.add(item.pool)

        # Candidates refer to the text that they were made from by identity, so one id for each.
        text_ids = {}
        for candidate in item.candidates:
            text = candidate.text
            text_ids[id(text)] = self._text_id(text, item.protocol)
        for candidate in item.candidates:
            self._add_candidate(item_id, scene, candidate=candidate, text_ids=text_ids)
        row = (
            item_id,
            item.protocol,
            item.kind,
            item.skill,
            scene.split,
            scene.cluster,
            item.pool,
            self._held_out_count(item, truth=True),
            self._held_out_count(item, truth=False),
        )
        self._writer.add("items", row)

    def _add_candidate(
        self,
        item_id: str,
        scene: DescribedScene,
        *,
        candidate: Candidate,
        text_ids: Mapping[int, str],
    ) -> None:
        """Write the row of a candidate, after it is decided on its scene."""
        # The image that the candidate is about: another scene's, the twin's, or the scene's own.
        judged_scene = scene.twin if candidate.of_twin and scene.twin else scene
        judged_scene = candidate.of_scene or judged_scene
        form = candidate.text.form
        if form.view is None:
            truth = judged_scene.decide(form)
        else:
            truth = decide_view(form, scene.twin, judged_scene)
        # No text enters a benchmark whose truth is not proved here.
        if truth is not candidate.truth:
            raise AssertionError(
                f"{item_id}: {form} should be {candidate.truth} of scene {judged_scene.scene_id}"
            )
        row = (
            item_id,
            judged_scene.scene_id,
            text_ids[id(candidate.text)],
            candidate.slot,
            candidate.truth,
            candidate.kind,
            list(candidate.changed),
            None if candidate.of is None else text_ids[id(candidate.of)],
        )
        self._writer.add("candidates", row)

    def _held_out_count(self, item: Item, truth: bool) -> int | None:
        """The number of held-out bindings and triples that each true (or each false) text of an
        item names; None if they differ, or if there is no such text."""
        counts = {
            count_held_out(candidate.text.form, self._captioner.holdout)
            for candidate in item.candidates
            if candidate.slot in _COMPARED_SLOTS and candidate.truth is truth
        }
        return counts.pop() if len(counts) == 1 else None

    def _text_id(self, text: Text, protocol: str) -> str:
        """The text_id of a text of a protocol; its row is written on first use."""
        words = self._captioner.grammar.realise(text.form, text.template, text.wording)
        self._words[protocol].update(words.split())
        # Eight bytes: among ten million texts, two have one id with a probability of 3e-6.
        digest = hashlib.sha256(words.encode()).digest()[:8]
        text_id, number = digest.hex(), int.from_bytes(digest)
        # A set of numbers takes less memory than one of strings: a benchmark has millions of texts.
        if number not in self._text_numbers:
            self._text_numbers.add(number)
            form = text.form
            counts = form.level, form.n_objects, form.n_attributes, form.n_relations
            row = (text_id, words, form.to_json(), text.template, *counts)
            self._writer.add("texts", row)
        return text_id
