"""Checks that training shows every word that evaluation asks, or that the manifest declares those that it does not."""

from collections import defaultdict
from collections.abc import Iterable, Iterator

import numpy as np

from generator.judge.benchmark import Benchmark
from generator.judge.files import labels, places
from generator.judge.findings import Finding, finding

_NAMED = 5


def word_findings(benchmark: Benchmark) -> Iterator[Finding]:
    """Words of evaluation texts that are in no training text and not declared, and words that are declared and are in one.

    A benchmark without training texts has no such words.
    """
    texts = _texts_by_protocol(benchmark)
    trained = texts.pop(None, set())
    if not trained:
        return
    known = _words(benchmark, trained)
    declared = benchmark.manifest.get("unknown_words", {})
    found = {str(protocol): _words(benchmark, rows) - known for protocol, rows in texts.items()}
    for protocol in sorted({*found, *declared}):
        told = {*declared.get(protocol, [])}
        for words, what in (
            (found.get(protocol, set()) - told, "evaluation words that no training text has, undeclared"),
            (told - found.get(protocol, set()), "declared as unknown to training, and not so"),
        ):
            if words:
                named = ", ".join(sorted(words)[:_NAMED]) + ", ..." * (len(words) > _NAMED)
                yield finding("unknown word", f"protocol {protocol}: {what}: {named}")


def _texts_by_protocol(benchmark: Benchmark) -> dict[str | None, set[int]]:
    """Rows of the texts of each protocol, candidates and pools; None for training."""
    found: dict[str | None, set[int]] = defaultdict(set)
    rows, protocols = benchmark.candidates, benchmark.protocols
    judged = (rows.item >= 0) & (rows.text >= 0)
    for protocol in dict.fromkeys(protocols.tolist()):
        of = protocols == protocol
        for trains, name in ((True, None), (False, protocol)):
            own = of & (benchmark.trains == trains)
            found[name].update(np.unique(rows.text[judged & own[rows.item]]).tolist())
    pools = benchmark.tables["pools"]
    named, text = labels(pools["pool_id"]), places(pools["text_id"], benchmark.tables["texts"]["text_id"])
    asked = labels(benchmark.tables["items"]["pool_id"])
    evaluated = ~benchmark.trains
    for protocol, pool in dict.fromkeys(zip(protocols[evaluated].tolist(), asked[evaluated].tolist(), strict=True)):
        if pool is not None:
            found[protocol].update(np.unique(text[(named == pool) & (text >= 0)]).tolist())
    return found


def _words(benchmark: Benchmark, rows: Iterable[int]) -> set[str]:
    """The words of some texts, in lower case and without punctuation."""
    column = benchmark.tables["texts"]["text"]
    tokens: set[str] = set()
    for text in column.take(np.fromiter(rows, np.int64)).to_pylist():
        tokens.update(text.split())
    return {token.strip(".,").lower() for token in tokens}
