"""What licences of meshes require of images."""

import pytest

from generator.dataset.licences import OWN, licences_of_others


@pytest.mark.parametrize(
    ("licence", "words"),
    [
        ("CC BY-SA 3.0, A. Smith", "name the authors and what was changed, and keep this licence."),
        ("CC-BY-NC-SA-4.0", "keep this licence, and have no commercial aims."),
        ("CC BY 4.0", "to share them, name the authors and what was changed."),
        ("CC BY-ND 4.0", "which it lets nobody share"),
        ("CC0 1.0", "It asks nothing of images."),
        ("bought at a shop", "check whether it allows that"),
        ("not declared", "find out the licence before you share"),
    ],
)
def test_licences_of_others_lists_each_licence_with_its_requirement(
    licence: str, words: str
) -> None:
    bear_and_fox, crow = licences_of_others(
        {"licences": {"fox": licence, "crow": "CC0, B. Jones", "bear": licence}}
    )
    assert bear_and_fox.startswith(f"- fox, bear: {licence}. ")
    assert words in bear_and_fox
    assert crow == "- crow: CC0, B. Jones. It asks nothing of images."


def test_the_project_s_own_meshes_require_nothing() -> None:
    assert licences_of_others(None) == licences_of_others({"licences": {"fox": OWN}}) == []
