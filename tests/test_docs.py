"""What the documentation says is so: examples run, tables are complete, links lead somewhere, the
commands are as listed."""

import importlib.util
import json
import re
import shlex
from collections.abc import Callable
from pathlib import Path
from types import ModuleType
from typing import get_args

import click
import pyarrow as pa
import pytest

from evaluator.benchmarks.candidates import COLUMNS
from evaluator.papers.paper import find_paper
from evaluator.papers.recipes import find_experiment
from evaluator.protocols import find_protocol
from evaluator.training.recipe import presets
from generator.base.declarations import Declared
from generator.dataset.records import BENCHMARK_TABLES, PACKED, PLAN, SCENES, SCORES, TRUTH
from generator.describe.protocols import find_protocol as find_recipes
from generator.describe.request import read_text_preset, text_preset_names
from generator.holdout.designs import find_design
from generator.holdout.presets import read_preset
from generator.inspection.family_check import check_family
from generator.language.templates import TEMPLATES
from generator.vocabulary import tables as declared
from generator.vocabulary.environments import (
    Environment,
    GroundSpec,
    PhotoSpec,
    PropSpec,
    PropType,
    ReliefSpec,
    RoomSpec,
    SkySpec,
    WaterSpec,
)
from generator.vocabulary.materials import Pattern, Texture, WallSpec
from generator.vocabulary.schema import read_vocabulary
from generator.vocabulary.tables import ObjectSpec, Phrasing
from tests.conftest import succeed
from tests.paths import CHECKOUT as ROOT

DOCS = ROOT / "docs"
PAGES = sorted([ROOT / "README.md", *DOCS.glob("*.md")])


def blocks(page: Path, language: str) -> list[str]:
    """The code blocks of a page in that language."""
    return re.findall(
        rf"^```{language}\n(.*?)^```", page.read_text(encoding="utf-8"), re.DOTALL | re.MULTILINE
    )


def rows(section: str) -> dict[str, list[str]]:
    """The cells of each table row whose first cell names something in code style, by that name."""
    cells = [
        re.split(r"(?<!\\)\|", line.strip("|"))
        for line in section.splitlines()
        if re.match(r"\| ?`", line)
    ]
    return {row[0].strip().strip("`"): [cell.strip() for cell in row[1:]] for row in cells}


@pytest.mark.full
def test_the_texts_shown_are_those_that_are_written() -> None:
    pages = script("make_texts").pages()
    assert pages == {
        path.name: path.read_text(encoding="utf-8") for path in (DOCS / "texts").iterdir()
    }, "run `python docs/make_texts.py`"


def test_the_page_of_findings_is_made_from_the_tables_beside_it() -> None:
    findings = script("make_findings")
    written = (DOCS / "findings.md").read_text(encoding="utf-8")
    assert findings.page() == written, "run `python docs/make_findings.py`"
    assert "[table" not in written
    assert findings.unused_tables() == set()


@pytest.mark.parametrize(
    "path", sorted((DOCS / "findings").glob("*.csv")), ids=lambda path: path.stem
)
def test_every_row_of_a_table_of_findings_has_the_width_of_its_head(path: Path) -> None:
    head, *body = script("make_findings").read_table(path.stem)
    assert body
    assert {len(row) for row in body} == {len(head)}


def script(name: str) -> ModuleType:
    """A script of docs/ as a module."""
    spec = importlib.util.spec_from_file_location(name, DOCS / f"{name}.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


COMMANDS: list[click.Context] = script("make_site").commands()


@pytest.mark.parametrize("context", COMMANDS, ids=lambda context: context.command_path)
def test_every_command_and_option_has_help(context: click.Context) -> None:
    assert context.command.help
    for parameter in context.command.params:
        if isinstance(parameter, click.Option):
            assert parameter.help, parameter.name
        else:
            assert parameter.human_readable_name in context.command.help, parameter.name


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_every_relative_link_leads_somewhere(page: Path) -> None:
    for target in re.findall(r"\]\(([^)\s]+)\)", page.read_text(encoding="utf-8")):
        if not re.match(r"[a-z]+:|#", target):
            path, _, anchor = target.partition("#")
            assert (page.parent / path).exists(), target
            assert not anchor or anchor in _anchors(page.parent / path), target


def _anchors(page: Path) -> set[str]:
    headings = re.findall(r"^#+ (.*)$", page.read_text(encoding="utf-8"), re.MULTILINE)
    return {re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-") for heading in headings}


@pytest.mark.parametrize("code", blocks(DOCS / "dataset.md", "python"))
def test_the_python_examples_run(
    code: str,
    rendered: Path,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    (tmp_path / "small").symlink_to(rendered)
    monkeypatch.chdir(tmp_path)
    exec(compile(code, "dataset.md", "exec"), {})
    assert capsys.readouterr().out


def test_the_columns_of_scores_from_elsewhere_are_listed() -> None:
    listed = rows(section(DOCS / "models.md", "## Scores from elsewhere"))
    assert sorted(
        name for columns_of_row in listed for name in columns_of_row.split("`, `")
    ) == sorted(COLUMNS)


def test_the_family_of_the_first_five_minutes_is_without_findings(tmp_path: Path) -> None:
    first, *_ = blocks(DOCS / "vocabularies.md", "toml")
    (tmp_path / "mine.toml").write_text(first, encoding="utf-8")
    assert check_family(str(tmp_path / "mine.toml")) == []


@pytest.mark.full
def test_one_more_thing_takes_a_mesh_and_five_lines(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    text = section(DOCS / "worlds.md", "## Everyday objects")
    (family,) = re.findall("```toml\n(.*?)```", text, re.DOTALL)
    assert len([line for line in family.splitlines() if line]) <= 5
    (tmp_path / "more-things.toml").write_text(family, encoding="utf-8")
    (tmp_path / "docs").symlink_to(DOCS)
    monkeypatch.setenv("JACKALOPE_ASSETS", str(tmp_path / "sets"))
    imported, rendered = re.findall("```sh\n(.*?)```", text, re.DOTALL)[1].splitlines()
    rendered += (
        " --scenes train=80,val=1,seen=1,partial=1,unseen=1 --resolution 32x32 --quality draft "
        "--out world"
    )
    for command in (imported, rendered):
        succeed(command, cwd=tmp_path)
    manifest = json.loads((tmp_path / "world" / "world" / "manifest.json").read_text("utf-8"))
    recorded = manifest["request"]["assets"]["licences"]
    assert recorded["mine/jackalope"] == "Apache-2.0"
    assert recorded["mug"] == "CC0 1.0, from Blend Swap"


def test_the_example_family_is_without_findings() -> None:
    assert check_family(str(DOCS / "examples" / "toys.toml")) == []


TABLES = {
    "attributes",
    "kinds",
    "templates",
    "objects",
    "relations",
    "environments",
    "placement",
    "floor",
    "camera",
    "lamps",
}
PLACE = "## [environments.PLACE"


@pytest.mark.parametrize(
    ("page", "heading", "model"),
    [
        ("vocabularies", "## Top level", declared.FamilyTables),
        ("vocabularies", "## [attributes.KIND]", declared.AttributeValue),
        ("vocabularies", "## [kinds.KIND]", Phrasing),
        ("vocabularies", "## [objects]", ObjectSpec),
        ("vocabularies", "## [relations]", declared.Relation),
        ("vocabularies", "## [attributes.KIND.VALUE.texture]", Texture),
        ("vocabularies", "## [environments]", Environment),
        ("vocabularies", "## [placement]", declared.Placement),
        ("vocabularies", "## [floor]", declared.FloorSpec),
        ("vocabularies", "## [floor.wall]", WallSpec),
        ("vocabularies", "## [camera]", declared.CameraSpec),
        ("vocabularies", "## [lamps.NAME]", declared.LampSpec),
        ("worlds", f"{PLACE}.sky]", SkySpec),
        ("worlds", f"{PLACE}.ground]", GroundSpec),
        ("worlds", f"{PLACE}.reliefs.NAME]", ReliefSpec),
        ("worlds", f"{PLACE}.water]", WaterSpec),
        ("worlds", f"{PLACE}.room]", RoomSpec),
        ("worlds", f"{PLACE}.props.NAME]", PropSpec),
        ("worlds", f"{PLACE}.photo]", PhotoSpec),
    ],
)
def test_every_key_of_a_family_and_of_a_world_is_documented(
    page: str, heading: str, model: type[Declared]
) -> None:
    keys = {name for name, field in model.model_fields.items() if not field.exclude}
    keys -= TABLES if model is declared.FamilyTables else set()
    assert set(rows(section(DOCS / f"{page}.md", heading))) == keys


def test_every_pattern_and_prop_is_documented() -> None:
    pattern = section(DOCS / "vocabularies.md", "## [attributes.KIND.VALUE.texture]")
    prop = section(DOCS / "worlds.md", "## [environments.PLACE.props.NAME]")
    assert all(f"`{name}`" in pattern for name in get_args(Pattern))
    assert all(f"`{name}`" in prop for name in get_args(PropType))


@pytest.mark.parametrize(
    ("heading", "schema"),
    [
        ("## world/plan.parquet", PLAN),
        ("## world/scenes.parquet", SCENES),
        ("## world/packed.parquet", PACKED),
        *(
            (f"## benchmarks/NAME/{name}.parquet", schema)
            for name, schema in BENCHMARK_TABLES.items()
        ),
        ("## benchmarks/NAME/truth.parquet", TRUTH),
        ("**scores.parquet**", SCORES),
    ],
)
def test_every_column_is_documented_with_its_type(heading: str, schema: pa.Schema) -> None:
    documented = rows(section(DOCS / "dataset.md", heading))
    for name, kind in columns(schema):
        assert name in documented
        assert documented[name][0] == kind, name


def section(page: Path, heading: str) -> str:
    """The part of a page from a heading to the next of its kind."""
    text = page.read_text(encoding="utf-8")
    return re.split(
        r"^(?:## |\*\*\w)",
        text[text.index(heading) + len(heading) :],
        maxsplit=1,
        flags=re.MULTILINE,
    )[0]


def columns(schema: pa.Schema) -> list[tuple[str, str]]:
    """Name and type, in the words of docs/dataset.md, of every column and of the fields of
    structs."""
    names_and_types = []
    for column in schema:
        names_and_types.append((column.name, words(column.type)))
        if pa.types.is_list(column.type) and pa.types.is_struct(column.type.value_type):
            names_and_types += [
                (f"{column.name}.{part.name}", words(part.type)) for part in column.type.value_type
            ]
    return names_and_types


def words(kind: pa.DataType) -> str:
    if pa.types.is_map(kind):
        return f"map of {words(kind.key_type)} to {words(kind.item_type)}"
    if pa.types.is_fixed_size_list(kind):
        return f"list of {kind.list_size} {words(kind.value_type)}"
    if pa.types.is_list(kind):
        return f"list of {words(kind.value_type)}"
    if pa.types.is_struct(kind):
        return "struct"
    return {"float": "float32", "double": "float64"}.get(str(kind), str(kind))


def test_paths_in_the_architecture_are_there() -> None:
    """The map shows what is there: every path in docs/architecture.md, read from the package it is
    about."""
    text = (ROOT / "docs/architecture.md").read_text(encoding="utf-8")
    named = set(re.findall(r"`((?:generator|evaluator|blender_assets|tests)/[\w./]+)`", text))
    assert len(named) > 25
    missing = sorted(name for name in named if not (ROOT / name).exists())
    assert not missing


PUBLISHED = {  # tables and figures of each paper
    "BindSplit": (20, 7),
    "Hard positives": (10, 4),
    "CREPE": (13, 5),
    "COMPASS": (8, 7),
    "Pearson et al.": (8, 6),
}


@pytest.mark.parametrize("paper", PUBLISHED)
def test_every_table_and_figure_of_a_paper_has_a_row(paper: str) -> None:
    text = (ROOT / "docs/papers.md").read_text(encoding="utf-8")
    (section,) = [part for part in text.split("\n## ") if part.startswith(paper)]
    for word, number in zip(("table", "figure"), PUBLISHED[paper], strict=True):
        runs = re.findall(
            rf"{word}s? ([\d, andto]+(?: \([a-z, ]+\)[\d, andto]*)*)", section, re.IGNORECASE
        )
        pairs = [pair for run in runs for pair in re.findall(r"(\d+)(?: to (\d+))?", run)]
        named = {n for first, last in pairs for n in range(int(first), int(last or first) + 1)}
        assert named >= set(range(1, number + 1)), (word, sorted(set(range(1, number + 1)) - named))


def items_of_papers() -> list[tuple[str, str, str]]:
    """The item, its state and what is said of it, of every row of docs/papers.md."""
    text = (DOCS / "papers.md").read_text(encoding="utf-8")
    table_rows = [line.strip("|").split("|") for line in text.splitlines() if line.startswith("|")]
    return [
        (row[0], row[1], "|".join(row[2:]))
        for row in table_rows
        if row[0] not in ("in the paper", "---")
    ]


def test_every_item_of_the_papers_works_or_says_what_is_different() -> None:
    states = [state for _, state, _ in items_of_papers()]
    assert set(states) == {"works", "deviates", "not here"}
    assert len(states) > 163
    assert states.count("works") > 0.8 * len(states)
    lacking = [
        item
        for item, state, status in items_of_papers()
        if state == "works" and not commands_in(status)
    ]
    assert set(lacking) == set()


def commands_in(cell: str) -> list[str]:
    """The commands of a cell that stand in code style."""
    return re.findall(r"`((?:gen|score) [^`]*)`", cell)


NAMED: dict[tuple[str, str], Callable[[str], object]] = {
    ("gen render", "preset"): read_preset,
    ("gen render", "design"): find_design,
    ("gen render", "family"): read_vocabulary,
    ("gen describe", "preset"): read_text_preset,
    ("gen describe", "protocols"): find_recipes,
    ("gen describe", "template"): TEMPLATES.__getitem__,
    ("score run", "protocols"): find_protocol,
    ("score tables", "paper"): find_paper,
    ("score experiment", "experiment"): lambda name: name == "FILE" or find_experiment(name),
    **{
        (f"score train {method}", "preset"): presets().__getitem__
        for method in ("finetune", "labclip", "dreambooth")
    },
}
"""What reads a parameter of a command, and raises an error for a name that does not exist."""


@pytest.mark.parametrize(
    "command_line", sorted({line for _, _, cell in items_of_papers() for line in commands_in(cell)})
)
def test_the_commands_of_the_papers_exist(command_line: str) -> None:
    words = shlex.split(command_line)
    context = max(
        (known for known in COMMANDS if words[: len(p := known.command_path.split())] == p),
        key=depth,
    )
    arguments = words[depth(context) :]
    if not arguments:  # a mention
        return
    assert not isinstance(context.command, click.Group), command_line
    options, left, order = context.command.make_parser(context).parse_args(list(arguments))
    assert not left, command_line
    for parameter in {parameter.name: parameter for parameter in order}.values():
        values = options[parameter.name]
        for value in values if isinstance(values, list | tuple) else [values]:
            if isinstance(parameter.type, click.Choice):
                parameter.type.convert(value, parameter, context)
            if value is not None and (
                read := NAMED.get((context.command_path, str(parameter.name)))
            ):
                read(value)
    required = [
        parameter.name
        for parameter in context.command.params
        if isinstance(parameter, click.Argument) and parameter.required
    ]
    assert all(options.get(name) for name in required), command_line


def depth(context: click.Context) -> int:
    return len(context.command_path.split())


def test_every_preset_of_texts_is_explained() -> None:
    language, papers = (
        (ROOT / "docs" / name).read_text(encoding="utf-8") for name in ("language.md", "papers.md")
    )
    for name in text_preset_names():
        assert f"| `{name}` |" in language
        is_of_paper = name[-4:].isdigit()
        assert not is_of_paper or f"gen describe DATASET --preset {name}" in papers
