"""The export for the Hugging Face Hub, opened by its library, and its upload to a server that
stands for the Hub."""

import base64
import json
import os
import subprocess
import sys
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import mlcroissant
import pyarrow.parquet as pq
import pytest
import yaml

from generator.dataset.reader import Dataset
from generator.dataset.records import ITEMS
from tests.conftest import succeed
from tests.generator.exports.texts import texts_of

TITLE = 'Ada: "small" worlds'


@pytest.fixture(scope="module")
def exported(rendered: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    out = tmp_path_factory.mktemp("export") / "hf"
    about = ("--title", TITLE, "--creator", "Ada Lovelace", "--licence", "CC-BY-4.0")
    succeed("gen export hf", rendered, *about, "--out", out)
    return out


def test_load_dataset_opens_the_export(
    rendered: Path, exported: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HF_HUB_OFFLINE", "1")
    import datasets

    opened = Dataset.open(rendered)
    benchmark = opened.benchmark()
    loaded = datasets.load_dataset(str(exported), cache_dir=str(tmp_path / "cache"))
    assert {split: len(rows) for split, rows in loaded.items()} == benchmark.manifest["scenes"]
    split_of = dict(
        zip(
            benchmark.splits["scene_id"].to_pylist(),
            benchmark.splits["split"].to_pylist(),
            strict=True,
        )
    )
    for split in ("train", "unseen"):
        row = loaded[split][3]
        assert split_of[row["scene_id"]] == split
        assert row["image"].tobytes() == opened.world.image(row["scene_id"]).tobytes()
        assert {True: set(row["captions"]), False: set(row["negatives"])} == texts_of(
            benchmark, row["scene_id"]
        )
        assert len(row["held_out"]) == {"train": 0, "unseen": 2}[split]
        assert all(words.split()[-1] in row["captions"][0] for words in row["objects"])
    questions = datasets.load_dataset(str(exported), "binary", cache_dir=str(tmp_path / "cache"))
    items = benchmark.items_of("binary").to_pylist()
    assert set(questions) == {item["split"] for item in items}
    for split, rows in questions.items():
        assert rows["item_id"][:] == [item["item_id"] for item in items if item["split"] == split]
    row = questions["unseen"][1]
    (image,) = row["images"]
    assert image.tobytes() == opened.world.image(row["scene_id"][0]).tobytes()
    candidates = [
        candidate
        for candidate in benchmark.candidates.to_pylist()
        if candidate["item_id"] == row["item_id"]
    ]
    assert row["text"] == [benchmark.text_of[candidate["text_id"]] for candidate in candidates]
    assert row["truth"] == [candidate["truth"] for candidate in candidates]
    assert row["scene_id"] == [candidate["scene_id"] for candidate in candidates]
    schema = pq.read_schema(exported / "questions" / "binary" / "unseen.parquet")
    for field in ITEMS:
        assert field.name == "protocol" or schema.field(field.name).type == field.type
    assert "protocol" not in schema.names
    pools = datasets.load_dataset(str(exported), "pools", cache_dir=str(tmp_path / "cache"))[
        "train"
    ]
    assert pools["text"][:] == [
        benchmark.text_of[text] for text in benchmark.pools["text_id"].to_pylist()
    ]


def test_images_in_the_export_are_the_bytes_of_the_world(rendered: Path, exported: Path) -> None:
    world = Dataset.open(rendered).world
    row = pq.read_table(exported / "data" / "val-00000.parquet").to_pylist()[0]
    assert row["image"]["bytes"] == world.image_path(row["scene_id"]).read_bytes()


def test_its_dataset_is_verified_as_the_original_is(exported: Path) -> None:
    done = succeed("gen verify --json", exported / "dataset")
    assert [certificate["status"] for certificate in json.loads(done.stdout).values()] == ["clean"]


def test_title_licence_and_creators_are_in_every_description(exported: Path) -> None:
    front = yaml.safe_load((exported / "README.md").read_text().split("---\n")[1])
    assert (front["pretty_name"], front["license"]) == (TITLE, "cc-by-4.0")
    citation = yaml.safe_load((exported / "CITATION.cff").read_text())
    assert (citation["title"], citation["license"]) == (TITLE, "CC-BY-4.0")
    assert citation["authors"] == [{"name": "Ada Lovelace"}]
    metadata = mlcroissant.Dataset(exported / "croissant.json").metadata
    assert not metadata.ctx.issues.errors
    assert metadata.name == TITLE
    assert [creator.name for creator in metadata.creators] == ["Ada Lovelace"]
    rows = mlcroissant.Dataset(exported / "croissant.json").records("images")
    assert len([row["images/scene_id"] for row in rows]) == len(
        list((exported / "dataset/world/images").iterdir())
    )


RESPONSIBLE_AI = """data_collection data_collection_type data_annotation_protocol data_biases data_limitations
data_use_cases data_social_impact personal_sensitive_information data_release_maintenance_plan"""


def test_croissant_has_the_fields_of_responsible_ai(rendered: Path, exported: Path) -> None:
    for folder in (rendered, exported):
        metadata = mlcroissant.Dataset(folder / "croissant.json").metadata
        assert [field for field in RESPONSIBLE_AI.split() if not getattr(metadata, field)] == []
    # What the publisher adds.
    assert metadata.annotations_per_item
    assert metadata.machine_annotation_tools
    assert "closed vocabulary" in str(metadata.data_limitations)


class Hub(BaseHTTPRequestHandler):
    """As much of the Hub as an upload asks for. It keeps what is committed."""

    committed: dict[str, bytes] = {}  # noqa: RUF012
    refuses = False

    def do_GET(self) -> None:
        self._answer(
            {"id": "ada/small", "sha": "0" * 40, "siblings": [], "private": False, "tags": []}
        )

    def do_POST(self) -> None:
        body = self.rfile.read(int(self.headers.get("Content-Length", 0)))
        if self.refuses or self.headers.get("Authorization") != "Bearer hf_secret":
            self.send_response(401)
            self.end_headers()
        elif self.path == "/api/repos/create":
            self._answer({"url": self._url, "name": "ada/small"})
        elif "/preupload/" in self.path:
            files = [
                {"path": file["path"], "uploadMode": "regular"}
                for file in json.loads(body)["files"]
            ]
            self._answer(
                {"files": [{**file, "shouldIgnore": False, "oid": None} for file in files]}
            )
        elif "/commit/" in self.path:
            for line in map(json.loads, body.splitlines()):
                if line["key"] == "file":
                    self.committed[line["value"]["path"]] = base64.b64decode(
                        line["value"]["content"]
                    )
            self._answer(
                {
                    "commitUrl": f"{self._url}/commit/{'1' * 40}",
                    "commitOid": "1" * 40,
                    "success": True,
                }
            )
        else:
            self._answer({})

    @property
    def _url(self) -> str:
        return f"http://{self.headers['Host']}/datasets/ada/small"

    def _answer(self, data: Any) -> None:
        text = json.dumps(data).encode()
        self.send_response(200)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(text)))
        self.end_headers()
        self.wfile.write(text)

    def log_message(self, *_: Any) -> None:
        pass


@pytest.fixture
def hub() -> Iterator[str]:
    Hub.committed, Hub.refuses = {}, False
    server = ThreadingHTTPServer(("127.0.0.1", 0), Hub)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    yield f"http://127.0.0.1:{server.server_port}"
    server.shutdown()


def publish(
    hub: str, folder: Path, home: Path, token: str = "hf_secret"
) -> subprocess.CompletedProcess[str]:
    command = [
        Path(sys.executable).with_name("gen"),
        "publish",
        folder,
        "--to",
        "hf:ada/small",
        "--json",
    ]
    environment = {**os.environ, "HF_ENDPOINT": hub, "HF_TOKEN": token, "HF_HOME": str(home)}
    return subprocess.run(
        command, env=environment, capture_output=True, text=True, check=False, timeout=300
    )


def test_publishing_sends_every_file_as_it_is(hub: str, exported: Path, tmp_path: Path) -> None:
    listed = succeed("gen publish --to hf:ada/small --dry-run --json", exported)
    assert Hub.committed == {}
    done = publish(hub, exported, tmp_path)
    assert done.returncode == 0, done.stderr
    files = {
        str(path.relative_to(exported)): path for path in exported.rglob("*") if path.is_file()
    }
    files = {name: path for name, path in files.items() if not name.startswith(".cache")}
    assert {name for name in Hub.committed if name != ".gitattributes"} == set(files)
    assert all(Hub.committed[name] == path.read_bytes() for name, path in files.items())
    assert json.loads(listed.stdout)["files"] == len(files) == json.loads(done.stdout)["files"]
    assert json.loads(listed.stdout)["bytes"] == sum(path.stat().st_size for path in files.values())


def test_upload_error_is_one_sentence_without_the_token(
    hub: str, exported: Path, tmp_path: Path
) -> None:
    Hub.refuses = True
    done = publish(hub, exported, tmp_path)
    assert done.returncode == 2
    assert "The Hub did not take ada/small" in done.stderr
    assert "hf auth login" in done.stderr
    assert "hf_secret" not in done.stderr + done.stdout
    assert "Traceback" not in done.stderr
