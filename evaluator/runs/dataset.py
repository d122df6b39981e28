"""`Dataset`: the questions of a benchmark, for `evaluate`, for torch's DataLoader and for Hugging
Face datasets."""

import html
import io
from collections.abc import Sequence
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from evaluator.benchmarks.registry import BenchmarkSource, external_source, open_external
from generator.base.errors import UserError, did_you_mean
from generator.base.extras import extras_named
from generator.base.pages import image_row
from generator.dataset import reader
from generator.dataset.reader import Images

if TYPE_CHECKING:
    import datasets

_IMAGES = 4
"""Images that a notebook shows."""
_LABELS = ("item_id", "protocol", "split", "kind", "skill", "pool_id")
"""Columns of items that a question shows as texts."""


class Dataset:
    """The questions of one benchmark: a map-style dataset (`len`, `[i]`), as torch's DataLoader
    takes it.

    A question is a dictionary:

    - `item_id`, `protocol`, `split`, `kind`, `skill` and `pool_id`: strings or None;
    - `images`: RGB images of PIL, and `scene_ids`, their names;
    - `texts`: strings; `truth`, whether each is true (list of bool); and `image_of`, the index of
      each text's image. If `pool_id` is given, `texts` has only the true texts; `pool` returns all.
    """

    def __init__(
        self,
        source: BenchmarkSource,
        world: Images,
        benchmark: reader.Benchmark,
        *,
        protocols: Sequence[str] = (),
    ):
        """
        Args:
            source: Where `world` and `benchmark` are read from.
            world: The images.
            benchmark: The questions.
            protocols: The protocols whose questions it has; () for all but `train`.
        """
        self.source = source
        self.world = world
        self.benchmark = benchmark
        self.protocols = tuple(protocols)

    @classmethod
    def open(
        cls,
        path: str | Path,
        benchmark: str | None = None,
        protocols: str | Sequence[str] = (),
        images: str | Path | None = None,
        filters: Sequence[str] = (),
    ) -> "Dataset":
        """Open a dataset, or a published benchmark (evaluator.benchmarks). Images are read on
        access.

        Args:
            path: The folder or URL of a dataset; or NAME:PATH, a published benchmark, such as
                `sugarcrepe:FOLDER`.
            benchmark: Its name, if there are several.
            protocols: The protocol or the protocols whose questions to have; () for all that are
                measured. `train` has the captions and negatives of the train split.
            images: Folder of the images of a published benchmark.
            filters: Drop some of its questions (docs/external.md).

        Returns:
            The dataset.

        Raises:
            UserError: There is no such dataset, benchmark or protocol.

        Example:
            `Dataset.open("small", protocols="binary")[0]["texts"]`
        """
        names = (protocols,) if isinstance(protocols, str) else tuple(protocols)
        source = external_source(str(path), None if images is None else Path(images), filters)
        world: Images
        if source is not None:
            world, opened_benchmark = open_external(source)
            if benchmark not in (None, opened_benchmark.name):
                raise UserError(
                    f"{source} is the benchmark {opened_benchmark.name}; leave --benchmark "
                    f"{benchmark} out."
                )
        else:
            if images is not None:
                raise UserError(f"{path} has its images in itself; leave --images out.")
            if filters:
                raise UserError(
                    f"Filters ({', '.join(filters)}) are for published benchmarks; leave --filter "
                    f"out."
                )
            opened = reader.Dataset.open(path)
            source = BenchmarkSource(opened.root)
            world = opened.world
            opened_benchmark = opened.benchmark(benchmark)
        column = opened_benchmark.items["protocol"]
        known = [str(name) for name in pc.unique(column).to_pylist()]
        for name in names:
            if name not in known:
                raise UserError(
                    f"The benchmark {opened_benchmark.name} has no protocol '{name}'; "
                    f"{did_you_mean(name, known)}"
                )
        return cls(source, world, opened_benchmark, protocols=names)

    def __len__(self) -> int:
        return self._items.num_rows

    def __getitem__(self, i: int) -> dict[str, Any]:
        question = self._question(i)
        question["images"] = [self.world.image(name) for name in question["scene_ids"]]
        return question

    def __repr__(self) -> str:
        return (
            f"<Dataset {self.source.path.name}, benchmark {self.benchmark.name}, {len(self):,} "
            f"questions>"
        )

    def _repr_html_(self) -> str:
        """For notebooks: the number of questions by protocol and split, and some images, each with
        a true text."""
        items = self._items.select(["protocol", "split"]).to_pandas()
        counts = items.groupby(["protocol", "split"]).size().unstack(fill_value=0)
        captioned_images = []
        # Evenly spaced, so that they are of all splits.
        step = max(1, len(self) // _IMAGES)
        for row in range(0, len(self), step)[:_IMAGES]:
            question = self[row]
            true_text = question["texts"][question["truth"].index(True)]
            captioned_images.append((question["images"][0], true_text))
        return f"<p>{html.escape(repr(self))}</p>{counts.to_html()}{image_row(captioned_images)}"

    def pool(self, pool_id: str) -> list[str]:
        """The texts that `retrieval` compares every image with.

        Args:
            pool_id: The name of the pool, such as `grid`.

        Returns:
            The texts of the pool; [] if there is no such pool.
        """
        pools = self.benchmark.pools
        rows = pools.filter(pc.equal(pools["pool_id"], pool_id))
        return [self.benchmark.text_of[text] for text in rows["text_id"].to_pylist()]

    @extras_named()
    def to_hf(self) -> "datasets.Dataset":
        """Convert to a dataset of Hugging Face. For a large dataset use `gen export hf`, which
        writes files.

        Returns:
            A `datasets.Dataset` with a row for each question; `images` are decoded on access.

        Raises:
            UserError: The package `datasets` is not installed.
        """
        from datasets import Dataset, Features, Image, List, Value

        text = Value("string")
        features = Features(
            {
                **dict.fromkeys(_LABELS, text),
                "scene_ids": List(text),
                "texts": List(text),
                "truth": List(Value("bool")),
                "image_of": List(Value("int32")),
                "images": List(Image()),
            }
        )
        rows = []
        for i in range(len(self)):
            question = self._question(i)
            question["images"] = [self._file(name) for name in question["scene_ids"]]
            rows.append(question)
        return Dataset.from_list(rows, features=features)

    def _file(self, name: str) -> dict[str, Any]:
        """An image as `datasets` stores it: the bytes of its file; for a published benchmark,
        encoded as PNG."""
        if isinstance(self.world, reader.World):
            return {"bytes": self.world.read(f"images/{name}.png"), "path": f"{name}.png"}
        # Images of a published benchmark have any format, so they are encoded again.
        png = io.BytesIO()
        self.world.image(name).save(png, "PNG")
        return {"bytes": png.getvalue(), "path": f"{name}.png"}

    def _question(self, i: int) -> dict[str, Any]:
        """A question without its images."""
        if not -len(self) <= i < len(self):
            raise IndexError(f"question {i} of {len(self)}")
        row = i % len(self)
        table, starts = self._rows
        candidates = table.slice(starts[row], starts[row + 1] - starts[row])
        scene_of_text = candidates["scene_id"].to_pylist()
        scene_ids = list(dict.fromkeys(scene_of_text))
        labels = self._items.slice(row, 1).select(_LABELS).to_pylist()[0]
        return {
            **labels,
            "scene_ids": scene_ids,
            "texts": [self.benchmark.text_of[text] for text in candidates["text_id"].to_pylist()],
            "truth": candidates["truth"].to_pylist(),
            "image_of": [scene_ids.index(scene) for scene in scene_of_text],
        }

    @cached_property
    def _items(self) -> pa.Table:
        """The rows of the benchmark's items that are questions of this dataset."""
        items = self.benchmark.items
        if self.protocols:
            return items.filter(pc.is_in(items["protocol"], pa.array(self.protocols)))
        return items.filter(pc.not_equal(items["protocol"], "train"))

    @cached_property
    def _rows(self) -> tuple[pa.Table, np.ndarray]:
        """The candidates in the order of the items, and the start of each item's candidates, int64
        (items + 1,)."""
        candidates = self.benchmark.candidates
        item_ids = self._items["item_id"].combine_chunks()
        items = pc.fill_null(pc.index_in(candidates["item_id"], item_ids), -1).to_numpy()
        # A stable sort keeps the candidates of an item in their order.
        order = np.argsort(items, kind="stable")
        order = order[items[order] >= 0]
        starts = np.searchsorted(items[order], np.arange(len(self) + 1))
        return candidates.take(pa.array(order)), starts
