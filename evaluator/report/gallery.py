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
from evaluator.runs.folder import NamedRun, Run
from evaluator.scoring.words.files import read_answers
from evaluator.scoring.words.prompt import Prompt, prompt_of
from evaluator.scoring.words.reader import AnsweredQuestion
from generator.base.clusters import OF, SEPARATOR
from generator.base.errors import UserError, visible
from generator.base.pages import coded, data_url, thumbnails
from generator.base.tables import read_csv, read_table
from generator.dataset.questions import IMAGES, MATCHING, YES_NO, Candidates
from generator.dataset.reader import Images, World
from generator.dataset.records import SCORES

logger = logging.getLogger(__name__)
_ITEM_LABELS = (
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
"""The columns of tables/items.csv that are read as text."""
_ITEM_NUMBERS = ("value", "true", "false")
"""The columns of tables/items.csv that are read as numbers: 1 if an item is right, and the best
scores of its true and of its false texts."""
_MOST_CHARACTERS = 5_000_000
"""The most characters of answers in a page: with more, browsers open it slowly."""
_EXAMPLE_SIDE = 256
"""Width and height of the example at the top of a page, in pixels: sharp on screens of two pixels a
point, where it is shown at 128."""


def benchmark_items(
    runs: Sequence[tuple[str, NamedRun]], page: Path, inline: bool = False
) -> dict[str, Any]:
    """Collect the items of the runs of one benchmark.

    Args:
        runs: (label, run) of each.
        page: The page that shows them; its folder is where links to image files begin.
        inline: Whether to embed images of up to 512 pixels, instead of thumbnails whose size
            depends on their number.

    Returns:
        A dictionary for JSON. Items and `candidates` are stored in columns; labels as codes into
        `names`. Each of its `runs` has `outcome`, a letter for each item (r right, w wrong, t tie,
        u unscored, - not asked); `margin`, best true less best false score; `score`, the score of
        each candidate; `best`, the best texts of items against a pool; and `answers`, the full
        answers in words, up to _MOST_CHARACTERS in total.
    """
    first = runs[0][1]
    benchmark = first.run.benchmark
    outcomes_of_run = [_outcomes(run.run) for _, run in runs]
    # Runs with a limit were asked different items, so no run alone has all.
    items = _all_items(outcomes_of_run)
    row_of = pd.Series(items.index, items["item_id"])
    candidates = benchmark.candidates.to_pandas()
    candidates["item"] = candidates["item_id"].map(row_of)
    candidates = candidates.dropna(subset=["item"])
    # True candidates first. The sort is stable, so others keep the order of the benchmark.
    candidates = candidates.sort_values(["item", "truth"], ascending=[True, False], kind="stable")
    all_scenes = dict.fromkeys([*candidates["scene_id"], *items["scene_id"]])
    scenes = [scene for scene in all_scenes if scene]

    # Texts are numbered as they occur; texts of pools follow those of candidates.
    texts: dict[str, int] = {}
    candidate_columns = _candidate_columns(
        candidates, len(items), scenes, texts, text_of=benchmark.text_of
    )
    run_columns = []
    for (label, run), outcomes in zip(runs, outcomes_of_run, strict=True):
        run_columns.append(
            _run_columns(label, run, outcomes, row_of=row_of, candidates=candidates, texts=texts)
        )
    labels = ("protocol", "split", "kind", "skill")
    items_data = {
        "benchmark": first.results["benchmark"],
        "id": items["item_id"].tolist(),
        "labels": {name: coded(map(str, items[name])) for name in labels},
        "bindings": coded(map(str, items["bindings"])),
        "candidates": candidate_columns,
        "scenes": scenes,
        "runs": run_columns,
    }
    images = first.run.world or pictures_of(first.run)
    items_data["texts"] = [visible(text) for text in texts]
    items_data["images"] = [] if images is None else thumbnails(images.image, scenes, inline)
    items_data["folder"] = image_folder(images, page)
    return items_data


def _all_items(outcomes_of_run: Sequence[pd.DataFrame]) -> pd.DataFrame:
    """The items that any run was asked, each once, by the rank of their split."""
    items = pd.concat(outcomes_of_run).drop_duplicates("item_id").reset_index(drop=True)
    ranks = [split_rank(str(split)) for split in items["split"]]
    # Python's sort is stable, so items of one split keep their order.
    order = sorted(range(len(items)), key=ranks.__getitem__)
    return items.iloc[order].reset_index(drop=True)


def _candidate_columns(
    candidates: pd.DataFrame,
    items: int,
    scenes: Sequence[str],
    texts: dict[str, int],
    *,
    text_of: Mapping[str, str],
) -> dict[str, Any]:
    """The candidates in columns; `start` has the first candidate of each item, and their number at
    the end. Numbers their words in `texts`."""
    place_of_scene = {scene: place for place, scene in enumerate(scenes)}
    numbers = []
    for text_id in candidates["text_id"]:
        numbers.append(texts.setdefault(text_of[text_id], len(texts)))
    return {
        "start": np.searchsorted(candidates["item"], np.arange(items + 1)).tolist(),
        "scene": candidates["scene_id"].map(place_of_scene).tolist(),
        "text": numbers,
        "truth": candidates["truth"].astype(int).tolist(),
        "kind": coded(map(str, candidates["kind"].fillna(""))),
    }


def grid_cells(
    data: Mapping[str, Any],
    *,
    model_of: Sequence[str],
    held_out: Sequence[Sequence[str]],
    protocol: str,
) -> list[dict[str, Any]]:
    """Average the outcomes of items by model, value and object.

    Args:
        data: From `benchmark_items`.
        model_of: The model of each run of `data`.
        held_out: The held-out bindings, each (value, object).
        protocol: The protocol whose items count.

    Returns:
        Cells of `audit_figures.grid`, those of the held-out block first. `share` is the
        share of right answers on items whose scene shows the value on the object, averaged over the
        model's runs that answered one; `items` is how many were answered by any.
    """
    rows_of = _rows_by_binding(data, protocol)
    cells = []
    for model in dict.fromkeys(model_of):
        runs = [run for run, name in zip(data["runs"], model_of, strict=True) if name == model]
        outcomes = np.array([list(run["outcome"]) for run in runs])
        right = outcomes == "r"
        answered = np.isin(outcomes, ("r", "w", "t"))
        for binding, rows in sorted(rows_of.items()):
            # Run by run, so that a run with a limit counts as much as the others.
            shares = []
            for run in range(len(runs)):
                is_answered = answered[run, rows]
                answers = right[run, rows][is_answered]
                if len(answers):
                    shares.append(answers.mean())
            if not shares:
                continue
            value, object_ = binding.split(OF, 1)
            cells.append(
                {
                    "model": model,
                    "value": value,
                    "object": object_,
                    "held_out": [value, object_] in held_out,
                    "share": float(np.mean(shares)),
                    "items": int(answered[:, rows].any(axis=0).sum()),
                }
            )
    # The block is in a corner of the grid: cells of its values and objects come first.
    values = {value for value, _ in held_out}
    objects = {object_ for _, object_ in held_out}

    def distance_from_corner(cell: Mapping[str, Any]) -> int:
        is_other_value = cell["value"] not in values
        is_other_object = cell["object"] not in objects
        return is_other_value + is_other_object

    cells.sort(key=distance_from_corner)
    return cells


def _rows_by_binding(data: Mapping[str, Any], protocol: str) -> dict[str, list[int]]:
    """The items of a protocol, but those of val, whose scene shows each binding."""
    protocols = _decode(data["labels"]["protocol"])
    splits = _decode(data["labels"]["split"])
    bindings = _decode(data["bindings"])
    rows_of: dict[str, list[int]] = {}
    for row in np.flatnonzero((protocols == protocol) & (splits != "val")):
        for binding in set(bindings[row].split(SEPARATOR)):
            if OF in binding:
                rows_of.setdefault(binding, []).append(row)
    return rows_of


def _decode(labels: Mapping[str, Any]) -> np.ndarray:
    """The texts (n,) that `coded` coded."""
    return np.array(labels["names"], dtype=object)[labels["codes"]]


def _outcomes(run: Run) -> pd.DataFrame:
    """The outcome of each item by its protocol's main metric, which is the first metric in the
    table."""
    columns = {**dict.fromkeys(_ITEM_LABELS, pa.string())}
    columns |= dict.fromkeys(_ITEM_NUMBERS, pa.float64())
    columns |= {"tie": pa.bool_(), "true_text": pa.string(), "false_text": pa.string()}
    table = read_csv(run.folder / "tables" / "items.csv", columns).to_pandas()
    main_metric = table.groupby("protocol")["metric"].transform("first")
    table = table[table["metric"] == main_metric]
    texts = (*_ITEM_LABELS, "true_text", "false_text")
    return table.fillna(dict.fromkeys(texts, "")).reset_index(drop=True)


def failures(run: Run, most: int) -> list[tuple[Image.Image, str]]:
    """Collect images of wrongly answered items, one for each scene.

    Args:
        run: The run.
        most: The largest number of images.

    Returns:
        (image, the false text that won) of each; [] without images.
    """
    images = run.world or pictures_of(run)
    outcomes = _outcomes(run)
    wrong = outcomes[(outcomes["value"] < 1) & (outcomes["split"] != "val")]
    if images is None:
        return []
    wrong_images = []
    for row in wrong.drop_duplicates("scene_id")[:most].to_dict("records"):
        wrong_images.append((images.image(row["scene_id"]), visible(row["false_text"])))
    return wrong_images


def wrong_unseen(run: Run, protocol: str = "") -> dict[str, str] | None:
    """Find an image of an unseen combination for which a false caption won.

    Args:
        run: The run.
        protocol: The protocol that the item is of, if it has such an item; "" for any.

    Returns:
        The `image` as a data URL, the `true` caption and the `false` one. None without such an
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


def _run_columns(
    label: str,
    run: NamedRun,
    outcomes: pd.DataFrame,
    *,
    row_of: pd.Series,
    candidates: pd.DataFrame,
    texts: dict[str, int],
) -> dict[str, Any]:
    """What the gallery shows of one run (`benchmark_items`). Numbers further texts in `texts`."""
    rows = outcomes["item_id"].map(row_of).to_numpy()
    is_unscored = outcomes["value"].isna()
    is_right = (outcomes["value"] == 1).to_numpy()
    is_tie = outcomes["tie"].fillna(False).to_numpy(dtype=bool)
    # The first condition that holds decides the letter.
    letters = np.full(len(row_of), "-")
    letters[rows] = np.select([is_unscored, is_right, is_tie], ["u", "r", "t"], "w")
    margin = np.full(len(row_of), np.nan)
    margin[rows] = outcomes["true"] - outcomes["false"]
    best: dict[int, list[list[Any]]] = {}
    scores = _candidate_scores(run, candidates)
    for item, best_texts in _best_texts(run.run, outcomes, candidates).items():
        entries: list[list[Any]] = []
        for text, truth, score in best_texts:
            number = texts.setdefault(text, len(texts))
            (rounded_score,) = _round(np.array([score]))
            entries.append([number, int(truth), rounded_score])
        best[int(row_of[item])] = entries
    return {
        "label": label,
        "outcome": "".join(letters),
        "margin": _round(margin),
        "score": _round(scores),
        "best": best,
        "answers": _answers(run.run, row_of),
    }


def _answers(run: Run, row_of: pd.Series) -> dict[int, list[Any]]:
    """The answers of each item of a run in words: the options as (letter, words), what the answer
    says, and the answer itself."""
    words = run.record.get("words")
    if words is None:
        return {}
    rows = Candidates(run.benchmark)
    prompt = prompt_of(words["prompt"])
    answers: dict[int, list[Any]] = {}
    characters = 0
    for answered in read_answers(run.folder, rows, prompt):
        characters += len(answered.answer.text)
        if characters > _MOST_CHARACTERS:
            logger.info(
                f"The page has the first {_MOST_CHARACTERS:,} characters of answers; "
                f"answers.parquet has them all."
            )
            break
        item = answered.question.item
        if item in row_of:
            of_item = answers.setdefault(int(row_of[item]), [])
            of_item.append(_answer(answered, rows, prompt))
    return answers


def _answer(answered: AnsweredQuestion, rows: Candidates, prompt: Prompt) -> list[Any]:
    """One answer, as `_answers` has it."""
    question, reading = answered.question, answered.reading
    labels = (prompt.yes[0], prompt.no[0]) if question.form == YES_NO else prompt.letters
    contents = rows.scene if question.form == IMAGES else rows.text
    options = [contents[row] for row in question.options]
    if question.form == MATCHING:
        options = prompt.assignments(options)
    lettered = []
    for i, option in enumerate(options):
        lettered.append([visible(prompt.letters[i]), visible(option)])
    says = reading.why if reading.label is None else f"says {labels[reading.label]}"
    return [lettered, says, visible(answered.answer.text)]


def _candidate_scores(run: NamedRun, candidates: pd.DataFrame) -> np.ndarray:
    """The score of each candidate (n,) in the measured channel; nan where the run stored no
    score."""
    path = run.run.folder / "scores.parquet"
    if not path.exists():
        return np.full(len(candidates), np.nan)
    table = read_table(path, SCORES)
    text_channel = run.results["channel"]
    image_channel = run.results.get("image_channel", text_channel)

    # Protocols that compare images may be measured in another channel.
    items = run.run.benchmark.items
    item_ids = items["item_id"].to_pylist()
    protocol_of = dict(zip(item_ids, items["protocol"].to_pylist(), strict=True))
    compares_images = {}
    for name in run.run.record["protocols"]:
        compares_images[name] = find_protocol(name).compares_images
    protocols = candidates["item_id"].map(protocol_of)
    is_of_images = protocols.map(compares_images).fillna(False)
    channels = np.where(is_of_images, image_channel, text_channel)
    keys = candidates.assign(channel=channels)[["scene_id", "text_id", "channel"]]

    measured = pa.array(sorted(set(channels)))
    known = table.filter(pc.is_in(table["channel"], measured)).to_pandas()
    stored_keys = ["image_id", "text_id", "channel"]
    # Pools may store a pair once more; a second row would double the candidate in the merge.
    known = known.drop_duplicates(stored_keys)
    merged = keys.merge(known, how="left", left_on=list(keys.columns), right_on=stored_keys)
    return merged["score"].to_numpy(dtype=float)


def _best_texts(
    run: Run, outcomes: pd.DataFrame, candidates: pd.DataFrame
) -> dict[str, list[tuple[str, bool, float]]]:
    """The best texts of the items whose false texts are in a pool, each (text, truth, score), best
    first."""
    # Items with true and false candidates of their own have no pool.
    has_both = candidates.groupby("item_id")["truth"].nunique() > 1
    has_pool = ~outcomes["item_id"].isin(has_both.index[has_both])
    is_pooled = has_pool & outcomes["value"].notna()
    best = {}
    for row in outcomes[is_pooled].to_dict("records"):
        best[row["item_id"]] = [
            (row["true_text"], True, row["true"]),
            (row["false_text"], False, row["false"]),
        ]
    top = run.folder / "tables" / "top.csv"
    columns = {
        "item_id": pa.string(),
        "truth": pa.bool_(),
        "score": pa.float64(),
        "text": pa.string(),
    }
    # The file has the best texts of pools, of which the best true and false one are known from the
    # items already.
    if best and top.exists():
        table = read_csv(top, columns)
        is_of_item = pc.is_in(table["item_id"], pa.array(list(best)))
        for row in table.filter(is_of_item).to_pylist():
            entries = best[row["item_id"]]
            if row["text"] not in [text for text, *_ in entries]:
                entries.append((row["text"], row["truth"], row["score"]))
    for entries in best.values():
        entries.sort(key=lambda entry: -entry[2])
    return best


def _round(values: np.ndarray) -> list[float | None]:
    """Numbers with five significant digits; None for nan and infinity."""
    return [float(f"{value:.5g}") if np.isfinite(value) else None for value in values.tolist()]


def image_folder(images: Images | None, page: Path) -> str:
    """Return the folder of a world's image files relative to a page.

    Args:
        images: The images.
        page: The file of the page.

    Returns:
        The path; "" if the images are not separate files.
    """
    if isinstance(images, World) and (images.folder / "images").is_dir():
        return os.path.relpath(images.folder / "images", page.parent)
    return ""


def pictures_of(run: Run) -> Pictures | None:
    """Read the images of a run of a published benchmark.

    Args:
        run: The run.

    Returns:
        The images; None for other runs, and if the files are missing or changed, which is logged.
    """
    external = run.record.get("external")
    if not external:
        return None
    images = external["images"]
    source = BenchmarkSource(
        Path(external["path"]),
        external["name"],
        None if images is None else Path(images),
        tuple(external.get("filters", ())),
    )
    try:
        pictures = read_external(source).pictures
        # Other images than those that were scored would show items that nobody answered.
        if pictures.digest == run.record["world"]:
            return pictures
        reason = "they changed since the run"
    except UserError as error:
        reason = error.message
    logger.info(f"The page shows no images of {source}: {reason}")
    return None
