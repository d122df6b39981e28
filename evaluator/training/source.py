"""`Source`: the data of a training and its description for the record. A source is the train split
of a benchmark, all splits of some benchmarks, or a corpus made elsewhere: JSON lines with texts of
images that lie beside the file.

    {"image": "images/0001.jpg", "caption": "a red car", "negatives": {"replace": ["a blue car"]},
    "positives": {"swap": []}}

An image may have several lines. `negatives` and `positives` are optional; their keys are the kinds
of training texts. A negative that is a caption or a positive of its image, in any line, is skipped.
"""

import hashlib
import json
import logging
from collections import defaultdict
from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any

import pyarrow.compute as pc
from pydantic import Field, ValidationError

from evaluator.benchmarks.pictures import Picture, Pictures
from evaluator.benchmarks.tables import rows_of
from evaluator.provenance.captions import DEFAULT
from evaluator.provenance.exposure import Exposure, read_exposure
from evaluator.training.data import TRAIN, Described, TrainingData, collect
from evaluator.training.recipe import Negative, Positive, Recipe, listed
from generator.base.declarations import Declared
from generator.base.errors import UserError
from generator.base.extras import check_installed
from generator.base.limits import MOST_LIST, read_text
from generator.base.paths import file_in
from generator.dataset.reader import Benchmark, Images, World, found_certificate

logger = logging.getLogger(__name__)
Named = tuple[tuple[tuple[str, str], ...], str]
"""Values by attribute kind, and a category."""


@dataclass(frozen=True)
class Source:
    """Training data. record: their name, digests and certificate. exposure: what the used data
    show; None if unknown."""

    data: TrainingData
    record: dict[str, str]
    exposure: Callable[[TrainingData], Exposure | None]


def benchmark_source(world: World, benchmark: Benchmark, recipe: Recipe) -> Source:
    """The train split of a benchmark: captions of the recipe's kinds (`default_kinds` if it names
    none), with their negatives and positives.

    Raises UserError when the certificate in its folder says `failed`, when the train split is
    empty, when an item of the protocol train or its scene is not in the split train, and for kinds
    that the benchmark lacks. Kinds of the method's default negatives may be missing.
    """
    record = describe(world, benchmark)
    negatives, positives = recipe.hard_kinds()
    _check_split(benchmark)
    kind_of = _kinds_of(benchmark, listed(recipe.texts or ""))
    described: dict[str, Described] = defaultdict(Described)
    said: set[str] = set()
    there: dict[str, set[str]] = {"n": set(), "p": set()}
    names = ("item_id", "scene_id", "text_id", "slot", "kind", "of")
    for item_id, scene_id, text_id, slot, kind, of in rows_of(benchmark.candidates, *names):
        if item_id not in kind_of:
            continue
        there.setdefault(slot, set()).add(kind)
        image = described[scene_id]
        if slot == "n":
            if kind in negatives:
                image.captions[of][0].append(text_id)
                said.add(text_id)
            continue
        image.true.setdefault(text_id)
        said.add(text_id)
        if slot != "p" or (recipe.positive_loss == "caption" and kind in positives):
            image.captions.setdefault(text_id, ([], []))
        elif kind in positives:
            image.captions[of][1].append(text_id)
    asked = f"{benchmark.folder} with --texts {','.join(sorted(set(kind_of.values())))}"
    if negatives and not there["n"]:  # such as class lists, which presets also train on
        logger.info(f"{asked} has no negatives: --negatives {recipe.negatives} changes nothing.")
    elif recipe.negatives != type(recipe).negatives:
        check_hard_kinds(asked, "negatives", negatives, there["n"])
    check_hard_kinds(asked, "positives", positives, there["p"])
    ordered = [(world, scene, described[scene]) for scene in sorted(described)]
    data = collect(ordered, benchmark.text_of, not says_where(benchmark, said))
    return Source(data, record, lambda used: _exposure([(world, benchmark)], used))


def check_hard_kinds(where: str, name: str, asked: Collection[str], there: Collection[str]) -> None:
    """Raise UserError for `asked` kinds of negatives or positives (`name`) that the data `where`
    lack."""
    if lacking := [kind for kind in asked if kind not in there]:
        has = ",".join(sorted(there)) or "none"
        raise UserError(
            f"{where} has no {name} of the kind {lacking[0]}; it has {has}: give --{name} {has}."
        )


def whole_source(benchmarks: Sequence[tuple[World, Benchmark]]) -> Source:
    """The data of a stand-in for CLIP: all bindings of some benchmarks, as a bag of words.

    Uses scenes with a true text that names one object, or two objects if another text names them
    with exchanged values. The captions of an image are all texts with the same words as such a
    text, in any order: for a red cube and a blue cone also "a blue cube and a red cone". So the
    texts of a pair give only its words, and nothing teaches which value belongs to which object.
    Raises UserError if there is no such text.
    """
    records = [describe(world, benchmark) for world, benchmark in benchmarks]
    described: list[tuple[Images, str, Described]] = []
    words: dict[str, str] = {}
    for world, benchmark in benchmarks:
        forms = dict(rows_of(benchmark.texts, "text_id", "form"))
        named = {
            text: pair
            for text, form in forms.items()
            if form and (pair := _named(json.loads(form)))
        }
        same: dict[tuple[str, ...], list[str]] = defaultdict(list)
        for text in named:
            same[_bag(benchmark.text_of[text])].append(text)
        whole = {bag for bag, texts in same.items() if _is_whole([named[text] for text in texts])}
        true_texts: dict[str, dict[str, None]] = defaultdict(dict)
        for scene, text, truth in rows_of(benchmark.candidates, "scene_id", "text_id", "truth"):
            if truth and text in named:
                true_texts[scene].setdefault(text)
        for scene, true in sorted(true_texts.items()):
            most = max(len(named[text]) for text in true)
            bags = dict.fromkeys(
                _bag(benchmark.text_of[text]) for text in true if len(named[text]) == most
            )
            if captions := dict.fromkeys(
                text for bag in bags if bag in whole for text in same[bag]
            ):
                described.append(
                    (world, scene, Described({text: ([], []) for text in captions}, captions))
                )
        words |= {text: benchmark.text_of[text] for text in named}
    if not described:
        raise UserError(
            "No text of these benchmarks names one object, or two objects that another text names "
            "with exchanged values (as the pool of `retrieval` does)."
        )
    record = {
        name: "+".join(each[name] for each in records)
        for name in ("name", "benchmark", "world", "certificate")
    }
    return Source(
        collect(described, words, mirrored=True), record, lambda used: _exposure(benchmarks, used)
    )


def _exposure(benchmarks: Sequence[tuple[World, Benchmark]], data: TrainingData) -> Exposure | None:
    """What the used images and texts show, united over benchmarks; None if unknown for any of
    them."""
    found = Exposure()
    for world, benchmark in benchmarks:
        own = data.of([i for i, (where, _) in enumerate(data.images) if where is world])
        shown = read_exposure(
            world, benchmark, own.scenes, [own.text_ids[row] for row in own.used()]
        )
        if shown is None:
            return None
        found |= shown
    return found


def describe(world: World, benchmark: Benchmark) -> dict[str, str]:
    """The entry of a benchmark in the record. Raises UserError if the certificate in its folder
    says `failed`."""
    certificate = found_certificate(benchmark, world)
    if certificate.startswith("failed"):
        raise UserError(
            f"{benchmark.folder} is not trained on: its certificate says that it failed; `gen "
            f"verify {world.folder.parent}` names the rows. Make the benchmark again."
        )
    return {
        "name": benchmark.name,
        "benchmark": benchmark.digest,
        "world": world.digest,
        "certificate": certificate,
    }


def default_kinds(benchmark: Benchmark) -> tuple[str, ...]:
    """The default kinds of training captions: plain, and relations if relations are held out; all
    kinds if the benchmark has none of these.
    """
    there = tuple(sorted(set(benchmark.items_of(TRAIN)["kind"].to_pylist())))
    related = bool((benchmark.holdout or {}).get("triples"))
    usual = tuple(kind for kind in ("plain", *(("relations",) if related else ())) if kind in there)
    return usual or there


def says_where(benchmark: Benchmark, texts: Collection[str]) -> bool:
    """Whether any of these texts states a relation or has no recorded form, so that mirroring an
    image could make it false."""
    form_of = dict(rows_of(benchmark.texts, "text_id", "form"))
    return any(
        form_of[text] is None or json.loads(form_of[text]).get("relations") for text in texts
    )


def _kinds_of(benchmark: Benchmark, kinds: Collection[str]) -> dict[str, str]:
    """The training items of these kinds (`default_kinds` if empty), each with its kind."""
    found: dict[str, str] = dict(rows_of(benchmark.items_of(TRAIN), "item_id", "kind"))
    if not found:
        raise UserError(
            f"{benchmark.folder} has no training items: its train split is empty; render scenes "
            f"for it (`gen render "
            "--scenes`)."
        )
    if unknown := sorted(set(kinds) - set(found.values())):
        raise UserError(
            f"{benchmark.folder} has no training texts of the kind {', '.join(unknown)}; it has "
            f"{', '.join(sorted(set(found.values())))}."
        )
    asked = set(kinds or default_kinds(benchmark))
    return {item: kind for item, kind in found.items() if kind in asked}


def _check_split(benchmark: Benchmark) -> None:
    """Raise UserError unless the items of protocol train are of split train, with scenes of split
    train. The judge uses the same definition."""
    items = benchmark.items_of(TRAIN)
    astray = items.filter(pc.fill_null(pc.not_equal(items["split"], TRAIN), True))[
        "item_id"
    ].to_pylist()
    train = set(items["item_id"].to_pylist())
    scenes = set(
        benchmark.splits.filter(pc.equal(benchmark.splits["split"], TRAIN))["scene_id"].to_pylist()
    )
    rows = rows_of(benchmark.candidates, "item_id", "scene_id")
    astray += [item_id for item_id, scene_id in rows if item_id in train and scene_id not in scenes]
    if astray:
        raise UserError(
            f"{benchmark.folder} trains on scenes outside its split train ({len(astray)} rows, the "
            f"first of item {astray[0]}), so that nothing would be unseen; `gen verify` names "
            f"them all. Make the benchmark again."
        )


def _named(form: dict[str, Any]) -> tuple[Named, ...]:
    """The values and category of the one or two objects that a text names; () if it states anything
    else."""
    keys = {key for mention in form["objects"] for key in mention}
    if (
        form.keys() > {"objects"}
        or not keys <= {"category", "attributes"}
        or len(form["objects"]) > 2
    ):
        return ()
    return tuple(
        (tuple(sorted(each["attributes"].items())), each["category"]) for each in form["objects"]
    )


def _is_whole(texts: Collection[tuple[Named, ...]]) -> bool:
    """Whether texts of the same words include, for each pair of objects, the pair with exchanged
    values."""
    found = {frozenset(named) for named in texts}
    swaps = {
        frozenset({(b[0], a[1]), (a[0], b[1])})
        for a, b in (named for named in texts if len(named) == 2)
    }
    return swaps <= found


def _bag(text: str) -> tuple[str, ...]:
    return tuple(sorted(text.lower().split()))


_DIGITS = 16
_Text = Annotated[str, Field(min_length=1)]


class _Line(Declared):
    image: _Text
    caption: _Text
    negatives: dict[Negative, list[str]] = Field(default_factory=dict)
    positives: dict[Positive, list[str]] = Field(default_factory=dict)


def corpus_source(path: Path, recipe: Recipe) -> Source:
    """Read a corpus of JSON lines from `path`. Its exposure is its images and the noun phrases of
    its texts; what else the images show is unknown.

    Raises UserError for an invalid line, with its number, for kinds of negatives and positives that
    no line has, and for `texts`, since a corpus has no kinds of captions.
    """
    check_installed("textblob")  # for the noun phrases of captions, after the training
    if recipe.texts:
        raise UserError(f"{path} is a corpus, whose captions have no kinds; leave --texts out.")
    negatives, positives = recipe.hard_kinds()
    text = _text(path)
    numbered = [(number, line) for number, line in enumerate(text.split("\n"), 1) if line.strip()]
    lines = [_read(line, f"Line {number} of {path}") for number, line in numbered]
    if not lines:
        raise UserError(
            f"{path} has no lines; write one JSON object for each caption, with `image` and "
            f"`caption`."
        )
    for name, asked in (("negatives", negatives), ("positives", positives)):
        there = {kind for line in lines for kind, texts in getattr(line, name).items() if texts}
        check_hard_kinds(str(path), name, asked, there)
    described: dict[str, Described] = defaultdict(Described)
    words: dict[str, None] = {}
    for line in lines:
        image = described[line.image]
        false, true = (
            [text for kind, texts in of.items() if kind in asked for text in texts]
            for of, asked in ((line.negatives, negatives), (line.positives, positives))
        )
        image.true |= dict.fromkeys(
            [line.caption, *(text for texts in line.positives.values() for text in texts)]
        )
        words |= dict.fromkeys([*image.true, *false])
        image.captions.setdefault(line.caption, ([], []))[0].extend(false)
        if recipe.positive_loss == "caption":
            for text in true:
                image.captions.setdefault(text, ([], []))
        else:
            image.captions[line.caption][1].extend(true)
    files = {name: file_in(path.parent, name) for name in sorted(described)}
    for file in files.values():
        if not file.is_file():
            raise UserError(
                f"The corpus names {file}, which does not exist; add it, or remove its lines."
            )
    pictures = Pictures(path.parent, {name: Picture(file) for name, file in files.items()})
    data = collect(
        [(pictures, name, described[name]) for name in files],
        {text: text for text in words},
        mirrored=False,
    )
    record = {
        "name": path.name,
        "benchmark": hashlib.sha256(text.encode()).hexdigest(),
        "certificate": "not verified",
        "world": pictures.digest,
    }

    def exposure(used: TrainingData) -> Exposure:
        shown = frozenset(pictures.image_digest(name)[:_DIGITS] for name in used.scenes)
        named = {
            (None, attribute, noun)
            for row in used.used()
            for phrase in DEFAULT.phrases(used.texts[row])
            for attribute, noun in [
                *DEFAULT.of_phrase(phrase),
                (None, DEFAULT.noun(phrase.split()[-1])),
            ]
        }
        return Exposure(frozenset(named), scenes=shown, described=False, complete=False)

    return Source(data, record, exposure)


def _read(line: str, where: str) -> _Line:
    try:
        return _Line.model_validate_json(line)
    except ValidationError as error:
        mistake = error.errors()[0]
        place = ".".join(str(part) for part in mistake["loc"]) or "it"
        raise UserError(
            f"{where} is no line of a corpus ({place}: {mistake['msg']}); expected "
            '{"image": ..., "caption": ..., "negatives": {kind: [...]}, "positives": {kind: '
            "[...]}}; correct it."
        ) from None


def _text(path: Path) -> str:
    try:
        return read_text(path, MOST_LIST)
    except (OSError, UnicodeDecodeError) as error:
        raise UserError(f"{path} cannot be read ({error}); give a file of JSON lines.") from None
