"""Blocks of bindings, of relation triples and of unseen atoms, drawn by seed."""

import re
from collections.abc import Sequence
from dataclasses import replace
from itertools import permutations

from generator.base.errors import UserError, did_you_mean
from generator.base.streams import Stream
from generator.holdout.holdout import Holdout, closed
from generator.scene.layouts import can_hold
from generator.vocabulary.schema import Vocabulary

RELATION_BLOCK = ("relation", "pair")
ATOMS = "atoms"
ASYMMETRIC = "asymmetric"
"""The value of `--holdout` that adds splits in which truth and foil are not equally familiar to a block of bindings."""
NONE = "none"
"""The value of `--holdout` for a world with one split, `all`, for models that were trained elsewhere."""
_SPEC = re.compile(r"(?:(?P<kind>[^:=]+):(?P<category>[^:=]+)=)?(?P<rows>\d+)x(?P<columns>\d+)")
_PLAIN = re.compile(r"\d+x\d+")
_ATOMS = re.compile(rf"{ATOMS}=(?P<rows>\d+)x(?P<columns>\d+)")


def default_block(vocabulary: Vocabulary) -> str:
    """A block of 3x3, or smaller if that would hold out every value or object."""
    values, objects = len(vocabulary.values(vocabulary.tested)), len(vocabulary.objects)
    return f"{min(3, values - 1)}x{min(3, objects - 1)}"


def draw_block(asked: str | Sequence[str], vocabulary: Vocabulary, block_seed: int, opposites: bool = True) -> Holdout:
    """Draw by seed the blocks that `asked` describes; all of them are held out together.

    A description is `3x3` or `color:shape=2x4` (bindings), `relation:pair=2x3` (triples, closed under converse, and
    with `opposites` under opposite), `atoms=1x2` (values and objects that training never shows) or `asymmetric`; `none`
    alone holds out nothing, whatever the seed. Raises UserError if one is malformed, or if the blocks would leave a
    value or an object without a seen binding, or a split without a scene.
    """
    kinds = f"{vocabulary.tested}:{vocabulary.category}"
    specs = tuple(
        f"{kinds}={spec.strip()}" if _PLAIN.fullmatch(spec.strip()) else spec.strip()
        for spec in ((asked,) if isinstance(asked, str) else asked)
    )
    if specs == (NONE,):
        return Holdout(vocabulary.tested, vocabulary.category, asked=specs)
    holdout = Holdout(vocabulary.tested, vocabulary.category, block_seed=block_seed, opposites=opposites, asked=specs)
    relations = [spec for spec in specs if spec.startswith(f"{RELATION_BLOCK[0]}:")]
    atoms = [spec for spec in specs if spec.startswith(ATOMS)]
    bindings = [spec for spec in specs if spec not in (ASYMMETRIC, *relations, *atoms)]
    # always in this order, because a block depends on the blocks before it
    for add, asked_for in ((_add_bindings, bindings), (_add_relations, relations), (_add_atoms, atoms)):
        for spec in asked_for:
            holdout = add(holdout, spec, vocabulary)
    if not holdout.bindings and not holdout.triples:
        raise UserError(
            f"--holdout {' '.join(specs)} holds out no combination; add a block such as 3x3, or "
            f"give --holdout {NONE} alone for one split without training."
        )
    if ASYMMETRIC in specs and not holdout.bindings:
        raise UserError(f"--holdout {ASYMMETRIC} needs a block of bindings; add one such as 3x3.")
    return replace(holdout, asymmetric=ASYMMETRIC in specs)


def _add_bindings(holdout: Holdout, spec: str, vocabulary: Vocabulary) -> Holdout:
    match = _SPEC.fullmatch(spec)
    if not match:
        raise UserError(
            f"Expected --holdout to be values x objects such as 3x3 or {vocabulary.tested}:{vocabulary.category}=3x3, "
            f"relations x pairs such as relation:pair=2x3, or a holdout.json, got '{spec}'."
        )
    if holdout.bindings:
        raise UserError(
            f"--holdout {spec}: a second block of bindings is not possible; give one, and relation:pair=2x3 beside it."
        )
    kind = check_kind(spec, match["kind"], match["category"], vocabulary)
    values, objects = vocabulary.values(kind), list(vocabulary.objects)
    rows, columns = int(match["rows"]), int(match["columns"])
    _check_size(spec, rows, kind, len(values), "object")
    _check_size(spec, columns, vocabulary.category, len(objects), f"value of {kind}")
    stream = Stream("block", holdout.block_seed, kind, rows, columns)
    chosen, things = tuple(stream.sample(values, rows)), tuple(stream.sample(objects, columns))
    bindings = tuple((value, thing) for value in chosen for thing in things)
    return replace(holdout, kind=kind, values=chosen, objects=things, bindings=bindings)


def check_kind(spec: str, kind: str | None, category: str | None, vocabulary: Vocabulary) -> str:
    """The attribute kind that a description names, else the tested one. Raises UserError for names that the world
    lacks."""
    if kind is not None and kind not in vocabulary.attributes:
        raise UserError(
            f"--holdout {spec}: unknown attribute kind '{kind}'; {did_you_mean(kind, list(vocabulary.attributes))}"
        )
    if (category or vocabulary.category) != vocabulary.category:
        raise UserError(
            f"--holdout {spec}: objects of this world are called '{vocabulary.category}', not '{category}'."
        )
    return kind or vocabulary.tested


def _check_size(spec: str, size: int, what: str, available: int, starved: str) -> None:
    if available < 3:
        raise UserError(
            f"--holdout {spec}: {what} has only {available} values, and a block needs at least 3; use another kind."
        )
    if size < 2:
        raise UserError(
            f"--holdout {spec}: with {size} {what} held out no scene of two different objects can have both bindings "
            f"held out, so the unseen split would be empty; hold out at least 2."
        )
    if size >= available:
        raise UserError(
            f"--holdout {spec}: {size} of the {available} values of {what} would leave a held-out {starved} "
            f"without a seen binding; hold out at most {available - 1}."
        )


def _add_relations(holdout: Holdout, spec: str, vocabulary: Vocabulary) -> Holdout:
    match = _SPEC.fullmatch(spec)
    if not match or (match["kind"], match["category"]) != RELATION_BLOCK:
        raise UserError(f"Expected a block of relations to be like relation:pair=2x3, got '{spec}'.")
    if holdout.triples:
        raise UserError(f"--holdout {spec}: a second block of relations is not possible; give one block.")
    if vocabulary.placement.orders == "free":
        raise UserError(
            f"--holdout {spec}: the family '{vocabulary.name}' leaves front and behind to chance (orders = \"free\"), "
            "so no relation can be kept out of training; take a family with planned orders, such as clevr-many."
        )
    rows, columns = int(match["rows"]), int(match["columns"])
    pairs = list(permutations(vocabulary.objects, 2))
    names = [name for name, relation in vocabulary.pair_relations.items() if relation.axis.planned_by]
    if not 1 <= rows <= len(names):
        raise UserError(
            f"--holdout {spec}: the family '{vocabulary.name}' has {len(names)} relations that can be held out "
            f"({', '.join(names)}); hold out 1 to "
            f"{len(names)} of them, or take a family with more, such as clevr-relations."
        )
    if not 1 <= columns < len(pairs):
        raise UserError(
            f"--holdout {spec}: there are {len(pairs)} ordered pairs of objects; hold out 1 to {len(pairs) - 1}."
        )
    stream = Stream("relation block", holdout.block_seed, rows, columns)
    chosen = stream.sample(names, rows)
    possible = [
        pair
        for pair in stream.shuffled(pairs)
        if all(can_hold(vocabulary.relations[name], *pair, vocabulary) for name in chosen)
    ]
    if len(possible) < columns:
        raise UserError(
            f"--holdout {spec}: only {len(possible)} ordered pairs of objects allow {' and '.join(chosen)}; hold out "
            "fewer pairs, take another --block-seed, or give more objects a flat top."
        )
    # if bindings are held out too, prefer their objects; otherwise no scene has both
    possible.sort(key=lambda pair: not {*pair} <= {*holdout.objects})
    drawn = [(subject, name, thing) for name in chosen for subject, thing in possible[:columns]]
    return replace(holdout, triples=closed(drawn, vocabulary.relations, holdout.opposites))


def _add_atoms(holdout: Holdout, spec: str, vocabulary: Vocabulary) -> Holdout:
    match = _ATOMS.fullmatch(spec)
    if not match:
        raise UserError(f"Expected unseen atoms to be values x objects such as {ATOMS}=1x2, got '{spec}'.")
    if holdout.absent_values or holdout.absent_objects:
        raise UserError(f"--holdout {spec}: a second number of unseen atoms is not possible; give one number.")
    kind = holdout.kind
    values = [value for value in vocabulary.values(kind) if value not in holdout.values]
    taken = {*holdout.objects, *(end for subject, _, thing in holdout.triples for end in (subject, thing))}
    objects = [thing for thing in vocabulary.objects if thing not in taken]
    rows, columns = int(match["rows"]), int(match["columns"])
    for size, left, what in ((rows, values, kind), (columns, objects, vocabulary.category)):
        if size > len(left) - 1:
            raise UserError(
                f"--holdout {spec}: beside the block only {len(left)} values of {what} are left, and one must stay in "
                f"training; take at most {max(len(left) - 1, 0)}, or a smaller block."
            )
    if rows + columns == 0:
        raise UserError(f"--holdout {spec} leaves no atom unseen; take for example {ATOMS}=1x2.")
    stream = Stream("atoms", holdout.block_seed, kind, rows, columns)
    return replace(
        holdout, absent_values=tuple(stream.sample(values, rows)), absent_objects=tuple(stream.sample(objects, columns))
    )
