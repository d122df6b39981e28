"""The layouts in which benchmarks of others publish their questions, by name."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from evaluator.benchmarks.columns import Columns
from evaluator.benchmarks.compass import COMPLETE, read_compass
from evaluator.benchmarks.crepe import CORPUS, read_crepe
from evaluator.benchmarks.filters import parse_filters
from evaluator.benchmarks.finder import Finder
from evaluator.benchmarks.hard_positives import read_hard_positives
from evaluator.benchmarks.pearson import read_pearson
from evaluator.benchmarks.pictures import Picture, Pictures
from evaluator.benchmarks.pug_spare import WORLD, read_pug_spare
from evaluator.benchmarks.questions import External, Question, candidates_of
from evaluator.benchmarks.reading import Layout, Reading
from evaluator.benchmarks.vl_checklist import read_vl_checklist
from generator.base.errors import UserError

_SUGARCREPE = {"replace_att": 788, "replace_obj": 1652, "replace_rel": 1406, "swap_att": 666, "swap_obj": 245}

LAYOUTS = {
    "sugarcrepe": Layout(
        Columns(("filename",), ("caption", "negative_caption")), averages=True, sizes={"add_att": 692, "add_obj": 2062, **_SUGARCREPE}
    ),
    "sugarcrepe_pp": Layout(
        Columns(
            ("filename",), ("caption", "caption2", "negative_caption"), item="id", protocol="hard_positives", slots=("c", "p", "n")
        ),
        averages=True, sizes=_SUGARCREPE,
    ),
    "crepe": Layout(read_crepe, labels={CORPUS: "the training corpus of systematicity"}, one=(CORPUS,), averages=True),
    "vl_checklist": Layout(read_vl_checklist, averages=True),
    "hard_positives": Layout(
        read_hard_positives,
        sizes={"vl_checklist_attributes": 10575, "vl_checklist_relations": 16868, "visual_genome_attribution": 28748},
    ),
    "compass": Layout(read_compass, labels={COMPLETE: "as many negatives and decomposed captions as atoms"}),
    "pearson2025": Layout(read_pearson),
    "pug_spare": Layout(read_pug_spare, labels={WORLD: "the environment of the images"}),
    "aro": Layout(
        Columns(("image_path",), ("true_caption", "false_caption"), boxed=True), sizes={"visual_genome_attribution": 28748}
    ),
    "winoground": Layout(Columns(("image_0", "image_1"), ("caption_0", "caption_1"), ("collapsed_tag",), "id")),
    "bivlc": Layout(Columns(("image", "negative_image"), ("caption", "negative_caption"), ("type", "subtype"))),
    "vismin": Layout(Columns(("image_0", "image_1"), ("text_0", "text_1"), ("category",), "id")),
}  # fmt: skip
"""SugarCrepe (Hsieh et al. 2023), SugarCrepe++ (Dumpala et al. 2024), CREPE (Ma et al. 2023), VL-CheckList (Zhao et al. 2022), the Hard
Positives sets (Kamath et al. 2024), COMPASS (anonymous, 2026), Pearson et al. 2025, PUG:SPARE (Koishigarina et al. 2026), ARO's relations
and attributes (Yuksekgonul et al. 2023), Winoground (Thrush et al. 2022), BiVLC (Miranda et al. 2024) and VisMin (Awal et al. 2024), as
their authors publish them."""


def read_layout(name: str, path: Path, images: Path | None, filters: Sequence[str] = ()) -> External:
    """A benchmark by the name of its layout. path: a file of it or their folder; images: the folder of images, None for `images`
    beside the questions, or where these are. filters: NAME or NAME=VALUE.

    Raises UserError for files that cannot be read, columns and images that are missing, ids that occur twice, and filters that
    cannot be.
    """
    finder = Finder(path, images)
    reading = _reading(name, path, filters, finder)
    questions: list[Question] = []
    pictures: dict[str, Picture] = {}
    for question, found in reading:
        questions.append(question)
        pictures |= found
    return External(candidates_of(questions, path), Pictures(finder.folder, pictures), reading.about)


def read_texts(name: str, path: Path, filters: Sequence[str] = ()) -> tuple[list[Question], dict[str, Any]]:
    """The questions of a benchmark by the name of its layout, and what results say of them, without its images. Raises UserError as
    `read_layout`, and for a filter by images."""
    reading = _reading(name, path, filters, None)
    return [question for question, _ in reading], reading.about


def _reading(name: str, path: Path, filters: Sequence[str], finder: Finder | None) -> Reading:
    layout = LAYOUTS[name]
    parsed = parse_filters(filters, list(layout.labels), name)
    if parsed.present and finder is None:
        raise UserError("The filter 'present' looks for images, which are not read here; leave it out.")
    return Reading(layout, path, parsed, finder)
