"""Captions and phrases of a reference corpus counted a second, for growing corpora and
vocabularies, and the memory that it takes."""

import json
import random
from collections import deque
from pathlib import Path

from bench.figures import Figure
from bench.scale import alone, processor_seconds
from evaluator.audits.familiarity.corpora import parts
from evaluator.audits.familiarity.corpus_files import find_corpus
from evaluator.audits.familiarity.counting import count_corpus, read_counts
from evaluator.provenance.noun_phrases import NounPhrases

CAPTIONS, PHRASES = 25_000, (100_000, 1_000_000, 10_000_000)
BINDINGS, ANNOTATIONS = 4_000_000, 600_000
_ADJECTIVES = [
    "red",
    "small",
    "white",
    "old",
    "wooden",
    "large",
    "striped",
    "empty",
    "young",
    "metal",
]
_NOUNS = ["dogs", "car", "table", "children", "street", "bowl", "sign", "bench", "horse", "window"]


def figures() -> list[Figure]:
    """One process; a second is one of the processor."""
    # Each in a process of its own, whose peak memory is that of one task.
    measured, memory = alone(_captions)
    rates = [
        Figure(f"{CAPTIONS:,} captions", "captions/CPU s", (CAPTIONS / measured["count"],)),
        Figure("its memory", "GiB", (memory,)),
    ]
    for n, task in zip(PHRASES, (_few, _many, _most), strict=True):
        measured, memory = alone(task)
        rates += [
            Figure(f"{n:,} phrases made elsewhere", "phrases/CPU s", (n / measured["count"],)),
            Figure("its memory", "GiB", (memory,)),
        ]
    counted, memory = alone(_vocabulary)
    read, most = alone(_streamed)
    return [
        *rates,
        Figure(
            f"{BINDINGS:,} different bindings, once each",
            "phrases/CPU s",
            (BINDINGS / counted["count"],),
        ),
        Figure("looking a thousand of them up", "CPU s", (counted["read"],)),
        Figure("their memory", "GiB", (memory,)),
        Figure(f"COCO's JSON of {read['megabytes']:.0f} MB read", "CPU s", (read["read"],)),
        Figure("its memory", "GiB", (most,)),
    ]


def _vocabulary(folder: Path) -> dict[str, float]:
    """Every phrase shows another binding."""
    with (folder / "phrases.jsonl").open("w") as file:
        for i in range(BINDINGS // 10):
            file.write(
                json.dumps({"phrases": [f"old{i % 997} thing{10 * i + n}" for n in range(10)]})
                + "\n"
            )
    corpus = find_corpus([folder / "phrases.jsonl"])
    counted = processor_seconds(lambda: count_corpus(corpus, folder / "out"))
    table, _ = count_corpus(corpus, folder / "out")
    bindings = {(f"old{i}", f"thing{10 * i}") for i in range(1000)}
    return {"count": counted, "read": processor_seconds(lambda: read_counts(table, bindings))}


def _streamed(folder: Path) -> dict[str, float]:
    path = folder / "captions.json"
    with path.open("w") as file:
        file.write('{"images": [], "annotations": [')
        for i in range(ANNOTATIONS):
            row = {
                "image_id": i,
                "id": i,
                "caption": (
                    f"a caption of image {i}, which is as long as captions of images are wont to "
                    f"be "
                )
                * 2,
            }
            file.write(json.dumps(row) + ("]}" if i == ANNOTATIONS - 1 else ", "))
    return {
        "megabytes": path.stat().st_size / 1e6,
        "read": processor_seconds(lambda: deque(parts(path), maxlen=0)),
    }


def _captions(folder: Path) -> dict[str, float]:
    stream = random.Random(0)
    lines = (
        f"A {stream.choice(_ADJECTIVES)} {stream.choice(_NOUNS)} standing next to two "
        f"{stream.choice(_ADJECTIVES)} and {stream.choice(_ADJECTIVES)} {stream.choice(_NOUNS)} "
        f"in front of a {stream.choice(_NOUNS)}."
        for _ in range(CAPTIONS)
    )
    (folder / "captions.txt").write_text("\n".join(lines))
    # Before the clock starts.
    NounPhrases()  # reads the lexicon
    return {
        "count": processor_seconds(
            lambda: count_corpus(find_corpus([folder / "captions.txt"]), folder / "out")
        )
    }


def _phrases(folder: Path, n: int) -> dict[str, float]:
    stream = random.Random(0)
    with (folder / "phrases.jsonl").open("w") as file:
        for _ in range(n // 10):
            phrases = [f"{stream.choice(_ADJECTIVES)} {stream.choice(_NOUNS)}" for _ in range(10)]
            file.write(json.dumps({"phrases": phrases}) + "\n")
    return {
        "count": processor_seconds(
            lambda: count_corpus(find_corpus([folder / "phrases.jsonl"]), folder / "out")
        )
    }


def _few(folder: Path) -> dict[str, float]:
    return _phrases(folder, PHRASES[0])


def _many(folder: Path) -> dict[str, float]:
    return _phrases(folder, PHRASES[1])


def _most(folder: Path) -> dict[str, float]:
    return _phrases(folder, PHRASES[2])
