"""Pearson et al. 2025, "Evaluating Compositional Generalisation in VLMs and Diffusion Models"."""

from evaluator.report.tables.counts import DATASET, CountTable, counted
from evaluator.report.tables.forgetting import FORGETTING
from evaluator.report.tables.paper import Paper, PaperTable, Picture, grouped, part
from evaluator.report.tables.sources import DRAWINGS, MAPS

_SPLITS = (
    part("ID Validation", split="id_val"),
    part("ID Test", split="id_test"),
    part("OOD Validation", split="ood_val"),
    part("OOD Test", split="ood_test"),
)
_TESTS = (_SPLITS[1], _SPLITS[3])


def _accuracy(number: str, task: str, metric: str, kind: str) -> PaperTable:
    of = {"protocol": "gzsl", "metric": metric, "kind": kind}
    return PaperTable(number, f"Accuracy on the {metric} {task} task", _SPLITS, of=of)


def _errors(number: str, task: str, kind: str, **errors: str) -> PaperTable:
    of = {"protocol": "gzsl", "metric": "share of predictions", "kind": kind}
    title = f"Errors in {task} GZSL, in % of predictions"
    return PaperTable(
        number, title, grouped(_TESTS, [part(head, error=error) for head, error in errors.items()]), of=of
    )


PAPER = Paper((
    CountTable(
        "1", "Images by split",
        [counted(each.head, "images", **each.of) for each in (part("Train", split="train"), *_SPLITS)], of={"protocol": DATASET},
    ),
    _accuracy("2", "single-object", "GZSL", "single"),
    _accuracy("3", "two-object", "ZSL", "two-object"),
    _accuracy("4", "two-object", "GZSL", "two-object"),
    _errors("5", "two-object", "two-object", Colour="color", Shape="shape", Other="distractor"),
    _accuracy("6", "relational", "ZSL", "relational"),
    _accuracy("7", "relational", "GZSL", "relational"),
    _errors("8", "relational", "relational", **{"Left/Right": "flip", "Shape": "order", "Other": "distractor"}),
        FORGETTING,
), pictures=(
    Picture("5", DRAWINGS, ("sheet.png",)),
    Picture("6", MAPS, ("texts.svg", "images.svg")),
))  # fmt: skip
