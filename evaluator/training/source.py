"""`Source`: the data of a training and its description for the record.

A source is the train split of a benchmark with its training texts or with descriptions of its
images, all splits of some benchmarks, or a corpus made elsewhere: JSON lines with texts of images
that lie beside the file.

    {"image": "images/0001.jpg", "caption": "a red car", "negatives": {"replace": ["a blue car"]},
    "positives": {"swap": []}}

An image may have several lines. `negatives` and `positives` are optional; their keys are the kinds
of training texts. A negative that is a caption or a positive of its image, in any line, is skipped.
"""

import hashlib
import json
import logging
from collections import defaultdict
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Annotated, Any

import pyarrow.compute as pc
from pydantic import Field, ValidationError

from evaluator.benchmarks.pictures import Picture, Pictures
from evaluator.benchmarks.tables import rows_of
from evaluator.provenance.captions import DEFAULT
from evaluator.provenance.exposure import Exposure, read_exposure
from evaluator.training.data import Described, TrainingData, collect
from evaluator.training.recipe import Negative, Positive, Recipe, listed
from generator.base.declarations import Declared
from generator.base.errors import UserError
from generator.base.extras import check_installed
from generator.base.limits import MOST_LIST, read_text
from generator.base.paths import file_in
from generator.dataset.certificate import describe_certificate
from generator.dataset.descriptions.description import description_of
from generator.dataset.descriptions.json_reader import write_json
from generator.dataset.image_truths import read_truths
from generator.dataset.reader import Benchmark, Images, World
from generator.dataset.records import TRAIN

logger = logging.getLogger(__name__)
NamedObject = tuple[tuple[tuple[str, str], ...], str]
"""An object as a text names it: its values, as (attribute kind, value), and its category."""


@dataclass(frozen=True)
class Source:
    """Training data, and what a record says of them."""

    data: TrainingData
    """Images, captions, negatives and positives."""
    record: dict[str, str]
    """Name, digests and certificate."""
    exposure: Callable[[TrainingData], Exposure | None]
    """What the used part of the data shows; None if unknown."""


def benchmark_source(world: World, benchmark: Benchmark, recipe: Recipe) -> Source:
    """Read the train split of a benchmark.

    Args:
        world: The images.
        benchmark: The texts and splits.
        recipe: Its kinds of captions (`default_kinds` if it names none), negatives and positives.

    Raises:
        UserError: The certificate in its folder says `failed`; the train split is empty; an item of
            the protocol train, or its scene, is not in the split train; or the benchmark lacks a
            kind. Kinds of the method's default negatives may be missing.
    """
    record = describe(world, benchmark)
    negatives, positives = recipe.hard_kinds()
    _check_split(benchmark)
    kind_of_item = _kinds_of_items(benchmark, listed(recipe.texts or ""))
    described: dict[str, Described] = defaultdict(Described)
    trained_texts: set[str] = set()
    kinds_of_role: dict[str, set[str]] = {"n": set(), "p": set()}
    columns = ("item_id", "scene_id", "text_id", "slot", "kind", "of")
    for item_id, scene_id, text_id, slot, kind, of in rows_of(benchmark.candidates, *columns):
        if item_id not in kind_of_item:
            continue
        kinds_of_role.setdefault(slot, set()).add(kind)
        image = described[scene_id]
        if slot == "n":
            if kind in negatives:
                image.captions[of][0].append(text_id)
                trained_texts.add(text_id)
            continue
        # What is true of an image must never be among its negatives, even if another item says so.
        image.true.setdefault(text_id)
        trained_texts.add(text_id)
        is_caption = slot != "p"
        if is_caption or (recipe.positive_loss == "caption" and kind in positives):
            image.captions.setdefault(text_id, ([], []))
        elif kind in positives:
            image.captions[of][1].append(text_id)

    caption_kinds = ",".join(sorted(set(kind_of_item.values())))
    where = f"{benchmark.folder} with --texts {caption_kinds}"
    if negatives and not kinds_of_role["n"]:
        # Class lists have no negatives, and presets also train on them.
        logger.info(f"{where} has no negatives: --negatives {recipe.negatives} changes nothing.")
    elif recipe.negatives != type(recipe).negatives:
        check_hard_kinds(where, "negatives", requested=negatives, available=kinds_of_role["n"])
    check_hard_kinds(where, "positives", requested=positives, available=kinds_of_role["p"])
    in_order = [(world, scene, described[scene]) for scene in sorted(described)]
    # Mirrored, an image has its left and right exchanged.
    may_mirror = not says_where(benchmark, trained_texts)
    data = collect(in_order, words=benchmark.text_of, mirrored=may_mirror)
    return Source(data, record, lambda used: _exposure([(world, benchmark)], used))


def description_source(world: World, benchmark: Benchmark) -> Source:
    """Read the images of the train split of a benchmark, each with its whole description.

    A description is JSON, as `score ask --form describe` asks for it: every object with its values,
    from left to right. Images are not mirrored, since the order of the objects would be wrong.

    Args:
        world: The images.
        benchmark: The splits.

    Raises:
        UserError: The certificate in its folder says `failed`, or the train split is empty.
    """
    record = describe(world, benchmark)
    described: list[tuple[Images, str, Described]] = []
    words: dict[str, str] = {}
    for truth in read_truths(world, benchmark, [TRAIN]):
        text = write_json(description_of(truth))
        words[text] = text
        texts = Described({text: ([], [])}, {text: None})
        described.append((world, truth.scene_id, texts))
    if not described:
        raise UserError(
            f"{benchmark.folder} has no training images: its train split is empty; render scenes "
            f"for it (`gen render --scenes`)."
        )
    data = collect(described, words=words, mirrored=False)
    # A description names nothing but what its image shows.
    return Source(
        data, record, lambda used: read_exposure(world, benchmark, scenes=used.scenes, texts=())
    )


def check_hard_kinds(
    where: str, role: str, *, requested: Collection[str], available: Collection[str]
) -> None:
    """Check that data have some kinds of hard texts.

    Args:
        where: The data, for the message.
        role: negatives or positives.
        requested: The kinds to train with.
        available: The kinds that the data have.

    Raises:
        UserError: A requested kind is not available.
    """
    for kind in requested:
        if kind not in available:
            has = ",".join(sorted(available)) or "none"
            raise UserError(
                f"{where} has no {role} of the kind {kind}; it has {has}: give --{role} {has}."
            )


def whole_source(benchmarks: Sequence[tuple[World, Benchmark]]) -> Source:
    """Read the data of a stand-in for CLIP: all bindings of some benchmarks, as a bag of words.

    It uses scenes with a true text that names one object, or two objects if another text names them
    with exchanged values. The captions of an image are all texts with the same words as such a
    text, in any order: for a red cube and a blue cone also "a blue cube and a red cone". So the
    texts of a pair give only its words, and nothing teaches which value belongs to which object.

    Raises:
        UserError: There is no such text, or a certificate says `failed`.
    """
    records = [describe(world, benchmark) for world, benchmark in benchmarks]
    described: list[tuple[Images, str, Described]] = []
    words: dict[str, str] = {}
    for world, benchmark in benchmarks:
        objects_of_text: dict[str, tuple[NamedObject, ...]] = {}
        for text_id, form in rows_of(benchmark.texts, "text_id", "form"):
            objects = _named_objects(json.loads(form)) if form else ()
            if objects:
                objects_of_text[text_id] = objects
        described += _bag_captions(world, benchmark, objects_of_text)
        words |= {text_id: benchmark.text_of[text_id] for text_id in objects_of_text}
    if not described:
        raise UserError(
            "No text of these benchmarks names one object, or two objects that another text names "
            "with exchanged values (as the pool of `retrieval` does)."
        )
    joined_record = {}
    for key in ("name", "benchmark", "world", "certificate"):
        joined_record[key] = "+".join(record[key] for record in records)
    data = collect(described, words=words, mirrored=True)
    return Source(data, joined_record, lambda used: _exposure(benchmarks, used))


def _bag_captions(
    world: World, benchmark: Benchmark, objects_of_text: Mapping[str, tuple[NamedObject, ...]]
) -> list[tuple[Images, str, Described]]:
    """The images of a benchmark that have captions for a bag of words, each with these captions.

    objects_of_text: the one or two objects of each text that names nothing else.
    """
    texts_of_bag: dict[tuple[str, ...], list[str]] = defaultdict(list)
    for text_id in objects_of_text:
        texts_of_bag[_bag(benchmark.text_of[text_id])].append(text_id)
    # A bag in which one assignment of values is missing would teach that the others are the right
    # ones.
    balanced_bags = set()
    for bag, texts_with_words in texts_of_bag.items():
        objects_of_bag = [objects_of_text[text_id] for text_id in texts_with_words]
        if _has_all_exchanges(objects_of_bag):
            balanced_bags.add(bag)
    true_texts: dict[str, dict[str, None]] = defaultdict(dict)
    for scene, text_id, truth in rows_of(benchmark.candidates, "scene_id", "text_id", "truth"):
        if truth and text_id in objects_of_text:
            true_texts[scene].setdefault(text_id)

    described: list[tuple[Images, str, Described]] = []
    for scene, texts in sorted(true_texts.items()):
        # Texts of fewer objects than the fullest say less than the image shows.
        most = max(len(objects_of_text[text_id]) for text_id in texts)
        captions: dict[str, None] = {}
        for text_id in texts:
            bag = _bag(benchmark.text_of[text_id])
            if len(objects_of_text[text_id]) == most and bag in balanced_bags:
                captions |= dict.fromkeys(texts_of_bag[bag])
        if captions:
            without_hard_texts: dict[str, tuple[list[str], list[str]]] = {}
            for caption in captions:
                without_hard_texts[caption] = ([], [])
            described.append((world, scene, Described(without_hard_texts, captions)))
    return described


def _exposure(benchmarks: Sequence[tuple[World, Benchmark]], data: TrainingData) -> Exposure | None:
    """What the used images and texts show, united over benchmarks; None if unknown for any of
    them."""
    united = Exposure()
    for world, benchmark in benchmarks:
        rows = [i for i, (source, _) in enumerate(data.images) if source is world]
        own = data.subset(rows)
        texts = [own.text_ids[row] for row in own.used()]
        exposure = read_exposure(world, benchmark, scenes=own.scenes, texts=texts)
        if exposure is None:
            return None
        united |= exposure
    return united


def describe(world: World, benchmark: Benchmark) -> dict[str, str]:
    """Make the entry of a benchmark in the record: name, digests and certificate.

    Raises:
        UserError: The certificate in its folder says `failed`.
    """
    certificate = describe_certificate(benchmark, world)
    # A dataset that is not verified may be trained on, and the record says so; one that was found
    # faulty may not.
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
    available = tuple(sorted(set(benchmark.items_of(TRAIN)["kind"].to_pylist())))
    usual = ["plain"]
    if (benchmark.holdout or {}).get("triples"):
        usual.append("relations")
    return tuple(kind for kind in usual if kind in available) or available


def says_where(benchmark: Benchmark, texts: Collection[str]) -> bool:
    """Check whether mirroring an image could make one of its texts false.

    Args:
        benchmark: Has the texts.
        texts: The text_ids.

    Returns:
        Whether a text states a relation, or has no recorded form, so that it may.
    """
    form_of = dict(rows_of(benchmark.texts, "text_id", "form"))
    for text_id in texts:
        form = form_of[text_id]
        if form is None or json.loads(form).get("relations"):
            return True
    return False


def _kinds_of_items(benchmark: Benchmark, kinds: Collection[str]) -> dict[str, str]:
    """The training items of these kinds (`default_kinds` if empty), each with its kind."""
    training_items = benchmark.items_of(TRAIN)
    kind_of_item: dict[str, str] = dict(rows_of(training_items, "item_id", "kind"))
    available = set(kind_of_item.values())
    if not kind_of_item:
        raise UserError(
            f"{benchmark.folder} has no training items: its train split is empty; render scenes "
            f"for it (`gen render --scenes`)."
        )
    unknown = sorted(set(kinds) - available)
    if unknown:
        raise UserError(
            f"{benchmark.folder} has no training texts of the kind {', '.join(unknown)}; it has "
            f"{', '.join(sorted(available))}."
        )
    chosen = set(kinds or default_kinds(benchmark))
    return {item: kind for item, kind in kind_of_item.items() if kind in chosen}


def _check_split(benchmark: Benchmark) -> None:
    """Raise UserError unless the items of protocol train are of split train, with scenes of split
    train. The judge uses the same definition."""
    items = benchmark.items_of(TRAIN)
    is_elsewhere = pc.fill_null(pc.not_equal(items["split"], TRAIN), True)
    wrong_items = items.filter(is_elsewhere)["item_id"].to_pylist()
    training_items = set(items["item_id"].to_pylist())
    in_train = pc.equal(benchmark.splits["split"], TRAIN)
    training_scenes = set(benchmark.splits.filter(in_train)["scene_id"].to_pylist())
    for item_id, scene_id in rows_of(benchmark.candidates, "item_id", "scene_id"):
        if item_id in training_items and scene_id not in training_scenes:
            wrong_items.append(item_id)
    if wrong_items:
        raise UserError(
            f"{benchmark.folder} trains on scenes outside its split train ({len(wrong_items)} "
            f"rows, the first of item {wrong_items[0]}), so that nothing would be unseen; `gen "
            f"verify` names them all. Make the benchmark again."
        )


def _named_objects(form: dict[str, Any]) -> tuple[NamedObject, ...]:
    """The one or two objects that a text names; () if it states anything else."""
    keys = {key for mention in form["objects"] for key in mention}
    states_more = form.keys() > {"objects"} or not keys <= {"category", "attributes"}
    if states_more or len(form["objects"]) > 2:
        return ()
    objects: list[NamedObject] = []
    for mention in form["objects"]:
        values = tuple(sorted(mention["attributes"].items()))
        objects.append((values, mention["category"]))
    return tuple(objects)


def _has_all_exchanges(texts: Collection[tuple[NamedObject, ...]]) -> bool:
    """Whether texts of the same words include, for each pair of objects, the pair with exchanged
    values."""
    combinations = {frozenset(objects) for objects in texts}
    for objects in texts:
        if len(objects) == 2:
            (first_values, first_category), (second_values, second_category) = objects
            exchanged = {(second_values, first_category), (first_values, second_category)}
            if frozenset(exchanged) not in combinations:
                return False
    return True


def _bag(text: str) -> tuple[str, ...]:
    return tuple(sorted(text.lower().split()))


_DIGEST_DIGITS = 16
"""Digits of an image's digest in an exposure."""
_Text = Annotated[str, Field(min_length=1)]


class _Line(Declared):
    """A line of a corpus."""

    image: _Text
    """Path of the image from the corpus' folder."""
    caption: _Text
    """A true text of the image."""
    negatives: dict[Negative, list[str]] = Field(default_factory=dict)
    """False texts by kind."""
    positives: dict[Positive, list[str]] = Field(default_factory=dict)
    """Further true texts by kind."""

    def texts_of(self, role: str, kinds: Collection[str]) -> list[str]:
        """The texts of `role` (negatives or positives) that have one of these kinds."""
        chosen: list[str] = []
        for kind, texts in getattr(self, role).items():
            if kind in kinds:
                chosen += texts
        return chosen


def corpus_source(path: Path, recipe: Recipe) -> Source:
    """Read a corpus of JSON lines.

    Its exposure is its images and the noun phrases of its texts; what else the images show is
    unknown.

    Args:
        path: The file.
        recipe: Its kinds of negatives and positives. A corpus has no kinds of captions.

    Raises:
        UserError: A line is invalid (it says which), no line has a kind of the recipe, an image
            does not exist, or the recipe names kinds of captions.
    """
    # After the training the noun phrases of captions are read, which must not fail then.
    check_installed("textblob")
    if recipe.texts:
        raise UserError(f"{path} is a corpus, whose captions have no kinds; leave --texts out.")
    negatives, positives = recipe.hard_kinds()
    text = _read_corpus(path)
    lines = _parse_lines(text, path)
    for role, requested in (("negatives", negatives), ("positives", positives)):
        available: set[str] = set()
        for line in lines:
            available |= {kind for kind, texts in getattr(line, role).items() if texts}
        check_hard_kinds(str(path), role, requested=requested, available=available)
    described, words = _describe_images(lines, recipe)

    files = {name: file_in(path.parent, name) for name in sorted(described)}
    for file in files.values():
        if not file.is_file():
            raise UserError(
                f"The corpus names {file}, which does not exist; add it, or remove its lines."
            )
    pictures = Pictures(path.parent, {name: Picture(file) for name, file in files.items()})
    data = collect(
        [(pictures, name, described[name]) for name in files],
        words={text: text for text in words},
        mirrored=False,
    )
    record = {
        "name": path.name,
        "benchmark": hashlib.sha256(text.encode()).hexdigest(),
        "certificate": "not verified",
        "world": pictures.digest,
    }
    return Source(data, record, partial(_corpus_exposure, pictures))


def _parse_lines(text: str, path: Path) -> list[_Line]:
    """Parse a corpus. Raises UserError for a line that is invalid, and for a corpus without
    lines."""
    lines = []
    for number, json_text in enumerate(text.split("\n"), 1):
        if json_text.strip():
            lines.append(_parse_line(json_text, f"Line {number} of {path}"))
    if not lines:
        raise UserError(
            f"{path} has no lines; write one JSON object for each caption, with `image` and "
            f"`caption`."
        )
    return lines


def _describe_images(
    lines: Sequence[_Line], recipe: Recipe
) -> tuple[dict[str, Described], dict[str, None]]:
    """Collect the texts of each image.

    Args:
        lines: The lines of a corpus.
        recipe: Its kinds of negatives and positives, and what positives are used for.

    Returns:
        The texts of each image, by its name, and all texts in the order of the corpus.
    """
    negatives, positives = recipe.hard_kinds()
    described: dict[str, Described] = defaultdict(Described)
    words: dict[str, None] = {}
    for line in lines:
        image = described[line.image]
        false_texts = line.texts_of("negatives", negatives)
        positive_texts = line.texts_of("positives", positives)
        # Positives of every kind are true, so none of them may become a negative.
        all_positives = line.texts_of("positives", line.positives.keys())
        image.true |= dict.fromkeys([line.caption, *all_positives])
        words |= dict.fromkeys([*image.true, *false_texts])
        own_negatives, own_positives = image.captions.setdefault(line.caption, ([], []))
        own_negatives.extend(false_texts)
        if recipe.positive_loss == "caption":
            for positive in positive_texts:
                image.captions.setdefault(positive, ([], []))
        else:
            own_positives.extend(positive_texts)
    return described, words


def _corpus_exposure(pictures: Pictures, used: TrainingData) -> Exposure:
    """What a model has seen that was trained on a part of a corpus.

    Args:
        pictures: The images of the corpus.
        used: The training data of the model.

    Returns:
        The digests of its images, and the bindings and nouns of its captions.
    """
    digests = [pictures.image_digest(name) for name in used.scenes]
    scenes = frozenset(digest[:_DIGEST_DIGITS] for digest in digests)
    named: set[tuple[str | None, str | None, str]] = set()
    for row in used.used():
        for phrase in DEFAULT.phrases(used.texts[row]):
            for attribute, noun in DEFAULT.of_phrase(phrase):
                named.add((None, attribute, noun))
            named.add((None, None, DEFAULT.noun(phrase.split()[-1])))
    return Exposure(frozenset(named), scenes=scenes, described=False, complete=False)


def _parse_line(line: str, where: str) -> _Line:
    try:
        return _Line.model_validate_json(line)
    except ValidationError as error:
        mistake = error.errors()[0]
        place = ".".join(str(part) for part in mistake["loc"]) or "it"
        raise UserError(
            f"{where} is not a line of a corpus ({place}: {mistake['msg']}); expected "
            '{"image": ..., "caption": ..., "negatives": {kind: [...]}, "positives": {kind: '
            "[...]}}; correct it."
        ) from None


def _read_corpus(path: Path) -> str:
    try:
        return read_text(path, MOST_LIST)
    except (OSError, UnicodeDecodeError) as error:
        raise UserError(f"{path} cannot be read ({error}); give a file of JSON lines.") from None
