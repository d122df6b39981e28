"""The command `score familiarity`."""

import json
from pathlib import Path
from typing import Any

import pytest

from evaluator.audits.familiarity.audit import audit
from evaluator.audits.familiarity.counting import TextCounts
from evaluator.cli.familiarity import format_summary
from tests.evaluator.audits.familiarity.test_audit import COUNTS, SAMPLES
from tests.evaluator.conftest import assert_one_sentence, score_command, succeed


@pytest.fixture
def files(tmp_path: Path) -> tuple[str, Path]:
    captions = {
        "caption": "A red car and a blue bus.",
        "negative_caption": "A blue car and a red bus.",
    }
    (tmp_path / "swap_att.json").write_text(json.dumps({"0": {"filename": "a.jpg", **captions}}))
    (tmp_path / "corpus.txt").write_text("a red car\na blue bus\na small blue car\n")
    return f"sugarcrepe:{tmp_path / 'swap_att.json'}", tmp_path / "corpus.txt"


def summary_and_talk(*arguments: str | Path) -> tuple[dict[str, Any], str]:
    """What the command prints as JSON and what it says beside."""
    done = succeed("familiarity", *arguments, "--workers", 1, "--json")
    return json.loads(done.stdout), done.stderr


def test_a_benchmark_is_audited_without_its_images(files: tuple[str, Path], tmp_path: Path) -> None:
    benchmark, corpus = files
    done = succeed(
        "familiarity", benchmark, "--reference", corpus, "--out", tmp_path / "out", "--workers", 1
    )
    assert "amb_mixed                 1" in done.stdout
    assert "+100.0 points" in done.stdout
    assert (tmp_path / "out" / "splits" / "amb_mixed.txt").read_text() == "0\n"
    summary, _ = summary_and_talk(benchmark, "--reference", corpus, "--out", tmp_path / "out")
    assert summary["bindings"]["positive"]["perfect"] == 1
    assert summary == json.loads((tmp_path / "out" / "summary.json").read_text())
    assert summary["bindings"]["negative"] == {"perfect": 0, "close": 0.5, "none": 0.5}


def test_references_are_united_and_left_out_lines_are_counted(
    files: tuple[str, Path], tmp_path: Path
) -> None:
    benchmark, corpus = files
    folder = tmp_path / "corpus"
    folder.mkdir()
    (folder / "a.jsonl").write_text('{"caption": "a blue bus"}\n{"caption": null}\n{')
    (folder / "a.jpg").write_bytes(b"x")
    (folder / "0.tar").write_bytes(bytes(1024))
    (folder / "0.parquet").write_bytes(b"x")
    (tmp_path / "counts.csv").write_text("attr,obj_lemma,perfect_count,close_count\nred,bus,5,0\n")
    references = [
        argument
        for path in (corpus, folder, tmp_path / "counts.csv", corpus)
        for argument in ("--reference", path)
    ]
    for _ in range(2):  # the second time OUT is inside the corpus
        summary, talk = summary_and_talk(benchmark, *references, "--out", folder / "out")
        assert summary["corpus"]["captions"] == 4
        assert summary["left_out"] == {
            "entries": {"no JSON": 1, "a caption or phrase that is not text": 1},
            "not_read": {".jpg": 1},
            "repeated": {".parquet": 1},
        }
        assert summary["reference"] == ", ".join(
            map(str, (corpus, folder, tmp_path / "counts.csv"))
        )
        assert summary["bindings"]["negative"] == {"perfect": 0.5, "close": 0.5, "none": 0}
    assert "left out: 1 a caption or phrase that is not text, 1 no JSON." in talk
    assert "Not read: 1 .jpg." in talk
    assert "has the same captions: 1 .parquet." in talk
    assert "Tables of counts: 1;" in talk


def test_the_match_is_named_and_synonyms_are_seen(files: tuple[str, Path], tmp_path: Path) -> None:
    benchmark, corpus = files
    corpus.write_text("a crimson car\nsmall blue buses\n")
    (tmp_path / "words.txt").write_text("red, crimson\n")
    arguments = (benchmark, "--reference", corpus, "--counts", tmp_path / "counts")
    matches = {
        "lemmas": (),
        "exact": ("--match", "exact"),
        "synonyms": ("--synonyms", tmp_path / "words.txt"),
    }
    shares = {}
    for name, more in matches.items():
        summary, _ = summary_and_talk(*arguments, "--out", tmp_path / name, *more)
        assert name in summary["match"]
        shares[name] = summary["bindings"]["positive"]
    assert shares == {
        "lemmas": {"perfect": 0, "close": 0.5, "none": 0.5},  # blue buses
        "exact": {"perfect": 0, "close": 0, "none": 1},
        "synonyms": {"perfect": 0.5, "close": 0.5, "none": 0},
    }
    assert summary["match"] == f"lemmas and synonyms ({tmp_path / 'words.txt'}, 1 groups)"


@pytest.mark.parametrize("form", ["txt", "jsonl"])
def test_a_corpus_that_has_the_benchmarks_captions_is_read_without_them(
    files: tuple[str, Path], tmp_path: Path, form: str
) -> None:
    """By default, and counted once for each time that they are there; other captions with the same
    words count."""
    benchmark, _ = files
    texts = ["a RED  car and a blue bus.", "a red car", "A red car and a blue bus."]
    corpus = tmp_path / f"with.{form}"
    corpus.write_text(
        "\n".join(texts if form == "txt" else [json.dumps({"caption": text}) for text in texts])
    )
    arguments = (benchmark, "--reference", corpus, "--counts", tmp_path / "c")
    summaries = {}
    for name, more in {
        "default": (),
        "with": ("--with-own",),
        "without": ("--without-own",),
    }.items():
        summaries[name], talk = summary_and_talk(*arguments, "--out", tmp_path / name, *more)
        counted = "count (--without" if name == "with" else "are left out (--with-own"
        assert f"has 1 of the 1 true captions of the benchmark; they {counted}" in talk
    shares = {
        name: summary["bindings"]["positive"]["perfect"] for name, summary in summaries.items()
    }
    assert shares == {"default": 0.5, "with": 1, "without": 0.5}
    assert summaries["default"]["reference"] == f"{corpus} without the captions of the benchmark"
    assert summaries["with"]["reference"] == str(corpus)
    assert summaries["default"]["own"] == {"captions": 1, "held": 1, "count": False}


def test_a_caption_that_a_corpus_has_by_chance_counts(tmp_path: Path) -> None:
    lines = ["item,text,truth", *(f"{i},a red thing{i},1\n{i},a blue thing{i},0" for i in range(5))]
    (tmp_path / "t.csv").write_text("\n".join(lines))
    (tmp_path / "corpus.txt").write_text("a red thing0\na red thing1\n")
    arguments = (
        f"table:{tmp_path / 't.csv'}",
        "--reference",
        tmp_path / "corpus.txt",
        "--out",
        tmp_path / "out",
    )
    summary, _ = summary_and_talk(*arguments)
    assert summary["own"] == {"captions": 5, "held": 2, "count": True}
    assert summary["bindings"]["positive"]["perfect"] == 0.4


def test_references_without_captions_or_counts_are_refused(
    files: tuple[str, Path], tmp_path: Path
) -> None:
    benchmark, _ = files
    (tmp_path / "bad.jsonl").write_text("{}")
    (tmp_path / "bad.csv").write_text("caption\na red car\n")
    arguments = (
        "familiarity",
        benchmark,
        "--out",
        tmp_path / "other",
        "--workers",
        1,
        "--reference",
    )
    for more, sentence in (
        ((tmp_path / "bad.jsonl",), "left out: 1 without a caption"),
        ((tmp_path / "bad.csv",), "expected the columns attr"),
    ):
        assert_one_sentence(score_command(*arguments, *more), sentence)


def test_filters_and_the_items_they_leave_out_are_printed(tmp_path: Path) -> None:
    (tmp_path / "corpus.txt").write_text("a red fox\n")
    columns = (
        "filename,world_name,character_name,character2_name,character_texture,character2_texture"
    )
    rows = [
        f"{n}.png,{world},Crow,Fox,Blue,Red"
        for n, world in enumerate(("Desert", "Island", "Island"))
    ]
    (tmp_path / "labels.csv").write_text("\n".join([columns, *rows]) + "\n")
    arguments = ("--reference", tmp_path / "corpus.txt", "--out", tmp_path / "out", "--workers", 1)
    done = score_command(
        "familiarity",
        f"pug_spare:{tmp_path / 'labels.csv'}",
        *arguments,
        "--filter",
        "world=Island",
    )
    assert "Filters: world=Island." in done.stderr
    assert "Left out: 1: its world is not Island." in done.stderr
    assert "2 of 2 samples" in done.stdout


def test_the_summary_has_figures_caveats_and_reasons() -> None:
    about = {
        "benchmark": "aro:x",
        "reference": "y",
        "captions": "strict",
        "extractor": "rules",
        "match": "lemmas",
    }
    text = format_summary({**about, **audit(SAMPLES, COUNTS, TextCounts(10, 20, 5)).summary()})
    assert "4 of 5 samples, captions read as strict, phrases by rules, match by lemmas." in text
    assert "excluded: 1, a caption has no binding" in text
    assert "25.0% bare nouns" in text
    assert "+62.5 points" in text
    assert "seen 0, mixed 3, unseen 0." in text
    assert "No sample is seen: that partition has no mean." in text
    assert "No sample is mixed" not in text
    assert "1 samples repeat the image and both captions of another" in text
    assert "  true captions" not in text
    assert "there is no asymmetry" in format_summary(
        {**about, **audit(SAMPLES[2:3], COUNTS, TextCounts()).summary()}
    )
