"""Numbers of result tables are written for people."""

from evaluator.report.tables.cells import chance, confidence, interval, is_gap, p_value, percent, signed, value, varying
from tests.evaluator.synthetic import Row

LABELS = {"error": None, "kind": None, "skill": None, "level": None, "n": None}
ROW: Row = {
    "protocol": "binary", "metric": "accuracy", **LABELS, "split": "seen", "unit": "share", "value": 0.5, "sd": None, "low": 0.4,
    "high": 0.6, "items": 1200, "clusters": 30, "ties": 3, "unscored": 0, "chance": 0.5, "p": 0.0312,
}  # fmt: skip


def test_labels_are_shown_where_rows_differ_in_them() -> None:
    assert varying([{**ROW, "kind": "swap"}, {**ROW, "kind": "flip"}]) == ["kind"]
    assert varying([{**ROW, "kind": "swap"}, {**ROW, "kind": "swap"}]) == []
    assert [is_gap({"split": split}) for split in ("seen", "seen - unseen")] == [False, True]


def test_numbers_are_written_for_people() -> None:
    assert [percent(x) for x in (0.0, 0.5, 1.0, 2 / 7392, 0.0009, 0.00101, None)] == [
        "0.0",
        "50.0",
        "100.0",
        "0.027",
        "0.09",
        "0.1",
        "–",
    ]
    assert interval({"low": 0.1234, "high": 1.0, "unit": "share"}) == "12.3 – 100.0"
    assert interval({"low": -0.1, "high": 0.2, "unit": "difference"}) == "-10.0, +20.0"
    assert interval({"low": None, "high": None, "unit": "share"}) == "–"
    assert value({"value": 0.5, "sd": 0.125, "unit": "share"}) == "50.0 ± 12.5"
    assert chance({"chance": None, "unit": "share"}) == "–"
    assert [signed(0.05), signed(-0.123)] == ["+5.0", "-12.3"]


def test_the_terminal_has_two_decimals() -> None:
    assert [percent(x, 2) for x in (0.0, 0.57142, 2 / 7392, 0.00005)] == ["0.00", "57.14", "0.03", "0.005"]
    assert interval({"low": 0.12345, "high": 1.0, "unit": "share"}, 2) == "12.35 – 100.00"
    assert value({"value": -0.12345, "sd": None, "unit": "difference"}, 2) == "-12.35"


def test_p_values_have_three_places_and_no_zero_before_the_point() -> None:
    assert [p_value(p) for p in (0.0123, 0.5, 0.001, 0.00099, 0.0005, 0.99949, 1.0, None)] == [
        ".012", ".500", ".001", "<.001", "<.001", ".999", "1", "–",
    ]  # fmt: skip


def test_a_level_is_a_percentage() -> None:
    assert [confidence({"rules": {"level": level}}) for level in (0.5, 0.9, 0.975, 0.999)] == [
        "50%",
        "90%",
        "97.5%",
        "99.9%",
    ]
    assert confidence({"rules": {}}) == "95%"
