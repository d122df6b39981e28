"""Small real files, damaged: bytes cut, flipped and added; values of JSON, TOML and Parquet of
other types, sizes and depths."""

import io
import json
import tomllib
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import tomli_w
from hypothesis import strategies as st

_BYTES = [
    b"",
    b"\0",
    b"\xff\xfe",
    b"\x1b[2J",
    b"9" * 5_000,
    b"[" * 100_000,
    b'{"a":' * 20_000,
    b"\n",
    b'"',
    b"e400",
    b"-",
    b"\xed\xa0\x80",
]
_SCALARS = [
    True,
    -1,
    0,
    2**31,
    2**64,
    -(2**70),
    1e308,
    float("nan"),
    float("inf"),
    "",
    "\0",
    "../../x",
    "*",
    "a" * 10_000,
    "\x1b[2J",
    "‮",
    "0",
    "=1",
]
JSON_VALUES = [None, *_SCALARS, [], {}, [None], [[]], {"": {}}, [{}] * 3, {"a": 1}]


def deep() -> Any:
    """Lists in lists."""
    nested: Any = []
    for _ in range(200):
        nested = [nested]
    return nested


def damaged_bytes(data: bytes) -> st.SearchStrategy[bytes]:
    """The bytes of a file cut short, with a part replaced, removed or repeated."""
    places = st.integers(0, len(data))
    cut = places.map(lambda at: data[:at])
    replaced = st.tuples(
        places, st.integers(0, 64), st.one_of(st.binary(max_size=8), st.sampled_from(_BYTES))
    ).map(lambda change: data[: change[0]] + change[2] + data[change[0] + change[1] :])
    flipped = st.tuples(st.integers(0, max(len(data) - 1, 0)), st.integers(1, 255)).map(
        lambda change: (
            data[: change[0]] + bytes([data[change[0]] ^ change[1]]) + data[change[0] + 1 :]
            if data
            else b""
        )
    )
    repeated = st.tuples(places, places).map(lambda part: data + data[min(part) : max(part)])
    return st.one_of(cut, replaced, flipped, repeated)


def _places(data: Any, place: tuple[Any, ...] = ()) -> list[tuple[Any, ...]]:
    inner = (
        data.items()
        if isinstance(data, dict)
        else enumerate(data)
        if isinstance(data, list)
        else ()
    )
    return [
        place,
        *(inner_place for key, value in inner for inner_place in _places(value, (*place, key))),
    ]


def _changed(data: Any, place: tuple[Any, ...], value: Any, remove: bool) -> Any:
    if not place:
        return value
    data = json.loads(json.dumps(data))
    table = data
    for key in place[:-1]:
        table = table[key]
    if remove:
        del table[place[-1]]
    else:
        table[place[-1]] = value
    return data


def changed_value(data: Any, values: list[Any]) -> st.SearchStrategy[Any]:
    """JSON-like data with one value replaced or removed."""
    return st.builds(
        _changed,
        st.just(data),
        st.sampled_from(_places(data)),
        st.sampled_from(values),
        st.booleans(),
    )


def damaged_json(data: bytes) -> st.SearchStrategy[bytes]:
    """A JSON file damaged in its bytes, or in one value."""
    values = changed_value(json.loads(data), [*JSON_VALUES, deep()]).map(
        lambda value: json.dumps(value).encode()
    )
    return st.one_of(values, values, damaged_bytes(data))


def damaged_toml(data: bytes) -> st.SearchStrategy[bytes]:
    """A TOML file damaged in its bytes, or in one value."""
    plain = [value for value in JSON_VALUES if value is not None and value != [None]]
    tables = changed_value(tomllib.loads(data.decode()), plain).filter(
        lambda value: isinstance(value, dict)
    )
    return st.one_of(tables.map(_toml), damaged_bytes(data))


def _toml(data: dict[str, Any]) -> bytes:
    try:
        return tomli_w.dumps(data).encode("utf-8", "surrogatepass")
    except (ValueError, TypeError):
        return b""


def damaged_lines(data: bytes) -> st.SearchStrategy[bytes]:
    """A file of JSON lines with one line damaged, or damaged in its bytes."""
    lines = data.splitlines(keepends=True)

    def within(i: int) -> st.SearchStrategy[bytes]:
        return damaged_json(lines[i]).map(
            lambda line: b"".join([*lines[:i], line.rstrip(b"\n") + b"\n", *lines[i + 1 :]])
        )

    return st.one_of(st.integers(0, len(lines) - 1).flatmap(within), damaged_bytes(data))


def damaged_parquet(data: bytes) -> st.SearchStrategy[bytes]:
    """A Parquet file damaged in its bytes, or with another value, type or number of columns or
    rows."""
    table = pq.read_table(io.BytesIO(data))
    return st.one_of(
        *(strategy(table) for strategy in (_cells, _cells, _inner_json, _types, _shapes))
    ).map(_parquet) | damaged_bytes(data)


def _parquet(table: pa.Table) -> bytes:
    file = io.BytesIO()
    pq.write_table(table, file)
    return file.getvalue()


def _with(table: pa.Table, name: str, column: pa.Array | pa.ChunkedArray) -> pa.Table:
    return table.set_column(table.column_names.index(name), name, column)


def _cells(table: pa.Table) -> st.SearchStrategy[pa.Table]:
    """One value in one cell replaced by one that the column's type can hold."""

    def replaced(choice: tuple[str, int, Any, int]) -> pa.Table:
        name, row, value, at = choice
        cells = table[name].to_pylist()
        if not cells:
            return table
        cell = json.loads(json.dumps(cells[row % len(cells)]))
        places = _places(cell)
        cells[row % len(cells)] = _changed(cell, places[at % len(places)], value, False)
        try:
            return _with(table, name, pa.array(cells, table[name].type))
        except (pa.ArrowException, TypeError, ValueError, OverflowError, AttributeError):
            return table.slice(0, row % len(cells))

    return st.tuples(
        st.sampled_from(table.column_names),
        st.integers(0, 500),
        st.sampled_from(JSON_VALUES),
        st.integers(0, 50),
    ).map(replaced)


def _inner_json(table: pa.Table) -> st.SearchStrategy[pa.Table]:
    """The JSON in one cell damaged: recorded scenes, and forms of texts."""
    names = [
        name
        for name in ("scene", "form")
        if name in table.column_names and table[name].null_count < len(table)
    ]
    names = [] if "options" in table.column_names else names  # of answers, whose form is a word
    if not names:
        return _cells(table)
    cells = table[names[0]].to_pylist()

    def within(row: int) -> st.SearchStrategy[pa.Table]:
        damaged = damaged_json(cells[row].encode()).map(
            lambda damaged_cell: damaged_cell.decode("utf-8", "replace")
        )
        return damaged.map(
            lambda text: _with(
                table, names[0], pa.array([*cells[:row], text, *cells[row + 1 :]], pa.string())
            )
        )

    return st.sampled_from([i for i, cell in enumerate(cells) if cell]).flatmap(within)


def _types(table: pa.Table) -> st.SearchStrategy[pa.Table]:
    n = len(table)
    columns = [
        pa.array(range(n)),
        pa.nulls(n),
        pa.array([b"\xff"] * n, pa.binary()),
        pa.array([[]] * n, pa.list_(pa.int8())),
        pa.array([1e300] * n),
        pa.array([{"a": None}] * n),
        pa.array(["x"] * n).dictionary_encode(),
        pa.array([b"\xff"] * n, pa.binary()).view(pa.string()),
        pa.array([True] * n),
        pa.array([""] * n, pa.large_string()),
    ]
    return st.builds(
        lambda name, column: _with(table, name, column),
        st.sampled_from(table.column_names),
        st.sampled_from(columns),
    )


def _shapes(table: pa.Table) -> st.SearchStrategy[pa.Table]:
    name = st.sampled_from(table.column_names)
    rows = st.integers(0, len(table))
    return st.one_of(
        name.map(lambda column: table.drop_columns([column])),
        name.map(
            lambda column: table.rename_columns(
                [f"{other}." if other == column else other for other in table.column_names]
            )
        ),
        rows.map(lambda n: table.slice(0, n)),
        rows.map(lambda n: pa.concat_tables([table, table.slice(0, n)])),
        st.just(pa.table({})),
    )


def of_kind(path: str) -> Any:
    """What damages a file of that name."""
    endings = {
        ".json": damaged_json,
        ".toml": damaged_toml,
        ".jsonl": damaged_lines,
        ".parquet": damaged_parquet,
    }
    return next(
        (strategy for ending, strategy in endings.items() if path.endswith(ending)), damaged_bytes
    )
