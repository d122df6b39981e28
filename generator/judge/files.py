"""The files of a dataset, opened once: what is damaged becomes a finding instead of an error.

The judge reads and writes files here alone: limits of size, paths that leave a folder and datasets
at a URL are no concern of the checks.
"""

from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any

import pyarrow as pa

from generator.base.arrays import read_png
from generator.base.errors import UserError
from generator.base.files import ABOUT, SUMS, parse_toml, read_json, read_sums, sha256, write_json
from generator.base.limits import MOST_IN_SCENE, MOST_TOML, read_bytes, read_text
from generator.base.paths import check_benchmark_name, check_own_files, file_in
from generator.base.progress import Progress
from generator.base.store import display_name, fetch, publish
from generator.base.tables import read_batches, read_schema, read_table
from generator.dataset.floor import declared_floor
from generator.dataset.reader import Dataset
from generator.dataset.reader import World as SceneFiles
from generator.dataset.records import (
    BENCHMARK_TABLES,
    SCENES,
    BenchmarkManifest,
    HoldoutRecord,
    WorldManifest,
)
from generator.dataset.truth import TRUTH_FILE, SceneTruth, write_truths
from generator.judge.certificate import DAMAGE, Finding, finding, guarded
from generator.judge.held_out import ROTATION

Size = tuple[int, int]
"""Width and height in pixels."""

_MODES = {"images": ("RGB", "RGB"), "masks": ("L", "grayscale")}
"""By folder of a world, Pillow's mode of its PNG files and the name of the mode in findings."""
_DEPTH_AT = 24
"""Offset in a PNG file of the bits per channel: signature 8, chunk head 8, width 4, height 4."""

_OPTIONAL_COLUMNS = frozenset({"kind", "skill"})
_FILLED_COLUMNS = frozenset({"scene_id", "text_id", "text", "item_id", "slot", "truth"})
"""Columns without empty cells."""
_JUDGED_COLUMNS = _FILLED_COLUMNS | {
    "status",
    "objects",
    "relations",
    "scene",
    "split",
    "pool_id",
    "protocol",
    "kind",
    "skill",
    "width",
    "height",
}
"""The columns of tables that checks read. Making the dataset again compares the others."""
_WHOLE_TABLE = 100_000  # rows a batch of a table that is read whole


class StoredFolder:
    """The world or a benchmark of a dataset, as its files are."""

    path: Path
    """The folder."""
    name: str
    """Its name: "world", or the name of the benchmark."""
    manifest: Mapping[str, Any]
    """Contents of manifest.json."""
    manifest_digest: str
    """SHA-256 of manifest.json, which no other digest covers."""
    sums_digest: str | None
    """SHA-256 of SHA256SUMS by the manifest, which identifies the content."""
    sums: Mapping[str, str]
    """SHA-256 of each listed file by its path within the folder; empty without SHA256SUMS."""
    findings: list[Finding]
    """What is wrong with its files."""
    progress: Progress
    """Shows how far long checks are."""

    def __init__(self, path: Path, shape: Any, progress: Progress):
        """Open a folder.

        Raises:
            UserError: Its manifest or its sums cannot be read: nothing else can be judged then.
        """
        self.path = path
        self.name = path.name
        self.progress = progress
        self.manifest = read_json(path / "manifest.json", shape)
        self.manifest_digest = sha256(path / "manifest.json")
        self.sums_digest = self.manifest.get("sums")
        self.sums = read_sums(path) if (path / SUMS).exists() else {}
        self.findings = []

    def _check_files(self, images: bool = False, size: Size | None = None) -> Iterator[Finding]:
        """Files that are missing, changed or not listed in SHA256SUMS, and damaged images.

        Args:
            images: Whether to decode PNG files too.
            size: Expected width and height of the images; None if they are not known.
        """
        sums_path = self.path / SUMS
        # The manifest vouches for the list, and the list for the files.
        if not sums_path.exists() or sha256(sums_path) != self.sums_digest:
            yield finding(
                "damaged file", f"{self.name}/{SUMS} does not match its digest in the manifest"
            )
        listed = self.sums.items()
        for name, digest in self.progress.follow(
            listed, f"files of {self.name}", total=len(listed)
        ):
            yield from self._check_listed_file(name, digest, images=images, size=size)
        # An unlisted file would travel with the dataset without being judged.
        known = {self.path / name for name in (*self.sums, SUMS, "manifest.json", *ABOUT)}
        for path in self.path.rglob("*"):
            if path.is_file() and path not in known:
                yield finding(
                    "unlisted file", f"{self.name}/{path.relative_to(self.path)} is not in {SUMS}"
                )

    def _check_listed_file(
        self, name: str, digest: str, *, images: bool, size: Size | None
    ) -> Iterator[Finding]:
        try:
            # The list may name a path outside the folder, or one that leads through a link.
            path = file_in(self.path, name)
        except UserError as error:
            yield finding("unsafe path", f"{self.name}/{SUMS} lists {name!r}: {error}")
            return
        if not path.exists():
            yield finding("damaged file", f"{self.name}/{name} is missing")
            return
        try:
            if sha256(path) != digest:
                yield finding(
                    "damaged file", f"{self.name}/{name} has other bytes than when it was made"
                )
            # Benchmarks have no images.
            if not images or path.suffix != ".png":
                return
            fault = image_fault(read_bytes(path, MOST_IN_SCENE), name, size)
        except UserError as error:
            yield finding("damaged file", error.message)
            return
        if fault:
            yield finding("damaged image", f"{self.name}/{name} {fault}")

    def _unreadable(self, table: str, error: Exception) -> Finding:
        return finding("damaged file", f"{table}.parquet cannot be read: {error}")


class StoredWorld(StoredFolder):
    """The world of a dataset, as its files are."""

    vocabulary: str
    """The vocabulary of the family, TOML."""
    packed_sums: Mapping[str, str]
    """SHA-256 of the files in tars, by path; empty if packed.parquet is missing or damaged."""

    def __init__(self, path: Path, progress: Progress):
        """Open a world and check its files.

        Raises:
            UserError: Its manifest, its sums or its vocabulary cannot be read.
        """
        super().__init__(path, WorldManifest, progress)
        size = _image_size(self.manifest)
        self.findings += self._check_files(images=True, size=size)
        self.packed_sums = self._read_packed_sums()
        self.findings += guarded(self._check_packed_files(size), "the tars")
        self.vocabulary = self._read_vocabulary()

    def scene_tables(self, rows: int) -> Iterator[pa.Table]:
        """The judged columns of scenes.parquet, `rows` rows at a time: a world may not fit into
        memory. If it cannot be read to its end, this is a finding."""
        try:
            yield from _table_parts(self.path / "scenes.parquet", SCENES, rows)
        except DAMAGE as error:
            self.findings.append(self._unreadable("scenes", error))

    def _read_vocabulary(self) -> str:
        path = self.path / "vocabulary.toml"
        try:
            text = read_text(path, MOST_TOML)
            # Parsed here only to see that it can be: every check reads it.
            parse_toml(text)
        except (OSError, ValueError) as error:
            raise UserError(
                f"{path} cannot be read ({error}), so nothing can be judged; restore it or render "
                f"again."
            ) from None
        return text

    def _read_packed_sums(self) -> Mapping[str, str]:
        try:
            table = read_table(self.path / "packed.parquet", columns=["path", "sha256"])
            paths = table["path"].to_pylist()
            return dict(zip(paths, table["sha256"].to_pylist(), strict=True))
        except DAMAGE:  # most worlds have no tars; a damaged table is a finding already
            return {}

    def _check_packed_files(self, size: Size | None) -> Iterator[Finding]:
        """Files in tars that do not match packed.parquet, and damaged images in tars."""
        if not self.packed_sums:
            return
        files = SceneFiles(self.path)
        for path in self.packed_sums:
            try:
                data = files.read(path)
            except UserError as error:
                yield finding("damaged file", error.message)
                continue
            fault = image_fault(data, path, size) if path.endswith(".png") else None
            if fault:
                yield finding("damaged image", f"{self.name}/{path} {fault}")


def _image_size(manifest: Mapping[str, Any]) -> Size | None:
    """Width and height of the images by the manifest; None if it has none."""
    request = manifest.get("request")
    if not isinstance(request, dict):
        return None
    width, height = request.get("width"), request.get("height")
    if isinstance(width, int) and isinstance(height, int):
        return width, height
    return None


class StoredBenchmark(StoredFolder):
    """A benchmark of a dataset, as its files are."""

    tables: dict[str, pa.Table]
    """The judged columns of its readable tables, by name."""
    holdout: Mapping[str, Any] | None
    """Contents of holdout.json; None if there is none."""
    declared_leaks: list[str]
    """What its manifest and floor.json declare."""

    def __init__(self, path: Path, progress: Progress):
        """Open a benchmark, check its files and read its tables.

        Raises:
            UserError: Its manifest, its sums or its holdout cannot be read.
        """
        super().__init__(path, BenchmarkManifest, progress)
        self.findings += self._check_files()
        self.tables = {}
        for name in BENCHMARK_TABLES:
            self._read_table(name)
        self.holdout = read_holdout(path)
        if self.holdout is None:
            self.findings.append(
                finding(
                    "missing holdout",
                    "without holdout.json neither leaks nor familiarity can be judged",
                )
            )
        self.declared_leaks = list(self.manifest.get("declared_leaks", []))
        try:
            self.declared_leaks += declared_floor(path, self.sums_digest)
        except DAMAGE as error:
            self.findings.append(finding("damaged file", f"floor.json cannot be read: {error}"))

    def _read_table(self, name: str) -> None:
        try:
            self.tables[name] = read_judged_table(self.path, name)
        except DAMAGE as error:
            self.findings.append(self._unreadable(name, error))


def read_holdout(folder: Path) -> Mapping[str, Any] | None:
    """The holdout of the benchmark in a folder; None if it has none. Raises UserError if it is
    damaged."""
    path = folder / "holdout.json"
    return read_json(path, HoldoutRecord) if path.exists() else None


class StoredDataset:
    """A dataset, with its world and the benchmarks that are verified."""

    root: Path
    """The folder of the dataset."""
    world: StoredWorld
    """Its world: the scenes and their images."""
    benchmarks: Mapping[str, StoredBenchmark]
    """The benchmarks to verify, by name."""
    turns: Mapping[str, tuple[Mapping[str, Any], pa.Table]]
    """By name the holdout and the splits of each benchmark that is a turn of a rotation, verified
    or not. Benchmarks that cannot be read are left out."""

    def __init__(self, root: Path, names: Sequence[str], progress: Progress):
        """Open the dataset in `root` with these benchmarks.

        Raises:
            UserError: A manifest, the sums, a holdout or the vocabulary cannot be read.
        """
        self.root = root
        self.world = StoredWorld(root / "world", progress)
        self.benchmarks = {
            name: StoredBenchmark(_folder_of(root, name), progress) for name in names
        }
        self.turns = {}
        for name in _benchmark_names(root):
            folder = _folder_of(root, name)
            holdout = read_holdout(folder)
            if holdout is None or holdout.get("design") != ROTATION:
                continue
            # Only the benchmarks under judgement get findings about their own files.
            with suppress(*DAMAGE):
                self.turns[name] = (holdout, read_judged_table(folder, "splits"))

    def write_certificate(
        self, name: str, certificate: Mapping[str, Any], truths: Iterator[SceneTruth] | None
    ) -> None:
        """Write the certificate of a benchmark, and the truth of its texts.

        Args:
            name: The benchmark.
            certificate: See certificate.py.
            truths: What is true of each scene; None for a benchmark with findings, whose truths
                would rest on its faults: old ones are removed.

        Raises:
            OSError, UserError: The folder, or the URL of the dataset, cannot be written.
        """
        folder = _folder_of(self.root, name)
        write_json(folder / "verify.json", certificate)
        if truths is None:
            (folder / TRUTH_FILE).unlink(missing_ok=True)
        else:
            digests = str(certificate["benchmark"]), str(certificate["world"])
            write_truths(folder, *digests, truths)
        publish(self.root)

    def place_of(self, name: str) -> str:
        """Where a benchmark is, for messages: below a URL or a folder."""
        return f"{display_name(self.root)}/benchmarks/{name}"


def find_benchmarks(root: Path, name: str | None) -> list[str]:
    """The names of the benchmarks to verify: `name`, or all of the dataset in `root`.

    Raises:
        UserError: There is no dataset, no finished world or no such benchmark, or a file is a link,
            a pipe or a device.
    """
    # Before the first file is read: a link may lead out of the folder, a pipe may never end.
    check_own_files(root)
    fetch(root)
    world = root / "world"
    if not world.is_dir():
        raise UserError(
            f"{root} is not a dataset: it has no folder 'world'; give a folder made by `gen "
            f"render`."
        )
    if not (world / "manifest.json").exists():
        raise UserError(
            f"{world} is unfinished; run the same `gen render` command again to finish it."
        )
    names = [name] if name else _benchmark_names(root)
    if not names:
        raise UserError(
            f"{root} has no benchmark yet; make one with `gen split {root} --holdout 3x3`."
        )
    for benchmark_name in names:
        if not (_folder_of(root, benchmark_name) / "manifest.json").exists():
            Dataset.open(root).benchmark(benchmark_name)  # names the benchmarks that there are
    return names


def _benchmark_names(root: Path) -> list[str]:
    """The names of all finished benchmarks, sorted."""
    manifests = root.glob("benchmarks/[!.]*/manifest.json")
    return sorted(path.parent.name for path in manifests)


def _folder_of(root: Path, name: str) -> Path:
    return root / "benchmarks" / check_benchmark_name(name)


def read_judged_table(folder: Path, name: str) -> pa.Table:
    """The judged columns of a table of a benchmark. Raises one of DAMAGE if it cannot be read."""
    parts = _table_parts(folder / f"{name}.parquet", BENCHMARK_TABLES[name], _WHOLE_TABLE)
    return pa.concat_tables(parts)


def _table_parts(path: Path, schema: pa.Schema, rows: int) -> Iterator[pa.Table]:
    """The judged columns of a table, `rows` rows at a time; the first part is empty.

    Raises one of DAMAGE if the table cannot be read, lacks a column, or has an unknown column or a
    forbidden empty cell.
    """
    present = read_schema(path)
    # Metadata could tell a model what the columns do not, and no other check would see it.
    if present.metadata or any(field.metadata for field in present):
        raise ValueError("it has metadata, which the format does not have")
    missing = {*schema.names} - {*present.names} - _OPTIONAL_COLUMNS
    if missing:
        raise ValueError(f"it has no column {' or '.join(sorted(missing))}")
    unknown = {*present.names} - {*schema.names}
    if unknown:
        raise ValueError(
            f"it has the column {' and '.join(sorted(unknown))}, which the format does not have"
        )
    judged = pa.schema([field for field in schema if field.name in _JUDGED_COLUMNS])
    read_columns = [name for name in judged.names if name in present.names]
    filled_columns = sorted(_FILLED_COLUMNS.intersection(judged.names))
    # The first part tells the columns even of a table without rows.
    yield judged.empty_table()
    for batch in read_batches(path, read_columns, rows):
        part = pa.Table.from_batches([batch])
        for name in judged.names:
            if name not in read_columns:
                nulls = pa.nulls(len(part), judged.field(name).type)
                part = part.append_column(name, nulls)
        part = part.select(judged.names).cast(judged)
        empty = [name for name in filled_columns if part[name].null_count]
        if empty:
            raise ValueError(f"it has rows without {' or '.join(empty)}")
        yield part


def image_fault(data: bytes, path: str = "", size: Size | None = None) -> str | None:
    """The fault of the bytes of a PNG file; None if there is none.

    Models read decoded pixels, so how pixels are packed in the file is not checked.

    Args:
        data: The bytes of the file.
        path: Its path within the world, such as images/000017.png. Images must be 8-bit RGB, masks
            8-bit grayscale; files of other folders may have any mode.
        size: Its expected width and height in pixels; None if they are not known.
    """
    try:
        image = read_png(data)
    except ValueError as error:
        return f"does not decode: {error}"
    if size is not None and image.size != size:
        width, height = image.size
        return f"has {width}x{height} pixels, not {size[0]}x{size[1]} as the manifest says"
    folder = path.partition("/")[0]
    if folder in _MODES:
        mode, description = _MODES[folder]
        # Pillow reads 16-bit RGB as "RGB" too, so the depth is read from the header.
        if image.mode != mode or data[_DEPTH_AT] != 8:
            return f"is not 8-bit {description}"
    # "interlace" is how the file is packed, not text that travels with it.
    metadata = sorted(str(key) for key in image.info.keys() - {"interlace"})
    if metadata:
        return f"has metadata beside its pixels: {', '.join(metadata)}"
    return None
