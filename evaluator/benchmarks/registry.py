"""Opens published benchmarks by name: built-in layouts, tables, and benchmarks that installed
packages add.

To add a benchmark, add an entry to LAYOUTS. If its files are not columns of images and texts, write
a function of its own that yields questions, in a file of its own. A package adds one by an entry
point of the group PLUGINS.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from importlib.metadata import entry_points
from pathlib import Path
from pkgutil import resolve_name
from typing import Any

from evaluator.benchmarks.candidates import benchmark_tables
from evaluator.benchmarks.choices import read_choices
from evaluator.benchmarks.compass import COMPLETE, read_compass
from evaluator.benchmarks.crepe import CORPUS, read_crepe
from evaluator.benchmarks.files import Columns
from evaluator.benchmarks.hard_positives import read_hard_positives
from evaluator.benchmarks.in_memory import BenchmarkInMemory
from evaluator.benchmarks.mmvp import read_mmvp
from evaluator.benchmarks.naturalbench import read_yes_no
from evaluator.benchmarks.pearson import read_pearson
from evaluator.benchmarks.pictures import ImageFinder, Picture, Pictures, PublishedBenchmark
from evaluator.benchmarks.pug_spare import WORLD, read_pug_spare
from evaluator.benchmarks.question import PublishedQuestion, make_candidate_table
from evaluator.benchmarks.reading import PRESENT, READING, Layout, parse_filters, read_questions
from evaluator.benchmarks.tables import read_table, require, texts
from evaluator.benchmarks.vl_checklist import read_vl_checklist
from evaluator.benchmarks.vsr import read_vsr
from generator.base.errors import UserError, did_you_mean
from generator.base.paths import file_in
from generator.dataset.reader import Benchmark
from generator.dataset.writer import write_benchmark

PLUGINS = "jackalope.benchmarks"
"""Group of entry points through which other packages add benchmarks: functions of the type
Reader."""
TABLE = "table"
"""Name of a benchmark that is a table of the user's own (docs/external.md)."""
Reader = Callable[[Path, Path | None], PublishedBenchmark]
"""(file or folder, folder of images or None) → the benchmark."""


_SUGARCREPE = {
    "replace_att": 788,
    "replace_obj": 1652,
    "replace_rel": 1406,
    "swap_att": 666,
    "swap_obj": 245,
}

LAYOUTS = {
    "sugarcrepe": Layout(
        Columns(("filename",), ("caption", "negative_caption")),
        averages=True,
        sizes={"add_att": 692, "add_obj": 2062, **_SUGARCREPE},
    ),
    "sugarcrepe_pp": Layout(
        Columns(
            ("filename",),
            ("caption", "caption2", "negative_caption"),
            item="id",
            protocol="hard_positives",
            slots=("c", "p", "n"),
        ),
        averages=True,
        sizes=_SUGARCREPE,
    ),
    "crepe": Layout(read_crepe, labels=(CORPUS,), single_value_labels=(CORPUS,), averages=True),
    "vl_checklist": Layout(read_vl_checklist, averages=True),
    "hard_positives": Layout(
        read_hard_positives,
        sizes={
            "vl_checklist_attributes": 10575,
            "vl_checklist_relations": 16868,
            "visual_genome_attribution": 28748,
        },
    ),
    "compass": Layout(read_compass, labels=(COMPLETE,)),
    "pearson2025": Layout(read_pearson),
    "pug_spare": Layout(read_pug_spare, labels=(WORLD,)),
    "aro": Layout(
        Columns(("image_path",), ("true_caption", "false_caption"), boxed=True),
        sizes={"visual_genome_attribution": 28748},
    ),
    "winoground": Layout(
        Columns(("image_0", "image_1"), ("caption_0", "caption_1"), ("collapsed_tag",), "id")
    ),
    "bivlc": Layout(
        Columns(("image", "negative_image"), ("caption", "negative_caption"), ("type", "subtype"))
    ),
    "vismin": Layout(Columns(("image_0", "image_1"), ("text_0", "text_1"), ("category",), "id")),
    "aro_order": Layout(read_choices),
    "whatsup": Layout(read_choices),
    "negbench": Layout(read_choices),
    "mmvp_vlm": Layout(read_mmvp),
    "vsr": Layout(read_vsr),
    "cola": Layout(
        Columns(
            ("image_1", "image_2"),
            ("caption_1", "caption_2"),
            listed=("image_1", "caption_1", "image_2", "caption_2"),
        )
    ),
    "colorswap": Layout(
        Columns(("image_1", "image_2"), ("caption_1", "caption_2"), ("caption_source",))
    ),
    "naturalbench": Layout(Columns(("image_0", "image_1"), ("caption_0", "caption_1"))),
    "naturalbench_vqa": Layout(read_yes_no),
    "eqben": Layout(Columns(("image0", "image1"), ("caption0", "caption1"))),
}
"""The benchmarks of docs/external.md, as their authors publish them."""


@dataclass(frozen=True)
class BenchmarkSource:
    """Where questions are read from: the folder of a dataset, or the files of a published
    benchmark."""

    path: Path
    """The dataset's folder, or the file or folder that the authors publish."""
    name: str | None = None
    """Name of the published benchmark; None for a dataset."""
    images: Path | None = None
    """Folder of a published benchmark's images; None: see `ImageFinder`."""
    filters: tuple[str, ...] = ()
    """Filters NAME or NAME=VALUE, which leave out questions (evaluator.benchmarks.reading)."""

    def __str__(self) -> str:
        return str(self.path) if self.name is None else f"{self.name}:{self.path}"

    def record(self) -> dict[str, Any]:
        """The entries `dataset` and `external` of run.json; one of them is None."""
        # Absolute, since commands that read the run may start in another folder.
        path = str(self.path.resolve())
        if self.name is None:
            return {"dataset": path, "external": None}
        external = {
            "name": self.name,
            "path": path,
            "images": None if self.images is None else str(self.images.resolve()),
            "filters": list(self.filters),
        }
        return {"dataset": None, "external": external}


def external_source(
    text: str, images: Path | None, filters: Sequence[str] = ()
) -> BenchmarkSource | None:
    """The published benchmark that NAME:PATH names.

    Args:
        text: What the user gave as the dataset.
        images: Folder of its images; None: see `ImageFinder`.
        filters: Filters NAME or NAME=VALUE.

    Returns:
        None if `text` is an existing path, another path or a URL.

    Raises:
        UserError: No benchmark has this NAME.

    >>> str(external_source("sugarcrepe:data", None))
    'sugarcrepe:data'
    >>> external_source("s3://bucket/dataset", None) is None
    True
    """
    name, colon, path = text.partition(":")
    # A URL, or a path with a colon in it, such as folder/a:b.
    is_url_or_path = path.startswith("//") or "/" in name
    if not colon or not path or is_url_or_path or Path(text).exists():
        return None
    _check_known(name)
    return BenchmarkSource(Path(path), name, images, tuple(filters))


def open_external(source: BenchmarkSource) -> tuple[Pictures, Benchmark]:
    """Open a published benchmark; its questions are in memory, its images are read on access.

    Returns:
        Its images, and its questions.

    Raises:
        UserError: Its files or images are missing or have another layout.
    """
    published = read_external(source)
    tables = benchmark_tables(published.table, source.path, probabilities=False)
    benchmark = BenchmarkInMemory(
        str(source.name), str(source), tables=tables.by_name(), about=published.about
    )
    return published.pictures, benchmark


def read_external(source: BenchmarkSource) -> PublishedBenchmark:
    """The candidates and the images of a published benchmark. Raises UserError as
    `open_external`."""
    if not source.path.exists():
        raise UserError(
            f"There is no {source.path}; give the file or folder of {source.name} that its authors "
            f"publish."
        )
    if source.images is not None and not source.images.is_dir():
        raise UserError(
            f"There is no folder {source.images}; give the folder of the images with --images."
        )
    name = str(source.name)
    if name in LAYOUTS:
        return read_layout(name, source.path, images=source.images, filters=source.filters)
    if source.filters:
        raise UserError(
            f"'{name}' has no filters ({', '.join(source.filters)}); leave --filter out."
        )
    return _find_reader(name)(source.path, source.images)


def write_questions(
    root: Path, name: str, *, tables: Mapping[str, Any], about: Mapping[str, Any] | None = None
) -> Path:
    """Write the items, candidates and texts of a published benchmark.

    Args:
        root: The folder of a run.
        name: The name of the benchmark.
        tables: `items`, `candidates` and `texts`, and others, which are ignored.
        about: The entry READING of the benchmark's manifest; None or {} for none.

    Returns:
        The folder of the benchmark, `root`/benchmarks/`name`.
    """
    parts = {part: tables[part] for part in ("items", "candidates", "texts")}
    extra = {READING: dict(about)} if about else {}
    return write_benchmark(root, name, parts, None, extra)


def _check_known(name: str) -> None:
    known = [*LAYOUTS, TABLE, *(entry.name for entry in entry_points(group=PLUGINS))]
    if name not in known:
        raise UserError(f"Unknown benchmark '{name}': {did_you_mean(name, known)}")


def _find_reader(name: str) -> Reader:
    """The reader of a table, or of a benchmark that a package adds."""
    if name == TABLE:
        return read_own_table
    _check_known(name)  # a run may name a benchmark of a package that is not installed here
    (entry, *others) = entry_points(group=PLUGINS, name=name)
    # Which one is meant would depend on the order of installation.
    if others:
        packages = [str(offer.dist.name) for offer in (entry, *others) if offer.dist]
        raise UserError(
            f"The benchmark '{name}' is offered by several packages ({', '.join(packages)}); "
            f"uninstall all but one."
        )
    try:
        reader: Reader = resolve_name(entry.value)
    except (ImportError, AttributeError) as error:
        raise UserError(
            f"The benchmark '{name}' cannot be read with {entry.value} ({error}); fix or "
            f"uninstall its package."
        ) from None
    return reader


def read_layout(
    name: str, path: Path, *, images: Path | None, filters: Sequence[str] = ()
) -> PublishedBenchmark:
    """Read a benchmark by the name of its layout.

    Args:
        name: A key of LAYOUTS.
        path: One of its files, or their folder.
        images: The folder of the images; None: see `ImageFinder`.
        filters: Filters NAME or NAME=VALUE.

    Returns:
        The candidates and images of the questions that pass the filters.

    Raises:
        UserError: A file is unreadable, a column or an image is missing, an id occurs twice, or a
            filter is invalid.
    """
    finder = ImageFinder(path, images)
    questions, pictures, about = _read(name, path, filters=filters, finder=finder)
    table = make_candidate_table(questions, path)
    return PublishedBenchmark(table, Pictures(finder.folder, pictures), about)


def read_texts(
    name: str, path: Path, filters: Sequence[str] = ()
) -> tuple[list[PublishedQuestion], dict[str, Any]]:
    """Read the questions of a benchmark without its images.

    Args:
        name: The name of its layout.
        path: Its file or folder.
        filters: As for `read_layout`.

    Returns:
        The questions, and the entry READING of a manifest.

    Raises:
        UserError: As `read_layout`; or for the filter `present`, which looks for images.
    """
    questions, _, about = _read(name, path, filters=filters, finder=None)
    return questions, about


def _read(
    name: str, path: Path, *, filters: Sequence[str], finder: ImageFinder | None
) -> tuple[list[PublishedQuestion], dict[str, Picture], dict[str, Any]]:
    layout = LAYOUTS[name]
    values = parse_filters(filters, layout.labels, name)
    if PRESENT in values and finder is None:
        raise UserError(
            "The filter 'present' looks for images, which are not read here; leave it out."
        )
    return read_questions(layout, path, filters=values, finder=finder)


def read_own_table(path: Path, images: Path | None) -> PublishedBenchmark:
    """Read a table with the columns of docs/models.md, "Scores from elsewhere", without scores.

    Args:
        path: The table. Its column `image` has paths relative to `images`.
        images: The folder of the images; None for the table's own folder.

    Raises:
        UserError: A column or an image is missing.
    """
    table = read_table(path)
    require(table, ["item", "protocol", "image", "text"], path)
    folder = images or path.parent
    pictures: dict[str, Picture] = {}
    for row, name in enumerate(texts(table, "image"), 1):
        # An image has a row for each of its texts.
        if name in pictures:
            continue
        file = file_in(folder, name)
        if not file.is_file():
            raise UserError(
                f"Row {row} of {path} names the image '{name}', which is not in {folder}; give the "
                f"folder of the images with --images."
            )
        pictures[name] = Picture(file)
    return PublishedBenchmark(table, Pictures(folder, pictures))
