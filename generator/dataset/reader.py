"""Reads a dataset: a world, and the benchmarks over it."""

import hashlib
import logging
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any, Protocol

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from PIL import Image

from generator.base.arrays import MOST_SIDE, read_png, to_rgb
from generator.base.errors import UserError, did_you_mean
from generator.base.files import SUMS, check_shape, read_json, read_sums, sha256
from generator.base.limits import MOST_IN_SCENE, MOST_TOML, check_file, read_text
from generator.base.paths import check_benchmark_name, check_names, file_in, folder_in
from generator.base.store import fetch, local_folder
from generator.base.tables import read_batches, read_table
from generator.dataset.outputs import ObjectBoxes, decode, output_path, parse_outputs
from generator.dataset.records import (
    BENCHMARK_TABLES,
    FORMAT,
    PACKED,
    SCENES,
    BenchmarkManifest,
    HoldoutRecord,
    WorldManifest,
)

logger = logging.getLogger(__name__)
_SCHEMAS = {"scenes": SCENES, "packed": PACKED, **BENCHMARK_TABLES}


_READ_WHOLE = (".parquet", ".json", ".toml")
"""Suffixes of files that `Component.check_files` reads: they are few and small beside images."""


class Component:
    """A finished folder of a dataset: its manifest, sums and tables.

    The folder may come from a stranger: a file that is a link, a name in a table that could lead
    out of the folder (generator.base.paths), and a table that does not match its checksum are
    refused.
    """

    def __init__(self, folder: Path, resume: str, shape: Any):
        """Open a component.

        Args:
            folder: Its folder.
            resume: How to finish it, for the message about an unfinished one.
            shape: Declaration of its manifest, a TypedDict of records.py.

        Raises:
            UserError: It is unfinished, of another format, or damaged.
        """
        self.folder = folder
        """Its folder."""
        # The manifest is written last.
        if not self.path("manifest.json").exists():
            raise UserError(f"{folder} is unfinished; {resume}.")
        self.manifest = read_json(self.path("manifest.json"))
        """manifest.json, as records.py declares it."""
        if self.manifest.get("format") != FORMAT:
            raise UserError(
                f"{folder} has the format '{self.manifest.get('format')}', expected '{FORMAT}'; "
                f"make it again with this version."
            )
        # After the format: a manifest of another format may have any shape.
        check_shape(self.manifest, shape, self.path("manifest.json"))
        has_sums = self.path(SUMS).exists()
        if not has_sums or sha256(folder / SUMS) != self.manifest["sums"]:
            raise UserError(f"{folder / SUMS} is damaged; restore it or make the dataset again.")
        self.sums = read_sums(folder)
        """SHA-256 of each file, by its path from the folder."""

    def path(self, name: str) -> Path:
        """Find a file of this component.

        Args:
            name: Its path within the component.

        Returns:
            Its path; the file need not exist.

        Raises:
            UserError: It leads out of the folder.
        """
        return file_in(self.folder, name)

    @property
    def digest(self) -> str:
        """The SHA-256 of SHA256SUMS, which identifies the content."""
        return str(self.manifest["sums"])

    def check_files(self) -> None:
        """Check, in about a second, what can be checked without reading images: no listed file is
        missing, and tables and declarations have the bytes of SHA256SUMS. `gen verify` reads
        everything.

        Raises:
            UserError: Names the first file that is missing or damaged, and counts the others.
        """
        damaged = []
        for name, digest in self.sums.items():
            path = self.path(name)
            if not path.exists() or (path.suffix in _READ_WHOLE and sha256(path) != digest):
                damaged.append(name)
        if damaged:
            share = f"{len(damaged):,} of {len(self.sums):,} files"
            raise UserError(
                f"{self.folder / damaged[0]} is missing or damaged ({share}); restore it or make "
                f"it again."
            )

    def table(self, name: str, schema: pa.Schema) -> pa.Table:
        """Read a table of this component.

        Args:
            name: Name of its file, without suffix.
            schema: Its columns (records.py).

        Returns:
            The table; columns that the file lacks are null.

        Raises:
            UserError: It is missing or damaged, or does not match its checksum.
        """
        path = self._checked_table(name)
        # The digest first: a damaged table then never reaches Arrow.
        table = read_table(path, schema)
        check_names(table, path)
        return table

    def batches(
        self, name: str, columns: Sequence[str], rows: int = 2_000
    ) -> Iterator[pa.RecordBatch]:
        """Read some columns of a table, a few rows at a time, so that large tables fit in memory.

        Args:
            name: Name of its file, without suffix.
            columns: Names of the columns.
            rows: Most rows of a batch.

        Returns:
            An iterator over batches.

        Raises:
            UserError: As for `table`.
        """
        path = self._checked_table(name)
        for batch in read_batches(path, columns, rows, _SCHEMAS[name]):
            check_names(batch, path)
            yield batch

    def _checked_table(self, name: str) -> Path:
        path = self.path(f"{name}.parquet")
        if not path.exists() or sha256(path) != self.sums.get(path.name):
            raise UserError(f"{path} is damaged or missing; restore it or make it again.")
        return path


class World(Component):
    """Scenes and their images."""

    def __init__(self, folder: Path):
        super().__init__(
            folder, "run the same `gen render` command again to finish it", WorldManifest
        )

    @cached_property
    def scenes(self) -> pa.Table:
        """The scenes table (records.SCENES), including failed scenes."""
        return self.table("scenes", SCENES)

    @property
    def vocabulary_text(self) -> str:
        """The vocabulary of the world's family, as TOML."""
        path = self.path("vocabulary.toml")
        try:
            return read_text(path, MOST_TOML)
        except (OSError, UnicodeDecodeError) as error:
            raise UserError(
                f"{path} cannot be read ({error}); restore it or render again."
            ) from None

    def image_path(self, scene_id: str) -> Path:
        """Find a scene's image file.

        Args:
            scene_id: The scene.

        Returns:
            Path of the file.

        Raises:
            UserError: The images are in tars. `image` reads both.
        """
        if self._packed:
            raise UserError(
                f"{self.folder} has its images in tars (shards/); read them with World.image or "
                f"WebDataset."
            )
        return self.path(f"images/{scene_id}.png")

    def image(self, scene_id: str) -> Image.Image:
        """Read a scene's image.

        Args:
            scene_id: The scene.

        Returns:
            The image, RGB.

        Raises:
            UserError: Its file is missing, is not a PNG file, does not match its checksum, or is
                larger than the manifest says.
        """
        path = f"images/{scene_id}.png"
        try:
            return to_rgb(read_png(self.read(path), self._size))
        except ValueError as error:
            raise UserError(
                f"{self.folder / path} is not an image of this world: {error}; restore it or "
                f"render again."
            ) from None

    @property
    def _size(self) -> tuple[int, int]:
        """Width and height of the images by the manifest; if it has none, the largest that are
        read."""
        request = self.manifest["request"]
        width, height = request.get("width"), request.get("height")
        if isinstance(width, int) and isinstance(height, int):
            return width, height
        return MOST_SIDE, MOST_SIDE

    @property
    def outputs(self) -> tuple[str, ...]:
        """The pixel outputs of the world: some of `masks`, `depth`, `normals`, `boxes`
        (generator.dataset.outputs)."""
        return parse_outputs(",".join(self.manifest["request"].get("outputs", ())))

    def mask(self, scene_id: str) -> np.ndarray:
        """Read which object each pixel shows.

        Returns:
            uint8 (height, width): 0 where the pixel's centre shows no object, i + 1 where it shows
            object i of the scene.

        Raises:
            UserError: The world has no masks, or the file is damaged.
        """
        return np.asarray(self._output("masks", scene_id))

    def depth(self, scene_id: str) -> np.ndarray:
        """Read the depth of each pixel.

        Returns:
            float32 (height, width): metres along the viewing axis, infinite where there is neither
            object nor floor.

        Raises:
            UserError: The world has no depth, or the file is damaged.
        """
        return np.asarray(self._output("depth", scene_id))

    def normals(self, scene_id: str) -> np.ndarray:
        """Read the surface normal of each pixel.

        Returns:
            float32 (height, width, 3): unit normals as x to the right, y up, z towards the camera;
            0 where depth is infinite.

        Raises:
            UserError: The world has no normals, or the file is damaged.
        """
        return np.asarray(self._output("normals", scene_id))

    def boxes(self, scene_id: str) -> list[ObjectBoxes]:
        """Read where the image shows each object, and how much of it is visible.

        Returns:
            The boxes of each object, in pixels, in the scene's order.

        Raises:
            UserError: The world has no boxes, or the file is damaged.
        """
        return list(self._output("boxes", scene_id))

    def _output(self, output: str, scene_id: str) -> Any:
        if output not in self.outputs:
            raise UserError(
                f"{self.folder} has no {output}; `gen render --from {self.folder.parent} --with "
                f"{output}` renders its scenes again with them."
            )
        path = output_path(output, scene_id)
        try:
            return decode(output, self.read(path))
        except ValueError as error:
            raise UserError(
                f"{self.folder / path} is damaged: {error}; restore it or render again."
            ) from None

    def image_digest(self, scene_id: str) -> str:
        """Get the SHA-256 of a scene's image file.

        Raises:
            UserError: The world has no image of the scene.
        """
        return self.digest_of(f"images/{scene_id}.png")

    def files_of(self, scene_id: str) -> dict[str, str]:
        """Get the SHA-256 of a scene's image and outputs.

        Returns:
            Digests by path within the world.

        Raises:
            UserError: A file is not listed in SHA256SUMS.
        """
        paths = [f"images/{scene_id}.png"]
        for output in self.outputs:
            paths.append(output_path(output, scene_id))
        return {path: self.digest_of(path) for path in paths}

    def digest_of(self, path: str) -> str:
        """Get the SHA-256 of a file of a scene, in a folder or in a tar.

        Args:
            path: Such as `images/000017.png`.

        Raises:
            UserError: The world lists no such file.
        """
        digest = self._packed[path].sha256 if path in self._packed else self.sums.get(path)
        if digest is None:
            raise UserError(f"{self.folder} lists no {path}; restore it or make the dataset again.")
        return digest

    def read(self, path: str) -> bytes:
        """Read a file of a scene, in a folder or in a tar.

        Args:
            path: Such as `images/000017.png`.

        Returns:
            Its bytes, which match the checksum.

        Raises:
            UserError: It is missing, or does not match its checksum.
        """
        place, expected = self._packed.get(path), self.digest_of(path)
        file = place.tar if place else path
        data = self._bytes(path, place)
        if hashlib.sha256(data).hexdigest() != expected:
            # The folder of a URL lacks files that nobody has read yet.
            fetch(self.folder.parent, f"world/{file}")
            data = self._bytes(path, place)
        if hashlib.sha256(data).hexdigest() != expected:
            raise UserError(
                f"{self.folder / file} is damaged or missing; restore it or make the dataset again."
            )
        return data

    def _bytes(self, path: str, place: "_Place | None") -> bytes:
        where = self.path(place.tar if place else path)
        if not where.exists():
            return b""
        check_file(where, None if place else MOST_IN_SCENE)
        # The table may come from a stranger, and a size is memory.
        if place and not (place.offset >= 0 and 0 <= place.size <= MOST_IN_SCENE):
            raise UserError(
                f"{self.folder} places {path} at {place.offset} with {place.size} bytes; restore "
                f"it or make it again."
            )
        with where.open("rb") as file:
            file.seek(place.offset if place else 0)
            return file.read(place.size if place else -1)

    @cached_property
    def _packed(self) -> dict[str, "_Place"]:
        """The place of each file in the tars, by path; empty for a world whose files are in
        folders."""
        if "packed.parquet" not in self.sums:
            return {}
        places: dict[str, _Place] = {}
        for batch in self.batches("packed", PACKED.names):
            for row in batch.to_pylist():
                if None in row.values():
                    raise UserError(
                        f"{self.folder / 'packed.parquet'} has an empty cell; restore it or make "
                        f"the dataset again."
                    )
                path = row.pop("path")
                places[path] = _Place(**row)
        return places


@dataclass(frozen=True, slots=True)
class _Place:
    """The place of a file in a tar."""

    tar: str
    """Path of the tar from the world's folder."""
    offset: int
    """Where the file begins in the tar, in bytes."""
    size: int
    """Of the file, in bytes."""
    sha256: str
    """Of the file."""


class Benchmark(Component):
    """A holdout, its splits, texts and items over a world."""

    def __init__(self, folder: Path):
        super().__init__(folder, "run `gen split` with the same arguments again", BenchmarkManifest)
        self.name = folder.name
        """Its name, that of the folder."""

    def __getattr__(self, name: str) -> pa.Table:
        """The tables `splits`, `texts`, `items`, `candidates` and `pools`
        (records.BENCHMARK_TABLES)."""
        if name not in BENCHMARK_TABLES:
            raise AttributeError(name)
        table = self.table(name, BENCHMARK_TABLES[name])
        # Kept on the object, so that `__getattr__` is not called for it again.
        self.__dict__[name] = table
        return table

    @cached_property
    def holdout(self) -> dict[str, Any] | None:
        """The held-out block (holdout.json); None for a benchmark without one."""
        path = self.path("holdout.json")
        return read_json(path, HoldoutRecord) if path.exists() else None

    def holdout_block(self) -> dict[str, Any]:
        """Get the held-out block (holdout.json).

        Returns:
            The block, as records.HoldoutRecord declares it.

        Raises:
            UserError: The benchmark has none.
        """
        if self.holdout is None:
            raise UserError(
                f"{self.folder} has no held-out block (holdout.json); give a benchmark made by "
                f"`gen split`."
            )
        return self.holdout

    def items_of(self, protocol: str) -> pa.Table:
        """Get the items of one protocol.

        Args:
            protocol: Its name.

        Returns:
            Rows of records.ITEMS.
        """
        return self.items.filter(pc.field("protocol") == protocol)

    @cached_property
    def text_of(self) -> dict[str, str]:
        """Text by text_id."""
        text_ids = self.texts["text_id"].to_pylist()
        return dict(zip(text_ids, self.texts["text"].to_pylist(), strict=True))


TURN = "{turn}"
"""Stands for the turns of a rotation in the name of a benchmark or a model."""


@dataclass(frozen=True)
class Dataset:
    """A folder made by `gen render`: one world, and benchmarks over it."""

    root: Path
    """Its folder. Of a URL, the folder of this machine that its files are fetched into."""
    world: World
    """Its scenes and images."""

    @classmethod
    def open(cls, path: str | Path) -> "Dataset":
        """Open a dataset.

        Args:
            path: A folder, a URL, or `example` for the dataset that comes with the package. Images
                at a URL are fetched when they are read.

        Returns:
            The dataset; its tables and images are read when they are used.

        Raises:
            UserError: There is none, or its world is unfinished or damaged.

        Example:
            >>> Dataset.open("example").world.image("000000").size
            (64, 64)
        """
        root = local_folder(path) if isinstance(path, str) else path
        if not (root / "world").is_dir():
            raise UserError(
                f"{root} is not a dataset: it has no folder 'world'; give a folder made by `gen "
                f"render`."
            )
        return cls(root, World(folder_in(root, "world")))

    def benchmark_names(self) -> list[str]:
        """List the names of the benchmarks over this world.

        Returns:
            The names, sorted, of unfinished benchmarks too.

        Raises:
            UserError: A name could lead out of the folder.

        Example:
            >>> Dataset.open("example").benchmark_names()
            ['color-shape-3x3-b0']
        """
        folders = folder_in(self.root, "benchmarks").glob("[!.]*")
        return sorted(check_benchmark_name(path.name) for path in folders if path.is_dir())

    def benchmark(self, name: str | None = None) -> Benchmark:
        """Open a benchmark.

        Args:
            name: Its name. None for the only benchmark, or the only one that was made with the
                world.

        Returns:
            The benchmark; its tables are read when they are used.

        Raises:
            UserError: There is no such benchmark, or it is unfinished or damaged.

        Example:
            >>> Dataset.open("example").benchmark().manifest["scenes"]["unseen"]
            120
        """
        names = self.benchmark_names()
        if not names:
            raise UserError(
                f"{self.root} has no benchmark yet; make one with `gen split {self.root} --holdout "
                f"3x3`."
            )
        if name is None:
            name = self._default_benchmark(names)
        if name not in names:
            raise UserError(f"{self.root} has no benchmark '{name}'; {did_you_mean(name, names)}")
        return Benchmark(folder_in(self.root, f"benchmarks/{name}"))

    def _default_benchmark(self, names: list[str]) -> str:
        """The only one of these benchmarks, or the only one that was made with the world."""
        # A choice is only asked for where there is one.
        if len(names) == 1:
            return names[0]
        of_world = [name for name in names if self.benchmark(name).manifest.get("with_world")]
        if len(of_world) != 1:
            raise UserError(
                f"{self.root} has several benchmarks; choose one with --benchmark: "
                f"{', '.join(names)}."
            )
        (chosen,) = of_world
        others = ", ".join(name for name in names if name != chosen)
        logger.info(
            f"Benchmark {chosen}, made with the world; --benchmark chooses another: {others}."
        )
        return chosen

    def turn_names(self, pattern: str | None = None) -> list[str]:
        """List the names of the benchmarks that are the turns of a rotation, turn 0 first.

        Args:
            pattern: Name of the benchmarks with `{turn}` for turn0, turn1 and so on, such as
                `{turn}-dose`. None for the benchmarks that were made with the world, else the only
                benchmark of each turn.

        Returns:
            A name for each turn.

        Raises:
            UserError: The dataset has no rotation, lacks a turn, or has several benchmarks of one.
        """
        of_world: dict[int, list[str]] = {}
        later: dict[int, list[str]] = {}
        number = 0
        for name in self.benchmark_names():
            benchmark = self.benchmark(name)
            holdout = benchmark.holdout or {}
            turn = holdout.get("turn")
            # Other benchmarks over the same images do not count.
            if turn is None:
                continue
            names_of_turn = of_world if benchmark.manifest.get("with_world") else later
            names_of_turn.setdefault(turn, []).append(name)
            number = max(number, len(holdout.get("value_groups", ())))
        if number == 0:
            raise UserError(
                f"{self.root} has no turns; make them with `gen split {self.root} --holdout "
                f"turns=4`, or choose a benchmark with --benchmark."
            )
        # Opened one by one: a missing turn is an error that names it.
        if pattern is not None:
            return [
                self.benchmark(pattern.replace(TURN, f"turn{turn}")).name for turn in range(number)
            ]
        names = []
        for turn in range(number):
            candidates = of_world.get(turn) or later.get(turn) or []
            if len(candidates) != 1:
                several = f"several benchmarks of turn {turn} ({', '.join(candidates)})"
                raise UserError(
                    f"{self.root} has {several if candidates else f'no benchmark of turn {turn}'}; "
                    f"take the benchmarks one by one, with --benchmark."
                )
            names.append(candidates[0])
        return names

    def training_names(self) -> list[str]:
        """List the benchmarks to train on.

        Returns:
            Names: the turns if the dataset has a rotation, else the one of `benchmark()`.

        Raises:
            UserError: As for `turn_names` and `benchmark`.

        Example:
            >>> Dataset.open("example").training_names()
            ['color-shape-3x3-b0']
        """
        holdouts = [self.benchmark(name).holdout or {} for name in self.benchmark_names()]
        if any(holdout.get("turn") is not None for holdout in holdouts):
            return self.turn_names()
        return [self.benchmark().name]

    def block(self, name: str | None = None) -> dict[str, Any]:
        """Get a held-out block (holdout.json).

        Args:
            name: Name of the benchmark. None for the block that all benchmarks share, else that of
                `benchmark()`.

        Returns:
            The block, as records.HoldoutRecord declares it.

        Raises:
            UserError: There is none.

        Example:
            >>> Dataset.open("example").block()["kind"]
            'color'
        """
        if name is None:
            # Benchmarks of other texts over the same splits share their block, so no name is
            # needed.
            blocks = [self.benchmark(known).holdout for known in self.benchmark_names()]
            is_shared = all(block == blocks[0] for block in blocks)
            if blocks and blocks[0] is not None and is_shared:
                return blocks[0]
        return self.benchmark(name).holdout_block()


class Images(Protocol):
    """Images by id."""

    @property
    def digest(self) -> str:
        """SHA-256 that identifies the content of all images."""
        ...

    def image(self, scene_id: str, /) -> Image.Image:
        """Read an image, RGB.

        Raises:
            UserError: It cannot be read.
        """
        ...

    def image_digest(self, scene_id: str, /) -> str:
        """Get the SHA-256 of an image's file.

        Raises:
            UserError: It is not known.
        """
        ...
