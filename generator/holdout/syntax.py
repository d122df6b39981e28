"""The grammar of `--holdout` for designs that hold out blocks: reads each text into one of the
parts below.

    holdout    = "none" | "asymmetric" | atoms | drawn | names | binding | triple | own
    drawn      = [KIND ":" CATEGORY "="] COUNT "x" COUNT      3x3, color:shape=2x4,
    relation:pair=2x3, relation:object=2x3
    atoms      = "atoms=" COUNT "x" COUNT                     atoms=1x2
    names      = KIND "=" VALUES " " CATEGORY "=" OBJECTS     color=gray,blue shape=cube,cylinder
    binding    = VALUE ":" OBJECT                             gray:cube
    triple     = RELATION ":" SUBJECT "," OBJECT              left: cube, sphere
    own        = DIRECTION ":" OBJECT                         own-left: lion

Blanks around names are ignored. The designs coverage, gzsl and rotation read words of their own
themselves.
"""

import hashlib
import re
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import product

from generator.base.errors import UserError, did_you_mean
from generator.dataset.own_frames import is_own_direction
from generator.holdout.holdout import Binding, Triple
from generator.vocabulary.schema import Vocabulary

NONE = "none"
"""The value of `--holdout` for a world with one split, `all`, for models that were trained
elsewhere."""
ASYMMETRIC = "asymmetric"
"""The value of `--holdout` that adds splits in which truth and foil are not equally familiar to a
block of bindings."""
ATOMS = "atoms"
RELATIONS = ("relation", "pair")
"""The two names before the size of a drawn block of relations."""
OWN_FRAMES = ("relation", "object")
"""The two names before the size of a drawn block of directions in the frames of objects."""

# A folder's name has at most 255 bytes, and the name of a world has parts besides this one.
_LONGEST_NAME = 80

_SIZE = re.compile(r"(?:(?P<kind>[^:=]+):(?P<category>[^:=]+)=)?(?P<rows>\d+)x(?P<columns>\d+)")
_ATOMS_SIZE = re.compile(rf"{ATOMS}=(?P<rows>\d+)x(?P<columns>\d+)")
_NEXT_LIST = re.compile(r"\s+(?=[^\s=,]+\s*=)")
"""The blank before `shape=` in `color=gray,blue shape=cube`; names may contain blanks
themselves."""
_FIRST_NAME = re.compile(r"(?P<name>[^:=]+)[:=]")


@dataclass(frozen=True)
class DrawnBindings:
    """A block of bindings, to be drawn by seed."""

    spec: str
    """The text of `--holdout`."""
    kind: str
    """The attribute kind."""
    rows: int
    """The number of values."""
    columns: int
    """The number of objects."""


@dataclass(frozen=True)
class DrawnTriples:
    """A block of relation triples, to be drawn by seed."""

    spec: str
    """The text of `--holdout`."""
    rows: int
    """The number of relations."""
    columns: int
    """The number of ordered pairs of objects."""


@dataclass(frozen=True)
class DrawnOwnFrames:
    """A block of directions in the own frames of objects, to be drawn by seed."""

    spec: str
    """The text of `--holdout`."""
    rows: int
    """The number of directions."""
    columns: int
    """The number of objects."""


@dataclass(frozen=True)
class DrawnAtoms:
    """Values and objects that training never shows, to be drawn by seed."""

    spec: str
    """The text of `--holdout`."""
    rows: int
    """The number of values."""
    columns: int
    """The number of objects."""


@dataclass(frozen=True)
class NamedBindings:
    """Bindings of `kind` that the user named, one by one or as lists of values and objects."""

    spec: str
    """The text of `--holdout`."""
    kind: str
    """The attribute kind."""
    bindings: tuple[Binding, ...]


@dataclass(frozen=True)
class NamedTriple:
    """A relation triple that the user named."""

    spec: str
    """The text of `--holdout`."""
    triple: Triple


@dataclass(frozen=True)
class NamedOwnFrame:
    """A direction in the own frame of an object, which the user named."""

    spec: str
    """The text of `--holdout`."""
    direction: str
    """The relation, such as own-left."""
    ground: str
    """The object whose direction it is."""


@dataclass(frozen=True)
class AsymmetricSplits:
    """A request for splits in which truth and foil are not equally familiar."""

    spec: str


HoldoutPart = (
    DrawnBindings
    | DrawnTriples
    | DrawnOwnFrames
    | DrawnAtoms
    | NamedBindings
    | NamedTriple
    | NamedOwnFrame
    | AsymmetricSplits
)


def parse_part(spec: str, vocabulary: Vocabulary) -> HoldoutPart:
    """Read one `--holdout` other than `none`.

    Args:
        spec: The text, without blanks at its ends.
        vocabulary: The vocabulary whose names the text may use.

    Raises:
        UserError: The text is in none of the forms, or names something that the vocabulary lacks.

    >>> from generator.vocabulary.schema import read_vocabulary
    >>> parse_part("gray:cube", read_vocabulary("clevr")).bindings
    (('gray', 'cube'),)
    >>> parse_part("left: cube, sphere", read_vocabulary("clevr")).triple
    ('cube', 'left', 'sphere')
    """
    # From the forms with words of their own to the general ones: a size has ":" and "=" too, a
    # triple a ":".
    if spec == ASYMMETRIC:
        return AsymmetricSplits(spec)
    if spec.startswith(ATOMS):
        return _parse_atoms(spec)
    size = _SIZE.fullmatch(spec)
    if size and size["kind"] == RELATIONS[0]:
        return _parse_drawn_relations(spec, size)
    if size:
        kind = check_kind(spec, size["kind"], category=size["category"], vocabulary=vocabulary)
        return DrawnBindings(spec, kind, int(size["rows"]), int(size["columns"]))
    if spec.startswith(f"{RELATIONS[0]}:"):
        raise UserError(
            f"Expected a block of relations to be like relation:pair=2x3 or relation:object=2x3, "
            f"got '{spec}'."
        )
    if "=" in spec:
        return _parse_lists(spec, vocabulary)
    if ":" in spec and "," in spec:
        return _parse_triple(spec, vocabulary)
    if is_own_direction(spec.partition(":")[0].strip()):
        return _parse_own_frame(spec, vocabulary)
    if spec.count(":") == 1:
        return _parse_binding(spec, vocabulary)
    raise UserError(
        f"Expected --holdout to be a size such as 3x3 or relation:pair=2x3, names such as "
        f'"{_example_lists(vocabulary)}", {_example_binding(vocabulary)} or '
        f'"{_example_triple(vocabulary)}", or a '
        f"holdout.json, got '{spec}'."
    )


def check_kind(spec: str, kind: str | None, *, category: str | None, vocabulary: Vocabulary) -> str:
    """Return the attribute kind that a text names, or the tested kind if it names none.

    Args:
        spec: The value of `--holdout`, for messages.
        kind: The named attribute kind; None if there is none.
        category: The named word for objects; None if there is none.
        vocabulary: The vocabulary that must have both.

    Raises:
        UserError: The vocabulary has no such kind, or another word for objects.
    """
    if kind is not None and kind not in vocabulary.attributes:
        raise UserError(
            f"--holdout {spec}: unknown attribute kind '{kind}'; "
            f"{did_you_mean(kind, list(vocabulary.attributes))}"
        )
    if category is not None and category != vocabulary.category:
        raise UserError(
            f"--holdout {spec}: objects of this world are called '{vocabulary.category}', not "
            f"'{category}'."
        )
    return kind or vocabulary.tested


def named_kind(spec: str, vocabulary: Vocabulary) -> str | None:
    """Return the attribute kind that a text names, itself or by a value.

    It reads only the first name, so it also serves the words of every design
    (`texture:animal=classes`).

    Args:
        spec: one value of `--holdout`.
        vocabulary: whose kinds and values it may name.

    Returns:
        The kind; None if the text names none.
    """
    match = _FIRST_NAME.match(spec)
    name = match["name"].strip() if match else ""
    if name in vocabulary.attributes:
        return name
    return _kind_of(name, vocabulary)


def file_name_of(spec: str, vocabulary_kind: str, category: str) -> str:
    """Return a text of `--holdout` as a part of the name of a file; a bare size gets its kind and
    category.

    >>> file_name_of("3x3", "color", "shape")
    'color-shape-3x3'
    >>> file_name_of("left: cube, sphere", "color", "shape")
    'left-cube-sphere'
    """
    if re.fullmatch(r"\d+x\d+", spec):
        spec = f"{vocabulary_kind}:{category}={spec}"
    return re.sub(r"[^A-Za-z0-9._]+", "-", spec).strip("-")


def short_name(name: str) -> str:
    """Return a name of a file, with a digest in place of its end if it is long: many named
    combinations.

    >>> short_name("gray-cube+blue-sphere")
    'gray-cube+blue-sphere'
    """
    if len(name) <= _LONGEST_NAME:
        return name
    # The digest keeps names different whose beginnings are the same.
    digest = hashlib.sha256(name.encode()).hexdigest()[:8]
    return f"{name[:_LONGEST_NAME]}-{digest}"


def _parse_atoms(spec: str) -> DrawnAtoms:
    match = _ATOMS_SIZE.fullmatch(spec)
    if not match:
        raise UserError(
            f"Expected unseen atoms to be values x objects such as {ATOMS}=1x2, got '{spec}'."
        )
    return DrawnAtoms(spec, int(match["rows"]), int(match["columns"]))


def _parse_drawn_relations(spec: str, size: re.Match[str]) -> DrawnTriples | DrawnOwnFrames:
    names = (size["kind"], size["category"])
    rows, columns = int(size["rows"]), int(size["columns"])
    if names == RELATIONS:
        return DrawnTriples(spec, rows, columns)
    if names == OWN_FRAMES:
        return DrawnOwnFrames(spec, rows, columns)
    raise UserError(
        f"Expected a block of relations to be like relation:pair=2x3 or relation:object=2x3, got "
        f"'{spec}'."
    )


def _parse_lists(spec: str, vocabulary: Vocabulary) -> NamedBindings:
    """Read `color=gray,blue shape=cube,cylinder`, in either order."""
    category = vocabulary.category
    lists: dict[str, list[str]] = {}
    for part in _NEXT_LIST.split(spec):
        name, _, listed = part.partition("=")
        name = name.strip()
        if name in lists:
            raise UserError(
                f"--holdout {spec}: '{name}' is there twice; list all of its names once."
            )
        if name not in (category, *vocabulary.attributes):
            known = [*vocabulary.attributes, category]
            raise UserError(
                f"--holdout {spec}: unknown attribute kind '{name}'; {did_you_mean(name, known)}"
            )
        # Checked below, once it is known which name is the kind.
        lists[name] = [entry.strip() for entry in listed.split(",")]
    kinds = [name for name in lists if name != category]
    if len(kinds) != 1 or category not in lists:
        raise UserError(
            f"--holdout {spec}: expected values of one attribute kind and objects, such as "
            f'"{_example_lists(vocabulary)}".'
        )
    kind = kinds[0]
    for value in lists[kind]:
        _check_name(spec, value, what=kind, known=vocabulary.values(kind))
    for object_name in lists[category]:
        _check_name(spec, object_name, what=category, known=list(vocabulary.objects))
    _check_distinct(spec, lists[kind])
    _check_distinct(spec, lists[category])
    return NamedBindings(spec, kind, tuple(product(lists[kind], lists[category])))


def _parse_binding(spec: str, vocabulary: Vocabulary) -> NamedBindings:
    """Read `gray:cube`."""
    value, object_name = (name.strip() for name in spec.split(":"))
    kind = _kind_of(value, vocabulary)
    # The common mistakes first, each with its mend: exchanged names, and a relation in the place of
    # a value.
    if kind is None and value in vocabulary.objects and _kind_of(object_name, vocabulary):
        raise UserError(f"--holdout {spec}: the value comes first; write {object_name}:{value}.")
    if kind is None and value in vocabulary.relations:
        raise UserError(
            f"--holdout {spec}: the relation '{value}' needs two objects, such as "
            f'"{_example_triple(vocabulary)}".'
        )
    if kind is None:
        every_value = [name for values in vocabulary.attributes.values() for name in values]
        raise UserError(
            f"--holdout {spec}: unknown value '{value}'; {did_you_mean(value, every_value)}"
        )
    _check_name(spec, object_name, what=vocabulary.category, known=list(vocabulary.objects))
    return NamedBindings(spec, kind, ((value, object_name),))


def _parse_triple(spec: str, vocabulary: Vocabulary) -> NamedTriple:
    """Read `left: cube, sphere`: a cube to the left of a sphere."""
    relation, _, listed = spec.partition(":")
    relation = relation.strip()
    ends = [name.strip() for name in listed.split(",")]
    # "gray: cube, sphere" is meant as a value with several objects.
    if kind := _kind_of(relation, vocabulary):
        raise UserError(
            f"--holdout {spec}: '{relation}' is a value of {kind}; to hold it out with several "
            f"objects write "
            f'"{kind}={relation} {vocabulary.category}={",".join(ends)}".'
        )
    plannable = plannable_relations(vocabulary)
    if is_own_direction(relation):
        raise UserError(
            f"--holdout {spec}: '{relation}' is held out of the own frame of one object, whatever "
            f'stands there; name that object alone, such as "{relation}: {ends[0]}".'
        )
    if relation in vocabulary.relations and relation not in plannable:
        raise UserError(
            f"--holdout {spec}: positions and headings decide '{relation}', not the plan, so it "
            f"cannot be kept out of training; choose from: {', '.join(plannable) or 'none'}."
        )
    _check_name(spec, relation, what="relation", known=plannable)
    if len(ends) != 2 or ends[0] == ends[1]:
        raise UserError(
            f"--holdout {spec}: expected a relation and two different objects, such as "
            f'"{_example_triple(vocabulary)}".'
        )
    for object_name in ends:
        _check_name(spec, object_name, what=vocabulary.category, known=list(vocabulary.objects))
    return NamedTriple(spec, (ends[0], relation, ends[1]))


def _parse_own_frame(spec: str, vocabulary: Vocabulary) -> NamedOwnFrame:
    """Read `own-left: lion`: anything on the lion's own left."""
    direction, _, ground = (part.strip() for part in spec.partition(":"))
    _check_name(spec, direction, what="relation", known=own_directions(spec, vocabulary))
    _check_name(spec, ground, what=vocabulary.category, known=list(vocabulary.objects))
    return NamedOwnFrame(spec, direction, ground)


def own_directions(spec: str, vocabulary: Vocabulary) -> list[str]:
    """Return the relations of a vocabulary that are directions in an object's own frame.

    Args:
        spec: The value of `--holdout`, for the message.
        vocabulary: The vocabulary.

    Raises:
        UserError: It has none.
    """
    directions = [name for name in vocabulary.relations if is_own_direction(name)]
    if not directions:
        raise UserError(
            f"--holdout {spec}: the family '{vocabulary.name}' has no relations in an object's own "
            f"frame; take one that has, such as pug-frames or things-frames."
        )
    return directions


def plannable_relations(vocabulary: Vocabulary) -> list[str]:
    """Return the names of the relations of two objects that a plan can keep out of training."""
    return [
        name for name, relation in vocabulary.pair_relations.items() if relation.axis.planned_by
    ]


def _kind_of(value: str, vocabulary: Vocabulary) -> str | None:
    """Return the attribute kind that has a value of this name. Names are unique in a vocabulary."""
    for kind, values in vocabulary.attributes.items():
        if value in values:
            return kind
    return None


def _check_name(spec: str, name: str, *, what: str, known: Sequence[str]) -> None:
    if name not in known:
        raise UserError(
            f"--holdout {spec}: unknown {what} '{name}'; {did_you_mean(name, list(known))}"
        )


def _check_distinct(spec: str, names: Sequence[str]) -> None:
    for name in names:
        if names.count(name) > 1:
            raise UserError(f"--holdout {spec} names '{name}' twice; leave one out.")


def _example_lists(vocabulary: Vocabulary) -> str:
    values, objects = vocabulary.values(vocabulary.tested)[:2], list(vocabulary.objects)[:2]
    return f"{vocabulary.tested}={','.join(values)} {vocabulary.category}={','.join(objects)}"


def _example_binding(vocabulary: Vocabulary) -> str:
    return f"{vocabulary.values(vocabulary.tested)[0]}:{next(iter(vocabulary.objects))}"


def _example_triple(vocabulary: Vocabulary) -> str:
    first, second = list(vocabulary.objects)[:2]
    relation = next(iter(plannable_relations(vocabulary)), "left")
    return f"{relation}: {first}, {second}"
