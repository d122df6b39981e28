"""Checks leaks and familiarity: training neither shows nor names held-out content unless the
manifest declares it, and the true and the false texts of an evaluation item name equally much of
it."""

from collections import Counter, defaultdict
from collections.abc import Iterator, Set
from dataclasses import dataclass

import numpy as np

from generator.judge.benchmark import TRAIN, Benchmark
from generator.judge.certificate import Finding, finding
from generator.judge.held_out import ASYMMETRIC, CLASSES, Binding, HeldOutCounts, Triple, facts
from generator.judge.meaning import Pair
from generator.judge.membership import shared_arrangements, shared_triples


def leak_findings(benchmark: Benchmark) -> Iterator[Finding]:
    """Training scenes that show held-out content, training texts that name it in any phrasing, and
    holdouts that list a triple without its converse. Arrangements that the manifest declares to be
    in two class lists are excepted."""
    held_out = benchmark.held_out
    for triple in sorted(held_out.triples - held_out.listed_triples):
        yield finding(
            "open holdout",
            f"holdout.json lacks {' '.join(triple)}, which follows from a triple it lists",
        )
    excepted = shared_triples(benchmark)
    yield from _scene_leaks(benchmark, excepted)
    yield from _text_leaks(benchmark, excepted)


def _scene_leaks(benchmark: Benchmark, excepted: frozenset[Triple]) -> Iterator[Finding]:
    """Training scenes that show held-out content."""
    held_out = benchmark.held_out
    for scene_id, scene in benchmark.scenes_of(TRAIN):
        bindings = held_out.held_out_bindings_of(scene)
        # A dose allows one binding in a scene: with two, training would show one more often than it
        # says.
        if len(bindings) == 1 and bindings[0] in held_out.dosed_in(scene_id):
            bindings = []  # dose_findings counts these
        for binding in bindings:
            yield finding(
                "leaked binding",
                f"training scene {scene_id} shows the held-out {' '.join(binding)}",
            )
        for triple in held_out.held_out_triples_of(scene):
            if triple not in excepted:
                yield finding(
                    "leaked triple",
                    f"training scene {scene_id} shows the held-out {' '.join(triple)}",
                )
        for name in held_out.absent_names_of(scene):
            yield finding(
                "leaked atom", f"training scene {scene_id} shows {name}, which training lacks"
            )


def _text_leaks(benchmark: Benchmark, excepted: frozenset[Triple]) -> Iterator[Finding]:
    """Training texts that name held-out content."""
    rows = benchmark.candidates
    negatives_may = bool(benchmark.manifest.get("exposed_negatives"))
    training = rows.with_text[benchmark.is_training[rows.item[rows.with_text]]]
    names_held_out = benchmark.familiarity[rows.text[training]] > 0
    for row in training[names_held_out].tolist():
        # A declared exception covers negatives alone.
        if rows.truth[row] or not negatives_may:
            yield from _leaks_of_text(benchmark, row, excepted)


def _leaks_of_text(
    benchmark: Benchmark, row: int, excepted: frozenset[Triple]
) -> Iterator[Finding]:
    """What a training text, the candidate `row`, names of the held-out content."""
    rows, held_out = benchmark.candidates, benchmark.held_out
    meaning = benchmark.meanings[rows.text[row]]
    assert meaning is not None  # a text without a meaning has no familiarity
    counts = held_out.counts_named(meaning)
    text = (
        f"training {'caption' if rows.truth[row] else 'negative'} "
        f"'{benchmark.text(rows.text[row])}' of item {benchmark.item_id(rows.item[row])}"
    )
    # A caption may name the one binding that its scene shows as a dose.
    is_dosed = bool(held_out.dosed_in(benchmark.scene_id(row)))
    n_allowed = 1 if is_dosed and rows.truth[row] else 0
    if counts.bindings > n_allowed:
        yield finding("leaked binding", f"{text} names a held-out binding")
    triples = {*held_out.triples_named(meaning)} & held_out.triples
    for triple in sorted(triples - excepted):
        yield finding("leaked triple", f"{text} names the held-out {' '.join(triple)}")
    if counts.absent:
        yield finding("leaked atom", f"{text} names a value or object that training lacks")


def dose_findings(benchmark: Benchmark) -> Iterator[Finding]:
    """Held-out bindings with a dose that training does not show exactly as often as the dose
    says."""
    held_out = benchmark.held_out
    if not held_out.doses:
        return
    n_scenes: Counter[Binding] = Counter()
    for _, scene in benchmark.scenes_of(TRAIN):
        n_scenes.update(held_out.held_out_bindings_of(scene))
    for dose in held_out.doses:
        for binding in sorted(dose.bindings):
            if n_scenes[binding] != dose.times:
                yield finding(
                    "wrong dose",
                    f"{n_scenes[binding]} training scenes show {' '.join(binding)}, and its dose "
                    f"is {dose.times}",
                )


def undeclared_findings(benchmark: Benchmark) -> Iterator[Finding]:
    """Arrangements in two class lists, exposed negatives and unequal familiarity that the manifest
    does not declare."""
    manifest = benchmark.manifest
    declared = manifest.get("declared_leaks", [])
    for sentence, reversed_sentence, _ in shared_arrangements(benchmark.held_out):
        if sentence not in declared and reversed_sentence not in declared:
            yield finding(
                "undeclared leak",
                f"one arrangement is in two lists: {sentence}; the manifest does not declare it",
            )
    if benchmark.held_out.doses and not any("--dose" in leak for leak in declared):
        yield finding(
            "undeclared leak",
            "training shows bindings with a dose; the manifest does not declare it",
        )
    # With any declared leak the certificate is not clean: these two need no phrase of their own.
    if declared:
        return
    if manifest.get("exposed_negatives"):
        yield finding(
            "undeclared leak",
            "training negatives may name what is held out; the manifest does not declare it",
        )
    # Class lists have no familiarity: their labels are compared with labels of other lists.
    has_familiarity = benchmark.held_out.design != CLASSES
    if manifest.get("equal_familiarity") is False and has_familiarity:
        yield finding(
            "undeclared leak", "familiarity may be unequal; the manifest does not declare it"
        )


_COMPOUND_FAULTS = {
    "unseen": ("seen compound", "captions of unseen name only what is held out"),
    "seen": ("untrained compound", "captions of seen name only what training shows"),
}
"""By split, the fault and the rule that it breaks."""


def compound_findings(benchmark: Benchmark) -> Iterator[Finding]:
    """Captions of the protocol systematicity that break CREPE's definitions (appendix A.5): those
    of `unseen` name only held-out compounds, those of `seen` only compounds that training shows.
    Compounds are bindings and relations."""
    rows, held_out = benchmark.candidates, benchmark.held_out
    captions = rows.with_text[rows.slot[rows.with_text] == "c"]
    captions = captions[benchmark.protocols[rows.item[captions]] == "systematicity"]
    splits = benchmark.item_split[rows.item[captions]]
    allowed: dict[str, Set[tuple[str, ...]]] = {}
    allowed["unseen"] = held_out.bindings | held_out.triples
    if (splits == "seen").any():
        allowed["seen"] = _trained_compounds(benchmark)
    for row, split in zip(captions.tolist(), splits.tolist(), strict=True):
        meaning = benchmark.meanings[rows.text[row]]
        if meaning is None or split not in allowed:
            continue
        compounds = [*held_out.bindings_named(meaning), *held_out.triples_named(meaning)]
        wrong = {" ".join(compound) for compound in compounds if compound not in allowed[split]}
        # A caption without any compound would test none.
        if not wrong and compounds:
            continue
        fault, rule = _COMPOUND_FAULTS[split]
        yield finding(
            fault,
            f"item {benchmark.item_id(rows.item[row])} of {split} says "
            f"'{benchmark.text(rows.text[row])}', which names "
            f"{', '.join(sorted(wrong)) or 'no compound'}; {rule}",
        )


def _trained_compounds(benchmark: Benchmark) -> set[tuple[str, ...]]:
    """The bindings and the relations that training scenes show."""
    compounds: set[tuple[str, ...]] = set()
    for _, scene in benchmark.scenes_of(TRAIN):
        compounds.update(benchmark.held_out.bindings_of(scene))
        if benchmark.held_out.triples:  # without held-out relations no caption is about one
            categories = [category for category, _ in scene.objects]
            for subject, name, object_ in facts(scene):
                compounds.add((categories[subject], name, categories[object_]))
            scene.forget()
    return compounds


def word_findings(benchmark: Benchmark) -> Iterator[Finding]:
    """Foils with a value or category that no training scene shows and no true text of their item
    names. Checked only if the manifest's request has `known_words`."""
    request = benchmark.manifest.get("request") or {}
    # Other benchmarks may use the whole vocabulary.
    if not request.get("known_words"):
        return
    rows = benchmark.candidates
    trained = _trained_names(benchmark)
    unknown_of_text: list[set[Pair]] = []
    for meaning in benchmark.meanings:
        names = benchmark.held_out.names_in(meaning) if meaning else set()
        unknown_of_text.append(names - trained)

    has_unknown = np.array([bool(unknown) for unknown in unknown_of_text], bool)
    is_evaluation = ~benchmark.is_training[rows.item[rows.with_text]]
    judged = rows.with_text[is_evaluation & has_unknown[rows.text[rows.with_text]]]
    named_by_truth: dict[int, set[Pair]] = defaultdict(set)
    for row in judged[rows.truth[judged]].tolist():
        named_by_truth[rows.item[row]] |= unknown_of_text[rows.text[row]]
    for row in judged[~rows.truth[judged]].tolist():
        item = rows.item[row]
        # What the true text names too gives nothing away.
        unknown = unknown_of_text[rows.text[row]] - named_by_truth[item]
        for _, name in sorted(unknown):
            yield finding(
                "unknown word",
                f"a foil of item {benchmark.item_id(item)} names {name}, which training lacks",
            )


def _trained_names(benchmark: Benchmark) -> set[Pair]:
    """The values and categories that training scenes show, each with its kind."""
    names: set[Pair] = set()
    for _, scene in benchmark.scenes_of(TRAIN):
        for category, values in scene.objects:
            names.add((benchmark.held_out.category, category))
            names.update(values.items())
    return names


_CAPTION_SLOTS = ("c", "n", "p")
"""Slots whose texts are compared with each other; every other slot is a separate question."""
_OTHER_CAPTIONS = "r"
"""The slot of the other true captions of a pool of raw retrieval. They are as long as their own
images' captions, so they may name more or fewer held-out compounds than this image's."""


@dataclass(frozen=True)
class _Questions:
    """Texts that are compared with each other: arrays of one length, an entry for each text."""

    item: np.ndarray
    """int64: row of the items table."""
    group: np.ndarray
    """int64: which question of the item."""
    n_groups: int
    """Upper bound of `group`."""
    text: np.ndarray
    """int64: row of the texts table."""
    truth: np.ndarray
    """bool: whether the text is listed as true."""


def symmetry_findings(benchmark: Benchmark) -> Iterator[Finding]:
    """Items, or questions of an item, with unequally familiar texts; none if the manifest says
    `"equal_familiarity": false`.

    Two texts are equally familiar if they name equal numbers of held-out bindings and of held-out
    triples, and both or neither name an atom that training lacks.
    """
    if benchmark.manifest.get("equal_familiarity") is False:
        return
    rows = benchmark.candidates
    judged = rows.with_text
    splits = benchmark.item_split[rows.item[judged]]
    is_symmetric = ~np.isin(splits, (TRAIN, *ASYMMETRIC))
    is_readable = benchmark.familiarity[rows.text[judged]] >= 0
    judged = judged[is_symmetric & is_readable & (rows.slot[judged] != _OTHER_CAPTIONS)]

    # Captions of an item are one question, numbered 0; each other slot is a question of its own.
    slots = sorted(set(rows.slot.tolist()))
    group_of = {}
    for number, slot in enumerate(slots, 1):
        group_of[slot] = 0 if slot in _CAPTION_SLOTS else number
    groups = [group_of[slot] for slot in rows.slot[judged].tolist()]
    yield from _unequal_findings(
        benchmark,
        _Questions(
            item=rows.item[judged],
            group=np.array(groups, np.int64),
            n_groups=len(slots) + 1,
            text=rows.text[judged],
            truth=rows.truth[judged],
        ),
    )


def _unequal_findings(benchmark: Benchmark, texts: _Questions) -> Iterator[Finding]:
    """Questions with a familiarity that only true texts or only false texts have.

    A question, and a question with a familiarity, are numbers, so that a million texts are compared
    by operations on sorted arrays:

    1. The pairs (question, familiarity) that only the true or only the false texts have.
    2. Of these, the questions that have both true and false texts.
    """
    familiarity = benchmark.familiarity[texts.text]
    n_familiarities = int(familiarity.max(initial=0)) + 1
    question = texts.item * texts.n_groups + texts.group
    pair = question * n_familiarities + familiarity
    one_sided = np.setxor1d(pair[texts.truth], pair[~texts.truth]) // n_familiarities
    two_sided = np.intersect1d(question[texts.truth], question[~texts.truth])
    unequal = np.intersect1d(one_sided, two_sided)

    # The texts of a question are neighbours in `order`.
    # Stable, so that findings name texts in the order of the table.
    order = np.argsort(question, kind="stable")
    starts = np.searchsorted(question, unequal, "left", order).tolist()
    ends = np.searchsorted(question, unequal, "right", order).tolist()
    for number, start, end in zip(unequal.tolist(), starts, ends, strict=True):
        own = order[start:end]
        true_texts = texts.text[own[texts.truth[own]]]
        false_texts = texts.text[own[~texts.truth[own]]]
        true = _counts_in_words({benchmark.held_out_counts[text] for text in true_texts})
        false = _counts_in_words({benchmark.held_out_counts[text] for text in false_texts})
        item_id = benchmark.item_id(number // texts.n_groups)
        yield finding(
            "asymmetric familiarity",
            f"item {item_id}: its true texts name {true}, its false ones {false}",
        )


def asymmetry_findings(benchmark: Benchmark) -> Iterator[Finding]:
    """Texts that break the rule of asymmetric splits: in asymmetric_seen exactly the false texts
    name held-out content, in asymmetric_unseen exactly the true texts."""
    rows = benchmark.candidates
    # In the first split a true text names nothing held out, in the second a false text.
    for split, truth_of_familiar in zip(ASYMMETRIC, (True, False), strict=True):
        judged = rows.with_text[benchmark.item_split[rows.item[rows.with_text]] == split]
        familiarity = benchmark.familiarity[rows.text[judged]]
        is_familiar = familiarity == 0
        should_be_familiar = rows.truth[judged] == truth_of_familiar
        is_wrong = (familiarity >= 0) & (is_familiar != should_be_familiar)
        for row in judged[is_wrong].tolist():
            counts = _counts_in_words({benchmark.held_out_counts[rows.text[row]]})
            yield finding(
                "wrong familiarity",
                f"item {benchmark.item_id(rows.item[row])} of {split}: its "
                f"{'true' if rows.truth[row] else 'false'} text "
                f"'{benchmark.text(rows.text[row])}' names {counts}",
            )


def _counts_in_words(counts: set[HeldOutCounts | None]) -> str:
    """The distinct amounts of held-out content that texts name."""
    phrases = []
    for own in sorted(filter(None, counts)):
        phrase = f"{own.bindings} held-out bindings"
        if own.triples:
            phrase += f" and {own.triples} triples"
        if own.absent:
            phrase += " and an atom that training lacks"
        phrases.append(phrase)
    return " or ".join(phrases)
