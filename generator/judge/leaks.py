"""Checks leaks and familiarity: training neither shows nor names held-out content unless the
manifest declares it, and the true and the false texts of an evaluation item name equally much of
it."""

from collections import Counter
from collections.abc import Iterator, Set

import numpy as np

from generator.judge.benchmark import TRAIN, Benchmark
from generator.judge.certificate import Finding, finding
from generator.judge.held_out import ASYMMETRIC, CLASSES, Named, facts
from generator.judge.membership import shared_arrangements, shared_triples


def leak_findings(benchmark: Benchmark) -> Iterator[Finding]:
    """Training scenes that show held-out content, training texts that name it in any phrasing, and
    holdouts that list a triple without its converse. Arrangements that the manifest declares to be
    in two class lists are excepted."""
    held_out = benchmark.held_out
    for triple in sorted(held_out.triples - held_out.listed):
        yield finding(
            "open holdout",
            f"holdout.json lacks {' '.join(triple)}, which follows from a triple it lists",
        )
    excepted = shared_triples(benchmark)
    for scene_id, split in benchmark.split_of.items():
        if split == "train" and scene_id in benchmark.world.shown:
            shown = benchmark.world.shown[scene_id]
            exposed = held_out.bindings_shown(shown)
            if len(exposed) == 1 and exposed[0] in held_out.dosed_in(scene_id):
                exposed = []  # dose_findings counts these
            for binding in exposed:
                yield finding(
                    "leaked binding",
                    f"training scene {scene_id} shows the held-out {' '.join(binding)}",
                )
            for triple in held_out.triples_shown(shown):
                if triple not in excepted:
                    yield finding(
                        "leaked triple",
                        f"training scene {scene_id} shows the held-out {' '.join(triple)}",
                    )
            for name in held_out.absent_shown(shown):
                yield finding(
                    "leaked atom", f"training scene {scene_id} shows {name}, which training lacks"
                )
    rows = benchmark.candidates
    judged = np.flatnonzero((rows.item >= 0) & (rows.text >= 0))
    training = judged[benchmark.trains[rows.item[judged]]]
    for row in training[benchmark.familiarity[rows.text[training]] > 0].tolist():
        if rows.truth[row] or not benchmark.manifest.get("exposed_negatives"):
            yield from _named(benchmark, row, excepted)


def dose_findings(benchmark: Benchmark) -> Iterator[Finding]:
    """Held-out bindings with a dose that training does not show exactly as often as the dose
    says."""
    held_out = benchmark.held_out
    if not held_out.doses:
        return
    n_scenes: Counter[tuple[str, str]] = Counter()
    for scene_id, split in benchmark.split_of.items():
        if split == TRAIN and scene_id in benchmark.world.shown:
            n_scenes.update(held_out.bindings_shown(benchmark.world.shown[scene_id]))
    for times, bindings, _ in held_out.doses:
        for binding in sorted(bindings):
            if n_scenes[binding] != times:
                yield finding(
                    "wrong dose",
                    f"{n_scenes[binding]} training scenes show {' '.join(binding)}, and its dose "
                    f"is {times}",
                )


def _named(
    benchmark: Benchmark, row: int, excepted: frozenset[tuple[str, str, str]]
) -> Iterator[Finding]:
    rows = benchmark.candidates
    meaning = benchmark.meanings[rows.text[row]]
    assert meaning is not None  # a text without a meaning has no familiarity
    named = benchmark.held_out.named(meaning)
    what = (
        f"training {'caption' if rows.truth[row] else 'negative'} "
        f"'{benchmark.text(rows.text[row])}' of item "
    )
    what += benchmark.item_id(rows.item[row])
    dosed = benchmark.held_out.dosed_in(benchmark.scene_id(row))
    if named.bindings > (1 if dosed and rows.truth[row] else 0):
        yield finding("leaked binding", f"{what} names a held-out binding")
    ends = [thing.category or "" for thing in meaning.things]
    triples = {(ends[s], name, ends[o]) for s, name, o, *_ in meaning.links}
    for triple in sorted((triples & benchmark.held_out.triples) - excepted):
        yield finding("leaked triple", f"{what} names the held-out {' '.join(triple)}")
    if named.absent:
        yield finding("leaked atom", f"{what} names a value or object that training lacks")


def undeclared_findings(benchmark: Benchmark) -> Iterator[Finding]:
    """Arrangements in two class lists, exposed negatives and unequal familiarity that the manifest
    does not declare."""
    manifest, declared = benchmark.manifest, benchmark.manifest.get("declared_leaks", [])
    for one, other, _ in shared_arrangements(benchmark.held_out):
        if not {one, other} & {*declared}:
            yield finding(
                "undeclared leak",
                f"one arrangement is in two lists: {one}; the manifest does not declare it",
            )
    if benchmark.held_out.doses and not any("--dose" in leak for leak in declared):
        yield finding(
            "undeclared leak",
            "training shows bindings with a dose; the manifest does not declare it",
        )
    if manifest.get("exposed_negatives") and not declared:
        yield finding(
            "undeclared leak",
            "training negatives may name what is held out; the manifest does not declare it",
        )
    if (
        manifest.get("equal_familiarity") is False
        and benchmark.held_out.design != CLASSES
        and not declared
    ):
        yield finding(
            "undeclared leak", "familiarity may be unequal; the manifest does not declare it"
        )


def compound_findings(benchmark: Benchmark) -> Iterator[Finding]:
    """Captions of the protocol systematicity that break CREPE's definitions (appendix A.5): those
    of `unseen` name only held-out compounds, those of `seen` only compounds that training shows.
    Compounds are bindings and relations."""
    rows, held_out = benchmark.candidates, benchmark.held_out
    captions = np.flatnonzero((rows.item >= 0) & (rows.text >= 0) & (rows.slot == "c"))
    captions = captions[benchmark.protocols[rows.item[captions]] == "systematicity"]
    splits = benchmark.item_split[rows.item[captions]]
    allowed: dict[str, Set[tuple[str, ...]]] = {"unseen": held_out.bindings | held_out.triples}
    if (splits == "seen").any():
        allowed["seen"] = _trained_compounds(benchmark)
    for row, split in zip(captions.tolist(), splits.tolist(), strict=True):
        meaning = benchmark.meanings[rows.text[row]]
        if meaning is None or split not in allowed:
            continue
        compounds = [*held_out.bindings_named(meaning), *held_out.triples_named(meaning)]
        wrong = sorted(
            {" ".join(compound) for compound in compounds if compound not in allowed[split]}
        )
        if not wrong and compounds:
            continue
        fault, rule = _COMPOUND_FAULTS[split]
        yield finding(
            fault,
            f"item {benchmark.item_id(rows.item[row])} of {split} says "
            f"'{benchmark.text(rows.text[row])}', which names "
            f"{', '.join(wrong) or 'no compound'}; {rule}",
        )


_COMPOUND_FAULTS = {
    "unseen": ("seen compound", "captions of unseen name only what is held out"),
    "seen": ("untrained compound", "captions of seen name only what training shows"),
}


def _trained_compounds(benchmark: Benchmark) -> set[tuple[str, ...]]:
    """The bindings and the relations that training scenes show."""
    compounds: set[tuple[str, ...]] = set()
    for scene_id, split in benchmark.split_of.items():
        if split == TRAIN and scene_id in benchmark.world.shown:
            shown = benchmark.world.shown[scene_id]
            compounds.update(benchmark.held_out.bindings_of(shown))
            if benchmark.held_out.triples:  # without held-out relations no caption is about one
                names = [category for category, _ in shown.objects]
                compounds.update(
                    (names[subject], name, names[thing]) for subject, name, thing in facts(shown)
                )
                shown.forget()
    return compounds


def word_findings(benchmark: Benchmark) -> Iterator[Finding]:
    """Foils with a value or category that no training scene shows and no true text of their item
    names. Checked only if the manifest's request has `known_words`."""
    if not (benchmark.manifest.get("request") or {}).get("known_words"):
        return
    held_out, world, rows = benchmark.held_out, benchmark.world, benchmark.candidates
    trained = {
        pair
        for scene_id, split in benchmark.split_of.items()
        if split == TRAIN and scene_id in world.shown
        for category, values in world.shown[scene_id].objects
        for pair in ((held_out.category, category), *values.items())
    }
    strange = [held_out.names(each) - trained if each else set() for each in benchmark.meanings]
    judged = np.flatnonzero((rows.item >= 0) & (rows.text >= 0))
    judged = judged[
        ~benchmark.trains[rows.item[judged]]
        & np.array([bool(strange[row]) for row in rows.text[judged]])
    ]
    said: dict[int, set[tuple[str, str]]] = {}
    for row in judged[rows.truth[judged]].tolist():
        said.setdefault(rows.item[row], set()).update(strange[rows.text[row]])
    for row in judged[~rows.truth[judged]].tolist():
        for _, name in sorted(strange[rows.text[row]] - said.get(rows.item[row], set())):
            yield finding(
                "unknown word",
                f"a foil of item {benchmark.item_id(rows.item[row])} names {name}, which training "
                f"lacks",
            )


_CAPTIONS = (
    "c",
    "n",
    "p",
)  # slots whose texts are compared with each other; every other slot is a separate question
# The other true captions of a pool of raw retrieval. They are as long as their own images'
# captions, so they may name more or fewer held-out compounds than this image's.
_OF_OTHER_IMAGES = "r"


def symmetry_findings(benchmark: Benchmark) -> Iterator[Finding]:
    """Items, or questions of an item, with unequally familiar texts; none if the manifest says
    `"equal_familiarity": false`.

    Two texts are equally familiar if they name equal numbers of held-out bindings and of held-out
    triples, and both or neither name an atom that training lacks.
    """
    if benchmark.manifest.get("equal_familiarity") is False:
        return
    rows = benchmark.candidates
    judged = np.flatnonzero((rows.item >= 0) & (rows.text >= 0))
    judged = judged[
        ~np.isin(benchmark.item_split[rows.item[judged]], (TRAIN, *ASYMMETRIC))
        & (benchmark.familiarity[rows.text[judged]] >= 0)
        & (rows.slot[judged] != _OF_OTHER_IMAGES)
    ]
    slots = sorted(set(rows.slot.tolist()))
    group_of = {slot: 0 if slot in _CAPTIONS else n for n, slot in enumerate(slots, 1)}
    group = np.array([group_of[slot] for slot in rows.slot[judged].tolist()], np.int64)
    yield from _unequal(
        benchmark, rows.item[judged], group, len(slots) + 1, rows.text[judged], rows.truth[judged]
    )


def asymmetry_findings(benchmark: Benchmark) -> Iterator[Finding]:
    """Texts that break the rule of asymmetric splits: in asymmetric_seen exactly the false texts
    name held-out content, in asymmetric_unseen exactly the true texts."""
    rows = benchmark.candidates
    for split, familiar in zip(ASYMMETRIC, (True, False), strict=True):
        judged = np.flatnonzero((rows.item >= 0) & (rows.text >= 0))
        judged = judged[benchmark.item_split[rows.item[judged]] == split]
        named = benchmark.familiarity[rows.text[judged]]
        for row in judged[
            (named >= 0) & ((named == 0) != (rows.truth[judged] == familiar))
        ].tolist():
            which = "true" if rows.truth[row] else "false"
            yield finding(
                "wrong familiarity",
                f"item {benchmark.item_id(rows.item[row])} of {split}: its {which} text "
                f"'{benchmark.text(rows.text[row])}' names "
                f"{_in_words({benchmark.named[rows.text[row]]})}",
            )


def _unequal(
    benchmark: Benchmark,
    item: np.ndarray,
    group: np.ndarray,
    groups: int,
    text: np.ndarray,
    truth: np.ndarray,
) -> Iterator[Finding]:
    """Questions with a familiarity that only true texts or only false texts have."""
    familiarity = benchmark.familiarity[text]
    width = int(familiarity.max(initial=0)) + 1
    question = item * groups + group
    key = question * width + familiarity
    lone = np.setxor1d(key[truth], key[~truth]) // width
    both = np.intersect1d(question[truth], question[~truth])
    found, order = np.intersect1d(lone, both), np.argsort(question, kind="stable")
    starts, ends = (
        np.searchsorted(question, found, side, order).tolist() for side in ("left", "right")
    )
    for n, start, end in zip(found.tolist(), starts, ends, strict=True):
        own = order[start:end]
        true, false = (
            {benchmark.named[row] for row in text[own[truth[own] == which]]}
            for which in (True, False)
        )
        yield finding(
            "asymmetric familiarity",
            f"item {benchmark.item_id(n // groups)}: its true texts name {_in_words(true)}, its "
            f"false ones {_in_words(false)}",
        )


def _in_words(named: set[Named | None]) -> str:
    return " or ".join(
        f"{each.bindings} held-out bindings"
        + (f" and {each.triples} triples" if each.triples else "")
        + (" and an atom that training lacks" if each.absent else "")
        for each in sorted(each for each in named if each)
    )
