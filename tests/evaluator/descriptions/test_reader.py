"""`score ask --form describe --reader api:…`: a scripted reader errs in known ways, and its error is
the script's own count."""

import json
import shutil
from collections.abc import Mapping
from fractions import Fraction
from pathlib import Path
from typing import Any

import pytest

from evaluator.report.descriptions.answers import answer_data
from evaluator.runs.describe import measure_descriptions
from evaluator.runs.described import read_described
from generator.base.errors import UserError
from generator.base.files import read_json
from generator.dataset.descriptions.truth import ImageTruth
from generator.dataset.reader import Dataset
from tests.conftest import refuse, succeed
from tests.evaluator.chat import Chat, completion, serving
from tests.evaluator.descriptions.test_ask import asked, scene_number, truths_of


def sentences_of(truth: ImageTruth) -> str:
    """A sentence for each object. Every fourth image has one that the grammar does not read."""
    sentences = []
    for actual in truth.objects:
        values = [actual.attributes[kind] for kind in truth.vocabulary.judged_kinds]
        sentences.append(f"There is a {' '.join(values)} {actual.category}.")
    if int(truth.scene_id) % 4 == 0:
        sentences.append("Quite a sight, this.")
    return " ".join(sentences)


def objects_read(truth: ImageTruth) -> list[dict[str, Any]]:
    """What the scripted reader makes of it: of every third image it drops the last object and
    leaves the first value of the first object out."""
    objects: list[dict[str, Any]] = []
    for actual in truth.objects:
        values = {kind: actual.attributes[kind] for kind in truth.vocabulary.judged_kinds}
        objects.append({"category": actual.category, **values})
    if errs(truth):
        objects.pop()
        objects[0][truth.vocabulary.judged_kinds[0]] = None
    return objects


def errs(truth: ImageTruth) -> bool:
    return int(truth.scene_id) % 3 == 0


class WriterAndReader(Chat):
    """Describes pictures; and reads the descriptions, of which it knows the images."""

    truths: Mapping[int, ImageTruth]

    def answer(self, request: dict[str, Any], pictures: list[int], text: str) -> None:
        if pictures:
            reply = sentences_of(self.truths[scene_number(pictures[0])])
        elif request["model"] == "silent":
            self.fail(413, "too long")
            return
        else:
            prose = text.partition("The description:\n")[2]
            (truth,) = [one for one in self.truths.values() if sentences_of(one) == prose]
            reply = json.dumps({"objects": objects_read(truth)})
        self.send(200, json.dumps(completion(request["model"], reply)).encode())


@pytest.fixture(scope="module")
def read_run(crowded: Dataset, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A run of descriptions that a model reads."""
    out = tmp_path_factory.mktemp("read") / "run"
    with serving(WriterAndReader, truths=truths_of(crowded)) as server:
        reader = server.spec("reader")
        asked(crowded, server, "writer", out, answer="prose", reader=reader)
        schema = server.handler.last["response_format"]["json_schema"]["schema"]
    category = schema["properties"]["objects"]["items"]["properties"]["category"]
    assert None in category["enum"]
    return out


def test_the_error_of_a_reader_is_the_script_s_own(crowded: Dataset, read_run: Path) -> None:
    record = read_json(read_run / "descriptions.json")
    truths = list(truths_of(crowded).values())
    whole = [truth for truth in truths if int(truth.scene_id) % 4]
    reader = record["reader"]
    assert (reader["answers"], reader["compared"]) == (len(truths), len(whole))
    value_of = {row["measure"]: row for row in reader["rows"]}
    alike = Fraction(sum(not errs(truth) for truth in whole), len(whole))
    assert value_of["read alike"]["value"] == pytest.approx(float(alike), abs=1e-12)
    recalls = [Fraction(len(objects_read(truth)), len(truth.objects)) for truth in whole]
    assert value_of["object recall"]["value"] == pytest.approx(
        float(sum(recalls) / len(recalls)), abs=1e-12
    )
    missing = []
    for truth in whole:
        n_values = len(objects_read(truth)) * len(truth.vocabulary.judged_kinds)
        missing.append(Fraction(int(errs(truth)), n_values))
    assert value_of["values missing"]["value"] == pytest.approx(
        float(sum(missing) / len(missing)), abs=1e-12
    )
    assert value_of["values exchanged"]["value"] == 0
    assert value_of["values added"]["value"] == 0
    assert "relations read" not in value_of
    assert value_of["object recall"]["images"] == len(whole)

    # Results are of the reader's reading, of all descriptions.
    rows = [row for row in record["rows"] if row["measure"] == "object recall"]
    for row in rows:
        if row["objects"] is row["interference"] is row["load"] is None:
            of_split = [truth for truth in truths if truth.split == row["split"]]
            assert row["total"] == sum(len(objects_read(truth)) for truth in of_split)


def test_files_and_page_show_both(crowded: Dataset, read_run: Path, tmp_path: Path) -> None:
    folder = tmp_path / "run"
    shutil.copytree(read_run, folder)
    measure_descriptions(folder)
    for path in folder.iterdir():
        if path.suffix:
            assert path.read_bytes() == (read_run / path.name).read_bytes()
    run = read_described(str(read_run))
    truths = {truth.scene_id: truth for truth in truths_of(crowded).values()}
    for line in run.lines:
        truth = truths[line["scene_id"]]
        data = answer_data(line, truth)
        first, *phrases = data["phrases"]
        assert first[0]["text"] == line["answer"] == sentences_of(truth)
        assert len(phrases) == len(objects_read(truth))
        assert data["states"].count("missed") == errs(truth)
    done = succeed("score", "report", read_run, "--out", tmp_path / "page.html")
    assert "Its own error, on the" in done.stdout
    assert "Its own error, on the" in (tmp_path / "page.html").read_text()


def test_a_reader_that_never_answers_ends_the_run(crowded: Dataset, tmp_path: Path) -> None:
    with serving(WriterAndReader, truths=truths_of(crowded)) as server:
        reader = server.spec("silent")
        with pytest.raises(UserError, match=r"stopped answering|has an answer"):
            asked(crowded, server, "writer", tmp_path / "run", answer="prose", reader=reader)


def test_readers_that_cannot_be_are_refused(crowded: Dataset) -> None:
    command = ("score", "ask", str(crowded.root), "--model", "api:http://127.0.0.1:9/v1@m")
    describe = (*command, "--form", "describe")
    refuse("--answer prose", *describe, "--reader", "api:http://127.0.0.1:9/v1@r")
    refuse("api:URL@MODEL", *describe, "--answer", "prose", "--reader", "vqa:some/model")
    refuse("--reader is for", *command, "--reader", "api:http://127.0.0.1:9/v1@r")
