"""The best texts of each item, as CREPE shows them (Ma et al. 2023, table 13)."""

from collections.abc import Mapping

import numpy as np
import pyarrow as pa

from evaluator.protocols.items import TOP, Items

SCHEMA = pa.schema(
    [
        *((name, pa.string()) for name in ("protocol", "item_id", "scene_id", "kind", "split")),
        ("rank", pa.int32()),
        ("truth", pa.bool_()),
        ("score", pa.float64()),
        ("text", pa.string()),
        ("text_id", pa.string()),
    ]
)


def top_texts(protocol: str, items: Items, text_of: Mapping[str, str]) -> pa.Table:
    """The TOP texts of every scored item that has more than TOP, best first: a row (SCHEMA) for each.

    Compared are the texts of slots c and n. Of scores that tie within the tolerance the false text is first, since a
    tie is never correct.
    """
    compared = items.of_slots("c", "n")
    inside = compared.truth | compared.false
    items = compared.take(compared.scored & (inside.sum(axis=1) > TOP))
    inside = items.truth | items.false
    scores = items.scores.astype(np.float64)
    needed = scores - items.truth * items.tolerance * np.maximum(1, np.abs(scores))  # a true text has to win by more
    order = (
        np.lexsort((items.truth, np.where(inside, -needed, np.inf)), axis=1)[:, :TOP]
        if len(items)
        else np.zeros((0, TOP), int)
    )

    def best(values: np.ndarray) -> list[object]:
        return list(np.take_along_axis(values, order, axis=1).ravel().tolist())

    text_ids = best(items.text_id)
    columns = {
        "protocol": [protocol] * len(text_ids),
        **{name: np.repeat(getattr(items, name), TOP).tolist() for name in ("item_id", "scene_id", "kind", "split")},
        "rank": list(range(1, TOP + 1)) * len(items),
        "truth": best(items.truth),
        "score": best(items.scores.astype(np.float64)),
        "text": [text_of.get(str(text_id)) for text_id in text_ids],
        "text_id": text_ids,
    }
    return pa.table(columns, schema=SCHEMA)
