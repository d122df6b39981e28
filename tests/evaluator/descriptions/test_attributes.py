"""`score ask --form attributes`: a scripted model errs in known ways, every measure equals the
script's own count, and the integration gap is exact."""

import csv
import json
from collections import defaultdict
from collections.abc import Mapping
from fractions import Fraction
from pathlib import Path
from typing import Any

import pytest

from evaluator.descriptions.facts import answer_of_description
from evaluator.runs.answered_attributes import read_attributes
from evaluator.runs.attributes import ask_attributes
from evaluator.runs.described import read_described
from evaluator.runs.integration import integration_rows
from evaluator.runs.request import AskRequest
from generator.base.errors import UserError
from generator.base.files import read_json
from generator.dataset.descriptions.short_questions import AttributeQuestion, attribute_questions
from generator.dataset.descriptions.truth import ImageTruth
from generator.dataset.reader import Dataset
from tests.conftest import refuse, succeed
from tests.evaluator.chat import Chat, Server, completion, serving
from tests.evaluator.descriptions.test_ask import scene_number, script, truths_of

Shares = dict[str, tuple[int, int]]


def scripted_answer(question: AttributeQuestion, truth: ImageTruth, number: int) -> tuple[str, str]:
    """An answer and its verdict: of every five facts three right, one exchanged if the image has
    another value, one unread; every eleventh fact gets a value that the image does not have."""
    kind, value = question.truth.kind, question.truth.value
    vocabulary = truth.vocabulary
    if kind == vocabulary.category:
        in_image = [actual.category for actual in truth.objects]
        values = list(vocabulary.nouns)
    else:
        in_image = [actual.attributes[kind] for actual in truth.objects]
        values = list(vocabulary.values[kind])
    others = [other for other in in_image if other != value]
    absent = [other for other in values if other not in in_image]
    if number % 11 == 0 and absent:
        return absent[0], "invented"
    if number % 5 == 3 and others:
        return f"It is {others[0]}.", "exchanged"
    if number % 5 == 4:
        return f"Perhaps {value}.", "unread"
    return f"<think>Hm, {values[0]}?</think> {value}", "right"


class OneByOne(Chat):
    """Answers questions about facts; the name of the model says how."""

    truths: Mapping[int, ImageTruth]

    def answer(self, request: dict[str, Any], pictures: list[int], text: str) -> None:
        truth = self.truths[scene_number(pictures[0])]
        first_line = text.partition("\n")[0]
        questions = attribute_questions(truth)
        (number,) = [
            i for i, one in enumerate(questions) if one.text.partition("\n")[0] == first_line
        ]
        reply = questions[number].truth.value
        if request["model"] == "errs":
            reply, _ = scripted_answer(questions[number], truth, number)
        elif request["model"] == "blind":
            reply = "red"
        self.send(200, json.dumps(completion(request["model"], reply)).encode())


def ask_facts(dataset: Dataset, server: Server, model: str, out: Path, **options: Any) -> Any:
    """The results of a run."""
    request = AskRequest(
        dataset=str(dataset.root), model=server.spec(model), form="attributes", **options
    )
    return ask_attributes(request, out)


@pytest.fixture(scope="module")
def answered(crowded: Dataset, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Runs of the models `errs`, `oracle` and `blind`."""
    root = tmp_path_factory.mktemp("attributes")
    with serving(OneByOne, truths=truths_of(crowded)) as server:
        for model in ("errs", "oracle", "blind"):
            ask_facts(crowded, server, model, root / model)
    return root


def by_split(rows: list[dict[str, Any]]) -> dict[tuple[str, str], dict[str, Any]]:
    """The rows by split and measure."""
    rows_of_measure = {}
    for row in rows:
        if row["objects"] is row["interference"] is row["load"] is None:
            rows_of_measure[row["split"], row["measure"]] = row
    return rows_of_measure


def test_every_measure_is_the_script_s_own_count(crowded: Dataset, answered: Path) -> None:
    shares: dict[tuple[str, str], list[Fraction]] = defaultdict(list)
    for truth in truths_of(crowded).values():
        questions = attribute_questions(truth)
        verdicts = [scripted_answer(one, truth, i)[1] for i, one in enumerate(questions)]
        for verdict in ("right", "exchanged", "invented", "unread"):
            share = Fraction(verdicts.count(verdict), len(verdicts))
            shares[truth.split or "", f"values {verdict}"].append(share)
        bindings: dict[bool, list[bool]] = {True: [], False: []}
        for question, verdict in zip(questions, verdicts, strict=True):
            if question.truth.kind == truth.tested_kind:
                held_out = truth.bindings[question.object_index] in truth.held_out
                bindings[held_out].append(verdict == "right")
        for held_out, name in ((True, "held-out"), (False, "seen")):
            if bindings[held_out]:
                share = Fraction(sum(bindings[held_out]), len(bindings[held_out]))
                shares[truth.split or "", f"recall of {name} bindings"].append(share)
    rows = by_split(read_json(answered / "errs" / "attributes.json")["rows"])
    for key, of_images in shares.items():
        mean = float(sum(of_images) / len(of_images))
        assert rows[key]["value"] == pytest.approx(mean, abs=1e-12), key
        assert rows[key]["images"] == len(of_images)
    assert len(shares) == 3 * 4 + 1 + 2 + 1
    with (answered / "errs" / "attributes.csv").open() as file:
        table = list(csv.DictReader(file))
    assert len(table) == len(read_json(answered / "errs" / "attributes.json")["rows"])


def test_a_page_of_attributes_alone(answered: Path, tmp_path: Path) -> None:
    run = answered / "errs"
    page = tmp_path / "facts.html"
    done = succeed("score", "report", f"one by one={run}", "--out", page)
    assert "values unread" in done.stdout
    record = json.loads((run / "attributes.json").read_text())
    text = page.read_text()
    for row in record["rows"]:
        is_by_split = row["objects"] is row["interference"] is row["load"] is None
        if is_by_split and row["images"]:
            assert row["measure"] in text
            assert f"{100 * row['value']:.1f}" in text
    # Every kind of error has an answer as an example.
    assert all(f">{verdict}</td>" in text for verdict in ("exchanged", "invented", "unread"))
    with page.with_suffix(".csv").open() as file:
        rows = list(csv.DictReader(file))
    assert len(rows) == len(record["rows"])
    assert {row["model"] for row in rows} == {"one by one"}
    assert page.with_suffix(".tex").exists()
    assert page.with_suffix(".md").exists()
    refuse("--hub is not for runs of attributes", "score", "report", run, "--hub", tmp_path)


def test_an_oracle_is_right_and_a_blind_model_is_not(crowded: Dataset, answered: Path) -> None:
    oracle = by_split(read_json(answered / "oracle" / "attributes.json")["rows"])
    blind = by_split(read_json(answered / "blind" / "attributes.json")["rows"])
    shares: dict[str, list[Fraction]] = defaultdict(list)
    chances: dict[str, list[Fraction]] = defaultdict(list)
    for truth in truths_of(crowded).values():
        questions = attribute_questions(truth)
        n_red = sum(question.truth.value == "red" for question in questions)
        shares[truth.split or ""].append(Fraction(n_red, len(questions)))
        chance = Fraction(0)
        for question in questions:
            kind, value = question.truth.kind, question.truth.value
            same = 0
            for actual in truth.objects:
                same += value == (actual.attributes.get(kind) or actual.category)
            chance += Fraction(same, len(truth.objects))
        chances[truth.split or ""].append(chance / len(questions))
    for split, of_images in shares.items():
        assert oracle[split, "values right"]["value"] == 1
        mean = float(sum(of_images) / len(of_images))
        assert blind[split, "values right"]["value"] == pytest.approx(mean, abs=1e-12)
        # "red" is no shape, size or material, and a color of some images alone.
        assert blind[split, "values right"]["value"] < blind[split, "values right"]["unbound"]
        expected = float(sum(chances[split]) / len(chances[split]))
        assert blind[split, "values right"]["unbound"] == pytest.approx(expected, abs=0.05)
        assert blind[split, "values invented"]["unbound"] == 0


def test_the_integration_gap_is_exact(
    crowded: Dataset, runs: Path, answered: Path, tmp_path: Path
) -> None:
    """Descriptions of the script against an oracle that is asked one by one."""
    shares = []
    for truth in truths_of(crowded).values():
        described = script(truth).objects
        questions = attribute_questions(truth)
        n_right = 0
        for question in questions:
            value = answer_of_description(
                question.features, question.truth.kind, described, truth.vocabulary.category
            )
            n_right += value == question.truth.value
        shares.append(Fraction(n_right, len(questions)))
    mean = float(sum(shares) / len(shares))
    rows = integration_rows(
        read_described(str(runs / "errs")), read_attributes(str(answered / "oracle"))
    )
    first = rows[0]
    assert (first["split"], first["measure"]) == ("all", "values right")
    assert first["composed"] == round(mean, 6)
    assert first["decomposed"] == 1
    assert first["difference"] == pytest.approx(mean - 1, abs=1e-6)
    assert first["low"] < first["difference"] < first["high"]
    done = succeed(
        "score", "compare", runs / "errs", answered / "oracle", "--out", tmp_path / "gap.csv"
    )
    assert f"{100 * mean:.1f}% are right in the descriptions and 100.0% when" in done.stdout
    assert "composed" in (tmp_path / "gap.csv").read_text()

    perfect = integration_rows(
        read_described(str(runs / "prose")), read_attributes(str(answered / "oracle"))
    )
    assert {row["difference"] for row in perfect} == {0.0}


@pytest.mark.full
def test_runs_beside_each_other_are_compared(crowded: Dataset, runs: Path, tmp_path: Path) -> None:
    """The command prints the gap where the same model described the same images."""
    page = tmp_path / "page.html"
    with serving(OneByOne, truths=truths_of(crowded)) as server:
        facts = tmp_path / "facts"
        command = ("score", "ask", str(crowded.root), "--model", server.spec("oracle"), "--name")
        described = tmp_path / "described"
        described.mkdir()
        for path in (runs / "errs").iterdir():
            if path.suffix:
                (described / path.name).write_bytes(path.read_bytes())
        record = read_json(described / "descriptions.json")
        done = succeed(*command, record["model"], "--form", "attributes", "--out", facts)
    assert "when they are asked one by one" in done.stdout
    succeed("score", "report", described, facts, "--out", page)
    assert "when they are asked one by one" in page.read_text()
    assert "Composed against one by one" in page.read_text()


def test_open_questions_name_no_values(crowded: Dataset, tmp_path: Path) -> None:
    with serving(OneByOne, truths=truths_of(crowded)) as server:
        ask_facts(crowded, server, "oracle", tmp_path / "run", vocabulary="open", limit=1)
        text = server.handler.last["messages"][0]["content"][1]["text"]
        n_asked = server.asked.total()
        ask_facts(crowded, server, "oracle", tmp_path / "again", vocabulary="open", limit=1)
        assert server.asked.total() == n_asked  # stored answers are not asked again
    assert text.startswith("What ")
    assert text.endswith("?\nAnswer in one or two words.")


def test_attributes_that_cannot_be_asked_or_compared_are_refused(
    crowded: Dataset, runs: Path, answered: Path
) -> None:
    command = ("score", "ask", str(crowded.root), "--model", "api:http://127.0.0.1:9/v1@m")
    refuse("--relations", *command, "--form", "attributes", "--relations")
    refuse("--orders", *command, "--form", "attributes", "--orders", "1")
    refuse("one of --form attributes", "score", "compare", answered / "errs", answered / "blind")
    refuse("answers about attributes", "score", "measure", answered / "errs")
    binary = runs.parent / "no-run"
    refuse("is not a run of attributes", "score", "report", answered / "errs", binary)
    with pytest.raises(UserError, match="lacks"):
        read_attributes(str(runs))
