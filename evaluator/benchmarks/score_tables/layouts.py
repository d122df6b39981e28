"""The layouts in which scores of pairs of images are published, brought to one row a candidate."""

import re
from pathlib import Path

import pyarrow as pa

from generator.base.errors import UserError

_PLACES = tuple((caption, image) for caption in "01" for image in "01")
_LABEL = re.compile(r"(.+)_c([01])_i([01])")


def one_row_a_candidate(table: pa.Table, path: Path) -> pa.Table:
    """A table of the columns of docs/models.md, from one of these layouts; other tables as they are.

    Four columns c0_i0, c0_i1, c1_i0, c1_i1: the scores of caption k with image i, a row an item (column `item` or `id`).
    A column `label` such as 17_c0_i1 and one `score`: item 17, caption 0 with image 1, as Winoground's authors publish them.
    Raises UserError for a label of another form.
    """
    names = table.column_names
    if "id" in names and "item" not in names:
        table = table.rename_columns(["item" if name == "id" else name for name in names])
    wide = [f"c{caption}_i{image}" for caption, image in _PLACES]
    if set(wide) <= set(names):
        return _from_columns(table, wide)
    if "label" in names and "score" in names and "item" not in table.column_names:
        return _from_labels(table, path)
    return table


def _from_columns(table: pa.Table, wide: list[str]) -> pa.Table:
    common = table.drop_columns(wide)
    parts = []
    for name, (caption, image) in zip(wide, _PLACES, strict=True):
        columns = {name: common[name] for name in common.column_names if name not in ("protocol", "slot", "image")}
        parts.append(_pairs(columns, [caption] * len(table), [image] * len(table)).append_column("score", table[name]))
    return pa.concat_tables(parts, promote_options="permissive")


def _from_labels(table: pa.Table, path: Path) -> pa.Table:
    labels = table["label"].to_pylist()
    found = [_LABEL.fullmatch(str(label)) for label in labels]
    if None in found:
        raise UserError(
            f"Expected labels such as 17_c0_i1 (item, caption, image) in the column 'label' of {path}, got "
            f"'{labels[found.index(None)]}'."
        )
    items, captions, images = zip(*(match.groups() for match in found if match), strict=True)
    columns = {name: table[name] for name in table.column_names if name not in ("label", "protocol", "slot", "image")}
    return _pairs({"item": pa.array(items), **columns}, list(captions), list(images))


def _pairs(columns: dict[str, pa.Array], captions: list[str], images: list[str]) -> pa.Table:
    """A table of the protocol `pairs`."""
    protocol = ["pairs"] * len(captions)
    return pa.table({**columns, "protocol": protocol, "slot": captions, "image": images})
