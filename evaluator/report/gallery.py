"""The data of the page's gallery: every item of the runs with its images, candidates, scores and
outcomes."""

import logging
import os
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.compute as pc
from PIL import Image

from evaluator.benchmarks.pictures import Pictures
from evaluator.benchmarks.registry import BenchmarkSource, read_external
from evaluator.protocols import find_protocol
from evaluator.protocols.items import split_rank
from evaluator.protocols.records import by_key
from evaluator.runs.folder import NamedRun, Run
from evaluator.scoring.words.files import read_answers
from evaluator.scoring.words.prompt import prompt_of
from generator.base.clusters import OF, SEPARATOR
from generator.base.errors import UserError, visible
from generator.base.pages import coded, data_url, thumbnails
from generator.base.tables import read_csv, read_table
from generator.dataset.questions import IMAGES, MATCHING, YES_NO, Candidates
from generator.dataset.reader import Images, World
from generator.dataset.records import SCORES

logger = logging.getLogger(__name__)
_LABELS = (
    "protocol",
    "item_id",
    "metric",
    "split",
    "kind",
    "skill",
    "bindings",
    "scene_id",
    "unscored",
)
_NUMBERS = ("value", "true", "false")
_MOST = 5_000_000
_EXAMPLE_SIDE = 256
"""Width and height of the example at the top of a page, in pixels: sharp on screens of two pixels a
point, where it is shown at 128."""


def benchmark_items(
    runs: Sequence[tuple[str, NamedRun]], page: Path, inline: bool = False
) -> dict[str, Any]:
    """The items of one benchmark's runs, (label, run) pairs, as a dictionary for JSON.

    Items and `candidates` are stored in columns; labels as codes into `names`. Each of `runs` has
    `outcome`, a letter
    for each item (r right, w wrong, t tie, u unscored, - not asked); `margin`, best true less best
    false score;
    `score`, the score of each candidate; `best`, the best texts of items against a pool; and
    `answers`, the full
    answers in words, up to _MOST characters in total.
    inline: images of up to 512 pixels, instead of thumbnails whose size depends on their number.
    """
    read = [(label, each, _outcomes(each.run)) for label, each in runs]
    items = (
        pd.concat([found for *_, found in read]).drop_duplicates("item_id").reset_index(drop=True)
    )
    items = items.iloc[
        sorted(range(len(items)), key=lambda i: split_rank(str(items["split"][i])))
    ]  # stable
    items = items.reset_index(drop=True)
    row_of = pd.Series(items.index, items["item_id"])
    benchmark = runs[0][1].run.benchmark
    candidates = benchmark.candidates.to_pandas()
    candidates["item"] = candidates["item_id"].map(row_of)
    candidates = candidates.dropna(subset=["item"]).sort_values(
        ["item", "truth"], ascending=[True, False], kind="stable"
    )
    scenes = [each for each in dict.fromkeys([*candidates["scene_id"], *items["scene_id"]]) if each]
    texts: dict[str, int] = {}
    text_of = benchmark.text_of
    images = runs[0][1].run.world or pictures_of(runs[0][1].run)
    found = {
        "benchmark": runs[0][1].results["benchmark"],
        "id": items["item_id"].tolist(),
        "labels": {
            name: coded(map(str, items[name])) for name in ("protocol", "split", "kind", "skill")
        },
        "bindings": coded(map(str, items["bindings"])),
        "candidates": {
            "start": np.searchsorted(candidates["item"], np.arange(len(items) + 1)).tolist(),
            "scene": candidates["scene_id"]
            .map({name: i for i, name in enumerate(scenes)})
            .tolist(),
            "text": [texts.setdefault(text_of[each], len(texts)) for each in candidates["text_id"]],
            "truth": candidates["truth"].astype(int).tolist(),
            "kind": coded(map(str, candidates["kind"].fillna(""))),
        },
        "scenes": scenes,
        "runs": [
            _of_run(label, each, outcomes, row_of, candidates, texts)
            for label, each, outcomes in read
        ],
    }
    return found | {
        "texts": [visible(text) for text in texts],
        "images": [] if images is None else thumbnails(images.image, scenes, inline),
        "folder": _folder(images, page),
    }


def grid_cells(
    data: Mapping[str, Any],
    model_of: Sequence[str],
    held_out: Sequence[Sequence[str]],
    protocol: str,
) -> list[dict[str, Any]]:
    """A cell (evaluator.report.figures.grid) for each model, value and object: the share of right
    answers on items whose scene shows both, averaged over the model's runs. model_of: the model of
    each run of `data`."""
    labels = data["labels"]
    names, splits, bindings = (
        _labels(each) for each in (labels["protocol"], labels["split"], data["bindings"])
    )
    shown = by_key(
        (binding, row)
        for row in np.flatnonzero((names == protocol) & (splits != "val"))
        for binding in {each for each in bindings[row].split(SEPARATOR) if OF in each}
    )
    values, objects = ({each[i] for each in held_out} for i in (0, 1))
    cells = []
    for model in dict.fromkeys(model_of):
        runs = [run for run, name in zip(data["runs"], model_of, strict=True) if name == model]
        outcomes = np.array([list(run["outcome"]) for run in runs])
        answered = np.isin(outcomes, ("r", "w", "t"))
        for binding, rows in sorted(shown.items()):
            found = [
                right[of]
                for right, of in zip(outcomes[:, rows] == "r", answered[:, rows], strict=True)
            ]
            if shares := [each.mean() for each in found if len(each)]:
                value, thing = binding.split(OF, 1)
                of = {
                    "model": model,
                    "value": value,
                    "object": thing,
                    "held_out": [value, thing] in held_out,
                }
                cells.append(
                    {
                        **of,
                        "share": float(np.mean(shares)),
                        "items": int(answered[:, rows].any(axis=0).sum()),
                    }
                )
    return sorted(
        cells, key=lambda cell: (cell["value"] not in values) + (cell["object"] not in objects)
    )


def _labels(coded: Mapping[str, Any]) -> np.ndarray:
    return np.array(coded["names"], dtype=object)[coded["codes"]]


def _outcomes(run: Run) -> pd.DataFrame:
    """The outcome of each item by its protocol's main metric, which is the first metric in the
    table."""
    columns = {**dict.fromkeys(_LABELS, pa.string()), **dict.fromkeys(_NUMBERS, pa.float64())}
    columns |= {"tie": pa.bool_(), "true_text": pa.string(), "false_text": pa.string()}
    found = read_csv(run.folder / "tables" / "items.csv", columns).to_pandas()
    found = found[found["metric"] == found.groupby("protocol")["metric"].transform("first")]
    return found.fillna(dict.fromkeys((*_LABELS, "true_text", "false_text"), "")).reset_index(
        drop=True
    )


def failures(run: Run, most: int) -> list[tuple[Image.Image, str]]:
    """Images of wrongly answered items, one per scene, each with the false text that won; []
    without images."""
    images = run.world or pictures_of(run)
    outcomes = _outcomes(run)
    wrong = outcomes[(outcomes["value"] < 1) & (outcomes["split"] != "val")].drop_duplicates(
        "scene_id"
    )[:most]
    if images is None:
        return []
    return [
        (images.image(row["scene_id"]), visible(row["false_text"]))
        for row in wrong.to_dict("records")
    ]


def wrong_unseen(run: Run, protocol: str = "") -> dict[str, str] | None:
    """An image of an unseen combination for which a false caption won.

    Args:
        run: The run.
        protocol: The protocol that the item is of, if it has such an item; "" for any.

    Returns: The `image` as a data URL, the `true` caption and the `false` one. None without such an
        item, and for a run without images.
    """
    outcomes = _outcomes(run)
    has_texts = (outcomes["true_text"] != "") & (outcomes["false_text"] != "")
    wrong = outcomes[(outcomes["value"] < 1) & (outcomes["split"] == "unseen") & has_texts]
    images = run.world or pictures_of(run)
    if images is None or wrong.empty:
        return None
    of_protocol = wrong[wrong["protocol"] == protocol]
    # The first item by the order of the table, so that the same run has the same page.
    item = (wrong if of_protocol.empty else of_protocol).iloc[0]
    return {
        "image": data_url(images.image(item["scene_id"]), _EXAMPLE_SIDE),
        "true": visible(item["true_text"]),
        "false": visible(item["false_text"]),
    }


def _of_run(
    label: str,
    each: NamedRun,
    outcomes: pd.DataFrame,
    row_of: pd.Series,
    candidates: pd.DataFrame,
    texts: dict[str, int],
) -> dict[str, Any]:
    rows = outcomes["item_id"].map(row_of).to_numpy()
    letters = np.full(len(row_of), "-")
    right, tie = (
        (outcomes["value"] == 1).to_numpy(),
        outcomes["tie"].fillna(False).to_numpy(dtype=bool),
    )
    letters[rows] = np.select([outcomes["value"].isna(), right, tie], ["u", "r", "t"], "w")
    margin = np.full(len(row_of), np.nan)
    margin[rows] = outcomes["true"] - outcomes["false"]
    scores = _scores(each, candidates)
    pooled = _pooled(each.run, outcomes, candidates)
    return {
        "label": label,
        "outcome": "".join(letters),
        "margin": _rounded(margin),
        "score": _rounded(scores),
        "best": {
            int(row_of[item]): [
                [texts.setdefault(text, len(texts)), int(truth), *_rounded(np.array([score]))]
                for text, truth, score in best
            ]
            for item, best in pooled.items()
        },
        "answers": _answers(each.run, row_of),
    }


def _answers(run: Run, row_of: pd.Series) -> dict[int, list[Any]]:
    """The answers of each item of a run in words: the options as (letter, words), what the answer
    says, and the answer itself."""
    words = run.record.get("words")
    if words is None:
        return {}
    rows, prompt = Candidates(run.benchmark), prompt_of(words["prompt"])
    found: dict[int, list[Any]] = {}
    size = 0
    for each in read_answers(run.folder, rows, prompt):
        asked, reading, size = each.question, each.reading, size + len(each.answer.text)
        if size > _MOST:
            logger.info(
                f"The page has the first {_MOST:,} characters of answers; answers.parquet has them "
                f"all."
            )
            break
        labels = (prompt.yes[0], prompt.no[0]) if asked.form == YES_NO else prompt.letters
        options = [
            (rows.scene if asked.form == IMAGES else rows.text)[row] for row in asked.options
        ]
        if asked.form == MATCHING:
            options = prompt.assignments(options)
        shown = [[prompt.letters[i], option] for i, option in enumerate(options)]
        says = reading.why if reading.label is None else f"says {labels[reading.label]}"
        entry = [
            [[visible(part) for part in option] for option in shown],
            says,
            visible(each.answer.text),
        ]
        if asked.item in row_of:
            found.setdefault(int(row_of[asked.item]), []).append(entry)
    return found


def _scores(each: NamedRun, candidates: pd.DataFrame) -> np.ndarray:
    """The score of each candidate (n,) in the measured channel; nan where the run stored no
    score."""
    run, results = each.run, each.results
    path = run.folder / "scores.parquet"
    if not path.exists():
        return np.full(len(candidates), np.nan)
    table = read_table(path, SCORES)
    of_images = results.get("image_channel", results["channel"])
    protocol = dict(
        zip(
            *(run.benchmark.items[name].to_pylist() for name in ("item_id", "protocol")),
            strict=True,
        )
    )
    names = candidates["item_id"].map(protocol)
    compared = names.map(
        {name: find_protocol(name).compares_images for name in run.record["protocols"]}
    ).fillna(False)
    wanted = candidates.assign(channel=np.where(compared, of_images, results["channel"]))
    known = table.filter(
        pc.is_in(table["channel"], pa.array(sorted({*wanted["channel"]})))
    ).to_pandas()
    known = known.drop_duplicates(["image_id", "text_id", "channel"])
    keys = ["scene_id", "text_id", "channel"]
    merged = wanted[keys].merge(
        known, how="left", left_on=keys, right_on=["image_id", "text_id", "channel"]
    )
    return merged["score"].to_numpy(dtype=float)


def _pooled(
    run: Run, outcomes: pd.DataFrame, candidates: pd.DataFrame
) -> dict[str, list[tuple[str, bool, float]]]:
    """The best texts of the items whose false texts are in a pool, with their scores, best
    first."""
    both = candidates.groupby("item_id")["truth"].nunique() > 1
    asked = outcomes[~outcomes["item_id"].isin(both.index[both]) & outcomes["value"].notna()]
    best = {
        row["item_id"]: [
            (row["true_text"], True, row["true"]),
            (row["false_text"], False, row["false"]),
        ]
        for row in asked.to_dict("records")
    }
    top = run.folder / "tables" / "top.csv"
    columns = {
        "item_id": pa.string(),
        "truth": pa.bool_(),
        "score": pa.float64(),
        "text": pa.string(),
    }
    if best and top.exists():
        table = read_csv(top, columns)
        for row in table.filter(pc.is_in(table["item_id"], pa.array(list(best)))).to_pylist():
            if row["text"] not in [text for text, *_ in best[row["item_id"]]]:
                best[row["item_id"]].append((row["text"], row["truth"], row["score"]))
    return {item: sorted(found, key=lambda each: -each[2]) for item, found in best.items()}


def _rounded(values: np.ndarray) -> list[float | None]:
    """Numbers with five significant digits; None for NaN and infinity."""
    return [float(f"{value:.5g}") if np.isfinite(value) else None for value in values.tolist()]


def _folder(images: Images | None, page: Path) -> str:
    """The folder of a world's image files relative to the page; "" if the images are not separate
    files."""
    if isinstance(images, World) and (images.folder / "images").is_dir():
        return os.path.relpath(images.folder / "images", page.parent)
    return ""


def pictures_of(run: Run) -> Pictures | None:
    """The images of a run of a published benchmark; None for other runs, and if its files are
    missing or changed."""
    external = run.record.get("external")
    if not external:
        return None
    images = external["images"]
    folder, filters = None if images is None else Path(images), tuple(external.get("filters", ()))
    source = BenchmarkSource(Path(external["path"]), external["name"], folder, filters)
    try:
        pictures = read_external(source).pictures
        if pictures.digest == run.record["world"]:
            return pictures
        reason = "they changed since the run"
    except UserError as error:
        reason = error.message
    logger.info(f"The page shows no images of {source}: {reason}")
    return None
