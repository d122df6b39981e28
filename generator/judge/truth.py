"""Checks that texts can be read, and the truth of every candidate from its words and the recorded poses."""

from collections.abc import Iterator

import numpy as np

from generator.judge.benchmark import FALSE, TRUE, UNDECIDED, UNREADABLE, Benchmark
from generator.judge.findings import Finding, finding
from generator.judge.geometry import SceneGeometry
from generator.judge.lexicon import UnreadableError
from generator.judge.text_reader import read_text


def text_findings(benchmark: Benchmark) -> Iterator[Finding]:
    """Texts that cannot be read, or that have two readings."""
    for row, meaning in enumerate(benchmark.meanings):
        if meaning is None:
            try:
                read_text(benchmark.text(row), benchmark.lexicon)
            except UnreadableError as error:
                yield finding("unreadable text", f"text {benchmark.tables['texts']['text_id'][row]}: {error}")


def truth_findings(benchmark: Benchmark) -> Iterator[Finding]:
    """True texts that are false of their scene, false texts that are true of it, and undecided ones."""
    rows, verdicts = benchmark.candidates, benchmark.verdicts
    right = (verdicts == np.where(rows.truth, TRUE, FALSE)) | (verdicts == UNREADABLE)
    missing = (rows.item < 0) | (rows.scene < 0) | (rows.text < 0)
    for row in np.flatnonzero(missing | ~right).tolist():
        where = f"item {benchmark.listed(row, 'item_id')}, scene {benchmark.scene_id(row)}"
        if missing[row]:
            yield finding("missing row", f"{where}: its text, scene or item does not exist")
            continue
        kind = benchmark.listed(row, "kind")
        text = f"'{benchmark.text(rows.text[row])}'" + (f" ({kind})" if kind else "")
        listed = f"{where}: {text} is listed as {'true' if rows.truth[row] else 'false'}"
        shown = _objects(benchmark.shown[rows.scene[row]])
        if verdicts[row] == UNDECIDED:
            yield finding("undecided text", f"{listed}, and is undecided; the scene shows {shown}")
        else:
            yield finding(
                "false positive" if rows.truth[row] else "true negative", f"{listed}; the scene shows {shown}"
            )


def _objects(shown: SceneGeometry) -> str:
    return " and ".join(f"{' '.join(values.values())} {category}" for category, values in shown.objects)
