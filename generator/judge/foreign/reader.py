"""Reads files of labels made by others: CSV, and JSON of rows, of labels by split, or of several tasks."""

import json
from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.csv as pa_csv

from generator.base.errors import UserError, did_you_mean
from generator.base.files import parse_json
from generator.base.limits import MOST_LIST, check_file, read_text
from generator.judge.foreign.characters import normal
from generator.judge.foreign.tables import Columns, SplitRoles, Task, choose_columns, listed_task, table_task

_MOST_HEADER = 1 << 20
_SHAPE = 'a list of rows, or labels by split such as {"train": ["red cube"], "test": [...]}, or several such by task'


def read_tasks(path: Path, named: Sequence[tuple[str, str]], task: str | None, roles: SplitRoles) -> list[Task]:
    """The tasks of a file: one for a CSV file or a list of rows; one per key for JSON that holds labels by split.

    Raises UserError if the file cannot be read, holds no labels, or lacks the task or a column.
    """
    if path.suffix.lower() == ".json":
        tasks = dict(_json_tasks(_load(path), path))
    else:
        tasks = {path.stem: _read_csv(path, named)}
    if task is not None:
        if task not in tasks:
            raise UserError(f"{path} has no task '{task}'; {did_you_mean(task, list(tasks))}")
        tasks = {task: tasks[task]}
    return [
        replace(_task(name, _normal(data, path), path, named, roles), texts=_distinct_texts(data, named, path))
        for name, data in tasks.items()
    ]


def _distinct_texts(data: Any, named: Sequence[tuple[str, str]], path: Path) -> tuple[str, ...]:
    return tuple(dict.fromkeys(_texts(data, _left_out(data, named, path))))


def _normal(data: Any, path: Path) -> Any:
    """The texts of a task as they are compared. Raises UserError for two splits or fields that then have one name."""
    if isinstance(data, str):
        return normal(data)
    if isinstance(data, list):
        return [_normal(each, path) for each in data]
    if isinstance(data, dict):
        named = {normal(name): _normal(each, path) for name, each in data.items()}
        if len(named) < len(data):
            raise UserError(
                f"{path} has two names that look the same and differ in characters that nothing shows, such as "
                f"{_doubled(data)}; name each once."
            )
        return named
    if isinstance(data, pa.Table):
        columns = [_normal_column(data[name]) for name in data.column_names]
        return pa.table(columns, names=data.column_names)
    return data


def _normal_column(column: pa.ChunkedArray) -> pa.ChunkedArray:
    distinct = pc.unique(column.drop_null())
    texts = pa.array([normal(text) for text in distinct.to_pylist()], pa.string())
    return texts.take(pc.index_in(column, value_set=distinct).combine_chunks())


def _doubled(names: Iterable[str]) -> str:
    found = Counter(map(normal, names))
    return next(f"'{name}'" for name, n in found.items() if n > 1)


def _texts(data: Any, left_out: Collection[str]) -> Iterator[str]:
    """The texts of a task as they stand in the file, without the fields that are `left_out`."""
    if isinstance(data, str):
        yield data
    elif isinstance(data, list):
        for each in data:
            yield from _texts(each, left_out)
    elif isinstance(data, dict):
        for name, each in data.items():
            if name not in left_out:
                yield from (name, *_texts(each, left_out))
    elif isinstance(data, pa.Table):
        for name in data.column_names:
            if name not in left_out:
                yield from pc.unique(data[name].drop_null()).to_pylist()


def _left_out(data: Any, named: Sequence[tuple[str, str]], path: Path) -> set[str]:
    """The fields of rows whose characters are not judged: names of images, and what has no role."""
    if isinstance(data, pa.Table):
        columns = data.column_names
    else:
        rows = [row for part in (data.values() if isinstance(data, dict) else [data]) for row in part]
        columns = list(dict.fromkeys(name for row in rows if isinstance(row, dict) for name in row))
    if not columns:
        return set()
    chosen = choose_columns(named, columns, str(path))
    return {name for name in columns if name not in chosen.all or name == chosen.image}


def _task(name: str, data: Any, path: Path, named: Sequence[tuple[str, str]], roles: SplitRoles) -> Task:
    if isinstance(data, dict):
        rows = [row for rows in data.values() for row in rows]
        if not any(isinstance(row, dict) for row in rows):
            if named:
                raise UserError(f"--columns names columns, and {path} has labels by split without any; leave it out.")
            return listed_task(name, data, roles, str(path))
        data = [{"split": split, **_row(row, path)} for split, rows in data.items() for row in rows]
    if isinstance(data, list):
        return table_task(name, *_table([_row(row, path) for row in data], named, path), roles, "entry", 1)
    return table_task(name, data, choose_columns(named, data.column_names, str(path)), roles, "line", 2)


def _row(row: Any, path: Path) -> dict[str, Any]:
    if not isinstance(row, dict):
        raise UserError(f"{path}: expected every row to be an object with fields, got {json.dumps(row)[:60]}.")
    return row


def _table(rows: list[dict[str, Any]], named: Sequence[tuple[str, str]], path: Path) -> tuple[pa.Table, Columns]:
    """JSON rows as columns of strings, and the roles of the columns."""
    columns = choose_columns(named, list(dict.fromkeys(name for row in rows for name in row)), str(path))
    cells = {name: [_cell(row.get(name), name, path) for row in rows] for name in columns.all}
    return pa.table({name: pa.array(column, pa.string()) for name, column in cells.items()}), columns


def _cell(value: Any, name: str, path: Path) -> str | None:
    if isinstance(value, list | dict):
        raise UserError(
            f"{path}: expected a text in the field '{name}', got {json.dumps(value)[:60]}; write one label a "
            "field, several "
            f"negatives as several fields."
        )
    return None if value is None or value == "" else str(value)


def _load(path: Path) -> Any:
    try:
        return parse_json(read_text(path, MOST_LIST, "utf-8-sig"))
    except OSError as error:
        raise UserError(f"{path} cannot be read: {error.strerror}; give a CSV or JSON file of labels.") from None
    except ValueError as error:
        raise UserError(f"{path} is not JSON that has one meaning: {error}; mend it, or give a CSV file.") from None


def _json_tasks(data: Any, path: Path) -> Iterator[tuple[str, Any]]:
    """The tasks of a JSON file by name: lists of rows, or labels by split."""
    if (isinstance(data, list) and data) or _by_split(data):
        yield path.stem, data
    elif isinstance(data, dict) and (tasks := {name: part for name, part in data.items() if _by_split(part)}):
        yield from tasks.items()
    else:
        raise UserError(f"{path} holds no labels; expected {_SHAPE}.")


def _by_split(data: Any) -> bool:
    return isinstance(data, dict) and bool(data) and all(isinstance(rows, list) for rows in data.values())


def _read_csv(path: Path, named: Sequence[tuple[str, str]]) -> pa.Table:
    """The judged columns of a CSV file as strings; empty cells are null."""
    try:
        check_file(path, MOST_LIST)
        with path.open("rb") as file:
            header = file.readline(_MOST_HEADER)
        delimiter = "\t" if header.count(b"\t") > header.count(b",") else ","
        parse = pa_csv.ParseOptions(delimiter=delimiter, newlines_in_values=True)
        there = pa_csv.open_csv(path, parse_options=parse).schema.names
        if doubled := [name for name, n in Counter(there).items() if n > 1]:
            raise UserError(f"{path} has the column '{doubled[0]}' twice; name each column once.")
        wanted = choose_columns(named, there, str(path)).all
        convert = pa_csv.ConvertOptions(
            include_columns=wanted,
            column_types={name: pa.string() for name in wanted},
            strings_can_be_null=True,
            null_values=[""],
        )
        return pa_csv.read_csv(path, parse_options=parse, convert_options=convert)
    except OSError as error:
        raise UserError(
            f"{path} cannot be read: {error.strerror or error}; give a CSV or JSON file of labels."
        ) from None
    except (pa.ArrowException, UnicodeDecodeError) as error:
        raise UserError(
            f"{path} is not a CSV file in UTF-8: {str(error).splitlines()[0]}; mend it, or give JSON."
        ) from None
