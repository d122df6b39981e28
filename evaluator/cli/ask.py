"""The command `score ask`."""

from pathlib import Path
from typing import Any

import click

from evaluator.cli.options import BENCHMARK, FILE, FILTERS, FOLDER, FULL, JSON, JSONL, NEW_FILE, Questions, options_of
from evaluator.runs.request import AskRequest
from generator.base.commands import Bar, Command, result, say
from generator.base.errors import UserError

_ASKED = ("form", "protocols", "prompt", "orders", "samples", "temperature", "max_tokens", "budget", "limit", "out")
_OPTIONS = (*_ASKED, "splits", "level", "verify", "allow_contaminated", "device")


@click.command(
    cls=Command,
    common=("model", *_ASKED),
    examples=[
        "ask small --model vqa:Qwen/Qwen3-VL-4B-Instruct",
        "ask small --model api:http://localhost:8000/v1@MODEL --samples 5 --temperature 0.7",
        "ask small --model api:https://api.openai.com/v1@MODEL --to batch.jsonl",
    ],
)
@click.argument("dataset", type=Questions())
@click.option(
    "--model",
    required=True,
    help="Model that answers in words: vqa:NAME, api:URL@MODEL, or python:FILE.py:FACTORY with a method "
    "answer(images, question).",
)
@BENCHMARK
@click.option("--images", type=FOLDER, help="Folder of the images of a benchmark of others.")
@FILTERS
@options_of(AskRequest, *_OPTIONS)
@click.option("--to", "batch", type=NEW_FILE, help="Write the questions to this file of OpenAI's batch format instead.")
@click.option(
    "--from", "answers", type=FILE, multiple=True, help="Take the answers from this file of results of a batch."
)
@FULL
@JSONL
@JSON
def ask(
    dataset: str,
    model: str,
    benchmark: str | None,
    images: Path | None,
    filters: tuple[str, ...],
    batch: Path | None,
    answers: tuple[Path, ...],
    full: bool,
    jsonl: bool,
    as_json: bool,
    **options: Any,
) -> None:
    """Ask MODEL the questions of DATASET in words and print the results for each split.

    A choice is right if it is right in every order. If the command is stopped, run it again to continue: no question is
    asked twice.
    """
    from evaluator.cli.results_table import print_results
    from evaluator.models.registry import check_path, read_spec
    from evaluator.report.files import write_latex
    from evaluator.runs.ask import ask as ask_model
    from evaluator.runs.ask import write_questions
    from evaluator.runs.dataset import Dataset
    from evaluator.runs.folder import folder_name
    from evaluator.runs.measure import write_items

    if batch is not None and answers:
        raise UserError("--to writes the questions and --from reads their answers; give one of the two.")
    check_path(read_spec(model))
    opened = Dataset.open(dataset, benchmark, images=images, filters=filters)
    limit = options["limit"]
    part = ("" if limit is None else f"-limit{limit}") + "".join(f"-{each}" for each in filters)
    above = Path("runs") / f"{opened.source.path.resolve().name}-{opened.benchmark.name}"
    out = options.pop("out") or above / folder_name(f"{model}-{options['form']}{part}")
    request = AskRequest(dataset=opened, model=model, **options)
    if batch is not None:
        paths, n = write_questions(request, out, batch)
        named = " ".join(map(str, paths))
        say(f"{n:,} questions are in {named or 'no file: all have answers'}. Next: the batch, then --from its results.")
        result({"batch": [str(path) for path in paths], "questions": n}, as_json, named)
        return
    results = ask_model(request, out, Bar(), answers)
    write_latex(results, out)
    if jsonl:
        write_items(out)
    say(f"Answers and results are in {out}. Next: score report {out}")
    print_results([results], full, as_json)
