"""Declarations of suites: scenes/suites/NAME.toml, or a TOML file of the user's own.

A suite has tracks, a track has worlds, and a world says how it is rendered, which texts it gets and
which runs of `score` are made on it. `read_suite` reads a declaration, `Suite.in_part` applies what
a part of the suite changes (docs/suite.md).

The evaluator imports this module, so it imports nothing of the generator but its base.
"""

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Annotated, Any, Literal

from pydantic import Field, ValidationError

from generator.base.declarations import Declared, sentence_of
from generator.base.errors import UserError, did_you_mean
from generator.base.files import read_toml
from generator.base.registry import resource
from generator.suite.parts import FULL, PARTS, TINY

_SUITES_FOLDER = "scenes/suites"
_DIGESTS_SUFFIX = ".digests.toml"

Name = Annotated[str, Field(pattern=r"^[a-z0-9]+(-[a-z0-9]+)*$")]
"""A name of a folder: lower-case letters, digits and single hyphens."""
BenchmarkName = Annotated[str, Field(pattern=r"^[A-Za-z0-9][A-Za-z0-9.+_-]*$")]
"""A name of a benchmark."""


class SuiteTexts(Declared):
    """Texts that a world gets besides those that it is rendered with: options of `gen describe`.

    The seed of the texts follows from the form.
    """

    name: BenchmarkName
    """Name of the benchmark that the texts make."""
    preset: str | None = None
    """As --preset; None for no preset."""
    protocols: tuple[str, ...] = ()
    """As --protocol, once or several times; () for all that the world allows."""
    levels: tuple[str, ...] = ()
    """As --level, once or several times; () for all."""
    complexity: str | None = None
    """As --complexity; None for its default, or for the value of the preset."""
    counts: str | None = None
    """As --counts; None for any counts."""
    template: str | None = None
    """As --template; None for its default."""
    any_familiarity: bool = False
    """As --any-familiarity."""


class SuiteRun(Declared):
    """What a model is asked on a world: a run of `score run` or of `score ask`."""

    command: Literal["run", "ask"] = "run"
    """`run` scores images with texts; `ask` asks in words."""
    benchmark: BenchmarkName | None = None
    """The benchmark, one of the world's texts. None for those that the world is rendered with: the
    turns of a rotation, or else the only one."""
    protocols: tuple[str, ...] = ()
    """As --protocol, once or several times; () for all that the benchmark has."""
    form: Literal["choice", "yes-no", "describe", "attributes"] | None = None
    """As --form of `score ask`; None for its default. Only for the command `ask`."""
    answer: Literal["json", "prose"] | None = None
    """As --answer of `score ask`; None for its default. Only for the command `ask`."""
    relations: bool = False
    """As --relations of `score ask`. Only for the command `ask`."""


class PartChanges(Declared):
    """What a part changes in a world."""

    left_out: bool = False
    """Whether the part leaves the world out."""
    scenes: str | None = None
    """Replaces the world's `scenes`; None keeps them."""
    resolution: str | None = None
    """Replaces the world's `resolution`; None keeps it."""
    quality: str | None = None
    """Replaces the world's `quality`; None keeps it."""
    objects: str | None = None
    """Replaces the world's `objects`; None keeps them."""


class SuiteWorld(Declared):
    """A world of a suite: options of `gen render` with the same names, texts, and runs.

    The seeds of the world follow from the form.
    """

    about: str
    """What the world tests, in a sentence."""
    family: str
    """As --family. A path of a TOML file is relative to the working folder."""
    holdout: Annotated[tuple[str, ...], Field(min_length=1)]
    """As --holdout, once or several times."""
    scenes: str
    """As --scenes."""
    resolution: str
    """As --resolution."""
    quality: str = "standard"
    """As --quality."""
    environments: tuple[str, ...] = ()
    """As --environment, once or several times; () for all of the family."""
    objects: str | None = None
    """As --objects; None for the family's own."""
    pairs: bool | None = None
    """As --pairs; None for its default."""
    exchange: str | None = None
    """As --exchange; None for its default."""
    viewpoints: int | None = None
    """As --viewpoints; None for the family's own."""
    turns: str | None = None
    """As --turns; None for no turn twins."""
    outputs: str | None = None
    """As --with; None for images alone."""
    even_bindings: bool = True
    """As --even-bindings; counts of combinations are then equal in all forms."""
    texts: tuple[SuiteTexts, ...] = ()
    """Texts besides those that the world is rendered with."""
    runs: Annotated[tuple[SuiteRun, ...], Field(min_length=1)]
    """What models are asked, at least one run."""
    parts: Mapping[Literal["tiny"], PartChanges] = Field(default_factory=dict)
    """What parts change, by the part's name."""

    def in_part(self, part: str) -> "SuiteWorld | None":
        """Apply the changes of a part.

        Args:
            part: One of PARTS.

        Returns:
            The world of the part, which has no further parts; None if the part leaves it out.
        """
        # `full` is the declaration as it stands.
        changes = self.parts.get(part) if part == TINY else None  # type: ignore[call-overload]
        if changes is None:
            return self.model_copy(update={"parts": {}})
        if changes.left_out:
            return None
        update = changes.model_dump(exclude={"left_out"}, exclude_none=True)
        return self.model_copy(update={**update, "parts": {}})


class Track(Declared):
    """A track of a suite: worlds that answer one question."""

    about: str
    """What the track tests, in a sentence."""
    trained: bool = False
    """Whether models are trained on the worlds' train split, for each turn. Otherwise nothing is
    held out from them, and tables say so."""
    worlds: Annotated[Mapping[Name, SuiteWorld], Field(min_length=1)]
    """The worlds by name, in the order of the declaration."""


class Suite(Declared):
    """A suite of standard worlds."""

    name: Name
    """Its name without the version, such as "jackalope"."""
    version: Annotated[int, Field(ge=1)]
    """A new number means other questions: results of two versions are not compared."""
    about: str
    """What the suite tests; `gen list` prints the first sentence."""
    tracks: Annotated[Mapping[Name, Track], Field(min_length=1)]
    """The tracks by name, in the order of the declaration."""

    @property
    def full_name(self) -> str:
        """Name and version, such as "jackalope-1"."""
        return f"{self.name}-{self.version}"

    def worlds(self) -> Iterator[tuple[str, str, SuiteWorld]]:
        """Iterate over all worlds.

        Yields:
            The name of the track, the name of the world, and the world.
        """
        for track_name, track in self.tracks.items():
            for world_name, world in track.worlds.items():
                yield track_name, world_name, world

    def in_part(self, part: str = FULL, tracks: Sequence[str] = ()) -> "Suite":
        """Select a part and tracks of the suite.

        Args:
            part: One of PARTS.
            tracks: Names of the tracks to keep; empty for all.

        Returns:
            The suite with the worlds that are left, each as the part changes it.

        Raises:
            UserError: The part or a track is unknown, or no world is left.
        """
        if part not in PARTS:
            raise UserError(f"Unknown part '{part}'; {did_you_mean(part, list(PARTS))}")
        for name in tracks:
            if name not in self.tracks:
                raise UserError(f"Unknown track '{name}'; {did_you_mean(name, list(self.tracks))}")

        kept_tracks: dict[str, Track] = {}
        for name, track in self.tracks.items():
            if tracks and name not in tracks:
                continue
            worlds: dict[str, SuiteWorld] = {}
            for world_name, world in track.worlds.items():
                world_of_part = world.in_part(part)
                if world_of_part is not None:
                    worlds[world_name] = world_of_part
            # A part may leave out all worlds of a track.
            if worlds:
                kept_tracks[name] = track.model_copy(update={"worlds": worlds})
        if not kept_tracks:
            chosen = f" of {', '.join(tracks)}" if tracks else ""
            raise UserError(
                f"The part {part} leaves out all worlds{chosen}; take another part or track."
            )
        return self.model_copy(update={"tracks": kept_tracks})


def suite_names() -> list[str]:
    """List the suites that ship with the package.

    Returns:
        Their names with version, sorted.
    """
    names = []
    for path in resource(_SUITES_FOLDER).glob("*.toml"):
        # The digests of a suite lie beside it and are no declaration.
        if not path.name.endswith(_DIGESTS_SUFFIX):
            names.append(path.stem)
    return sorted(names)


def suite_path(name: str) -> Path:
    """Find the declaration of a suite.

    Args:
        name: A name of `suite_names`, or the path of a TOML file.

    Returns:
        The path of its TOML file. A path of the user need not exist.

    Raises:
        UserError: There is no suite of that name.
    """
    if name in suite_names():
        return resource(_SUITES_FOLDER) / f"{name}.toml"
    # The ending tells a misspelt name from a path.
    if Path(name).suffix != ".toml":
        raise UserError(
            f"Unknown suite '{name}'; {did_you_mean(name, suite_names())} A file of your own ends "
            f"in .toml."
        )
    return Path(name)


def digests_path(path: Path) -> Path:
    """Find the file of the standard form's digests, beside the declaration of a suite.

    Args:
        path: The declaration.

    Returns:
        The path; the file need not exist.

    Example:
        >>> digests_path(Path("mine.toml")).name
        'mine.digests.toml'
    """
    return path.with_name(f"{path.stem}{_DIGESTS_SUFFIX}")


def read_suite(name: str | Path) -> Suite:
    """Read the declaration of a suite.

    Args:
        name: A name of `suite_names`, or the path of a TOML file.

    Returns:
        The suite with all its parts; `Suite.in_part` selects one.

    Raises:
        UserError: There is no such suite, the file cannot be read, or it has a mistake.
    """
    path = suite_path(str(name))
    try:
        suite = Suite.model_validate(read_toml(path, "suite"))
    except ValidationError as error:
        raise UserError(f"The suite {path}: {sentence_of(_first_error(error))}") from None
    # Across tables, once each table is right by itself.
    for track_name, world_name, world in suite.worlds():
        _check_world(world, f"The suite {path}: tracks.{track_name}.worlds.{world_name}")
    return suite


def _first_error(error: ValidationError) -> Mapping[str, Any]:
    return dict(error.errors()[0])


def _check_world(world: SuiteWorld, place: str) -> None:
    """Check that the runs of a world name its benchmarks, and that no option lacks an effect.

    Args:
        world: The world.
        place: Where it is declared, for messages.

    Raises:
        UserError: A run or a name of texts is wrong.
    """
    text_names = [texts.name for texts in world.texts]
    repeated = [name for name in text_names if text_names.count(name) > 1]
    if repeated:
        raise UserError(f"{place}: two texts are named '{repeated[0]}'; rename one of them.")
    for texts in world.texts:
        # An option that a preset overrides would have no effect, and look as if it had.
        own = texts.protocols or texts.levels or texts.complexity or texts.template
        if texts.preset is not None and own:
            raise UserError(
                f"{place}: the preset {texts.preset} of the texts '{texts.name}' sets protocols, "
                f"levels, complexity and template itself; leave them out."
            )
    for run in world.runs:
        if run.benchmark is not None and run.benchmark not in text_names:
            raise UserError(
                f"{place}: a run names the benchmark '{run.benchmark}', which no texts make; "
                f"declare them under texts, or leave benchmark out."
            )
        of_ask = run.form or run.answer or run.relations
        if run.command == "run" and of_ask:
            raise UserError(
                f'{place}: form, answer and relations are for runs with command = "ask"; add it, '
                f"or leave them out."
            )
