"""Ids, kinds and skills of items of known protocols; those of other protocols are let be, and named."""

from pathlib import Path

from tests.generator.judge.datasets import ask, judged, said

ITEM = {"c": [("a green cone", True)], "n": [("a blue cone", False)]}


def test_the_form_of_an_item_is_that_of_its_protocol(tmp_path: Path) -> None:
    root = ask(tmp_path / "a", "partial", ITEM, protocol="binary", kind="swap", skill="object")
    certificate = judged(root)
    assert said(certificate, "wrong form of item") == "item i: it is listed with the skill object"
    assert said(certificate, "wrong item id") == "item i: expected binary, its scene 000001, and a number"


def test_items_of_other_protocols_are_not_judged_by_form_and_the_certificate_says_so(tmp_path: Path) -> None:
    certificate = judged(ask(tmp_path / "a", "partial", ITEM, protocol="mine", kind="swap"))
    assert (certificate["status"], certificate["unjudged_protocols"]) == ("clean", ["mine"])
    assert "the form of items of mine not judged" in certificate["sentence"]
