"""One self-contained HTML page for one or more runs: tables, figures, examples right and wrong."""

import base64
import io
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
from jinja2 import Environment, PackageLoader
from PIL import Image

from evaluator.measure import Measured, measure, measure_protocols
from evaluator.protocols.outcomes import Outcomes
from evaluator.report.figures import accuracy_by_split
from evaluator.report.terminal import interval, percent, signed
from generator.dataset.files import read_json, write_text
from generator.dataset.reader import Dataset

_EXAMPLES = 4
_SPLITS = ("seen", "partial", "unseen")


def write_page(runs: Sequence[Path], out: Path) -> list[dict[str, Any]]:
    """Measure the runs and write the page `out`; returns their results. Raises UserError when one is no run."""
    results = [measure(run) for run in runs]
    records = [read_json(run / "run.json") for run in runs]
    protocols = list(dict.fromkeys(name for result in results for name in result["protocols"]))
    environment = Environment(
        loader=PackageLoader("evaluator", "report"), autoescape=True, trim_blocks=True, lstrip_blocks=True
    )
    environment.filters |= {"percent": percent, "interval": interval, "signed": signed}
    page = environment.get_template("page.html.jinja").render(
        results=results,
        records=records,
        figures=[accuracy_by_split(results, protocol) for protocol in protocols],
        galleries=[_gallery(run, record) for run, record in zip(runs, records, strict=True)],
    )
    out.parent.mkdir(parents=True, exist_ok=True)
    write_text(out, page)
    return results


def _gallery(run: Path, record: dict[str, Any]) -> list[dict[str, Any]]:
    """Examples of every protocol and split: some right, some wrong, chosen by a fixed seed."""
    dataset = Dataset.open(record["dataset"])
    texts = dataset.benchmark(record["benchmark_name"]).text_of
    return [
        {
            "title": f"{measured.summary['metric']}, {split}",
            "rows": [
                {
                    "label": label,
                    "examples": [
                        _example(dataset, texts, measured.outcomes, i) for i in _choose(measured, split, right)
                    ],
                }
                for label, right in (("right", True), ("wrong", False))
            ],
        }
        for measured in measure_protocols(run).values()
        for split in _SPLITS
    ]


def _choose(measured: Measured, split: str, right: bool) -> list[int]:
    outcomes = measured.outcomes
    fitting = np.flatnonzero((outcomes.split == split) & (outcomes.correct == right) & (outcomes.unscored == ""))
    # one example a scene: an item and its twin in the other order would say the same
    _, first = np.unique(outcomes.scene_id[fitting], return_index=True)
    different = fitting[np.sort(first)]
    return sorted(np.random.default_rng(0).permutation(different)[:_EXAMPLES].tolist())


def _example(dataset: Dataset, texts: dict[str, str], outcomes: Outcomes, i: int) -> dict[str, Any]:
    lines = [
        (True, texts[outcomes.true_text[i]], float(outcomes.true[i])),
        (False, texts[outcomes.false_text[i]], float(outcomes.false[i])),
    ]
    return {
        "image": _data_url(dataset.world.image(str(outcomes.scene_id[i]))),
        "scene": str(outcomes.scene_id[i]),
        "lines": sorted(
            ({"true": true, "text": text, "score": f"{score:.3f}"} for true, text, score in lines),
            key=lambda line: -float(line["score"]),
        ),
    }


def _data_url(image: Image.Image) -> str:
    buffer = io.BytesIO()
    image.save(buffer, "WEBP", quality=85)
    return "data:image/webp;base64," + base64.b64encode(buffer.getvalue()).decode()
