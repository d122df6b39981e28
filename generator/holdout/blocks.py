"""Which combinations `--holdout` means: blocks drawn by seed, or a file that spells them out."""

import json
import re
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

from generator.dataset.errors import UserError, did_you_mean
from generator.dataset.streams import Stream
from generator.holdout.class_lists import draw_classes
from generator.holdout.holdout import DESIGNS, Binding, Holdout, check_fits, closed
from generator.vocabulary.schema import Vocabulary

RELATION_BLOCK = ("relation", "pair")
ATOMS = "atoms"
_SPEC = re.compile(r"(?:(?P<kind>[^:=]+):(?P<category>[^:=]+)=)?(?P<rows>\d+)x(?P<columns>\d+)")
_NAMED = re.compile(r"(?P<kind>[^:=]+):")
_PLAIN = re.compile(r"\d+x\d+")
_ATOMS = re.compile(rf"{ATOMS}=(?P<rows>\d+)x(?P<columns>\d+)")
_COVERAGE = re.compile(r"(?:(?P<kind>[^:=]+):(?P<category>[^:=]+)=)?k=?(?P<least>\d+)(?:\.\.(?P<most>\d+))?")
DEFAULTS = {
    "bindsplit": ("{block}",),
    "coverage": ("k1..{most}",),
    "systematicity": ("{block}", f"{ATOMS}=1x2"),
    "gzsl": ("classes",),
}


def draw_holdouts(
    asked: Sequence[str], design: str, vocabulary: Vocabulary, block_seed: int, opposites: bool = True
) -> list[Holdout]:
    """The holdouts that were asked for: one, or for the designs coverage and gzsl one a point of the curve or a dataset.

    `asked` are blocks (`3x3`, `color:shape=2x4`, `relation:pair=2x3`; several combine), `atoms=1x2`, `k1..7`,
    `classes`, or a holdout.json; empty for the design's default. Chosen by seed, the same everywhere. Raises UserError
    when something is malformed or impossible, saying what would make it possible.
    """
    if design not in DESIGNS:
        raise UserError(f"Unknown design '{design}'; {did_you_mean(design, list(DESIGNS))}")
    given = tuple(spec.strip() for spec in asked) or _default(design, vocabulary)
    if len(given) == 1 and given[0].endswith(".json"):
        return [read_holdout(Path(given[0]), vocabulary, block_seed)]
    if design == "gzsl":
        return draw_classes(given, vocabulary, block_seed)
    if design == "coverage":
        return _coverage(given, vocabulary, block_seed)
    return [draw_block(given, vocabulary, block_seed, design, opposites)]


def _default(design: str, vocabulary: Vocabulary) -> tuple[str, ...]:
    """What a design holds out where nothing is said: a block of 3x3, less where that would hold out everything."""
    values, objects = len(vocabulary.values(vocabulary.tested)), len(vocabulary.objects)
    block = f"{min(3, values - 1)}x{min(3, objects - 1)}"
    return tuple(spec.format(block=block, most=values - 1) for spec in DEFAULTS[design])


def kind_asked(asked: Sequence[str], vocabulary: Vocabulary) -> str:
    """The attribute kind that a holdout names (`texture:animal=2x2`, or a holdout.json), else the tested one."""
    for spec in asked:
        if spec.strip().endswith(".json"):
            return read_holdout(Path(spec.strip()), vocabulary).kind
        named = _NAMED.match(spec.strip())
        if named and named["kind"] in vocabulary.attributes:
            return named["kind"]
    return vocabulary.tested


def read_holdout(path: Path, vocabulary: Vocabulary, block_seed: int = 0) -> Holdout:
    """A holdout that was saved (holdout.json of a benchmark, or a colleague's). Raises UserError when it does not fit."""
    try:
        holdout = Holdout.from_dict(json.loads(path.read_text(encoding="utf-8")))
    except OSError as error:
        raise UserError(f"Cannot read --holdout {path}: {error.strerror}; give the path of a holdout.json.") from None
    except (ValueError, KeyError, TypeError):
        raise UserError(f"--holdout {path} is no holdout.json as a benchmark has it; see docs/dataset.md.") from None
    if unknown := check_fits(holdout, vocabulary):
        raise UserError(
            f"--holdout {path} names {', '.join(unknown)}, which the family '{vocabulary.name}' does not have; give the family "
            f"it was made for."
        )
    return holdout


def draw_block(
    asked: str | Sequence[str],
    vocabulary: Vocabulary,
    block_seed: int,
    design: str = "bindsplit",
    opposites: bool = True,
) -> Holdout:
    """Choose by seed the blocks that `asked` describes; blocks of bindings and of relations combine.

    Bindings of a block occur in no training image or text (Peng et al. 2026, BindSplit, section 4.1); triples of a
    relation block neither, in any phrasing. Raises UserError when a description is malformed, or when the block would leave a value or an
    object without a seen binding, or a split without a scene.
    """
    kinds = f"{vocabulary.tested}:{vocabulary.category}"
    specs = tuple(
        f"{kinds}={spec.strip()}" if _PLAIN.fullmatch(spec.strip()) else spec.strip()
        for spec in ((asked,) if isinstance(asked, str) else asked)
    )
    holdout = Holdout(vocabulary.tested, vocabulary.category, block_seed=block_seed, design=design, asked=specs)
    for spec in specs:
        relations = spec.strip().startswith(f"{RELATION_BLOCK[0]}:")
        add = _add_atoms if spec.startswith(ATOMS) else _add_relations if relations else _add_bindings
        holdout = add(replace(holdout, opposites=opposites), spec, vocabulary)
    if not holdout.bindings and not holdout.triples:
        raise UserError(f"--holdout {' '.join(specs)} holds out no combination; add a block such as 3x3.")
    if design == "systematicity" and not (holdout.absent_values or holdout.absent_objects):
        raise UserError(f"The design systematicity needs unseen atoms too; add --holdout {ATOMS}=1x2.")
    return holdout


def _add_bindings(holdout: Holdout, spec: str, vocabulary: Vocabulary) -> Holdout:
    match = _SPEC.fullmatch(spec.strip())
    if not match:
        raise UserError(
            f"Expected --holdout to be values x objects such as 3x3 or {vocabulary.tested}:{vocabulary.category}=3x3, "
            f"relations x pairs such as relation:pair=2x3, or a holdout.json, got '{spec}'."
        )
    if holdout.bindings:
        raise UserError(f"--holdout {spec}: a second block of bindings; give one, and relation:pair=2x3 beside it.")
    kind = _kind(spec, match["kind"], match["category"], vocabulary)
    values = [value for value in vocabulary.values(kind) if value not in holdout.absent_values]
    objects = [thing for thing in vocabulary.objects if thing not in holdout.absent_objects]
    rows, columns = int(match["rows"]), int(match["columns"])
    _check_size(spec, rows, kind, len(values), "object")
    _check_size(spec, columns, vocabulary.category, len(objects), f"value of {kind}")
    stream = Stream("block", holdout.block_seed, kind, rows, columns)
    chosen, things = tuple(stream.sample(values, rows)), tuple(stream.sample(objects, columns))
    bindings = tuple((value, thing) for value in chosen for thing in things)
    return replace(holdout, kind=kind, values=chosen, objects=things, bindings=bindings)


def _kind(spec: str, kind: str | None, category: str | None, vocabulary: Vocabulary) -> str:
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
    match = _SPEC.fullmatch(spec.strip())
    if not match or (match["kind"], match["category"]) != RELATION_BLOCK:
        raise UserError(f"Expected a block of relations to be like relation:pair=2x3, got '{spec}'.")
    if holdout.triples:
        raise UserError(f"--holdout {spec}: a second block of relations; give one.")
    if vocabulary.placement.orders == "free":
        raise UserError(
            f"--holdout {spec}: the family '{vocabulary.name}' leaves front and behind to chance (orders = \"free\"), so no relation "
            f"can be kept out of training; take a family with planned orders, such as clevr-many."
        )
    rows, columns = int(match["rows"]), int(match["columns"])
    pairs = [(a, b) for a in vocabulary.objects for b in vocabulary.objects if a != b and not _unknown(holdout, a, b)]
    names = list(vocabulary.relations)
    if not 1 <= rows <= len(names):
        raise UserError(
            f"--holdout {spec}: the family '{vocabulary.name}' has {len(names)} relations ({', '.join(names)}); hold out 1 to "
            f"{len(names)} of them, or take a family with more, such as clevr-relations."
        )
    if not 1 <= columns < len(pairs):
        raise UserError(
            f"--holdout {spec}: there are {len(pairs)} ordered pairs of objects; hold out 1 to {len(pairs) - 1}."
        )
    stream = Stream("relation block", holdout.block_seed, rows, columns)
    chosen = stream.sample(names, rows)
    possible = [pair for pair in stream.shuffled(pairs) if all(_possible(pair, name, vocabulary) for name in chosen)]
    if len(possible) < columns:
        raise UserError(
            f"--holdout {spec}: only {len(possible)} ordered pairs of objects can stand in {' and '.join(chosen)} to one another; "
            f"hold out fewer pairs, take another --block-seed, or give more objects a flat top."
        )
    # beside a block of bindings its own objects first, or no scene would show both sorts held out
    possible.sort(key=lambda pair: not {*pair} <= {*holdout.objects})
    drawn = [(subject, name, thing) for name in chosen for subject, thing in possible[:columns]]
    return replace(holdout, triples=closed(drawn, vocabulary.relations, holdout.opposites))


def _unknown(holdout: Holdout, *things: str) -> bool:
    return any(thing in holdout.absent_objects for thing in things)


def _possible(pair: tuple[str, str], relation: str, vocabulary: Vocabulary) -> bool:
    """Whether two objects can stand in a relation: only what is flat on top carries anything."""
    carrier = {"on": 1, "beneath": 0}.get(vocabulary.relations[relation].rule)
    return carrier is None or vocabulary.objects[pair[carrier]].top is not None


def _add_atoms(holdout: Holdout, spec: str, vocabulary: Vocabulary) -> Holdout:
    match = _ATOMS.fullmatch(spec.strip())
    if not match:
        raise UserError(f"Expected unseen atoms to be values x objects such as {ATOMS}=1x2, got '{spec}'.")
    if holdout.design != "systematicity":
        raise UserError(f"--holdout {spec}: unseen atoms belong to --design systematicity; add it.")
    kind = holdout.kind
    values = [value for value in vocabulary.values(kind) if value not in holdout.values]
    objects = [thing for thing in vocabulary.objects if thing not in holdout.objects and not _related(holdout, thing)]
    rows, columns = int(match["rows"]), int(match["columns"])
    for size, left, what in ((rows, values, kind), (columns, objects, vocabulary.category)):
        if size > len(left) - 1:
            raise UserError(
                f"--holdout {spec}: beside the block only {len(left)} values of {what} are left, and one must stay in training; "
                f"take at most {max(len(left) - 1, 0)}, or a smaller block."
            )
    if rows + columns == 0:
        raise UserError(f"--holdout {spec} leaves no atom unseen; take for example {ATOMS}=1x2.")
    stream = Stream("atoms", holdout.block_seed, kind, rows, columns)
    return replace(
        holdout, absent_values=tuple(stream.sample(values, rows)), absent_objects=tuple(stream.sample(objects, columns))
    )


def _related(holdout: Holdout, thing: str) -> bool:
    return any(thing in (subject, other) for subject, _, other in holdout.triples)


def _coverage(asked: Sequence[str], vocabulary: Vocabulary, block_seed: int) -> list[Holdout]:
    """(n, k) coverage: each object is seen with k of the n values (Uselis et al.; protocols, section 1).

    An object's values are k in a row on a ring in random order, and the objects start at even distances around it, so each
    value is seen with as many objects as every other up to one; what is seen at k is seen at k + 1.
    """
    match = _COVERAGE.fullmatch(asked[0]) if len(asked) == 1 else None
    if not match:
        raise UserError(f"Expected --holdout of the design coverage to be like k4 or k1..7, got '{' '.join(asked)}'.")
    kind = _kind(asked[0], match["kind"], match["category"], vocabulary)
    values, objects = vocabulary.values(kind), list(vocabulary.objects)
    least, most = int(match["least"]), int(match["most"] or match["least"])
    if not 1 <= least <= most < len(values):
        raise UserError(
            f"--holdout {asked[0]}: {kind} has {len(values)} values, and at least one must stay unseen with each object; k runs "
            f"from 1 to {len(values) - 1}."
        )
    stream = Stream("coverage", block_seed, kind)
    order, things = stream.shuffled(values), stream.shuffled(objects)
    first = {thing: i * len(values) // len(things) for i, thing in enumerate(things)}
    made = []
    for k in range(least, most + 1):
        bindings: list[Binding] = [
            (value, thing) for value in values for thing in objects
            if (order.index(value) - first[thing]) % len(values) >= k
        ]  # fmt: skip
        made.append(
            Holdout(kind, vocabulary.category, tuple(values), tuple(objects), block_seed, tuple(bindings),
                    design="coverage", asked=(f"{kind}:{vocabulary.category}=k{k}",))
        )  # fmt: skip
    return made
