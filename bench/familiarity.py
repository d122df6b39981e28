"""Captions and phrases of a reference corpus counted a second, for growing corpora, and the memory that it takes."""

import json
import random
from pathlib import Path

from bench.figures import Figure
from bench.scale import alone, processor_seconds
from evaluator.familiarity.corpus_files import find_corpus
from evaluator.familiarity.counting import count_corpus
from evaluator.familiarity.noun_phrases import NounPhrases

CAPTIONS, PHRASES = 25_000, (100_000, 1_000_000, 10_000_000)
_ADJECTIVES = ["red", "small", "white", "old", "wooden", "large", "striped", "empty", "young", "metal"]
_NOUNS = ["dogs", "car", "table", "children", "street", "bowl", "sign", "bench", "horse", "window"]


def figures() -> list[Figure]:
    """One process; a second is one of the processor."""
    found, memory = alone(_captions)
    rates = [
        Figure(f"{CAPTIONS:,} captions", "captions/CPU s", (CAPTIONS / found["count"],)),
        Figure("its memory", "GiB", (memory,)),
    ]
    for n, task in zip(PHRASES, (_few, _many, _most), strict=True):
        found, memory = alone(task)
        rates += [
            Figure(f"{n:,} phrases made elsewhere", "phrases/CPU s", (n / found["count"],)),
            Figure("its memory", "GiB", (memory,)),
        ]
    return rates


def _captions(folder: Path) -> dict[str, float]:
    stream = random.Random(0)
    lines = (
        f"A {stream.choice(_ADJECTIVES)} {stream.choice(_NOUNS)} standing next to two {stream.choice(_ADJECTIVES)} and "
        f"{stream.choice(_ADJECTIVES)} {stream.choice(_NOUNS)} in front of a {stream.choice(_NOUNS)}."
        for _ in range(CAPTIONS)
    )
    (folder / "captions.txt").write_text("\n".join(lines))
    NounPhrases()  # reads the lexicon
    return {"count": processor_seconds(lambda: count_corpus(find_corpus([folder / "captions.txt"]), folder / "out"))}


def _phrases(folder: Path, n: int) -> dict[str, float]:
    stream = random.Random(0)
    with (folder / "phrases.jsonl").open("w") as file:
        for _ in range(n // 10):
            phrases = [f"{stream.choice(_ADJECTIVES)} {stream.choice(_NOUNS)}" for _ in range(10)]
            file.write(json.dumps({"phrases": phrases}) + "\n")
    return {"count": processor_seconds(lambda: count_corpus(find_corpus([folder / "phrases.jsonl"]), folder / "out"))}


def _few(folder: Path) -> dict[str, float]:
    return _phrases(folder, PHRASES[0])


def _many(folder: Path) -> dict[str, float]:
    return _phrases(folder, PHRASES[1])


def _most(folder: Path) -> dict[str, float]:
    return _phrases(folder, PHRASES[2])
