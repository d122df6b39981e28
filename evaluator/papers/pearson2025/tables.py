"""Pearson et al. 2025, "Evaluating Compositional Generalisation in VLMs and Diffusion Models"."""

from evaluator.papers.inputs import DATASET, datasets
from evaluator.papers.paper import (
    Paper,
    PaperTable,
    by_label,
    changed_elsewhere,
    grouped,
    part,
    picture,
)
from evaluator.report.audit_results import DRAWINGS, MAPS

_SPLITS = (
    part("ID Validation", split="id_val"),
    part("ID Test", split="id_test"),
    part("OOD Validation", split="ood_val"),
    part("OOD Test", split="ood_test"),
)
_IMAGES = {"protocol": DATASET, "metric": "images"}


def _accuracy(number: str, metric: str, kind: str) -> PaperTable:
    of = {"protocol": "gzsl", "metric": metric, "kind": kind}
    title = f"Accuracy on the {metric} {kind.replace('single', 'single-object')} task"
    return PaperTable(number, title, lambda given: by_label(given.labels, _SPLITS, of=of))


def _errors(number: str, kind: str, **errors: str) -> PaperTable:
    of = {"protocol": "gzsl", "metric": "share of predictions", "kind": kind}
    columns = grouped(_SPLITS[1::2], [part(head, error=error) for head, error in errors.items()])
    title = f"Errors in {kind} GZSL, in % of predictions"
    return PaperTable(number, title, lambda given: by_label(given.labels, columns, of=of))


PAPER = Paper(
    [
        PaperTable(
            "1",
            "Images by split",
            lambda given: by_label(
                datasets(given),
                [part("Train", split="train"), *_SPLITS],
                of=_IMAGES,
                named="dataset",
            ),
        ),
        _accuracy("2", "GZSL", "single"),
        _accuracy("3", "ZSL", "two-object"),
        _accuracy("4", "GZSL", "two-object"),
        _errors("5", "two-object", Colour="color", Shape="shape", Other="distractor"),
        _accuracy("6", "ZSL", "relational"),
        _accuracy("7", "GZSL", "relational"),
        _errors(
            "8", "relational", **{"Left/Right": "flip", "Shape": "order", "Other": "distractor"}
        ),
        changed_elsewhere(),
    ],
    [picture("5", DRAWINGS, "sheet.png"), picture("6", MAPS, "texts.svg", "images.svg")],
)
