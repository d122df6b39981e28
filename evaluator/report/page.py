"""One self-contained HTML page for one or more runs: tables, figures, examples right and wrong."""

import base64
import io
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
from jinja2 import Environment, PackageLoader
from PIL import Image

from evaluator.measure import measure_protocols, results_of
from evaluator.protocols.outcomes import Measured
from evaluator.report.figures import figures
from evaluator.report.terminal import chance, interval, value, varying
from generator.dataset.files import read_json, write_text
from generator.dataset.reader import Dataset

_EXAMPLES = 4
_SPLITS = ("seen", "partial", "unseen")


def write_page(runs: Sequence[Path], out: Path) -> list[dict[str, Any]]:
    """Measure the runs and write the page `out`; returns their results. Raises UserError when one is no run."""
    measured = [measure_protocols(run) for run in runs]
    results = [results_of(run, each) for run, each in zip(runs, measured, strict=True)]
    records = [read_json(run / "run.json") for run in runs]
    environment = Environment(
        loader=PackageLoader("evaluator", "report"), autoescape=True, trim_blocks=True, lstrip_blocks=True
    )
    environment.filters |= {"value": value, "interval": interval, "chance": chance, "varying": varying}
    page = environment.get_template("page.html.jinja").render(
        results=results,
        records=records,
        figures=figures(results),
        galleries=[_gallery(each, record) for each, record in zip(measured, records, strict=True)],
    )
    out.parent.mkdir(parents=True, exist_ok=True)
    write_text(out, page)
    return results


def _gallery(protocols: dict[str, Measured], record: dict[str, Any]) -> list[dict[str, Any]]:
    """Examples of every protocol and split: some right, some wrong, chosen by a fixed seed."""
    dataset = Dataset.open(record["dataset"])
    texts = dataset.benchmark(record["benchmark_name"]).text_of
    galleries = []
    for name, measured in protocols.items():
        shown = measured.items.shown()
        for split in _SPLITS:
            chosen = {right: _choose(measured, split, right) for right in (True, False)}
            if any(chosen.values()):
                rows = [
                    {"label": "right" if right else "wrong", "examples": [_example(dataset, texts, measured, shown, i) for i in places]}
                    for right, places in chosen.items()
                ]  # fmt: skip
                galleries.append({"title": f"{name}, {measured.outcomes[0].metric}, {split}", "rows": rows})
    return galleries


def _choose(measured: Measured, split: str, right: bool) -> list[int]:
    items = measured.items
    fitting = np.flatnonzero((items.split == split) & ((measured.outcomes[0].value == 1) == right) & items.scored)
    # one example a scene: an item and its twin in the other order would say the same
    _, first = np.unique(items.scene_id[fitting].astype(str), return_index=True)
    different = fitting[np.sort(first)]
    return sorted(np.random.default_rng(0).permutation(different)[:_EXAMPLES].tolist())


def _example(
    dataset: Dataset, texts: dict[str, str], measured: Measured, shown: dict[str, np.ndarray], i: int
) -> dict[str, Any]:
    lines = [(name == "true", texts[shown[f"{name}_text"][i]], float(shown[name][i])) for name in ("true", "false")]
    scene = str(measured.items.scene_id[i])
    return {
        "image": _data_url(dataset.world.image(scene)),
        "scene": scene,
        "lines": [
            {"true": true, "text": text, "score": f"{score:.3f}"}
            for true, text, score in sorted(lines, key=lambda line: -line[2])
        ],
    }


def _data_url(image: Image.Image) -> str:
    buffer = io.BytesIO()
    image.save(buffer, "WEBP", quality=85)
    return "data:image/webp;base64," + base64.b64encode(buffer.getvalue()).decode()
