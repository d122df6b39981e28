from generator.language.foils import Atom, Substitutes
from generator.language.form import Form, Link, Mention
from tests.generator.scenes import CATEGORIES, HOLDOUT, RELATIONS, VOCABULARY, facts_of, scene_of

FORM = Form(
    (Mention("cube", (("color", "red"), ("size", "large"))), Mention("cone"), Mention("torus", count=0)),
    (Link(0, "left", 1), Link(1, "front", 0, False)),
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


def test_substitute_categories_are_neither_in_the_scene_nor_named() -> None:
    found = ANY.of(FORM, Atom("object", 0, "shape"), FACTS)
    assert set(found) == set(CATEGORIES) - {"cube", "cone", "torus"}


def test_substitute_values_are_all_others_of_the_kind() -> None:
    assert set(ANY.of(FORM, Atom("attribute", 0, "color"), FACTS)) == set(VOCABULARY.values("color")) - {"red"}


def test_a_direction_gives_way_to_directions_whose_axis_is_free() -> None:
    atom = Atom("relation", 0, "relation")
    alone = Form(FORM.objects[:2], FORM.relations[:1])
    assert set(ANY.of(alone, atom, FACTS)) == {"right", "front", "behind"}
    assert ANY.of(FORM, atom, FACTS) == ["right"]
    near = Form(FORM.objects[:2], (Link(0, "near", 1),))
    assert Substitutes(RELATIONS).of(near, atom, FACTS) == ["far"]


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
