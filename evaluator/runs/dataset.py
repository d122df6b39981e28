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

_SHOWN = 4
"""Images that a notebook shows."""
_LABELS = ("item_id", "protocol", "split", "kind", "skill", "pool_id")


class Dataset:
    """The questions of one benchmark of a dataset folder: a map-style dataset (`len`, `[i]`), as
    torch's DataLoader takes it.

    source: where `world` and `benchmark` (generator.dataset.reader) are read from. protocols:
        protocols whose questions
    it has; () for all but `train`.

    A question is a dictionary: `item_id`, `protocol`, `split`, `kind`, `skill` and `pool_id`
        (strings or None);
    `images`, RGB images of PIL, and `scene_ids`, their names; `texts`, strings, `truth`, whether
    each is true (list
    of bool), and `image_of`, the index of each text's image. If `pool_id` is given, `texts` has
    only the true texts;
    `pool` returns all.
    """

    def __init__(
        self,
        source: BenchmarkSource,
        world: Images,
        benchmark: reader.Benchmark,
        protocols: Sequence[str] = (),
    ):
        self.source, self.world, self.benchmark, self.protocols = (
            source,
            world,
            benchmark,
            tuple(protocols),
        )

    @classmethod
    def open(
        cls,
        path: str | Path,
        benchmark: str | None = None,
        protocols: str | Sequence[str] = (),
        images: str | Path | None = None,
        filters: Sequence[str] = (),
    ) -> "Dataset":
        """Open the dataset at `path`, a folder or a URL, or the published benchmark that NAME:PATH
        names, such as `sugarcrepe:FOLDER` (evaluator.benchmarks); images are read on access.

        benchmark: its name, if there are several. protocols: by default all that are measured;
            `train` has the captions
        and negatives of the train split. images: folder of the images of a published benchmark.
        filters: drop some of
        its questions (docs/external.md). Raises UserError for a name that the dataset does not
        have.
        """
        asked = (protocols,) if isinstance(protocols, str) else tuple(protocols)
        source = external_source(str(path), None if images is None else Path(images), filters)
        world: Images
        if source is not None:
            world, found = open_external(source)
            if benchmark not in (None, found.name):
                raise UserError(
                    f"{source} is the benchmark {found.name}; leave --benchmark {benchmark} out."
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
            source, world, found = (
                BenchmarkSource(opened.root),
                opened.world,
                opened.benchmark(benchmark),
            )
        known = [str(each) for each in pc.unique(found.items["protocol"]).to_pylist()]
        for name in asked:
            if name not in known:
                raise UserError(
                    f"The benchmark {found.name} has no protocol '{name}'; "
                    f"{did_you_mean(name, known)}"
                )
        return cls(source, world, found, asked)

    def __len__(self) -> int:
        return self._items.num_rows

    def __getitem__(self, i: int) -> dict[str, Any]:
        question = self._question(i)
        return {**question, "images": [self.world.image(name) for name in question["scene_ids"]]}

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
        rows = range(0, len(self), max(1, len(self) // _SHOWN))[:_SHOWN]
        shown = (
            (each["images"][0], each["texts"][each["truth"].index(True)])
            for each in map(self.__getitem__, rows)
        )
        return f"<p>{html.escape(repr(self))}</p>{counts.to_html()}{image_row(list(shown))}"

    def pool(self, pool_id: str) -> list[str]:
        """The texts of a pool, such as `grid`, with which `retrieval` compares every image."""
        rows = self.benchmark.pools.filter(pc.equal(self.benchmark.pools["pool_id"], pool_id))
        return [self.benchmark.text_of[text] for text in rows["text_id"].to_pylist()]

    @extras_named()
    def to_hf(self) -> "datasets.Dataset":
        """A Hugging Face `datasets.Dataset` with a row for each question; `images` are decoded on
        access.

        Raises UserError if `datasets` is not installed. For a large dataset use `gen export hf`,
        which writes files.
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
            rows.append(
                {**question, "images": [self._file(name) for name in question["scene_ids"]]}
            )
        return Dataset.from_list(rows, features=features)

    def _file(self, name: str) -> dict[str, Any]:
        """An image as `datasets` stores it: the bytes of its file; for a published benchmark,
        encoded as PNG."""
        if isinstance(self.world, reader.World):
            return {"bytes": self.world.read(f"images/{name}.png"), "path": f"{name}.png"}
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
        scenes = candidates["scene_id"].to_pylist()
        names = list(dict.fromkeys(scenes))
        labels = self._items.slice(row, 1).select(_LABELS).to_pylist()[0]
        return {
            **labels,
            "scene_ids": names,
            "texts": [self.benchmark.text_of[text] for text in candidates["text_id"].to_pylist()],
            "truth": candidates["truth"].to_pylist(),
            "image_of": [names.index(each) for each in scenes],
        }

    @cached_property
    def _items(self) -> pa.Table:
        if self.protocols:
            return self.benchmark.items.filter(
                pc.is_in(self.benchmark.items["protocol"], pa.array(self.protocols))
            )
        return self.benchmark.items.filter(pc.not_equal(self.benchmark.items["protocol"], "train"))

    @cached_property
    def _rows(self) -> tuple[pa.Table, np.ndarray]:
        """The candidates in the order of the items, and the start of each item's candidates, int64
        (items + 1,)."""
        candidates = self.benchmark.candidates
        item = pc.fill_null(
            pc.index_in(candidates["item_id"], self._items["item_id"].combine_chunks()), -1
        ).to_numpy()
        order = np.argsort(item, kind="stable")
        order = order[item[order] >= 0]
        return candidates.take(pa.array(order)), np.searchsorted(
            item[order], np.arange(len(self) + 1)
        )
