"""`gen export hf`: a folder for the Hugging Face Hub, and `gen publish`, which uploads it.

OUT/data/SPLIT-00000.parquet   a row for each scene, with its image; the Hub's viewer shows it
OUT/questions/PROTOCOL/SPLIT.parquet a row for each question, with its images
OUT/questions/pools.parquet    the texts of each pool of retrieval
OUT/choices/TASK/SPLIT.parquet  the questions of the tasks that eval.yaml declares
OUT/eval.yaml                  the tasks, which have leaderboards on the Hub
OUT/dataset/                   the files of the dataset, for `gen verify` and `score run`
OUT/README.md, croissant.json, CITATION.cff
"""

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq
from jinja2 import Environment, PackageLoader

from generator.base.errors import UserError, one_line_of_markdown
from generator.base.files import json_text, read_json
from generator.base.listed import copy_dataset, listed_files
from generator.base.paths import check_own_files, file_in
from generator.base.progress import SILENT, Advance, Progress
from generator.base.store import fetch
from generator.dataset.certificate import describe_certificate
from generator.dataset.reader import Benchmark, Dataset
from generator.dataset.records import VERSION
from generator.exports.clevr import NO_SPLIT
from generator.exports.hub_tasks import write_tasks
from generator.exports.training import Sample, Samples, export_folder

_ROWS = 100
"""Rows of a row group; readers load one at a time."""
_FILE_BYTES = 500_000_000
"""Size after which a new Parquet file begins."""
_NOT_OURS = {".git", ".cache"}
"""Folders of tools, which are not uploaded."""

_TEXT, _TEXTS = pa.string(), pa.list_(pa.string())
_COLUMNS = {
    "scene_id": _TEXT,
    "image": pa.struct([("bytes", pa.binary()), ("path", pa.string())]),
    "captions": _TEXTS,
    "negatives": _TEXTS,
    "objects": _TEXTS,
    "held_out": _TEXTS,
    "group": _TEXT,
}
_VALUE = {"dtype": "string", "_type": "Value"}
_FEATURES = {
    _TEXT: _VALUE,
    _TEXTS: {"feature": _VALUE, "_type": "List"},
    _COLUMNS["image"]: {"_type": "Image"},
}
_ABOUT = {"info": {"features": {name: _FEATURES[kind] for name, kind in _COLUMNS.items()}}}
"""Metadata of the schema: it tells the library `datasets` the types of the columns, such as
image."""
_ABOUT_QUESTIONS = {
    "info": {"features": {"images": {"feature": {"_type": "Image"}, "_type": "List"}}}
}
_SCHEMA = pa.schema(_COLUMNS, metadata={"huggingface": json.dumps(_ABOUT)})


_RESPONSIBLE_AI = {
    "rai:dataLimitations": "Rendered images, English sentences of few forms, and a closed "
    "vocabulary of values, objects and relations: results speak of these, and do not tell how well "
    "a model understands photographs or other languages. What pretrained models have seen is "
    "unknown: only a model that was trained on the training split is tested on combinations that "
    "it has never seen.",
    "rai:annotationsPerItem": "1, by a program; a second program proves each.",
    "rai:machineAnnotationTools": "Jackalope: a grammar writes captions and foils from the "
    "recorded scene, and a judge without common code decides each from its words and the geometry.",
    "rai:dataPreprocessingProtocol": "None: images are as rendered, texts as written.",
}
"""Fields of Croissant for responsible AI that the publisher of a dataset is asked for, beside those
of every dataset (generator/dataset/croissant.json)."""


@dataclass(frozen=True)
class Publication:
    """What the publisher states about a dataset."""

    title: str
    """Its title."""
    creators: tuple[str, ...] = ()
    """Names of its authors; empty for none."""
    licence: str | None = None
    """SPDX name of its licence; None if none is declared."""


def export_hf(
    dataset: Dataset,
    benchmark: Benchmark,
    *,
    about: Publication,
    out: Path,
    progress: Progress = SILENT,
) -> dict[str, int]:
    """Write a benchmark and its images as a folder for the Hugging Face Hub.

    The files of the dataset are hard links where the file system allows it.

    Args:
        dataset: The dataset.
        benchmark: A benchmark of it.
        about: What the publisher states.
        out: New folder.
        progress: Shown while writing.

    Returns:
        The number of scenes by split.

    Raises:
        UserError: `out` is not empty, or a file of the dataset is damaged.
    """
    # The dataset of a URL lacks files that nobody has read yet.
    fetch(dataset.root)
    samples = Samples(dataset, benchmark)
    splits = samples.splits()
    with export_folder(out) as folder, progress.track("writing", sum(splits.values())) as advance:
        # The Hub's viewer shows these columns, so a row tells what its scene holds and what is held
        # out.
        scene_columns = _scene_columns(dataset, benchmark)
        (folder / "data").mkdir()
        for split in splits:
            batches = _batches(samples.read_split(split), scene_columns)
            _write_split(batches, folder / "data", split=split, advance=advance)
        protocols = _write_questions(dataset, benchmark, folder / "questions")
        has_pools = _write_pools(benchmark, folder / "questions" / "pools.parquet")
        choices = write_tasks(dataset, benchmark, folder, title=about.title)
        copy_dataset(dataset.root, folder / "dataset")
        _write_about(
            dataset,
            benchmark,
            folder,
            about=about,
            splits=splits,
            protocols=protocols,
            choices=choices,
            has_pools=has_pools,
            licences=samples.licences,
        )
        (folder / "croissant.json").write_text(_croissant(dataset.root, about), encoding="utf-8")
    return splits


def _write_split(
    batches: Iterator[pa.RecordBatch], folder: Path, *, split: str, advance: Advance
) -> None:
    """Write the scenes of a split into files of about _FILE_BYTES."""
    batch = next(batches, None)
    number = 0
    while batch is not None:
        path = folder / f"{split}-{number:05d}.parquet"
        with pq.ParquetWriter(path, _SCHEMA, compression="zstd") as file:
            # By the size on disk: how well images and texts compress is not known before.
            while batch is not None and path.stat().st_size < _FILE_BYTES:
                file.write_batch(batch)
                advance(len(batch))
                batch = next(batches, None)
        number += 1


def _write_about(dataset: Dataset, benchmark: Benchmark, folder: Path, **entries: Any) -> None:
    """Write README.md and CITATION.cff from their templates. `entries`: what differs between
    exports of a benchmark."""
    environment = Environment(
        loader=PackageLoader("generator.exports", "."),
        trim_blocks=True,
        lstrip_blocks=True,
        keep_trailing_newline=True,
    )
    # Names of a family of the user, and of a certificate, must not become markup.
    held_out = one_line_of_markdown(str(benchmark.manifest.get("held_out") or ""))
    certificate = one_line_of_markdown(describe_certificate(benchmark, dataset.world))
    for name in ("README.md", "CITATION.cff"):
        text = environment.get_template(f"{name}.jinja").render(
            **entries,
            quoted=json.dumps,
            version=VERSION,
            held_out=held_out,
            certificate=certificate,
            digest=benchmark.digest,
            benchmark=benchmark.name,
            several=len(dataset.benchmark_names()) > 1,
        )
        (folder / name).write_text(text, encoding="utf-8")


def _scene_columns(dataset: Dataset, benchmark: Benchmark) -> dict[str, dict[str, Any]]:
    """The columns `objects`, `held_out` and `group` of each scene, by scene_id."""
    names = ("scene_id", "held_out_bindings", "held_out_triples")
    columns = [benchmark.splits[name].to_pylist() for name in names]
    held_out = {}
    for scene_id, bindings, triples in zip(*columns, strict=True):
        held_out[scene_id] = [*bindings, *triples]
    columns_of_scene = {}
    for batch in dataset.world.batches("scenes", ("scene_id", "cluster_id", "objects")):
        for row in batch.to_pylist():
            objects = []
            for obj in row["objects"]:
                values = dict(obj["attributes"]).values()
                objects.append(" ".join([*values, obj["category"]]))
            columns_of_scene[row["scene_id"]] = {
                "objects": objects,
                "held_out": held_out.get(row["scene_id"], []),
                "group": row["cluster_id"],
            }
    return columns_of_scene


def _batches(
    samples: Iterator[Sample], scene_columns: Mapping[str, Mapping[str, Any]]
) -> Iterator[pa.RecordBatch]:
    """Yield the rows of samples, _ROWS at a time."""
    while next_samples := list(islice(samples, _ROWS)):
        rows = []
        for sample in next_samples:
            row = {
                "scene_id": sample.scene_id,
                "image": {"bytes": sample.image, "path": f"{sample.scene_id}.png"},
                "captions": sample.captions,
                "negatives": sample.negatives,
            }
            rows.append({**row, **scene_columns[sample.scene_id]})
        yield pa.RecordBatch.from_pylist(rows, schema=_SCHEMA)


def _write_questions(dataset: Dataset, benchmark: Benchmark, folder: Path) -> dict[str, list[str]]:
    """Write the questions of each protocol and split, with their images and texts.

    Returns:
        The splits of each protocol, in order; questions without a split are in the split NO_SPLIT.
    """
    candidates = benchmark.candidates.to_pandas()
    candidates["text"] = candidates["text_id"].map(benchmark.text_of)
    # The candidates of an item become lists in its row.
    lists_of_item = candidates.groupby("item_id", sort=False)[["scene_id", "text", "truth"]].agg(
        list
    )
    items = benchmark.items
    for name, lists in lists_of_item.reindex(items["item_id"].to_pylist()).items():
        items = items.append_column(name, pa.array(lists))
    splits: dict[str, list[str]] = {}
    for protocol in sorted(pc.unique(items["protocol"]).to_pylist()):
        (folder / protocol).mkdir(parents=True)
        is_of_protocol = pc.equal(items["protocol"], protocol)
        of_protocol = items.filter(is_of_protocol).drop_columns("protocol")
        split_of_item = pc.fill_null(of_protocol["split"], NO_SPLIT)
        splits[protocol] = pc.unique(split_of_item).to_pylist()
        for split in splits[protocol]:
            table = of_protocol.filter(pc.equal(split_of_item, split))
            _write_with_images(dataset, table, folder / protocol / f"{split}.parquet")
    return splits


def _write_with_images(dataset: Dataset, table: pa.Table, path: Path) -> None:
    """Write questions with a column `images`: the images of their scenes, each once, in the order
    of scene_id."""
    schema = table.schema.append(pa.field("images", pa.list_(_COLUMNS["image"])))
    schema = schema.with_metadata({"huggingface": json.dumps(_ABOUT_QUESTIONS)})
    with pq.ParquetWriter(path, schema, compression="zstd") as file:
        # A table without rows is written too, so that the file has its columns.
        for start in range(0, max(1, table.num_rows), _ROWS):
            part = table.slice(start, _ROWS)
            images_of_rows = []
            for scenes in part["scene_id"].to_pylist():
                images_of_rows.append(_images_of(dataset, scenes or []))
            column = pa.array(images_of_rows, schema.field("images").type)
            file.write_table(part.append_column(schema.field("images"), column).cast(schema))


def _images_of(dataset: Dataset, scenes: Sequence[str]) -> list[dict[str, Any]]:
    images = []
    for scene in dict.fromkeys(scenes):
        data = dataset.world.read(f"images/{scene}.png")
        images.append({"bytes": data, "path": f"{scene}.png"})
    return images


def _write_pools(benchmark: Benchmark, path: Path) -> bool:
    """Write the rows of the benchmark's pools with their words; returns whether there are pools."""
    pools = benchmark.pools
    # The card declares a configuration for pools only if there are any.
    if not pools.num_rows:
        return False
    words = [benchmark.text_of[text] for text in pools["text_id"].to_pylist()]
    pq.write_table(pools.append_column("text", pa.array(words)), path, compression="zstd")
    return True


def _croissant(root: Path, about: Publication) -> str:
    """The dataset's croissant.json, with paths below dataset/ and with the publisher's title,
    licence and authors."""
    document = read_json(root / "croissant.json")
    for node in document["distribution"]:
        # Paths of files in a tar are paths within the tar.
        if "containedIn" in node:
            continue
        for key in ("contentUrl", "includes"):
            if key in node:
                node[key] = f"dataset/{node[key]}"
    document |= {"name": about.title, "version": "1.0.0", **_RESPONSIBLE_AI}
    # Nothing is stated that the publisher has not stated.
    if about.licence:
        document["license"] = f"https://spdx.org/licenses/{about.licence}"
    if about.creators:
        document["creator"] = [{"@type": "sc:Person", "name": name} for name in about.creators]
        document["citeAs"] = f"{' and '.join(about.creators)}. {about.title}."
    return json_text(document)


@dataclass(frozen=True)
class Upload:
    """A file to upload."""

    path: str
    """Its path from the folder."""
    size: int
    """In bytes."""


def files_to_upload(folder: Path) -> list[Upload]:
    """List the files to upload of a folder made by `gen export hf`.

    Args:
        folder: The folder.

    Returns:
        Its files, sorted; of its folder `dataset`, those that the manifests there list.

    Raises:
        UserError: It is another folder, or holds a link, a pipe or a device.
    """
    for needed in ("README.md", "croissant.json", "data", "dataset"):
        if not (folder / needed).exists():
            raise UserError(
                f"{folder} has no {needed}; give a folder made by `gen export hf DATASET --out "
                f"FOLDER`."
            )
    check_own_files(folder)
    files_of_dataset = {f"dataset/{name}" for name in listed_files(folder / "dataset")}
    uploads = []
    for path in sorted(folder.rglob("*")):
        name = path.relative_to(folder)
        is_listed = name.parts[0] != "dataset" or name.as_posix() in files_of_dataset
        if path.is_file() and is_listed and not _NOT_OURS.intersection(name.parts):
            uploads.append(Upload(name.as_posix(), path.stat().st_size))
    return uploads


def hub_name(to: str) -> str:
    """Parse the value of --to.

    Args:
        to: Such as hf:ada/small.

    Returns:
        USER/NAME.

    Raises:
        UserError: It is anything else.

    Example:
        >>> hub_name("hf:ada/small")
        'ada/small'
    """
    name = to.removeprefix("hf:")
    has_prefix = name != to
    user_and_name = name.split("/")
    if not has_prefix or len(user_and_name) != 2 or not all(user_and_name):
        raise UserError(
            f"Expected --to hf:USER/NAME, the dataset on the Hugging Face Hub, got '{to}'."
        )
    return name


def upload(folder: Path, files: Sequence[Upload], *, name: str, private: bool) -> str:
    """Upload files to a dataset of the Hub; files that are there already are not sent again.

    The token is that of `hf auth login` or HF_TOKEN.

    Args:
        folder: Folder of the files.
        files: The files.
        name: USER/NAME of the dataset, which is made if it does not exist.
        private: Whether only its user can see a new dataset.

    Returns:
        The URL of the dataset.

    Raises:
        UserError: The Hub refuses or cannot be reached.
    """
    # Few commands need these, and they take long to import.
    import httpx
    from huggingface_hub import CommitOperationAdd, HfApi
    from huggingface_hub.errors import HfHubHTTPError, HFValidationError

    api = HfApi()
    additions = [CommitOperationAdd(file.path, file_in(folder, file.path)) for file in files]
    try:
        url = api.create_repo(name, repo_type="dataset", private=private, exist_ok=True)
        # `upload_folder` would search the folder again, and follow links there.
        api.create_commit(
            name, additions, commit_message="Upload with gen publish", repo_type="dataset"
        )
    except (HfHubHTTPError, HFValidationError, httpx.HTTPError, OSError, ValueError) as error:
        lines = str(error).strip().splitlines() or [type(error).__name__]
        raise UserError(
            f"The Hub did not take {name}: {lines[0]} Run `hf auth login`, or set HF_TOKEN to a "
            f"token that may write; "
            f"uploaded files are kept: run the same command again to continue."
        ) from None
    return str(url)
