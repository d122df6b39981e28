"""Pearson et al. 2025, "Evaluating Compositional Generalisation in VLMs and Diffusion Models"."""

from evaluator.papers.counts import DATASET, benchmark_labels
from evaluator.papers.inputs import PaperInputs
from evaluator.papers.paper import Paper, PaperTable, figure_from_files, table_of_changes
from evaluator.papers.selection import by_label, grouped, select
from evaluator.report.audit_results import DRAWINGS, MAPS
from evaluator.report.table import Table

_ID_TEST = select("ID Test", split="id_test")
_OOD_TEST = select("OOD Test", split="ood_test")
_SPLITS = (
    select("ID Validation", split="id_val"),
    _ID_TEST,
    select("OOD Validation", split="ood_val"),
    _OOD_TEST,
)
_IMAGES = {"protocol": DATASET, "metric": "images"}


def _accuracy(number: str, metric: str, kind: str) -> PaperTable:
    """A table of the accuracy on a task by split."""
    row_filter = {"protocol": "gzsl", "metric": metric, "kind": kind}
    title = f"Accuracy on the {metric} {kind.replace('single', 'single-object')} task"
    return PaperTable(
        number, title, lambda inputs: by_label(inputs.labels, _SPLITS, row_filter=row_filter)
    )


def _errors(number: str, kind: str, **errors: str) -> PaperTable:
    """A table of wrong predictions by what is wrong. errors: by head of a column, the error."""
    row_filter = {"protocol": "gzsl", "metric": "share of predictions", "kind": kind}
    members = [select(head, error=error) for head, error in errors.items()]
    columns = grouped((_ID_TEST, _OOD_TEST), members)
    title = f"Errors in {kind} GZSL, in % of predictions"
    return PaperTable(
        number, title, lambda inputs: by_label(inputs.labels, columns, row_filter=row_filter)
    )


def _images(inputs: PaperInputs) -> Table:
    """The number of images of each split."""
    columns = [select("Train", split="train"), *_SPLITS]
    return by_label(benchmark_labels(inputs), columns, row_filter=_IMAGES, named="dataset")


PAPER = Paper(
    [
        PaperTable("1", "Images by split", _images),
        _accuracy("2", "GZSL", "single"),
        _accuracy("3", "ZSL", "two-object"),
        _accuracy("4", "GZSL", "two-object"),
        _errors("5", "two-object", Colour="color", Shape="shape", Other="distractor"),
        _accuracy("6", "ZSL", "relational"),
        _accuracy("7", "GZSL", "relational"),
        _errors(
            "8", "relational", **{"Left/Right": "flip", "Shape": "order", "Other": "distractor"}
        ),
        table_of_changes(),
    ],
    [
        figure_from_files("5", DRAWINGS, "sheet.png"),
        figure_from_files("6", MAPS, "texts.svg", "images.svg"),
    ],
)
