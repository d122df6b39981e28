"""The command `score` and its subcommands."""

import click

from evaluator.cli.audit import audit
from evaluator.cli.compare import compare
from evaluator.cli.experiment import experiment
from evaluator.cli.export import export
from evaluator.cli.familiarity import familiarity
from evaluator.cli.hard_texts import hard_texts
from evaluator.cli.options import JSON
from evaluator.cli.pictures import embeddings, generate, probe
from evaluator.cli.report import report, tables
from evaluator.cli.run import ask, measure, run
from evaluator.cli.submit import challenge, commit, leaderboard, rerun, submit
from evaluator.cli.suite import suite
from evaluator.cli.train import train
from generator.base.commands import Command, Commands, completion, result


@click.group(
    cls=Commands, context_settings={"help_option_names": ["-h", "--help"], "show_default": True}
)
@click.version_option(package_name="jackalope", prog_name="score")
def main() -> None:
    """Score vision-language models on held-out combinations and report the results."""


@click.command(cls=Command, examples=["models"])
@JSON
def models(as_json: bool) -> None:
    """List the model families and how to name a model of each."""
    from evaluator.models.registry import families

    usages = {name: family.usage for name, family in families().items()}
    result(
        {"families": usages},
        as_json,
        "\n".join(f"{name:12} {usage}" for name, usage in usages.items()),
    )


for command in (
    run,
    ask,
    measure,
    report,
    export,
    submit,
    leaderboard,
    rerun,
    commit,
    challenge,
    tables,
    compare,
    train,
    hard_texts,
    generate,
    embeddings,
    probe,
    experiment,
    suite,
    audit,
    familiarity,
    models,
    completion,
):
    main.add_command(command)
