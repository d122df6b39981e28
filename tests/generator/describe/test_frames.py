"""The protocol `frames`: what its captions say is true by geometry of the tests' own; the judge
finds items that keep to no frame."""

import re
import shutil
from collections import Counter, defaultdict
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import tomli_w

from generator.base.errors import UserError
from generator.dataset.questions import Candidates, make_questions
from generator.dataset.reader import Dataset
from generator.describe.benchmark import describe_world, write_benchmarks
from generator.describe.request import TextRequest, read_text_preset
from generator.exports.questions import QuestionSet
from generator.exports.rl.questions import RewardedQuestions
from generator.judge.verify import verify_dataset
from generator.vocabulary.relations import bare_phrase
from generator.vocabulary.schema import parse_vocabulary, read_vocabulary
from tests.generator.judge.planted import Planted
from tests.generator.turned_worlds import Ground, read_grounds, write_turned_world

SCENES = {"train": 40, "val": 2, "seen": 60, "partial": 24, "unseen": 24}
BARE = TextRequest(
    read_text_preset("bare").protocols, options=dict(read_text_preset("bare").options)
)
_TEXT = re.compile(
    r"(?:a photo of )?an? (?P<subject>[a-z ]+?) (?:that )?(?:is )?"
    r"(?P<direction>to the left of|to the right of|in front of|behind) an? (?P<rest>.+)",
    re.IGNORECASE,
)
_DIRECTION = {
    "to the left of": "left",
    "to the right of": "right",
    "in front of": "front",
    "behind": "behind",
}
_FRAME = re.compile(r"(?P<ground>.+?)( as the camera sees it| from the .+'s own point of view)?")


@pytest.fixture(scope="module")
def described(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A verified world with the benchmarks `two` (two images) and `bare`."""
    root = tmp_path_factory.mktemp("frames") / "dataset"
    prepared = write_turned_world(root, scenes=SCENES, turns="90,180,270")
    for name, request in (("two", TextRequest(("frames",))), ("bare", BARE)):
        describe_world(
            root,
            Dataset.open(root).world,
            holdout=prepared.holdout,
            name=name,
            request=request,
        )
    for certificate in verify_dataset(root, None).values():
        assert certificate["status"] == "clean", certificate["sentence"]
    return root


def read_words(text: str) -> tuple[str, str, str, str]:
    """Subject, direction, ground object and frame ("" for none) of a caption, by its words."""
    match = _TEXT.fullmatch(text.removesuffix("."))
    assert match, text
    rest = _FRAME.fullmatch(match["rest"])
    assert rest, text
    frame = {None: "", " as the camera sees it": "viewer"}.get(rest[2], "object")
    if frame == "object":
        assert rest[2] == f" from the {rest['ground']}'s own point of view"
    return match["subject"], _DIRECTION[match["direction"].lower()], rest["ground"], frame


def rows_by_item(root: Path, name: str) -> dict[str, list[dict[str, Any]]]:
    benchmark = Dataset.open(root).benchmark(name)
    rows: dict[str, list[dict[str, Any]]] = defaultdict(list)
    kind_of = dict(
        zip(
            benchmark.items["item_id"].to_pylist(), benchmark.items["kind"].to_pylist(), strict=True
        )
    )
    skill_of = dict(
        zip(
            benchmark.items["item_id"].to_pylist(),
            benchmark.items["skill"].to_pylist(),
            strict=True,
        )
    )
    for row in benchmark.candidates.to_pylist():
        if row["item_id"].startswith("frames-"):
            row["item_kind"] = kind_of[row["item_id"]]
            row["skill"] = skill_of[row["item_id"]]
            row["words"] = read_words(benchmark.text_of[row["text_id"]])
            rows[row["item_id"]].append(row)
    return rows


def look_of(ground: Ground, category: str) -> str:
    angle = ground.angle(category)
    if angle < 45:
        return "toward"
    return "away" if angle > 135 else "aside"


def test_every_caption_of_two_images_is_true_where_it_says(described: Path) -> None:
    grounds = read_grounds(described)
    kinds: Counter[str] = Counter()
    for rows in rows_by_item(described, "two").values():
        kind = rows[0]["item_kind"]
        kinds[kind] += 1
        truths: dict[str, set[bool]] = defaultdict(set)
        for row in rows:
            subject, direction, ground, frame = row["words"]
            assert frame == kind
            true_directions = grounds[row["scene_id"]].directions(subject, ground, frame)
            assert (direction in true_directions) is row["truth"]
            truths[row["slot"]].add(row["truth"])
        expected = {True, False} if kind == "viewer" else None
        assert truths == {
            "0": expected or {True},
            "1": expected or {False},
        }
        ground = rows[0]["words"][2]
        looks = {row["scene_id"]: look_of(grounds[row["scene_id"]], ground) for row in rows}
        assert len(looks) == 2
        assert rows[0]["skill"] == " and ".join(sorted(looks.values()))
    assert kinds["viewer"] == kinds["object"] > 40


def test_both_kinds_ask_about_the_same_objects_and_axis(described: Path) -> None:
    by_item = rows_by_item(described, "two")
    for item, rows in by_item.items():
        if rows[0]["item_kind"] == "viewer":
            twin_rows = by_item[item.removesuffix("0") + "1"]
            axis = {frozenset(("left", "right")), frozenset(("front", "behind"))}
            named = [
                {(row["words"][0], row["words"][2]) for row in of_kind}
                for of_kind in (rows, twin_rows)
            ]
            directions = [
                frozenset(row["words"][1] for row in of_kind) for of_kind in (rows, twin_rows)
            ]
            assert named[0] == named[1]
            assert directions[0] == directions[1]
            assert directions[0] in axis


def test_each_own_direction_is_true_equally_often(described: Path) -> None:
    counts: Counter[str] = Counter()
    for rows in rows_by_item(described, "two").values():
        if rows[0]["item_kind"] == "object":
            counts[next(row["words"][1] for row in rows if row["truth"])] += 1
    assert len(counts) == 4
    assert max(counts.values()) - min(counts.values()) <= 6


def test_a_bare_caption_is_true_in_the_frame_that_it_is_listed_for(described: Path) -> None:
    grounds = read_grounds(described)
    by_item = rows_by_item(described, "bare")
    assert len(by_item) > 80
    for rows in by_item.values():
        assert len(rows) == 2
        for row in rows:
            subject, direction, ground, frame = row["words"]
            assert frame == ""
            here = grounds[row["scene_id"]]
            truths = [
                direction in here.directions(subject, ground, name) for name in ("viewer", "object")
            ]
            assert truths == [row["kind"] == "viewer", row["kind"] == "object"]
            assert row["truth"] is (row["kind"] == "viewer")
            assert row["skill"] == look_of(here, ground)


def test_a_world_of_frames_asks_about_them_at_once(tmp_path: Path) -> None:
    write_turned_world(tmp_path, turns="180")
    (summary,) = write_benchmarks(
        tmp_path, Dataset.open(tmp_path).world, exposed_negatives=False
    ).values()
    assert summary.items["frames viewer"] == summary.items["frames object"] == 19
    assert "frames assumed" not in summary.items


def test_questions_in_words_are_those_that_have_one_answer(described: Path) -> None:
    for name, forms in (
        ("two", {"viewer": {"choice", "images", "matching"}, "object": {"choice"}}),
        ("bare", {"assumed": {"choice"}}),
    ):
        benchmark = Dataset.open(described).benchmark(name)
        rows = Candidates(benchmark)
        kind_of = {
            item: rows_[0]["item_kind"] for item, rows_ in rows_by_item(described, name).items()
        }
        found: dict[str, set[str]] = defaultdict(set)
        for question in make_questions(benchmark, rows, protocols=("frames",), form="choice"):
            found[kind_of[question.item]].add(question.form)
            assert question.true is not None
            assert rows.truth[question.true]
        assert found == forms


def test_unseen_scenes_are_asked_about_the_own_side_that_training_never_shows(
    tmp_path: Path,
) -> None:
    scenes = {"train": 60, "val": 2, "seen": 40, "unseen": 60}
    prepared = write_turned_world(
        tmp_path, holdout="relation:object=2x3", scenes=scenes, turns="90,180"
    )
    world = Dataset.open(tmp_path).world
    request = TextRequest(("frames",))
    describe_world(tmp_path, world, holdout=prepared.holdout, name="own", request=request)
    (certificate,) = verify_dataset(tmp_path, "own").values()
    assert certificate["status"] == "clean", certificate["sentence"]

    own_frames = prepared.holdout.own_frames
    benchmark = Dataset.open(tmp_path).benchmark("own")
    split_of = dict(
        zip(
            benchmark.items["item_id"].to_pylist(),
            benchmark.items["split"].to_pylist(),
            strict=True,
        )
    )
    n_items: Counter[tuple[str, str]] = Counter()
    true_directions: Counter[str] = Counter()
    for item, rows in rows_by_item(tmp_path, "own").items():
        kind, split = rows[0]["item_kind"], split_of[item]
        n_items[kind, split] += 1
        _, _, ground, _ = rows[0]["words"]
        directions = {f"own-{row['words'][1]}" for row in rows}
        is_held_out = directions <= {*own_frames.get(ground, ())}
        if kind == "object":
            assert is_held_out is (split == "unseen")
        if kind == "object" and split == "unseen":
            true_directions[next(row["words"][1] for row in rows if row["truth"])] += 1
    assert n_items["object", "unseen"] == n_items["viewer", "unseen"] > 15
    assert n_items["object", "seen"] > 10
    assert len(true_directions) == 2
    assert max(true_directions.values()) - min(true_directions.values()) <= 2


@pytest.mark.parametrize(
    ("protocol", "options", "turns", "family"),
    [
        ("frames", {}, None, "pug-frames"),
        ("frames", {}, "180", "pug"),
        ("frames", {"kinds": ["assumed"]}, "180", "pug"),
    ],
)
def test_worlds_without_frames_or_twins_are_refused(
    protocol: str, options: dict[str, Any], turns: str | None, family: str, tmp_path: Path
) -> None:
    scenes = {"train": 20, "val": 2, "seen": 4, "partial": 4, "unseen": 4}
    prepared = write_turned_world(tmp_path, family, scenes=scenes, turns=turns)
    with pytest.raises(
        UserError, match=r"--family pug-frames.* turn twins \(--turns 180\), which are"
    ):
        describe_world(
            tmp_path,
            Dataset.open(tmp_path).world,
            holdout=prepared.holdout,
            name="b",
            request=TextRequest((protocol,), {protocol: options}),
        )


def test_a_family_whose_frames_begin_with_other_words_has_no_bare_captions() -> None:
    data = read_vocabulary("pug-frames").model_dump(mode="json", exclude_defaults=True)
    for relation, words in (("own-left", "on"), ("own-right", "off")):
        phrase = f"{words} the own side of {{b}} as {{the_b}} itself sees it"
        data["relations"][relation] |= {"phrase": phrase, "synonyms": []}
    relations = parse_vocabulary(tomli_w.dumps(data), "mine").relations
    assert bare_phrase(relations["left"], relations["own-left"]) is None
    assert bare_phrase(relations["front"], relations["own-front"]) == "in front of"


def exchange_kinds(planted: Planted) -> None:
    item = planted.choose(planted.items("frames", kind="assumed"))
    for row in planted.rows_of(item):
        row["kind"] = {"viewer": "object", "object": "viewer"}.get(row["kind"], row["kind"])


def drop_the_object(planted: Planted) -> None:
    item = planted.choose(planted.items("frames", kind="assumed"))
    of_object = [row for row in planted.rows_of(item) if row["kind"] == "object"]
    planted.tables["candidates"].remove(of_object[0])


def ask_as_a_binary(planted: Planted) -> None:
    item = planted.choose(planted.items("frames", kind="assumed"))
    item["kind"], item["protocol"] = "flip", "binary"


def another_world(planted: Planted) -> None:
    """The second image becomes one of another world, in which the captions have the same truth."""
    items = [*planted.items("frames", kind="viewer", split="seen")]
    grounds = read_grounds(planted.root)
    text_of = {row["text_id"]: row["text"] for row in planted.tables["texts"]}
    for item in items:
        rows = planted.rows_of(item)
        second = rows[-1]["scene_id"]
        subject, direction, ground, _ = read_words(text_of[rows[-1]["text_id"]])
        for scene_id, other in grounds.items():
            is_another = scene_id not in {row["scene_id"] for row in rows}
            has_both = {subject, ground} <= other.places.keys()
            if not (is_another and has_both and planted.split[scene_id] == "seen"):
                continue
            if (direction in other.directions(subject, ground, "viewer")) is rows[-1]["truth"]:
                for row in rows:
                    if row["scene_id"] == second:
                        row["scene_id"] = scene_id
                return
    raise AssertionError("no other scene has these captions")


def call_it_the_object_s(planted: Planted) -> None:
    planted.choose(planted.items("frames", kind="viewer"))["kind"] = "object"


@pytest.mark.parametrize(
    ("benchmark", "mutate", "fault", "words"),
    [
        ("bare", exchange_kinds, "wrong frame", "is true for the viewer and false for the object"),
        ("bare", drop_the_object, "wrong frame", "expected one caption for each frame"),
        ("bare", ask_as_a_binary, "unreadable text", "expected each direction to say whose it is"),
        ("two", another_world, "wrong frame", "do not show one world from two sides"),
        ("two", call_it_the_object_s, "wrong frame", "do not keep their truth"),
    ],
)
def test_the_judge_finds_items_that_keep_to_no_frame(
    benchmark: str,
    mutate: Callable[[Planted], None],
    fault: str,
    words: str,
    described: Path,
    tmp_path: Path,
) -> None:
    root = tmp_path / "copy"
    shutil.copytree(described, root)
    planted = Planted(root, benchmark)
    mutate(planted)
    planted.seal()
    certificate = verify_dataset(root, benchmark)[benchmark]
    found = [finding["what"] for finding in certificate["findings"] if finding["fault"] == fault]
    assert any(words in what for what in found), certificate["findings"]


def test_questions_without_a_right_answer_are_not_exported(described: Path) -> None:
    dataset = Dataset.open(described)
    with pytest.raises(UserError, match="no questions with a right answer"):
        QuestionSet(dataset, dataset.benchmark("bare")).rows()
    rewarded = RewardedQuestions(dataset, dataset.benchmark("bare"), ["choice"])
    splits = {question.split for questions in rewarded.by_image() for question in questions}
    assert splits == {"train"}
