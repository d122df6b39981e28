"""The tables of a dataset: columns and types of each. docs/dataset.md says what every column means."""

from importlib.metadata import version

import pyarrow as pa

FORMAT = "jackalope/1"
VERSION = version("jackalope")
"""Of the code that writes a component: the same version makes the same bytes again."""

PLAN = pa.schema(
    [
        ("scene_id", pa.string()),
        ("cluster_id", pa.string()),
        ("twin_of", pa.string()),
        ("part", pa.int32()),
        ("split", pa.string()),
        ("named", pa.list_(pa.int32())),
        ("environment", pa.string()),
        (
            "objects",
            pa.list_(
                pa.struct(
                    [
                        ("category", pa.string()),
                        ("attributes", pa.map_(pa.string(), pa.string())),
                        ("depth", pa.int32()),
                        ("rests_on", pa.int32()),
                        ("clump", pa.int32()),
                    ]
                )
            ),
        ),
        ("exchange", pa.struct([("kind", pa.string()), ("first", pa.int32()), ("second", pa.int32())])),
    ]
)

SCENES = pa.schema(
    [
        ("scene_id", pa.string()),
        ("cluster_id", pa.string()),
        ("twin_of", pa.string()),
        ("status", pa.string()),
        ("reason", pa.string()),
        ("width", pa.int32()),
        ("height", pa.int32()),
        (
            "objects",
            pa.list_(
                pa.struct(
                    [
                        ("index", pa.int32()),
                        ("category", pa.string()),
                        ("attributes", pa.map_(pa.string(), pa.string())),
                        ("amodal_box", pa.list_(pa.int32(), 4)),
                        ("visible_fraction_estimate", pa.float32()),
                    ]
                )
            ),
        ),
        (
            "relations",
            pa.list_(
                pa.struct(
                    [
                        ("subject", pa.int32()),
                        ("relation", pa.string()),
                        ("object", pa.int32()),
                        ("margin", pa.float64()),
                        ("holds", pa.bool_()),
                    ]
                )
            ),
        ),
        ("scene", pa.string()),
    ]
)

PACKED = pa.schema(
    [
        ("path", pa.string()),
        ("tar", pa.string()),
        ("offset", pa.int64()),
        ("size", pa.int64()),
        ("sha256", pa.string()),
    ]
)

SPLITS = pa.schema(
    [
        ("scene_id", pa.string()),
        ("split", pa.string()),
        ("held_out_bindings", pa.list_(pa.string())),
        ("held_out_triples", pa.list_(pa.string())),
    ]
)

TEXTS = pa.schema(
    [
        ("text_id", pa.string()),
        ("text", pa.string()),
        ("form", pa.string()),
        ("template", pa.string()),
        ("level", pa.string()),
        ("n_objects", pa.int32()),
        ("n_attributes", pa.int32()),
        ("n_relations", pa.int32()),
    ]
)

ITEMS = pa.schema(
    [
        ("item_id", pa.string()),
        ("protocol", pa.string()),
        ("kind", pa.string()),
        ("skill", pa.string()),
        ("split", pa.string()),
        ("cluster_id", pa.string()),
        ("pool_id", pa.string()),
        ("held_out_positive", pa.int32()),
        ("held_out_negative", pa.int32()),
    ]
)

CANDIDATES = pa.schema(
    [
        ("item_id", pa.string()),
        ("scene_id", pa.string()),
        ("text_id", pa.string()),
        ("slot", pa.string()),
        ("truth", pa.bool_()),
        ("kind", pa.string()),
        ("changed", pa.list_(pa.string())),
        ("of", pa.string()),
    ]
)

POOLS = pa.schema([("pool_id", pa.string()), ("text_id", pa.string())])

SCORES = pa.schema(
    [
        ("image_id", pa.string()),
        ("text_id", pa.string()),
        ("channel", pa.string()),
        ("score", pa.float32()),
        ("unscored", pa.string()),
    ]
)

BENCHMARK_TABLES = {
    "splits": SPLITS,
    "texts": TEXTS,
    "items": ITEMS,
    "candidates": CANDIDATES,
    "pools": POOLS,
}
