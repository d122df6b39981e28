"""`evaluate` from Python: the same results as `score run`, nothing printed, and mistakes of a model
named."""

import gc
import io
import json
import re
import subprocess
import sys
import zlib
from collections.abc import Callable, Sequence
from dataclasses import fields
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from PIL import Image

import evaluator
from evaluator import Dataset, evaluate
from evaluator.runs.request import Request
from evaluator.runs.tables import COLUMNS
from generator.base.errors import UserError
from tests.evaluator.conftest import Tiny, score_command, succeed
from tests.evaluator.models.test_hf import _clip
from tests.evaluator.synthetic import unnamed
from tests.paths import CHECKOUT
from tests.test_docs import blocks


class Encoder:
    """The colours of an image, and the letters of a text."""

    def encode_images(self, images: Sequence[Image.Image]) -> Any:
        return np.stack([np.asarray(image.resize((4, 4)), np.float32).ravel() for image in images])

    def encode_texts(self, texts: Sequence[str]) -> Any:
        return np.stack([np.resize(np.array([*text.encode()], np.float32), 48) for text in texts])


class Network(torch.nn.Module):
    """Like Encoder, in torch, with a layer that is silent in evaluation mode alone."""

    def __init__(self) -> None:
        super().__init__()
        self.scale = torch.nn.Parameter(torch.ones(48))
        self.drop = torch.nn.Dropout(0.5)

    def encode_images(self, images: Sequence[Image.Image]) -> torch.Tensor:
        return self.drop(self.scale * torch.from_numpy(Encoder().encode_images(images)))

    def encode_texts(self, texts: Sequence[str]) -> torch.Tensor:
        return torch.from_numpy(Encoder().encode_texts(texts))


class Score:
    """A score for each pair."""

    def score(self, image: Image.Image, text: str) -> Any:
        return float(np.asarray(image).mean()) + len(text) / 100


def test_the_command_and_the_call_give_the_same_results(
    bags: None, drawn: Path, tmp_path: Path
) -> None:
    spec = f"bag:sharp@{drawn}"
    done = score_command(
        "run", drawn, "--model", spec, "--out", tmp_path / "run", "--batch-size", 16, "--json"
    )
    evaluation = evaluate(spec, Dataset.open(drawn), batch_size=16)
    printed = json.loads(done.stdout)
    assert printed.pop("verdict") == evaluation.verdict.record()
    assert {
        name: value for name, value in evaluation.results.items() if name != "folder"
    } == printed
    assert [
        (evaluation.folder / name).read_bytes() for name in ("scores.parquet", "results.json")
    ] == [(tmp_path / "run" / name).read_bytes() for name in ("scores.parquet", "results.json")]


def test_a_script_on_a_terminal_shows_progress_and_prints_the_verdict_first(
    drawn: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    class Terminal(io.StringIO):
        def isatty(self) -> bool:
            return True

    monkeypatch.setattr(sys, "stderr", Terminal())
    evaluation = evaluate(Score(), drawn, protocols="binary")
    assert "100%" in sys.stderr.getvalue()  # type: ignore[attr-defined]
    verdict, held_out = repr(evaluation).splitlines()[:2]
    assert verdict.startswith(evaluation.verdict.sentence)
    assert held_out.startswith("Held out of training: ")


@pytest.mark.parametrize("batch_size", [1, 7])
def test_an_object_a_network_and_a_pair_scorer_are_scored(drawn: Path, batch_size: int) -> None:
    network = Network()
    evaluation = evaluate(network, drawn, protocols="binary", batch_size=batch_size)
    assert network.training
    assert evaluation.results["model"] == "Network"
    expected = evaluate(Encoder(), drawn, protocols=["binary"], name="mine")
    assert expected.results["model"] == "mine"
    assert unnamed(evaluation.results["rows"]) == unnamed(expected.results["rows"])
    pairs = evaluate(Score(), drawn, protocols="binary", batch_size=batch_size).items
    world = Dataset.open(drawn).world
    expected_scores = [
        [
            pytest.approx(Score().score(world.image(row["images"][0]), text), rel=1e-6)
            for text in row["texts"]
        ]
        for _, row in pairs.iterrows()
    ]
    assert pairs["scores"].tolist() == expected_scores


def test_scores_tie_as_closely_as_their_model_says(drawn: Path) -> None:
    class Plain:
        def score(self, image: Image.Image, text: str) -> float:
            return zlib.crc32(text.encode()) / 2**32

    class Coarse(Plain):
        tie_tolerance = 1.0

    plain, coarse = (
        evaluate(model, drawn, protocols="binary").results for model in (Plain(), Coarse())
    )
    assert (plain["rules"]["tie_tolerance"], coarse["rules"]["tie_tolerance"]) == (1e-5, 1.0)
    assert plain["factors"]["design"] == coarse["factors"]["design"]
    assert {
        row["ties"] == row["items"]
        for row in coarse["rows"]
        if row["is_main"] and not row["is_gap"]
    } == {True}
    assert {row["ties"] for row in plain["rows"] if row["is_main"] and not row["is_gap"]} == {0}


def test_nothing_is_printed_and_progress_is_called_and_logged(
    drawn: Path, capfd: pytest.CaptureFixture[str], caplog: pytest.LogCaptureFixture
) -> None:
    seen = []
    evaluate(Encoder(), drawn, progress=lambda *progress_call: seen.append(progress_call))
    assert capfd.readouterr() == ("", "")
    assert "texts to encode" in caplog.text
    assert {name for name, _, _ in seen} == {"texts", "images"}
    for name in ("texts", "images"):
        steps = [(done, total) for what, done, total in seen if what == name]
        assert steps == sorted(steps)
        assert steps[-1][0] == steps[-1][1]


def test_a_temporary_run_goes_with_its_results_and_one_with_a_folder_stays(
    drawn: Path, tmp_path: Path
) -> None:
    evaluation = evaluate(Encoder(), drawn, protocols="binary")
    folder = evaluation.folder
    assert len(evaluation.items) == 80
    del evaluation
    gc.collect()
    assert not folder.exists()
    folder_of_run = evaluate(Encoder(), drawn, protocols="binary", out=tmp_path / "run").folder
    gc.collect()
    succeed("report", folder_of_run)
    assert not [path for path in folder_of_run.iterdir() if path.name.startswith(".")]


def test_a_stopped_evaluation_continues_where_it_was(drawn: Path, tmp_path: Path) -> None:
    class Stops(Encoder):
        calls = 0
        stop = True

        def encode_images(self, images: Sequence[Image.Image]) -> Any:
            if Stops.stop and Stops.calls == 4:
                raise KeyboardInterrupt
            Stops.calls += 1
            return super().encode_images(images)

    state: dict[str, Any] = {
        "protocols": "binary",
        "batch_size": 8,
        "out": tmp_path / "run",
        "name": "m",
    }
    with pytest.raises(KeyboardInterrupt):
        evaluate(Stops(), drawn, **state)
    assert (tmp_path / "run" / ".cache").is_dir()
    Stops.stop = False
    evaluation = evaluate(Stops(), drawn, **state)
    expected = evaluate(Encoder(), drawn, protocols="binary").results
    assert unnamed(evaluation.results["rows"]) == unnamed(expected["rows"])


def test_embeddings_of_several_widths_name_the_model_and_what_was_expected(drawn: Path) -> None:
    class Ragged(Encoder):
        def encode_texts(self, texts: Sequence[str]) -> Any:
            return [np.ones(3 if i == 2 else 4) for i in range(len(texts))]

    message = r"encode_texts of Ragged to give floating point .* of shape \(\d+, width\), got object of shape \(\d+,\)"
    with pytest.raises(UserError, match=message) as caught:
        evaluate(Ragged(), drawn, protocols="binary")
    assert "\n" not in caught.value.message


@pytest.mark.parametrize(
    ("more", "message"),
    [
        ({"protocols": "binery"}, r"Unknown protocol 'binery'; did you mean 'binary'\?"),
        ({"limit": 0}, "Expected a limit of at least 1 item"),
        ({"device": "cpu"}, "move your object there"),
        ({"channel": "itm"}, "The model has no channel 'itm'"),
    ],
)
def test_a_request_that_cannot_be_met_is_one_sentence(
    more: dict[str, Any], message: str, drawn: Path
) -> None:
    with pytest.raises(UserError, match=message):
        evaluate(Encoder(), drawn, **more)
    with pytest.raises(UserError, match="is not a dataset"):
        evaluate(Encoder(), "/nowhere")
    with pytest.raises(UserError, match="has no method to score with"):
        evaluate(object(), drawn)


def test_several_processes_need_a_folder_that_they_share(
    drawn: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("WORLD_SIZE", "2")
    with pytest.raises(
        UserError, match="Expected `out`, the folder that the 2 processes of this run share"
    ):
        evaluate(Encoder(), drawn)


def test_the_page_runs_from_top_to_bottom(
    tiny: Callable[..., Tiny],
    drawn: Path,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    """docs/api.md as it stands, with models that need no download."""
    code = "\n".join(blocks(CHECKOUT / "docs" / "api.md", "python"))
    weights, folder = tiny().save(tmp_path / "weights.pt"), tmp_path / "clip"
    _clip(folder)
    (tmp_path / "small").symlink_to(drawn)
    for written, here in {
        '"ViT-B-32", pretrained="laion2b_s34b_b79k"': f'"tiny", pretrained="{weights}"',
        '"ViT-B-32"': '"tiny"',
        "openai/clip-vit-base-patch32": str(folder),
        "color-shape-3x3-b1": "color-shape-3x3-b0",
    }.items():
        assert written in code
        code = code.replace(written, here)
    monkeypatch.chdir(tmp_path)
    exec(compile(code, "api.md", "exec"), {})
    printed = capsys.readouterr().out
    for part in (
        "<Dataset small, benchmark color-shape-3x3-b0, ",
        "my CLIP on color-shape-3x3-b0",
        "accuracy",
        "images",
        "List",
    ):
        assert part in printed


def test_the_page_has_every_argument_and_column() -> None:
    page = (CHECKOUT / "docs" / "api.md").read_text(encoding="utf-8")
    arguments = [
        "progress",
        *(field.name for field in fields(Request) if field.name not in ("model", "dataset")),
    ]
    assert all(
        re.search(rf"^\|.*`{name}`.*\|.*\|$", page, re.MULTILINE) for name in (*arguments, *COLUMNS)
    )


def test_the_package_imports_little_and_names_what_it_has() -> None:
    code = (
        "import sys, evaluator; print({'torch', 'numpy', 'pandas'} & set(sys.modules)); from "
        "evaluator import Dataset; print('torch' in sys.modules)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.split() == ["set()", "False"]
    assert all(getattr(evaluator, name) for name in evaluator.__all__)
    with pytest.raises(AttributeError, match="has no attribute 'evalute'"):
        evaluator.evalute  # noqa: B018
