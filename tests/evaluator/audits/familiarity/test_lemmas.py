"""Singular nouns."""

import pytest

from evaluator.audits.familiarity.lemmas import IRREGULAR, KEPT, singular


@pytest.mark.parametrize(
    ("plural", "single"),
    [
        ("dogs", "dog"),
        ("buses", "bus"),
        ("dishes", "dish"),
        ("benches", "bench"),
        ("boxes", "box"),
        ("glasses", "glasses"),
        ("classes", "class"),
        ("berries", "berry"),
        ("horses", "horse"),
        ("potatoes", "potato"),
        ("firemen", "fireman"),
        ("stepchildren", "stepchild"),
        ("geese", "goose"),
        ("specimen", "specimen"),
        ("skis", "ski"),
        ("taxis", "taxi"),
        ("bikinis", "bikini"),
        ("kiwis", "kiwi"),
        ("zucchinis", "zucchini"),
        ("menus", "menu"),
        ("emus", "emu"),
        ("tutus", "tutu"),
        ("plateaus", "plateau"),
        ("tennis", "tennis"),
        ("table-tennis", "table-tennis"),
        ("iris", "iris"),
        ("irises", "iris"),
        ("oasis", "oasis"),
        ("arthritis", "arthritis"),
        ("metropolis", "metropolis"),
        ("cactus", "cactus"),
        ("schoolbus", "schoolbus"),
        ("claus", "claus"),
        ("octopi", "octopus"),
        ("octopuses", "octopus"),
        ("walruses", "walrus"),
        ("houses", "house"),
        ("excuses", "excuse"),
        ("lice", "louse"),
        ("slice", "slice"),
        ("gasps", "gasp"),
        ("stamens", "stamen"),
        ("undies", "undies"),
        ("dwarves", "dwarf"),
        ("bookshelves", "bookshelf"),
        ("olives", "olive"),
        ("gloves", "glove"),
        ("canvases", "canvas"),
        ("mustaches", "mustache"),
        ("neckties", "necktie"),
        ("townspeople", "townsperson"),
        ("jack-o-lanterns", "jack-o-lantern"),
        ("grass", "grass"),
        ("scissors", "scissors"),
    ],
)
def test_plurals_become_singular(plural: str, single: str) -> None:
    assert singular(plural) == single
    assert singular(single) == single


def test_what_is_listed_is_settled() -> None:
    assert all(singular(noun) == noun for noun in KEPT)
    assert all(singular(plural) == single for plural, single in IRREGULAR.items())
