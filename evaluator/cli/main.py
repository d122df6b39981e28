"""The command `score`: its subcommands, one file each."""

import click

from evaluator.cli.audit import audit
from evaluator.cli.compare import compare
from evaluator.cli.embeddings import embeddings
from evaluator.cli.experiment import experiment
from evaluator.cli.familiarity import familiarity
from evaluator.cli.generate import generate
from evaluator.cli.measure import measure
from evaluator.cli.models import models
from evaluator.cli.report import report
from evaluator.cli.run import run
from evaluator.cli.tables import tables
from evaluator.cli.train import train
from generator.base.commands import Commands


@click.group(cls=Commands, context_settings={"help_option_names": ["-h", "--help"], "show_default": True})
@click.version_option(package_name="jackalope", prog_name="score")
def main() -> None:
    """Score vision-language models on held-out combinations and report the results."""


for command in (
    run,
    measure,
    report,
    tables,
    compare,
    train,
    generate,
    embeddings,
    experiment,
    audit,
    familiarity,
    models,
):
    main.add_command(command)
