import pytest

from generator.language.foils import Atom, Foils, Substitutes
from generator.language.form import Form, Link, Mention
from generator.language.grammar import Grammar
from generator.scene.layouts import can_carry
from tests.generator.scenes import (
    CATEGORIES,
    HOLDOUT,
    RELATIONS,
    VOCABULARY,
    facts_of,
    form_of,
    scene_of,
)

FOILS = Foils(VOCABULARY, Substitutes(VOCABULARY))
GRAMMAR = Grammar(VOCABULARY)
PAIR, RELATED = (
    form_of("a red cube and a blue cone"),
    form_of("a cube that is to the left of a cone"),
)


def words(form: Form) -> str:
    return GRAMMAR.realise(form, "that-is" if form.relations else "a-and-a")


def test_atoms_are_replaced_one_at_a_time() -> None:
    shape = FOILS.replace_atom(PAIR, Atom("object", 1, "shape"), "torus")
    color = FOILS.replace_atom(PAIR, Atom("attribute", 0, "color"), "gray", "attribute")
    side = FOILS.replace_atom(RELATED, Atom("relation", 0, "relation"), "behind")
    assert words(shape.form) == "a red cube and a blue torus"
    assert (words(color.form), color.kind) == ("a gray cube and a blue cone", "attribute")
    assert words(side.form) == "a cube that is behind a cone"
    assert (shape.changed, shape.kind) == (("1:shape:cone>torus",), "atom")
    assert (color.changed, side.changed) == (("0:color:red>gray",), ("0-1:relation:left>behind",))


def test_values_are_exchanged() -> None:
    foil = FOILS.exchange_values(PAIR, "color")
    assert words(foil.form) == "a blue cube and a red cone"
    assert (foil.changed, foil.kind) == (("0:color:red>blue", "1:color:blue>red"), "swap")


def test_ends_are_exchanged_and_relations_flipped() -> None:
    order, flip = FOILS.exchange_ends(RELATED, 0), FOILS.flip_relation(RELATED, 0)
    assert (words(order.form), order.changed, order.kind) == (
        "a cone that is to the left of a cube",
        ("0-1:order",),
        "order",
    )
    assert words(flip.form) == "a cube that is to the right of a cone"
    assert (flip.changed, flip.kind) == (("0-1:relation:left>right",), "flip")


def test_a_compound_is_split_over_two_objects_and_later_relations_move() -> None:
    foil = FOILS.split_compound(PAIR, Atom("attribute", 0, "color"), value="gray", category="torus")
    assert words(foil.form) == "a gray cube, a red torus and a blue cone"
    assert (foil.changed, foil.kind) == (("0:color:red>gray", "0:shape:cube>torus"), "comp")
    related = form_of("There is a red cube and a cone. The cone is to the left of the cube.")
    assert FOILS.split_compound(
        related, Atom("attribute", 0, "color"), value="gray", category="torus"
    ).form.relations == (Link(2, "left", 0),)


def test_a_relation_is_split_over_two_relations_of_four_objects() -> None:
    foil = FOILS.split_relation(
        RELATED,
        (Atom("object", 0, "shape"), "star"),
        (Atom("relation", 0, "relation"), "behind"),
    )
    assert foil.form == Form(
        (Mention("star"), Mention("cone"), Mention("cube"), Mention("cone")),
        (Link(0, "left", 1), Link(2, "behind", 3)),
    )
    assert (foil.changed, foil.kind) == (
        ("0:shape:cube>star", "0-1:relation:left>behind"),
        "comp",
    )


def test_atoms_are_denied_but_not_objects_in_relations() -> None:
    assert (
        words(FOILS.deny(PAIR, Atom("attribute", 0, "color")))
        == "a cube that is not red and a blue cone"
    )
    assert words(FOILS.deny(PAIR, Atom("object", 0, "shape"))) == "no red cube and a blue cone"
    assert (
        words(FOILS.deny(RELATED, Atom("relation", 0, "relation")))
        == "a cube that is not to the left of a cone"
    )
    assert FOILS.deniable(RELATED) == [Atom("relation", 0, "relation")]
    assert len(FOILS.deniable(PAIR)) == 4


@pytest.mark.parametrize(
    ("text", "texts"),
    [
        ("a cube and a cone", {"a cone and a cube"}),
        ("a red cube and a cone", {"a red cone and a cube", "a cube and a red cone"}),
        # four atoms: the permutation of two objects is their exchange
        (
            "a red cube and a blue cone",
            {"a red cone and a blue cube", "a blue cube and a red cone"},
        ),
        ("a cube that is to the left of a cone", {"a cone that is to the left of a cube"}),
    ],
)
def test_swaps_exchange_objects_and_values_and_move_attributes(text: str, texts: set[str]) -> None:
    swaps = FOILS.all_swaps(form_of(text))
    assert {words(foil.form) for foil in swaps} == texts
    assert {foil.kind for foil in swaps} == {"swap"}
    assert (
        len(FOILS.all_swaps(form_of("a cube, a cone, a torus and a star"))) == 23
    )  # every permutation


THREE = (Mention("cube"), Mention("cone"), Mention("torus"))


@pytest.mark.parametrize(
    ("form", "n_swaps"),
    [
        # Three exchanges of two objects, two moves of the attribute, two cyclic permutations.
        (form_of("a red cube, a cone and a torus"), 7),
        # Three exchanges of two objects, two cyclic permutations.
        (Form(THREE, (Link(0, "left", 1),)), 5),
        # Five atoms: three exchanges of objects, one of colours, two moves, no permutations.
        (form_of("a red cube, a blue cone and a torus"), 6),
        # Three atoms: three exchanges of two objects.
        (Form(THREE), 3),
    ],
)
def test_only_captions_of_four_atoms_have_their_objects_permuted_in_any_way(
    form: Form, n_swaps: int
) -> None:
    forms = [foil.form for foil in FOILS.all_swaps(form)]
    assert len(forms) == len(set(forms)) == n_swaps
    assert form not in forms


def test_stacks_that_no_scene_can_have_are_impossible_in_either_direction() -> None:
    foils = Foils(RELATIONS, Substitutes(RELATIONS))
    names = list(RELATIONS.objects)
    for lower, upper in ((a, b) for a in names for b in names):
        for relation, ends in (("on", (upper, lower)), ("beneath", (lower, upper))):
            form = Form(tuple(Mention(name) for name in ends), (Link(0, relation, 1),))
            assert foils.is_possible(form) == can_carry(RELATIONS, lower, upper)
    assert foils.is_possible(RELATED)


FORM = form_of(
    "There is a large red cube, a cone and no torus. The cube is to the left of the cone. The cone "
    "is not in front of the cube."
)
FACTS = facts_of(scene_of(("cube", {"color": "red"}), ("cone", {})))
ANY = Substitutes(VOCABULARY)


def test_atoms_are_asserted_of_single_objects_in_order_of_mention() -> None:
    atoms = [
        Atom("object", 0, "shape"),
        Atom("attribute", 0, "color"),
        Atom("attribute", 0, "size"),
        Atom("object", 1, "shape"),
        Atom("relation", 0, "relation"),
    ]
    assert ANY.atoms(FORM) == atoms
    assert [ANY.value(FORM, atom) for atom in atoms] == ["cube", "red", "large", "cone", "left"]
    assert ANY.atoms(FORM, ("attribute",)) == atoms[1:3]


def test_substitutes_are_all_other_values_and_categories_neither_in_the_scene_nor_named() -> None:
    categories = ANY.alternatives(FORM, Atom("object", 0, "shape"), FACTS)
    assert set(categories) == set(CATEGORIES) - {"cube", "cone", "torus"}
    assert set(ANY.alternatives(FORM, Atom("attribute", 0, "color"), FACTS)) == set(
        VOCABULARY.values("color")
    ) - {"red"}


def test_a_direction_gives_way_to_directions_whose_axis_is_free() -> None:
    atom = Atom("relation", 0, "relation")
    alone = Form(FORM.objects[:2], FORM.relations[:1])
    assert set(ANY.alternatives(alone, atom, FACTS)) == {"right", "front", "behind"}
    assert ANY.alternatives(FORM, atom, FACTS) == ["right"]
    near = Form(FORM.objects[:2], (Link(0, "near", 1),))
    assert Substitutes(RELATIONS).alternatives(near, atom, FACTS) == ["far"]


def test_relations_of_any_axes_keep_the_slots_of_both_objects_apart() -> None:
    substitutes, atom = Substitutes(RELATIONS), Atom("relation", 0, "relation")
    every = range(len(substitutes.axes.relations))
    alone = Form(FORM.objects[:2], FORM.relations[:1])
    assert set(substitutes.relations(alone, atom, every)) == set(RELATIONS.relations) - {"left"}
    close = Form(FORM.objects[:2], (*FORM.relations, Link(1, "near", 0)))
    assert substitutes.relations(close, atom, every) == ["right"]


def test_with_a_holdout_names_stay_on_their_side_of_the_block() -> None:
    held = Substitutes(VOCABULARY, HOLDOUT)
    assert set(held.categories(HOLDOUT.objects[0])) == set(HOLDOUT.objects)
    assert set(held.values(HOLDOUT.kind, HOLDOUT.values[0])) == set(HOLDOUT.values)
    free = next(name for name in CATEGORIES if name not in HOLDOUT.objects)
    assert set(held.categories(free)) == set(CATEGORIES) - set(HOLDOUT.objects)
    assert held.values("size", "large") == VOCABULARY.values("size")
