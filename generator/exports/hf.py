"""`gen export hf`: Parquet files with images and texts that `datasets.load_dataset` opens."""

import json
from collections.abc import Iterator
from itertools import islice
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from generator.base.progress import SILENT, Progress
from generator.exports.samples import Sample, Samples, whole_folder

_ROWS = 100  # of a row group: readers load one at a time
_FILE_BYTES = 500_000_000

# How the library `datasets` knows that a column is an image, from the schema's metadata.
_TEXT = {"dtype": "string", "_type": "Value"}
_FEATURES = {
    "scene_id": _TEXT,
    "image": {"_type": "Image"},
    "captions": {"feature": _TEXT, "_type": "List"},
    "negatives": {"feature": _TEXT, "_type": "List"},
}
_SCHEMA = pa.schema(
    [
        ("scene_id", pa.string()),
        ("image", pa.struct([("bytes", pa.binary()), ("path", pa.string())])),
        ("captions", pa.list_(pa.string())),
        ("negatives", pa.list_(pa.string())),
    ],
    metadata={"huggingface": json.dumps({"info": {"features": _FEATURES}})},
)


def export_hf(samples: Samples, title: str, out: Path, progress: Progress = SILENT) -> dict[str, int]:
    """Write `out`/data/SPLIT-00000.parquet and so on and a README.md that names the splits; returns the
    number of scenes by split.
    """
    splits = samples.splits()
    with whole_folder(out) as folder, progress.track("writing", sum(splits.values())) as advance:
        (folder / "data").mkdir()
        for split in splits:
            batches = _batches(samples.of(split))
            batch = next(batches, None)
            number = 0
            while batch is not None:
                path = folder / "data" / f"{split}-{number:05d}.parquet"
                with pq.ParquetWriter(path, _SCHEMA, compression="zstd") as file:
                    while batch is not None and path.stat().st_size < _FILE_BYTES:
                        file.write_batch(batch)
                        advance(len(batch))
                        batch = next(batches, None)
                number += 1
        (folder / "README.md").write_text(_readme(title, splits) + _licence(samples), encoding="utf-8")
    return splits


def _batches(samples: Iterator[Sample]) -> Iterator[pa.RecordBatch]:
    while chunk := list(islice(samples, _ROWS)):
        yield pa.RecordBatch.from_pylist([_row(sample) for sample in chunk], schema=_SCHEMA)


def _row(sample: Sample) -> dict[str, Any]:
    return {
        "scene_id": sample.scene_id,
        "image": {"bytes": sample.image, "path": f"{sample.scene_id}.png"},
        "captions": sample.captions,
        "negatives": sample.negatives,
    }


def _licence(samples: Samples) -> str:
    return f"\n## Licence\n\n{samples.licences}" if samples.licences else ""


def _readme(title: str, splits: dict[str, int]) -> str:
    files = [line for split in splits for line in (f"  - split: {split}", f"    path: data/{split}-*.parquet")]
    head = ["---", f"pretty_name: {title}", "configs:", "- config_name: default", "  data_files:", *files, "---"]
    rows = [f"| {split} | {n:,} |" for split, n in splits.items()]
    return "\n".join([
        *head, "", f"# {title}", "",
        "A row a scene: `scene_id`, `image`, `captions` (texts that are true of it) and `negatives` (texts that are false).", "",
        "| split | scenes |", "|---|---:|", *rows, "",
    ])  # fmt: skip
