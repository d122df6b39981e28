"""The commands `gen export` and `gen publish`."""

from pathlib import Path
from typing import TYPE_CHECKING, Literal

import click

from generator.base.commands import Bar, Command, Commands, DatasetFolder, result, say
from generator.base.paths import check_own_files
from generator.cli.options import BENCHMARK, DATASET, FOLDER, JSON, NEW_FOLDER, table

if TYPE_CHECKING:
    from generator.dataset.reader import Dataset

_OUT = click.option("--out", type=NEW_FOLDER, required=True, help="Folder to write.")


@click.group(cls=Commands)
def export() -> None:
    """Convert a dataset to the format of another tool."""


@export.command(
    examples=['export hf small --creator "Ada Lovelace" --licence CC-BY-4.0 --out small-hf']
)
@DATASET
@_OUT
@BENCHMARK
@click.option(
    "--title", help="Title of the dataset.  [default: the names of the folder and the benchmark]"
)
@click.option(
    "--creator", "creators", multiple=True, help="An author. Repeat for several.  [default: none]"
)
@click.option("--licence", help="SPDX name of the licence, such as CC-BY-4.0.  [default: none]")
@JSON
def hf(
    dataset: Path,
    out: Path,
    benchmark: str | None,
    title: str | None,
    creators: tuple[str, ...],
    licence: str | None,
    as_json: bool,
) -> None:
    """Write DATASET as a folder for the Hugging Face Hub, which `gen publish` uploads.

    It has Parquet files with images, captions and questions, the files of DATASET, a card,
    Croissant and CITATION.cff.
    """
    from generator.exports.huggingface import Publication, export_hf

    opened = _open(dataset)
    chosen = opened.benchmark(benchmark)
    publication = Publication(
        title or f"{opened.root.resolve().name} {chosen.name}", creators, licence
    )
    scenes = export_hf(opened, chosen, about=publication, out=out, progress=Bar())
    _print_scenes(scenes, out, as_json)


@export.command(examples=["export webdataset small --out small-tars --size 256MB"])
@DATASET
@_OUT
@BENCHMARK
@click.option("--size", default="256MB", help="Largest size of a tar, such as 256MB or 1GB.")
@JSON
def webdataset(dataset: Path, out: Path, benchmark: str | None, size: str, as_json: bool) -> None:
    """Write DATASET as tars of images and captions, one folder per split, for the webdataset
    library."""
    from generator.base.declarations import parse_size
    from generator.exports.training import Samples, export_webdataset

    opened = _open(dataset)
    samples = Samples(opened, opened.benchmark(benchmark))
    scenes = export_webdataset(samples, size=parse_size(size), out=out, progress=Bar())
    _print_scenes(scenes, out, as_json)


@export.command(examples=["export jsonl small --out small-train"])
@DATASET
@_OUT
@BENCHMARK
@JSON
def jsonl(dataset: Path, out: Path, benchmark: str | None, as_json: bool) -> None:
    """Write the training images of DATASET and a list of them as JSON lines, for models that are
    trained elsewhere.

    A line is a caption of an image with its negatives; `score train` reads such files too. Of a
    rotation, each turn gets its list over the same images.
    """
    from generator.exports.training import export_jsonl

    opened = _open(dataset)
    # Without a choice, all turns of a rotation: their lists share the images.
    names = [benchmark] if benchmark is not None else opened.training_names()
    benchmarks = [opened.benchmark(name) for name in names]
    counts = export_jsonl(opened, benchmarks, out=out, progress=Bar())
    for name, number in counts.items():
        say(f"{name}.jsonl: {number:,} images")
    result({"folder": str(out), "images": counts}, as_json, str(out))


@export.command(examples=["export clevr world --out world-clevr"])
@DATASET
@_OUT
@BENCHMARK
@click.option(
    "--split",
    "splits",
    multiple=True,
    help="Split to write; none for scenes without a split. Repeat for several.  [default: all]",
)
@click.option("--date", help="Date to write into the files.  [default: none]")
@click.option("--version", default="1.0", help="Version to write into the files.")
@click.option("--license", help="Licence to write into the files.  [default: none]")
@JSON
def clevr(
    dataset: Path,
    out: Path,
    benchmark: str | None,
    splits: tuple[str, ...],
    date: str | None,
    version: str,
    license: str | None,
    as_json: bool,
) -> None:
    """Write DATASET in CLEVR's format: scenes/CLEVR_<split>_scenes.json and images/<split>/.

    The family's objects must have shape, size, material and color. Scenes that the benchmark does
    not use are written as the split none.
    """
    from generator.exports.clevr import export_clevr

    opened = _open(dataset)
    # CLEVR's files have these keys, so they are there without a value too.
    info = {"date": date or "", "version": version, "license": license or ""}
    scenes = export_clevr(
        opened.world, opened.benchmark(benchmark), splits=splits, info=info, out=out
    )
    _print_scenes(scenes, out, as_json)


_PROTOCOLS = click.option(
    "--protocol",
    "protocols",
    multiple=True,
    help="Protocol to ask. Repeat for several.  [default: all]",
)
_SPLITS = click.option(
    "--split", "splits", multiple=True, help="Split to ask. Repeat for several.  [default: all]"
)
_FORM = click.option(
    "--form",
    type=click.Choice(["choice", "yes-no"]),
    default="choice",
    help="choice: which of 2 to 5 captions is true, by its letter; yes-no: each caption of an "
    "item alone.",
)
_ORDERS = click.option(
    "--orders",
    type=click.IntRange(min=1),
    help="Number of cyclic orders of its options in which to ask a choice.  [default: all]",
)


def _add_question_command(tool: str, title: str, help_: str) -> None:
    """Add the command that exports questions for a tool.

    Args:
        tool: The command's name.
        title: The tool's name.
        help_: What the command writes.
    """

    @export.command(
        tool,
        help=f"Write the questions of `score ask` for {title}: {help_}\n\n`score measure --items "
        f"LOG --dataset DATASET` reads the tool's logs.",
        examples=[
            f"export {tool} small --out small-{tool}",
            f"export {tool} small --split unseen --out small-{tool}",
        ],
    )
    @DATASET
    @_OUT
    @BENCHMARK
    @_PROTOCOLS
    @_SPLITS
    @_FORM
    @_ORDERS
    @JSON
    def export_for_tool(
        dataset: Path,
        out: Path,
        benchmark: str | None,
        protocols: tuple[str, ...],
        splits: tuple[str, ...],
        form: Literal["choice", "yes-no"],
        orders: int | None,
        as_json: bool,
    ) -> None:
        from generator.exports.questions import QuestionSet, command, export_questions

        opened = _open(dataset)
        questions = QuestionSet(
            opened,
            opened.benchmark(benchmark),
            form=form,
            protocols=protocols,
            splits=splits,
            orders=orders,
        )
        counts = export_questions(questions, tool=tool, out=out, progress=Bar())
        say(
            f"{counts['questions']:,} questions on {counts['images']:,} images. Next: "
            f"{command(questions, tool, out)}"
        )
        result({"out": str(out), **counts}, as_json, str(out))


_add_question_command("lmms-eval", "lmms-eval", "a task (YAML and its functions) and images.")
_add_question_command("vlmevalkit", "VLMEvalKit", "a TSV for its CircularEval.")
_add_question_command("inspect", "Inspect", "a task for `inspect eval` and images.")
_add_question_command(
    "clip-benchmark", "CLIP_benchmark", "pairs of a caption and a negative, in SugarCrepe's layout."
)


@export.command(
    "pull-request",
    examples=[
        "export pull-request suite --tool lmms-eval --name jackalope_1 --hub ada/jackalope-1 "
        "--out pr",
    ],
)
@click.argument("datasets", type=DatasetFolder(), nargs=-1, required=True)
@_OUT
@click.option(
    "--tool", type=click.Choice(["lmms-eval", "vlmevalkit"]), required=True, help="The tool."
)
@click.option("--name", required=True, help="Name of the group of tasks, or of the class.")
@click.option(
    "--hub",
    required=True,
    metavar="OWNER/NAME",
    help="The dataset on the Hugging Face Hub that gets the questions.",
)
@JSON
def pull_request(
    datasets: tuple[Path, ...], out: Path, tool: str, name: str, hub: str, as_json: bool
) -> None:
    """Write the questions of DATASETS as a pull request to lmms-eval or VLMEvalKit would bring
    them.

    A folder made by `gen suite` stands for all its worlds. The questions go to the Hugging Face
    Hub, the folder of tasks to the tool; README.md says how.
    """
    from generator.exports.pull_request import export_pull_request, find_datasets

    opened = {title: _open(folder) for title, folder in find_datasets(datasets).items()}
    counts = export_pull_request(opened, tool=tool, name=name, hub=hub, out=out, progress=Bar())
    say(f"{sum(counts.values()):,} questions of {len(counts)} benchmarks. Next: {out}/README.md")
    result({"out": str(out), "questions": counts}, as_json, str(out))


@export.command(
    examples=["export mteb small --hub ada/small-mteb --licence CC-BY-4.0 --out small-mteb"]
)
@DATASET
@_OUT
@BENCHMARK
@click.option(
    "--hub",
    required=True,
    metavar="OWNER/NAME",
    help="The dataset on the Hugging Face Hub that gets the folder.",
)
@click.option("--revision", default="main", help="Commit of the upload.")
@click.option(
    "--title",
    help="Title of the dataset, which begins the names of the tasks.  [default: jackalope and the "
    "name of the folder]",
)
@click.option("--licence", help="SPDX name of the licence, such as CC-BY-4.0.  [default: none]")
@click.option("--date", help="Day of the dataset, as YYYY-MM-DD.  [default: none]")
@JSON
def mteb(
    dataset: Path,
    out: Path,
    benchmark: str | None,
    hub: str,
    revision: str,
    title: str | None,
    licence: str | None,
    date: str | None,
    as_json: bool,
) -> None:
    """Write the pairs, captions with foils, and ladders of DATASET for mteb: one Python file with
    its tasks, and their questions as a dataset for the Hugging Face Hub.

    `score export mteb` writes results of these tasks (docs/publishing.md).
    """
    from generator.exports.mteb import MtebPublication, export_mteb

    opened = _open(dataset)
    name = title or f"Jackalope {opened.root.resolve().name}"
    about = MtebPublication(name, hub, revision, licence, date)
    tasks = export_mteb(opened, opened.benchmark(benchmark), about=about, out=out, progress=Bar())
    say(f"Tasks: {', '.join(f'{task} {n:,} items' for task, n in tasks.items())}.")
    result({"out": str(out), "tasks": tasks}, as_json, str(out))


@export.command(
    examples=[
        "export rl small --format trl --out small-trl",
        "export rl small --format verl --tasks describe,count --out small-verl",
    ]
)
@DATASET
@_OUT
@BENCHMARK
@click.option(
    "--format",
    "format_name",
    type=click.Choice(["verifiers", "verl", "easyr1", "trl"]),
    required=True,
    help="The trainer.",
)
@click.option(
    "--tasks",
    "task_list",
    help=(
        "Tasks with commas between: describe, count, attributes, relations, choice.  [default: "
        "all that DATASET has questions of]"
    ),
)
@JSON
def rl(
    dataset: Path,
    out: Path,
    benchmark: str | None,
    format_name: str,
    task_list: str | None,
    as_json: bool,
) -> None:
    """Write questions about the images of DATASET, with rewards, for a trainer by reinforcement
    learning.

    Each split has a file of its own: train on train, report on seen, partial and unseen
    (docs/rewards.md). The reward functions are copied beside them.
    """
    from generator.exports.rl.export import export_rl
    from generator.exports.rl.questions import RewardedQuestions, parse_tasks

    tasks = None if task_list is None else parse_tasks(task_list)
    opened = _open(dataset)
    questions = RewardedQuestions(opened, opened.benchmark(benchmark), tasks)
    counts = export_rl(questions, format_name=format_name, out=out, progress=Bar())
    totals = [f"{split} {sum(of_task.values()):,}" for split, of_task in counts.items()]
    say(f"Questions: {', '.join(totals)}. Next: {out}/README.md")
    result({"out": str(out), "questions": counts}, as_json, str(out))


def _open(folder: Path) -> "Dataset":
    """Open a dataset to pass its files on. Raises UserError if it holds a link, which may lead to
    files of the user."""
    from generator.dataset.reader import Dataset

    # An export passes files on, so nothing may lead out of the folder.
    check_own_files(folder)
    return Dataset.open(folder)


def _print_scenes(scenes: dict[str, int], out: Path, as_json: bool) -> None:
    say(f"Scenes: {', '.join(f'{split} {n:,}' for split, n in scenes.items())}.")
    result({"out": str(out), "scenes": scenes}, as_json, str(out))


@click.command(
    cls=Command,
    examples=["publish small-hf --to hf:ada/small --dry-run", "publish small-hf --to hf:ada/small"],
)
@click.argument("folder", type=FOLDER)
@click.option("--to", required=True, help="hf:USER/NAME, a dataset on the Hugging Face Hub.")
@click.option("--private", is_flag=True, help="Let only USER see it.")
@click.option("--dry-run", is_flag=True, help="Upload nothing. List the files and their sizes.")
@JSON
def publish(folder: Path, to: str, private: bool, dry_run: bool, as_json: bool) -> None:
    """Upload FOLDER, made by `gen export hf`, to the Hugging Face Hub.

    If the command is stopped, run it again to continue (docs/publishing.md).
    """
    from generator.exports.huggingface import files_to_upload, hub_name, upload

    name, files = hub_name(to), files_to_upload(folder)
    size = sum(file.size for file in files)
    # The list of files is for people; the result has their number and size.
    if dry_run:
        rows = [[file.path, f"{file.size:,}"] for file in files]
        say("\n".join(table([["file", "bytes"], *rows])))
    say(f"{len(files):,} files of {size:,} bytes {'would go' if dry_run else 'go'} to {name}.")
    url = None if dry_run else upload(folder, files, name=name, private=private)
    result({"url": url, "files": len(files), "bytes": size}, as_json, url or str(folder))
