"""Makes a holdout of what `--holdout` lists: named combinations, and blocks drawn by seed."""

from collections.abc import Sequence
from dataclasses import replace
from itertools import permutations

from generator.base.errors import UserError
from generator.base.streams import Stream
from generator.dataset.own_frames import other_triples
from generator.dataset.relations import AXIS_OF
from generator.holdout.holdout import Binding, Holdout, Triple, closed
from generator.holdout.possible import splits_that_stay_empty
from generator.holdout.syntax import (
    ASYMMETRIC,
    ATOMS,
    NONE,
    AsymmetricSplits,
    DrawnAtoms,
    DrawnBindings,
    DrawnOwnFrames,
    DrawnTriples,
    HoldoutPart,
    NamedBindings,
    NamedOwnFrame,
    NamedTriple,
    own_directions,
    parse_part,
    plannable_relations,
)
from generator.vocabulary.schema import Vocabulary


def default_block(vocabulary: Vocabulary) -> str:
    """Return a block of 3x3, or smaller if that would hold out every value or object."""
    values, objects = len(vocabulary.values(vocabulary.tested)), len(vocabulary.objects)
    return f"{min(3, values - 1)}x{min(3, objects - 1)}"


def draw_block(
    holdout_options: str | Sequence[str],
    vocabulary: Vocabulary,
    block_seed: int,
    opposites: bool = True,
) -> Holdout:
    """Return one holdout of everything that the options list, with sizes drawn by seed.

    Args:
        holdout_options: One or several texts in the grammar of `generator.holdout.syntax`; `none`
            alone holds out nothing.
        vocabulary: The vocabulary whose values, objects and relations are held out.
        block_seed: The seed of what is drawn. Named combinations do not depend on it.
        opposites: Whether triples are also closed under the opposite relation, besides the
            converse.

    Raises:
        UserError: A text is malformed, or the blocks would leave a value or object without a seen
            binding, or training without scenes.

    >>> from generator.vocabulary.schema import read_vocabulary
    >>> draw_block("color=gray,blue shape=cube", read_vocabulary("clevr"), 0).bindings
    (('gray', 'cube'), ('blue', 'cube'))
    """
    if isinstance(holdout_options, str):
        holdout_options = (holdout_options,)
    specs = tuple(option.strip() for option in holdout_options)
    if specs == (NONE,):
        return Holdout(vocabulary.tested, vocabulary.category, asked=specs)
    parts = [parse_part(spec, vocabulary) for spec in specs]
    holdout = Holdout(
        vocabulary.tested,
        vocabulary.category,
        block_seed=block_seed,
        opposites=opposites,
        asked=tuple(_full_size(part, vocabulary) for part in parts),
    )
    # In this order whatever the order of the texts: pairs prefer held-out objects, and atoms are
    # drawn from the rest.
    holdout = _with_bindings(holdout, parts, vocabulary)
    holdout = _with_triples(holdout, parts, vocabulary)
    holdout = _with_own_frames(holdout, parts, vocabulary)
    holdout = _with_atoms(holdout, parts, vocabulary)
    # Atoms and asymmetric splits only go beside a block.
    if not holdout.bindings and not holdout.triples:
        raise UserError(
            f"--holdout {' '.join(specs)} holds out no combination; add a block such as 3x3, or "
            f"give --holdout {NONE} alone for one split without training."
        )
    asymmetric = any(isinstance(part, AsymmetricSplits) for part in parts)
    if asymmetric and not holdout.bindings:
        raise UserError(f"--holdout {ASYMMETRIC} needs a block of bindings; add one such as 3x3.")
    return replace(holdout, asymmetric=asymmetric or needs_asymmetric_splits(holdout))


def needs_asymmetric_splits(holdout: Holdout) -> bool:
    """Return whether only asymmetric splits can show the held-out bindings, since `unseen` would
    stay empty."""
    return bool(holdout.bindings) and "unseen" in splits_that_stay_empty(holdout)


def check_leaves_seen(spec: str, holdout: Holdout, vocabulary: Vocabulary) -> None:
    """Raise UserError if a value or object has no seen binding left: training could then never show
    it.

    Args:
        spec: What the user gave, for the message.
        holdout: The holdout to check.
        vocabulary: Its vocabulary.
    """
    values, objects = vocabulary.values(holdout.kind), list(vocabulary.objects)
    for value in values:
        if holdout.objects_with(value) >= {*objects}:
            raise UserError(
                f"--holdout {spec} would leave the held-out value '{value}' without a seen "
                f"binding; keep at least one {vocabulary.category} with it in training."
            )
    for object_name in objects:
        if holdout.values_with(object_name) >= {*values}:
            raise UserError(
                f"--holdout {spec} would leave the held-out object '{object_name}' without a seen "
                f"binding; keep at least one {holdout.kind} with it in training."
            )


def _full_size(part: HoldoutPart, vocabulary: Vocabulary) -> str:
    """Return the text of a part, in which the size of a block names its kind: 3x3 is
    color:shape=3x3."""
    if isinstance(part, DrawnBindings):
        return f"{part.kind}:{vocabulary.category}={part.rows}x{part.columns}"
    return part.spec


def _with_bindings(
    holdout: Holdout, parts: Sequence[HoldoutPart], vocabulary: Vocabulary
) -> Holdout:
    """Return the holdout with the bindings of its parts: one drawn block, or all that are named."""
    drawn_parts = [part for part in parts if isinstance(part, DrawnBindings)]
    named_parts = [part for part in parts if isinstance(part, NamedBindings)]
    if len(drawn_parts) > 1:
        raise UserError(
            f"--holdout {drawn_parts[1].spec}: a second block of bindings is not possible; give "
            f"one, and relation:pair=2x3 beside it."
        )
    if drawn_parts and named_parts:
        raise UserError(
            f"--holdout {drawn_parts[0].spec} is drawn by seed and {named_parts[0].spec} is named; "
            f"give a size or names, not both."
        )
    if drawn_parts:
        return _draw_bindings(holdout, drawn_parts[0], vocabulary)
    return _name_bindings(holdout, named_parts, vocabulary) if named_parts else holdout


def _name_bindings(
    holdout: Holdout, named_parts: Sequence[NamedBindings], vocabulary: Vocabulary
) -> Holdout:
    kind = named_parts[0].kind
    for part in named_parts:
        if part.kind != kind:
            raise UserError(
                f"--holdout {named_parts[0].spec} is about {kind} and {part.spec} about "
                f"{part.kind}; a benchmark tests one attribute kind, so leave one out and hold it "
                f"out in another benchmark (gen split)."
            )
    bindings: tuple[Binding, ...] = tuple(
        dict.fromkeys(binding for part in named_parts for binding in part.bindings)
    )
    named_out = replace(
        holdout,
        kind=kind,
        values=tuple(dict.fromkeys(value for value, _ in bindings)),
        objects=tuple(dict.fromkeys(object_name for _, object_name in bindings)),
        bindings=bindings,
    )
    check_leaves_seen(" ".join(part.spec for part in named_parts), named_out, vocabulary)
    return named_out


def _draw_bindings(holdout: Holdout, part: DrawnBindings, vocabulary: Vocabulary) -> Holdout:
    values, objects = vocabulary.values(part.kind), list(vocabulary.objects)
    _check_size(part.spec, part.rows, what=part.kind, available=len(values), starved="object")
    _check_size(
        part.spec,
        part.columns,
        what=vocabulary.category,
        available=len(objects),
        starved=f"value of {part.kind}",
    )
    # The key has the size too: another size draws another block, not a part of this one.
    stream = Stream("block", holdout.block_seed, part.kind, part.rows, part.columns)
    chosen_values = tuple(stream.sample(values, part.rows))
    chosen_objects = tuple(stream.sample(objects, part.columns))
    bindings = tuple(
        (value, object_name) for value in chosen_values for object_name in chosen_objects
    )
    return replace(
        holdout, kind=part.kind, values=chosen_values, objects=chosen_objects, bindings=bindings
    )


def _check_size(spec: str, size: int, *, what: str, available: int, starved: str) -> None:
    if available < 3:
        raise UserError(
            f"--holdout {spec}: {what} has only {available} values, and a block needs at least 3; "
            f"use another kind."
        )
    if size < 2:
        raise UserError(
            f"--holdout {spec}: with {size} {what} held out no scene of two different objects can "
            f"have both bindings held out, so the unseen split would be empty; hold out at least "
            f"2, or name what to hold out, such as gray:cube."
        )
    if size >= available:
        raise UserError(
            f"--holdout {spec}: {size} of the {available} values of {what} would leave a held-out "
            f"{starved} without a seen binding; hold out at most {available - 1}."
        )


def _with_triples(
    holdout: Holdout, parts: Sequence[HoldoutPart], vocabulary: Vocabulary
) -> Holdout:
    """Return the holdout with the relation triples of its parts: one drawn block, or all that are
    named."""
    drawn_parts = [part for part in parts if isinstance(part, DrawnTriples)]
    named_parts = [part for part in parts if isinstance(part, NamedTriple)]
    if not drawn_parts and not named_parts:
        return holdout
    if len(drawn_parts) > 1:
        raise UserError(
            f"--holdout {drawn_parts[1].spec}: a second block of relations is not possible; give "
            f"one block."
        )
    if drawn_parts and named_parts:
        raise UserError(
            f"--holdout {drawn_parts[0].spec} is drawn by seed and {named_parts[0].spec} is named; "
            f"give a size or names, not both."
        )
    spec = drawn_parts[0].spec if drawn_parts else named_parts[0].spec
    # Only planned relations can be kept out of training.
    if vocabulary.placement.orders == "free":
        raise UserError(
            f"--holdout {spec}: the family '{vocabulary.name}' leaves front and behind to chance "
            f'(orders = "free"), '
            "so no relation can be kept out of training; take a family with planned orders, such "
            "as clevr-many."
        )
    triples = (
        _draw_triples(holdout, drawn_parts[0], vocabulary)
        if drawn_parts
        else _name_triples(named_parts, vocabulary)
    )
    return replace(holdout, triples=closed(triples, vocabulary, holdout.opposites))


def _name_triples(named_parts: Sequence[NamedTriple], vocabulary: Vocabulary) -> list[Triple]:
    from generator.scene.layouts import can_hold  # here, since it loads NetworkX

    for part in named_parts:
        subject, relation, object_name = part.triple
        if not can_hold(vocabulary.relations[relation], subject, object_name, vocabulary):
            raise UserError(
                f"--holdout {part.spec}: '{relation}' never holds between {subject} and "
                f"{object_name} in this family, so there is nothing to hold out; name other "
                f"objects, or give them a flat top."
            )
    return [part.triple for part in named_parts]


def _draw_triples(holdout: Holdout, part: DrawnTriples, vocabulary: Vocabulary) -> list[Triple]:
    from generator.scene.layouts import can_hold  # here, since it loads NetworkX

    # Ordered, since (cube, left, sphere) and (sphere, left, cube) are two facts.
    pairs = list(permutations(vocabulary.objects, 2))
    names = plannable_relations(vocabulary)
    if not 1 <= part.rows <= len(names):
        raise UserError(
            f"--holdout {part.spec}: the family '{vocabulary.name}' has {len(names)} relations "
            f"that can be held out ({', '.join(names)}); hold out 1 to {len(names)} of them, or "
            f"take a family with more, such as clevr-relations."
        )
    if not 1 <= part.columns < len(pairs):
        raise UserError(
            f"--holdout {part.spec}: there are {len(pairs)} ordered pairs of objects; hold out 1 "
            f"to {len(pairs) - 1}."
        )
    stream = Stream("relation block", holdout.block_seed, part.rows, part.columns)
    chosen = stream.sample(names, part.rows)
    possible = []
    # Of some pairs a relation never holds: nothing rests on a cone.
    for pair in stream.shuffled(pairs):
        if all(can_hold(vocabulary.relations[name], *pair, vocabulary) for name in chosen):
            possible.append(pair)
    if len(possible) < part.columns:
        raise UserError(
            f"--holdout {part.spec}: only {len(possible)} ordered pairs of objects allow "
            f"{' and '.join(chosen)}; hold "
            "out fewer pairs, take another --block-seed, or give more objects a flat top."
        )
    # If bindings are held out too, prefer their objects; otherwise no scene has both.
    possible.sort(key=lambda pair: not {*pair} <= {*holdout.objects})
    return [
        (subject, name, object_name)
        for name in chosen
        for subject, object_name in possible[: part.columns]
    ]


def _with_own_frames(
    holdout: Holdout, parts: Sequence[HoldoutPart], vocabulary: Vocabulary
) -> Holdout:
    """Return the holdout with the directions of its parts in the own frames of objects: one drawn
    block, or all that are named."""
    drawn_parts = [part for part in parts if isinstance(part, DrawnOwnFrames)]
    named_parts = [part for part in parts if isinstance(part, NamedOwnFrame)]
    if not drawn_parts and not named_parts:
        return holdout
    specs = [part.spec for part in drawn_parts] + [part.spec for part in named_parts]
    if holdout.triples:
        raise UserError(
            f"--holdout {specs[0]} is about directions in an object's own frame, and another "
            f"--holdout about relations of two objects; hold out one of the two."
        )
    if len(drawn_parts) > 1 or (drawn_parts and named_parts):
        raise UserError(
            f"--holdout {specs[1]}: beside the drawn block {specs[0]} no other direction can be "
            f"held out; give one block, or only names."
        )
    pairs = [(part.direction, part.ground) for part in named_parts]
    if drawn_parts:
        pairs = _draw_own_frames(holdout, drawn_parts[0], vocabulary)
    # Any subject stands for all of them, which the closure adds.
    subject = next(iter(vocabulary.objects))
    triples = [(subject, direction, ground) for direction, ground in pairs]
    holdout = replace(holdout, triples=closed(triples, vocabulary, holdout.opposites))
    check_own_frames(" ".join(specs), holdout, vocabulary)
    return holdout


def _draw_own_frames(
    holdout: Holdout, part: DrawnOwnFrames, vocabulary: Vocabulary
) -> list[tuple[str, str]]:
    """Draw an axis, such as left and right, and the objects in whose frame it is held out."""
    directions = own_directions(part.spec, vocabulary)
    if not 1 <= part.rows <= 2:
        raise UserError(
            f"--holdout {part.spec}: hold out 1 or 2 directions, which are opposite; more would "
            f"leave training no direction in which an object may look."
        )
    if not 1 <= part.columns < len(vocabulary.objects):
        raise UserError(
            f"--holdout {part.spec}: the family '{vocabulary.name}' has {len(vocabulary.objects)} "
            f"objects, and training needs one in whose frame it shows every direction; hold out "
            f"those of 1 to {len(vocabulary.objects) - 1}."
        )
    stream = Stream("own frames", holdout.block_seed, part.rows, part.columns)
    direction = stream.sample(directions, 1)[0]
    chosen = (direction, vocabulary.relations[direction].opposite)[: part.rows]
    grounds = stream.shuffled(list(vocabulary.objects))
    # If bindings are held out too, prefer their objects; otherwise no scene has both.
    grounds.sort(key=lambda ground: ground not in holdout.objects)
    return [(name, ground) for ground in grounds[: part.columns] for name in chosen]


def check_own_frames(spec: str, holdout: Holdout, vocabulary: Vocabulary) -> None:
    """Check that training may show every object, and every direction in some object's own frame.

    Args:
        spec: What the user gave, for the message.
        holdout: The holdout to check.
        vocabulary: Its vocabulary.

    Raises:
        UserError: Both axes of an object are held out, or a direction of all objects.
    """
    grounds_of: dict[str, set[str]] = {}
    for ground, directions in holdout.own_frames.items():
        if len({AXIS_OF[direction] for direction in directions}) > 1:
            raise UserError(
                f"--holdout {spec} holds out both axes of {ground}, left and right as well as in "
                f"front and behind, so training could not show it beside anything; hold out one "
                f"axis."
            )
        for direction in directions:
            grounds_of.setdefault(direction, set()).add(ground)
    for direction, grounds in grounds_of.items():
        if grounds >= {*vocabulary.objects}:
            raise UserError(
                f"--holdout {spec} would leave '{direction}' without an object of which training "
                f"shows it; keep at least one {vocabulary.category} in training."
            )


def _with_atoms(holdout: Holdout, parts: Sequence[HoldoutPart], vocabulary: Vocabulary) -> Holdout:
    """Return the holdout with the values and objects that training never shows."""
    drawn_parts = [part for part in parts if isinstance(part, DrawnAtoms)]
    if not drawn_parts:
        return holdout
    part = drawn_parts[0]
    if len(drawn_parts) > 1:
        raise UserError(
            f"--holdout {drawn_parts[1].spec}: a second number of unseen atoms is not possible; "
            f"give one number."
        )
    # Atoms are drawn beside the block: a held-out binding needs both its names in training.
    values = [value for value in vocabulary.values(holdout.kind) if value not in holdout.values]
    in_use = set(holdout.objects)
    for subject, _, other in other_triples(holdout.triples):
        in_use |= {subject, other}
    in_use |= {*holdout.own_frames}
    objects = [name for name in vocabulary.objects if name not in in_use]
    for size, left, what in (
        (part.rows, values, holdout.kind),
        (part.columns, objects, vocabulary.category),
    ):
        if size > len(left) - 1:
            raise UserError(
                f"--holdout {part.spec}: beside the block only {len(left)} values of {what} are "
                f"left, and one must stay in training; take at most {max(len(left) - 1, 0)}, or a "
                f"smaller block."
            )
    if part.rows + part.columns == 0:
        raise UserError(
            f"--holdout {part.spec} leaves no atom unseen; take for example {ATOMS}=1x2."
        )
    stream = Stream("atoms", holdout.block_seed, holdout.kind, part.rows, part.columns)
    return replace(
        holdout,
        absent_values=tuple(stream.sample(values, part.rows)),
        absent_objects=tuple(stream.sample(objects, part.columns)),
    )
