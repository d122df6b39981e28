"""The tables of BindSplit show the rows of the results."""

from evaluator.tables.sources import Source
from tests.evaluator.synthetic import find
from tests.evaluator.tables.conftest import cell, shows, tables_of


def test_accuracy_and_pairs_by_split(sources: list[Source]) -> None:
    tables, results = tables_of("bindsplit2026", sources), sources[0].entries[0]
    label = ["dual", "scratch"]
    for head, split in (("Seen", "seen"), ("Partially unseen", "partial"), ("Unseen", "unseen")):
        assert shows(cell(tables["2"], label, head, "Binary accuracy"), find(results, "binary", split, kind="swap"))
        assert cell(tables["2"], label, head, "R@1").reason == "protocol 'retrieval' not in the benchmarks of its runs"
        for name in ("group", "text", "image"):
            row = find(results, "pairs", split, metric=name)
            assert shows(cell(tables["9"], ["swap", *label], name.capitalize(), head), row)
    gap = find(results, "pairs", "seen - unseen", metric="group")
    assert shows(cell(tables["10"], ["swap", *label], "Seen − unseen"), gap)


def test_table_4_has_the_finetuned_models_alone(sources: list[Source]) -> None:
    tuned = Source(("dual", "finetuned"), missing="not yet")
    table = tables_of("bindsplit2026", [*sources, tuned])["4"]
    assert [list(line.labels) for line in table.lines[:-4]] == [["dual", "finetuned"]]
