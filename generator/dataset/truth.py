"""Reads and writes truth.parquet: which texts of a benchmark are true of which scenes, as the judge
decided.

`gen verify` writes the file. The oracle (`score run --model oracle`) and the ceilings of all tables
are made from it.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pyarrow as pa

from generator.base.errors import UserError
from generator.base.tables import metadata_of, read_schema, read_table, write_table
from generator.dataset.reader import Benchmark, Images, World
from generator.dataset.records import FORMAT, TRUTH

TRUTH_FILE = "truth.parquet"
RAW_RETRIEVAL = ("systematicity", "productivity")
"""Protocols that rank every image of a split against every caption of that split (CREPE's raw
retrieval). Other protocols compare an image only with its items' candidates and with its items'
pools."""

TRUE, UNDECIDED, FALSE = 1.0, 0.5, 0.0
"""Scores of texts. An undecided text stands between: it never ties with a true text and never beats
one. So undecided texts do not lower a ceiling, which stays an upper bound whichever way they are
read."""

SceneTruth = tuple[str, Sequence[int], Sequence[int]]
"""A scene_id, and the rows in texts.parquet of its true and of its undecided texts."""


@dataclass(frozen=True)
class Truths:
    """The decided texts of a benchmark."""

    n_texts: int
    """Number of rows of texts.parquet."""
    true: dict[str, np.ndarray]
    """By scene_id, the rows of the texts that are true of the scene, int64."""
    undecided: dict[str, np.ndarray]
    """By scene_id, the rows of the texts that are neither true nor false of the scene, int64."""

    def scores(self, scene_id: str) -> np.ndarray:
        """Score every text of the benchmark by its truth.

        Args:
            scene_id: a scene that an evaluation item asks about.

        Returns:
            float32 (n_texts,): TRUE, UNDECIDED or FALSE, in the order of texts.parquet.

        Raises:
            UserError: if the file has no such scene.
        """
        if scene_id not in self.true:
            raise UserError(
                f"Expected {TRUTH_FILE} to have every scene that is asked about, but scene "
                f"{scene_id} is missing; "
                "write it again with `gen verify`."
            )
        scores = np.full(self.n_texts, FALSE, np.float32)
        # True texts last: a row in both lists would be a damaged file, and counts as true.
        scores[self.undecided[scene_id]] = UNDECIDED
        scores[self.true[scene_id]] = TRUE
        return scores


def write_truths(
    folder: Path, benchmark_digest: str, world_digest: str, rows: Iterable[SceneTruth]
) -> None:
    """Write truth.parquet into the folder of a benchmark, atomically and with few rows in memory.

    Args:
        folder: folder of the benchmark.
        benchmark_digest: digest of the judged benchmark, so that readers notice another one.
        world_digest: digest of the judged world.
        rows: the scenes with their true and undecided texts.
    """
    about = {"format": FORMAT, "benchmark": benchmark_digest, "world": world_digest}
    rows_by_column = (dict(zip(TRUTH.names, row, strict=True)) for row in rows)
    write_table(folder / TRUTH_FILE, rows_by_column, TRUTH.with_metadata(about))


def read_truths(benchmark: Benchmark, world: Images) -> Truths | None:
    """Read the truth.parquet of a benchmark.

    Returns:
        The truths; None if there is no such file, or if it was made for another benchmark or world.

    Raises:
        UserError: if the file is damaged.
    """
    path = benchmark.path(TRUTH_FILE)
    if not isinstance(world, World) or not path.exists():
        return None
    about = metadata_of(read_schema(path))
    judged = (about.get("format"), about.get("benchmark"), about.get("world"))
    # What was decided about other texts or scenes says nothing of these.
    if judged != (FORMAT, benchmark.digest, world.digest):
        return None
    table = read_table(path, TRUTH)
    n_texts = benchmark.texts.num_rows
    return Truths(
        n_texts,
        true=_rows_by_scene(table, "true_texts", n_texts=n_texts, path=path),
        undecided=_rows_by_scene(table, "undecided_texts", n_texts=n_texts, path=path),
    )


def _rows_by_scene(
    table: pa.Table, column: str, *, n_texts: int, path: Path
) -> dict[str, np.ndarray]:
    """The lists of a column as arrays, by scene_id. Raises UserError if one names a row that
    texts.parquet lacks."""
    lists = table[column].combine_chunks()
    if lists.null_count:
        raise UserError(
            f"{path} is damaged (a scene has no list of texts); write it again with `gen verify`."
        )
    # One flat array is cut at the ends of the lists: a benchmark has millions of true texts.
    ends = np.cumsum(lists.value_lengths().to_numpy(zero_copy_only=False))
    rows = lists.flatten().to_numpy(zero_copy_only=False).astype(np.int64)
    if len(rows) and not 0 <= rows.min() <= rows.max() < n_texts:
        raise UserError(
            f"{path} is damaged (it names texts that do not exist); write it again with `gen "
            f"verify`."
        )
    scene_ids = table["scene_id"].to_pylist()
    rows_of_scenes = np.split(rows, ends[:-1])
    return dict(zip(scene_ids, rows_of_scenes, strict=True))
