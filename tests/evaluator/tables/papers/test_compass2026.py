"""The tables of COMPASS show the rows and fits of the results."""

from evaluator.tables.sources import Source
from tests.evaluator.synthetic import find
from tests.evaluator.tables.conftest import cell, shows, tables_of


def test_the_gap_by_level_and_by_n(sources: list[Source]) -> None:
    tables, results = tables_of("compass2026", sources), sources[0].entries[0]
    for level, number in (("OA", "6"), ("OAR", "8")):
        for split in ("seen", "partial", "unseen"):
            of = {"level": level, "metric": "integration gap"}
            row = find(results, "integration", split, n=None, **of)
            mean = cell(tables["2"], [split, "dual", "scratch"], level)
            assert mean.numbers["value"] == row["value"]
            assert "±" in mean.text
            assert cell(tables[number], [f"mean, sd over n, {split}"], "Δ", "dual / scratch").numbers["value"] == row["value"]  # fmt: skip
            n = min(each["n"] for each in results["rows"] if each["protocol"] == "integration" and each["n"] and each["level"] == level and each["split"] == split)  # fmt: skip
            one = find(results, "integration", split, n=n, level=level, metric="R@1 composed")
            assert shows(cell(tables[number], [f"{n}, {split}"], "C", "dual / scratch"), one)
    assert "7" not in tables  # no captions of objects and relations


def test_skill_loads_by_level_and_count(sources: list[Source]) -> None:
    table, results = tables_of("compass2026", sources)["3"], sources[0].entries[0]
    for fit in (each for each in results["fits"] if each["split"] == "seen" and each["coefficients"]):
        label = [f"{fit['level']}, seen", "dual", "scratch"]
        for count in ("objects", "attributes", "relations"):
            shown = cell(table, label, f"β {count}", fit["skill"])
            coefficient = fit["coefficients"].get(f"n_{count}")
            if coefficient is None:
                assert shown.reason == "this count does not vary"
            else:
                assert shown.numbers["beta"] == coefficient["beta"]
                assert shown.stars == coefficient["stars_corrected"]
