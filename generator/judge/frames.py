"""Checks the items of the protocol `frames`, each by the frame of its kind.

`viewer` and `object`: the two images show one world from two sides; the captions are of one frame.
A viewer's caption is true of one image, a caption of the object's frame true of both or of none.
`assumed`: every caption is read in both frames, and is true in those that its candidate says.
"""

from collections import defaultdict
from collections.abc import Iterator, Sequence

from generator.judge.benchmark import ASSUMED, FRAMES_PROTOCOL, TRUE, Benchmark
from generator.judge.certificate import Finding, finding
from generator.judge.columns import labels
from generator.judge.decide import decide
from generator.judge.lexicon import FRAMES
from generator.judge.views import turn_between

_TRUTHS_OF_KIND = {"viewer": (True, False), "object": (False, True)}
"""By kind of a bare caption, whether it is true for the viewer, and for the object."""


def frame_findings(benchmark: Benchmark) -> Iterator[Finding]:
    """Items of `frames` whose images are not two sides of one world, or whose captions are not true
    as their kind says."""
    kinds = labels(benchmark.tables["items"]["kind"])
    rows_of_item: dict[int, list[int]] = defaultdict(list)
    is_frames = benchmark.protocols == FRAMES_PROTOCOL
    # Rows that name a missing scene or text are findings of other checks.
    for row in benchmark.candidates.complete.tolist():
        item = int(benchmark.candidates.item[row])
        if is_frames[item]:
            rows_of_item[item].append(row)
    for item, rows in rows_of_item.items():
        kind = str(kinds[item])
        if kind == ASSUMED:
            faults = _faults_of_bare_item(benchmark, rows)
        elif kind in FRAMES:
            faults = _faults_of_two_sides(benchmark, kind, rows)
        else:
            faults = iter([f"its kind '{kind}' is not one of the protocol"])
        for fault in faults:
            yield finding("wrong frame", f"item {benchmark.item_id(item)}: {fault}")


def _faults_of_two_sides(benchmark: Benchmark, kind: str, rows: Sequence[int]) -> Iterator[str]:
    """What is wrong with an item of two images and two captions."""
    candidates = benchmark.candidates
    scenes = sorted({int(candidates.scene[row]) for row in rows})
    texts = sorted({int(candidates.text[row]) for row in rows})
    if len(scenes) != 2 or len(texts) != 2 or len(rows) != 4:
        yield "expected two images, each with two captions"
        return
    first, second = (benchmark.scenes[scene] for scene in scenes)
    if turn_between(first, second) is None:
        yield "its images do not show one world from two sides"

    n_true = dict.fromkeys(texts, 0)
    for row in rows:
        n_true[int(candidates.text[row])] += int(benchmark.verdicts[row] == TRUE)
    # The two sides exchange the viewer's left and right, and leave the object's own as it is.
    expected = [1, 1] if kind == "viewer" else [0, 2]
    if sorted(n_true.values()) != expected:
        yield f"its captions do not {'exchange' if kind == 'viewer' else 'keep'} their truth"
    for text in texts:
        meaning = benchmark.meanings[text]
        named: set[str] = set()
        if meaning is not None:
            named = {relation for _, relation, *_ in meaning.relations}
        # A caption of the other frame could have the same truths by chance.
        if not named or not named <= {*FRAMES[kind]}:
            yield f"'{benchmark.text(text)}' does not name the frame of the {kind}"


def _faults_of_bare_item(benchmark: Benchmark, rows: Sequence[int]) -> Iterator[str]:
    """What is wrong with an item of one image and captions without a frame."""
    candidates = benchmark.candidates
    named_kinds = [str(benchmark.listed(row, "kind")) for row in rows]
    if len({int(candidates.scene[row]) for row in rows}) != 1:
        yield "expected one image"
    if sorted(named_kinds) != sorted(_TRUTHS_OF_KIND):
        yield "expected one caption for each frame"
    for row, kind in zip(rows, named_kinds, strict=True):
        text = benchmark.text(int(candidates.text[row]))
        truths = []
        for frame in FRAMES:
            meaning = benchmark.meaning_of(text, benchmark.bare_lexicons[frame])
            scene = benchmark.scenes[int(candidates.scene[row])]
            truths.append(None if meaning is None else decide(meaning, scene))
        # True in both frames, or in none, it would not tell which one a model assumes.
        if tuple(truths) != _TRUTHS_OF_KIND.get(kind):
            yield (
                f"'{text}' is listed as true for {kind}, and is {_in_words(truths[0])} for the "
                f"viewer and {_in_words(truths[1])} for the object"
            )


def _in_words(truth: bool | None) -> str:
    return {True: "true", False: "false", None: "undecided"}[truth]
