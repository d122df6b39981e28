"""A benchmark's own captions in a corpus: most benchmarks are made of captions that somebody published, and a corpus
that holds these has shown every true caption and no false one."""

import hashlib
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

from evaluator.audits.familiarity.corpora import CAPTIONS, Part, parts
from evaluator.audits.familiarity.corpus_files import Corpus
from evaluator.audits.familiarity.counting import Shown, count_texts, is_table
from evaluator.audits.familiarity.samples import Sample
from evaluator.captions.reading import Reading, normalised
from generator.base.files import read_json, write_json
from generator.base.progress import SILENT, Progress

MANY = 0.5
"""A corpus that holds this share of the true captions is where they are from."""


def true_captions(samples: Sequence[Sample]) -> set[str]:
    """The different true captions of samples, as they are compared."""
    return {normalised(sample.texts[0]) for sample in samples}


def own_texts(corpus: Corpus, captions: set[str], counts: Path, progress: Progress = SILENT) -> list[str]:
    """The captions of a corpus that are among `captions`, as often as they are there; tables and phrases have none.

    counts: the corpus's folder of counts (`count_corpus`), where they are kept.
    """
    digest = hashlib.sha256("\n".join(sorted(captions)).encode()).hexdigest()[:16]
    kept = counts / f"own-{digest}.json"
    if not kept.exists():
        with progress.track("own captions", None) as advance:
            found = []
            for part in (part for file in corpus.files if not is_table(file) for part in parts(file)):
                found += [text for text in part.texts if part.kind == CAPTIONS and normalised(text) in captions]
                advance(len(part.texts))
        write_json(kept, {"texts": found})
    texts: list[str] = read_json(kept)["texts"]
    return texts


def without(shown: Shown, texts: list[str], reading: Reading) -> Shown:
    """What a corpus shows without some of its captions."""
    table, _ = count_texts(Part(Path(), 0, CAPTIONS, texts), reading)
    counts = dict(shown.counts)
    for attr, obj, *taken in zip(*(column.to_pylist() for column in table.columns), strict=True):
        if (attr, obj) in counts:
            perfect, close = counts[attr, obj]
            counts[attr, obj] = (perfect - taken[0], close - taken[1])
    return replace(shown, counts=counts)
