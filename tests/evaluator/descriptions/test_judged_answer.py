"""An answer in one call: its atoms with verdicts and places."""

from evaluator.descriptions.judged_answer import judge_answer
from tests.generator.dataset.descriptions.scenes import image

TRUTH = image("cube red large metal", "sphere blue small rubber", right=(0, 1))


def test_atoms_have_verdicts_and_places() -> None:
    text = "A blue cube to the left of a small sphere. A red star. Perhaps more."
    judged = judge_answer(text, TRUTH)
    atoms = []
    for atom in judged.atoms:
        assert atom.span is not None
        atoms.append((atom.kind, text[slice(*atom.span)], atom.objects, str(atom.verdict)))
    assert atoms == [
        ("color", "blue", (0,), "exchanged"),
        ("shape", "cube", (0,), "right"),
        ("size", "small", (1,), "right"),
        ("shape", "sphere", (1,), "right"),
        ("color", "red", (2,), "unmatched"),
        ("shape", "star", (2,), "invented"),
        ("relation", "to the left of", (0, 1), "right"),
    ]
    (part,) = judged.description.unread
    assert text[part.start : part.end] == "Perhaps more."
    assert judged.measures.named == 2
    assert judged.measures.unread == 1


def test_json_has_no_places() -> None:
    judged = judge_answer('[{"category": "cube", "size": "small"}]', TRUTH)
    assert [(atom.value, str(atom.verdict), atom.span) for atom in judged.atoms] == [
        ("small", "exchanged", None),
        ("cube", "right", None),
    ]


def test_an_answer_that_cannot_be_read_has_a_result() -> None:
    judged = judge_answer("<think>" * 3, TRUTH)
    assert not judged.atoms
    assert judged.measures.unread == 1
    assert judged.measures.actual == 2
