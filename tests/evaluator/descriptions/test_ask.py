"""`score ask --form describe`: a scripted describer errs in known ways, and every measure equals the
script's own count."""

import csv
import json
from collections import defaultdict
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from fractions import Fraction
from pathlib import Path
from typing import Any

import pytest

from evaluator.descriptions.floors import floor_rows
from evaluator.runs.attributes import ask_attributes
from evaluator.runs.describe import describe_images
from evaluator.runs.folder import IDENTITY_FILE
from evaluator.runs.request import AskRequest
from generator.base.errors import UserError
from generator.base.files import read_json
from generator.dataset.descriptions.description import description_of
from generator.dataset.descriptions.json_reader import write_json
from generator.dataset.descriptions.truth import ImageTruth
from generator.dataset.image_truths import read_truths
from generator.dataset.reader import Dataset
from generator.dataset.relations import AXIS_OF
from tests.conftest import refuse, succeed
from tests.evaluator.chat import Chat, Server, completion, serving
from tests.generator.unrendered import BENCHMARK

SPLITS = ("seen", "partial", "unseen")


@dataclass
class Said:
    """What the script says of an image, and its own count of shares: (count, of how many)."""

    objects: list[dict[str, str | None]]
    relations: list[tuple[int, str, int]] = field(default_factory=list)
    shares: dict[str, tuple[int, int]] = field(default_factory=dict)


def script(truth: ImageTruth) -> Said:
    """A description with known errors. It errs only where all categories differ, so that nobody can
    doubt which object it means."""
    kind = truth.tested_kind or "color"
    kinds = truth.vocabulary.judged_kinds
    objects: list[dict[str, str | None]] = []
    for actual in truth.objects:
        objects.append({"category": actual.category, **{k: actual.attributes[k] for k in kinds}})
    categories = [described["category"] for described in objects]
    n = len(objects)
    exchanged = invented = missing = dropped = added = 0
    wrong: set[int] = set()
    if len(set(categories)) == n:
        if objects[0][kind] != objects[1][kind]:
            objects[0][kind], objects[1][kind] = objects[1][kind], objects[0][kind]
            exchanged = 2
            wrong = {0, 1}
        if n > 2:
            values = {actual.attributes[kind] for actual in truth.objects}
            objects[2][kind] = next(v for v in truth.vocabulary.values[kind] if v not in values)
            objects[2][next(k for k in kinds if k != kind)] = None
            invented = missing = 1
            wrong.add(2)
        if n > 3:
            objects.pop()
            dropped = 1
        other = next(c for c in truth.vocabulary.nouns if c not in categories)
        objects.append({"category": other})
        added = 1
    named = n - dropped
    values_of = named * len(kinds)
    right = values_of - exchanged - invented - missing
    held_out = seen = held_out_recalled = seen_recalled = 0
    for i, binding in enumerate(truth.bindings):
        is_recalled = i not in wrong and i < named
        if binding in truth.held_out:
            held_out += 1
            held_out_recalled += is_recalled
        else:
            seen += 1
            seen_recalled += is_recalled
    is_whole = not (wrong or dropped or added)
    shares = {
        "object precision": (named, named + added),
        "object recall": (named, n),
        "exact count": (int(dropped == added), 1),
        "whole scene": (int(is_whole), 1),
        "values right": (right, values_of),
        "values exchanged": (exchanged, values_of),
        "values invented": (invented, values_of),
        "values missing": (missing, values_of),
        "recall of objects with all values": (named - len(wrong), n),
        "recall of held-out bindings": (held_out_recalled, held_out),
        "recall of seen bindings": (seen_recalled, seen),
    }
    return Said(objects, [], shares)


def with_relations(truth: ImageTruth) -> Said:
    """All objects rightly; of the relations every second one, the last the wrong way round, and one
    that is undecided."""
    kinds = truth.vocabulary.judged_kinds
    objects: list[dict[str, str | None]] = []
    for actual in truth.objects:
        objects.append({"category": actual.category, **{k: actual.attributes[k] for k in kinds}})
    facts = [fact for fact in truth.true_relations if not AXIS_OF[fact[1]].symmetric]
    named = facts[::2]
    subject, name, target = named.pop()
    relations = [*named, (target, name, subject)]
    n = len(truth.objects)
    pairs = [(i, j) for i in range(n) for j in range(n) if i < j]
    undecided = [pair for pair in pairs if truth.holds("right", *pair) is None][:1]
    relations += [(i, "right", j) for i, j in undecided]
    decided = len(named) + 1
    shares = {
        "whole scene": (0, 1),
        "relation precision": (len(named), decided),
        "relation recall": (len(named), len(truth.true_relations)),
        "relations reversed": (1, decided),
        "relations invented": (0, decided),
        "relations undecided": (len(undecided), decided + len(undecided)),
        "relation recall of objects with all values": (len(named), len(truth.true_relations)),
    }
    return Said(objects, relations, shares)


class Describer(Chat):
    """Describes the picture of a scene; the name of the model says how."""

    truths: Mapping[int, ImageTruth]

    def answer(self, request: dict[str, Any], pictures: list[int], text: str) -> None:
        model = request["model"]
        number = scene_number(pictures[0])
        truth = self.truths[number]
        if model == "plain" and "response_format" in request:
            self.fail(400, "Invalid parameter: 'response_format' is not supported.")
            return
        if model == "failing" and number % 3 == 0:
            self.fail(413, "the image is too large")
            return
        description = with_relations(truth) if model == "related" else script(truth)
        document: dict[str, Any] = {"objects": description.objects}
        if description.relations:
            names = ("subject", "relation", "object")
            document["relations"] = [
                dict(zip(names, fact, strict=True)) for fact in description.relations
            ]
        reply = json.dumps(document)
        if model == "prose":
            reply = prose_of(truth)
        elif model == "silent" and number % 3 == 0:
            reply = "I would rather not say."
        elif model == "perfect":
            reply = f"Sure:\n```json\n{write_json(description_of(truth))}\n```"
        self.send(200, json.dumps(completion(model, reply)).encode())


def scene_number(picture: int) -> int:
    """The number of a scene from its picture's color, of which the server reads red and green."""
    return picture // 256 + 256 * (picture % 256)


def prose_of(truth: ImageTruth) -> str:
    """Sentences that name each object with its values, after one that cannot be read."""
    sentences = ["There may be a cube."]
    for actual in truth.objects:
        values = [actual.attributes[kind] for kind in truth.vocabulary.judged_kinds]
        sentences.append(f"There is a {' '.join(values)} {actual.category}.")
    return " ".join(sentences)


def truths_of(dataset: Dataset) -> dict[int, ImageTruth]:
    """The records of the evaluation images, by number."""
    truths = read_truths(dataset.world, dataset.benchmark(BENCHMARK), SPLITS)
    return {int(truth.scene_id): truth for truth in truths}


def asked(dataset: Dataset, server: Server, model: str, out: Path, **options: Any) -> Any:
    """The results of a run."""
    request = AskRequest(
        dataset=str(dataset.root), model=server.spec(model), form="describe", **options
    )
    return describe_images(request, out)


def assert_counted(
    results: Mapping[str, Any], truths: Sequence[ImageTruth], said: Sequence[Said]
) -> None:
    """Each measure by split is the mean of the script's shares, and its totals are their sums."""
    checked = 0
    for row in results["rows"]:
        if not row["objects"] is row["interference"] is row["load"] is None:
            continue
        shares = []
        for truth, one in zip(truths, said, strict=True):
            if truth.split == row["split"] and row["measure"] in one.shares:
                shares.append(one.shares[row["measure"]])
        if not shares:
            continue
        checked += 1
        assert row["total"] == sum(count for count, _ in shares), row
        assert row["total_of"] == sum(of for _, of in shares), row
        defined = [Fraction(count, of) for count, of in shares if of]
        assert row["images"] == len(defined), row
        assert row["undefined"] == len(shares) - len(defined), row
        if defined:
            mean = float(sum(defined) / len(defined))  # results have 12 digits
            assert row["value"] == round(mean, 12), row
    assert checked >= 3 * 7


@pytest.fixture
def crowd(crowded: Dataset) -> dict[int, ImageTruth]:
    return truths_of(crowded)


def test_every_measure_is_the_script_s_own_count(
    crowded: Dataset, crowd: dict[int, ImageTruth], tmp_path: Path
) -> None:
    with serving(Describer, truths=crowd) as server:
        results = asked(crowded, server, "errs", tmp_path / "run")
        assert server.asked.total() == len(crowd)
        structure = server.handler.last["response_format"]
    assert structure["type"] == "json_schema"
    schema = structure["json_schema"]["schema"]
    vocabulary = next(iter(crowd.values())).vocabulary
    category = schema["properties"]["objects"]["items"]["properties"]["category"]
    assert category["enum"] == list(vocabulary.nouns)

    truths = list(crowd.values())
    descriptions = [script(truth) for truth in truths]
    assert any(one.shares["values exchanged"][0] for one in descriptions)
    assert_counted(results, truths, descriptions)
    assert not any(row["measure"].startswith("relation") for row in results["rows"])

    # The paired difference, in the images that have both.
    differences = []
    for one in descriptions:
        (held_out, n_held_out), (seen, n_seen) = (
            one.shares["recall of held-out bindings"],
            one.shares["recall of seen bindings"],
        )
        if n_held_out and n_seen:
            differences.append(Fraction(held_out, n_held_out) - Fraction(seen, n_seen))
    mean = float(100 * sum(differences) / len(differences))
    assert f"In {len(differences)} images with both" in results["sentence"]
    assert f"({mean:+.1f} points" in results["sentence"]


def test_floors_stand_beside_every_measure(
    crowded: Dataset, crowd: dict[int, ImageTruth], tmp_path: Path
) -> None:
    with serving(Describer, truths=crowd) as server:
        results = asked(crowded, server, "errs", tmp_path / "run")
    for floor in ("blind", "unbound"):
        rows = floor_rows(list(crowd.values()), floor, by=("split", "objects"))
        values = {(row.labels["split"], row.labels["objects"], row.measure): row for row in rows}
        n_compared = 0
        for row in results["rows"]:
            if row["objects"] is None:
                continue
            expected = values[row["split"], row["objects"], row["measure"]].value
            assert row[floor] == (None if expected != expected else expected)
            n_compared += 1
        assert n_compared


def test_relations(related: Dataset, tmp_path: Path) -> None:
    of_number = truths_of(related)
    truths = list(of_number.values())
    with serving(Describer, truths=of_number) as server:
        results = asked(related, server, "related", tmp_path / "run", relations=True)
        assert (
            "subject and object are places"
            in server.handler.last["messages"][0]["content"][1]["text"]
        )
    descriptions = [with_relations(truth) for truth in truths]
    assert sum(one.shares["relations undecided"][0] for one in descriptions) > 0
    assert_counted(results, truths, descriptions)


def test_the_files_have_every_answer(
    crowded: Dataset, crowd: dict[int, ImageTruth], tmp_path: Path
) -> None:
    out = tmp_path / "run"
    with serving(Describer, truths=crowd) as server:
        results = asked(crowded, server, "errs", out)
    assert sorted(path.name for path in out.iterdir() if path.suffix) == [
        "descriptions.csv",
        "descriptions.json",
        "descriptions.jsonl",
    ]
    assert read_json(out / "descriptions.json")["rows"] == results["rows"]
    lines = [json.loads(line) for line in (out / "descriptions.jsonl").read_text().splitlines()]
    counts: dict[str, int] = defaultdict(int)
    for line, truth in zip(lines, crowd.values(), strict=True):
        description = script(truth)
        assert line["scene_id"] == truth.scene_id
        assert json.loads(line["answer"]) == {"objects": description.objects}
        for atom in line["atoms"]:
            counts[atom["verdict"]] += 1
    exchanged = sum(script(truth).shares["values exchanged"][0] for truth in crowd.values())
    assert counts["exchanged"] == exchanged
    with (out / "descriptions.csv").open() as file:
        rows = list(csv.DictReader(file))
    assert len(rows) == len(results["rows"])
    assert {row["split"] for row in rows} == set(SPLITS)
    assert any(row["load"] for row in rows)
    assert any(row["interference"] for row in rows)


def test_a_stopped_run_asks_nothing_twice(
    crowded: Dataset, crowd: dict[int, ImageTruth], tmp_path: Path
) -> None:
    out = tmp_path / "run"
    options = {"max_tokens": 64}
    with serving(Describer, truths=crowd) as server:
        with pytest.raises(UserError, match="budget"):
            asked(crowded, server, "errs", out, budget=1000, **options)
        n_before = server.asked.total()
        assert 0 < n_before < len(crowd)
        with pytest.raises(UserError, match="another question"):
            asked(crowded, server, "errs", out, answer="prose", **options)
        stopped = asked(crowded, server, "errs", out, **options)
        assert set(server.asked.values()) == {1}
        whole = asked(crowded, server, "errs", tmp_path / "other", **options)
        assert server.asked.total() == len(crowd)
    assert stopped["rows"] == whole["rows"]


def test_unread_answers_count_as_nothing(
    crowded: Dataset, crowd: dict[int, ImageTruth], tmp_path: Path
) -> None:
    n_silent = sum(number % 3 == 0 for number in crowd)
    with serving(Describer, truths=crowd) as server:
        results = asked(crowded, server, "silent", tmp_path / "run")
    answers = results["answers"]
    assert (answers["unread"], answers["partly_unread"]) == (n_silent, 0)
    assert answers["answered"] == answers["images"] == len(crowd)
    silent = [row for row in results["rows"] if row["measure"] == "object precision"]
    assert sum(row["undefined"] for row in silent if row["objects"] is not None) == n_silent


def test_failed_requests_are_unscored(
    crowded: Dataset, crowd: dict[int, ImageTruth], tmp_path: Path
) -> None:
    with serving(Describer, truths=crowd) as server:
        results = asked(crowded, server, "failing", tmp_path / "run")
    truths = [truth for number, truth in crowd.items() if number % 3]
    assert results["answers"]["failed"] == len(crowd) - len(truths)
    assert_counted(results, truths, [script(truth) for truth in truths])


def test_an_endpoint_without_structured_output_is_asked_without(
    crowded: Dataset, crowd: dict[int, ImageTruth], tmp_path: Path
) -> None:
    with serving(Describer, truths=crowd) as server:
        results = asked(crowded, server, "plain", tmp_path / "run", limit=2)
        assert "response_format" not in server.handler.last
    assert results["info"]["not_taken"] == ["response_format"]
    assert results["answers"] | {"images": 6, "answered": 6} == results["answers"]


def test_prose_of_the_command(
    crowded: Dataset, crowd: dict[int, ImageTruth], tmp_path: Path
) -> None:
    with serving(Describer, truths=crowd) as server:
        command = ["score", "ask", str(crowded.root), "--model", server.spec("prose"), "--form"]
        done = succeed(
            *command, "describe", "--answer", "prose", "--out", tmp_path / "run", cwd=tmp_path
        )
        assert "response_format" not in server.handler.last
        text = server.handler.last["messages"][0]["content"][1]["text"]
    for word in next(iter(crowd.values())).vocabulary.nouns:
        assert word in text
    assert "100.0% of the held-out bindings and 100.0% of the seen ones" in done.stdout
    assert f"Unread: 0 whole answers, and parts of {len(crowd)} more" in done.stdout
    assert "unbound" in done.stdout


def test_options_of_other_forms_are_refused(crowded: Dataset) -> None:
    command = ("score", "ask", str(crowded.root), "--model", "api:http://127.0.0.1:9/v1@m")
    refuse("--orders", *command, "--form", "describe", "--orders", "1")
    refuse("--relations", *command, "--relations")


@pytest.mark.parametrize("ask_form", [describe_images, ask_attributes])
def test_a_run_that_another_command_finished_meanwhile_writes_no_results(
    related: Dataset, tmp_path: Path, ask_form: Callable[[AskRequest, Path], Any]
) -> None:
    """As on a disk without locks."""

    class Slow:
        def answer(self, images: list[Any], question: str) -> str:
            (out / IDENTITY_FILE).unlink(missing_ok=True)
            return "red"

    out = tmp_path / "run"
    request = AskRequest(dataset=str(related.root), model=Slow(), name="slow", form="describe")
    if ask_form is ask_attributes:
        request = replace(request, form="attributes")
    with pytest.raises(UserError, match="was finished by another command meanwhile"):
        ask_form(request, out)
    assert not [path for path in out.iterdir() if not path.name.startswith(".")]
