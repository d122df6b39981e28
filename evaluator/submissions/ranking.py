"""The tables of a board: for each form and track its models in order, with a column for each world,
and the models over all forms of a suite.

Numbers are skills as `score suite` computes them (evaluator.suite.scores): 0 is chance, 1 the
ceiling; on unseen combinations where some are held out, else on all questions.
"""

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from evaluator.analysis.pooling import pool_runs
from evaluator.protocols.records import Results
from evaluator.provenance.contamination import CONTAMINATED
from evaluator.runs.request import DESCRIBE
from evaluator.submissions.checks import CheckedRun
from evaluator.submissions.declared import QuestionKey
from evaluator.submissions.form_spread import FormSpread, FormValue, spread_over_forms
from evaluator.submissions.forms import Form
from evaluator.submissions.marks import MarkedForm
from evaluator.submissions.read import Submission
from evaluator.suite.scores import (
    Score,
    mean_over_worlds,
    mean_within,
    score_descriptions,
    score_world,
)
from generator.base.errors import UserError


@dataclass(frozen=True, kw_only=True)
class Entrant:
    """A model of the board."""

    name: str
    """Its name, which no other model of the board has."""
    submission: Submission | None
    """Its submission; None for plain runs."""
    runs: Sequence[CheckedRun]
    """Its runs on all forms."""
    marks: Mapping[Form, MarkedForm]
    """The mark of its runs on each form."""
    unranked: str
    """Why it has no rank, a sentence; "" if it has one."""

    @property
    def is_text_only(self) -> bool:
        """Whether the scores of a run do not depend on its images."""
        return any(run.reads_images is False for run in self.runs)

    def on(self, form: Form, track: str) -> list[CheckedRun]:
        """Select runs.

        Args:
            form: The form.
            track: The track.

        Returns:
            Its runs on the form in the track.
        """
        return [run for run in self.runs if run.place.form == form and run.place.track == track]


@dataclass(frozen=True, kw_only=True)
class WorldOfModel:
    """A model in a world."""

    entries: tuple[Results, ...]
    """Its results, pooled over turns and trainings, for each question set."""
    score: Score | None
    """Its skill on the questions that count; None if none was scored."""
    is_unseen: bool
    """Whether the skill is on unseen combinations, else on all questions."""


@dataclass(frozen=True, kw_only=True)
class BoardRow:
    """A model in a track of a form."""

    entrant: Entrant
    """The model."""
    mark: MarkedForm
    """Its mark on this form."""
    worlds: Mapping[str, WorldOfModel]
    """By world, its results; worlds that it did not answer are missing."""
    mean: Score | None
    """The mean over the worlds; None if a world is missing."""
    rank: int | None
    """Its place from 1; None if it has no rank."""
    why_unranked: str
    """Why it has no rank; "" if it has one."""
    training: str
    """What its training saw, as its sender says."""


@dataclass(frozen=True, kw_only=True)
class TrackTable:
    """The models in a track of a form."""

    form: Form
    """The form."""
    track: str
    """The track; "" for datasets of no suite."""
    worlds: Sequence[str]
    """The worlds that models answer, sorted."""
    is_unseen: bool
    """Whether skills are on unseen combinations, else on all questions."""
    rows: Sequence[BoardRow]
    """The models: by rank, then those without rank by mean."""

    @property
    def title(self) -> str:
        """Form and track, such as `jackalope-1 (tiny), form standard: bind`."""
        return f"{self.form.title}: {self.track}" if self.track else self.form.title


@dataclass(frozen=True, kw_only=True)
class PooledForms:
    """The models in a track, over all forms of a suite."""

    title: str
    """The suite, its version and part, and the track."""
    forms: Sequence[Form]
    """The forms that count."""
    spread: FormSpread
    """The means and the spread."""
    ranking: Sequence[str]
    """The names of the models, best first."""


def rank_tracks(
    form: Form,
    entrants: Sequence[Entrant],
    declared: Mapping[tuple[Form, str], set[QuestionKey]],
) -> list[TrackTable]:
    """Compare the models in each track of a form.

    Args:
        form: The form.
        entrants: All models of the board.
        declared: By form and track, the questions that the suite asks (`declared_questions`).

    Returns:
        A table for each track that a model answers.

    Raises:
        UserError: Runs of one model and world differ in more than turn and training.
    """
    tracks = set()
    for entrant in entrants:
        for run in entrant.runs:
            if run.place.form == form:
                tracks.add(run.place.track)
    tables = []
    for track in sorted(tracks):
        questions = declared.get((form, track), set())
        tables.append(_rank_track(form, track, entrants=entrants, declared=questions))
    return tables


def pool_forms(tables: Sequence[TrackTable]) -> list[PooledForms]:
    """Compare models over the forms of each suite, with the spread of forms in the intervals.

    Args:
        tables: The table of each form and track.

    Returns:
        An entry for each track of a suite that has two forms or more. Models without a rank on a
        form do not count there.
    """
    tables_of: dict[str, list[TrackTable]] = {}
    for table in tables:
        form = table.form
        if form.suite:
            title = f"{form.suite}-{form.version} ({form.part}): {table.track}"
            tables_of.setdefault(title, []).append(table)
    pooled = []
    for title, of_suite in tables_of.items():
        # One form has no spread.
        if len(of_suite) < 2:
            continue
        values: dict[str, dict[str, FormValue]] = {}
        for table in of_suite:
            # Means over other worlds would differ by more than their form.
            if table.worlds != of_suite[0].worlds:
                continue
            for row in table.rows:
                if row.rank is not None and row.mean is not None:
                    of_model = values.setdefault(row.entrant.name, {})
                    of_model[table.form.name] = FormValue(row.mean.value, _reach(row.mean))
        spread = spread_over_forms(values)
        pooled.append(
            PooledForms(
                title=title,
                forms=[table.form for table in of_suite],
                spread=spread,
                ranking=sorted(spread.means, key=lambda model: -spread.means[model].value),
            )
        )
    return pooled


def _reach(score: Score) -> float | None:
    """Half the width of the interval of a score; None without one."""
    if score.low is None or score.high is None:
        return None
    return (score.high - score.low) / 2


def _rank_track(
    form: Form, track: str, *, entrants: Sequence[Entrant], declared: set[QuestionKey]
) -> TrackTable:
    """Compare the models in a track of a form."""
    runs_of: dict[str, list[CheckedRun]] = {}
    for entrant in entrants:
        runs = entrant.on(form, track)
        if runs:
            runs_of[entrant.name] = runs
    questions_of = {name: _questions(runs) for name, runs in runs_of.items()}
    counted = declared or _common_questions(list(questions_of.values()))
    worlds = sorted({world for world, _, _ in counted})
    rows = []
    for entrant in entrants:
        if entrant.name not in runs_of:
            continue
        runs = runs_of[entrant.name]
        missing = sorted(counted - questions_of[entrant.name])
        rows.append(
            _row_of(entrant, form, runs=runs, worlds=worlds, counted=counted, missing=missing)
        )
    is_unseen = any(world.is_unseen for row in rows for world in row.worlds.values())
    return TrackTable(
        form=form, track=track, worlds=worlds, is_unseen=is_unseen, rows=_with_ranks(rows)
    )


def _questions(runs: Sequence[CheckedRun]) -> set[QuestionKey]:
    """What runs answer."""
    questions = set()
    for run in runs:
        for protocol in run.run.record["protocols"]:
            questions.add((run.world_name, run.question_set, str(protocol)))
    return questions


def _common_questions(of_models: Sequence[set[QuestionKey]]) -> set[QuestionKey]:
    """The questions that at least half of the models answer, where no suite says what counts."""
    counts = Counter(question for questions in of_models for question in questions)
    # Fewer would let one model with a rare question leave all others without a rank; all would let
    # one model without a common question take it from them.
    return {question for question, count in counts.items() if 2 * count >= len(of_models)}


def _row_of(
    entrant: Entrant,
    form: Form,
    *,
    runs: Sequence[CheckedRun],
    worlds: Sequence[str],
    counted: set[QuestionKey],
    missing: Sequence[QuestionKey],
) -> BoardRow:
    """The row of a model, without its rank."""
    of_worlds = {}
    for world in worlds:
        of_world = [run for run in runs if run.world_name == world]
        if of_world:
            of_worlds[world] = _score_model(entrant.name, of_world, counted)
    scores = [of_world.score for of_world in of_worlds.values()]
    is_complete = len(scores) == len(worlds) and None not in scores
    statuses = dict.fromkeys(str(run.training["status"]) for run in runs)
    # The first reason that holds is told.
    why = entrant.unranked
    if not why and missing:
        world, question_set, protocol = missing[0]
        more = f" and {len(missing) - 1} more" if len(missing) > 1 else ""
        parts = (protocol, question_set, f"of {world}")
        words = " ".join(part for part in parts if part)
        why = f"It does not answer {words}{more}."
    if not why and not is_complete:
        why = "A world has no score."
    if not why and CONTAMINATED in statuses:
        why = "Its training showed what is held out."
    return BoardRow(
        entrant=entrant,
        mark=entrant.marks[form],
        worlds=of_worlds,
        mean=mean_over_worlds(scores) if is_complete else None,
        rank=None,
        why_unranked=why,
        training=", ".join(statuses),
    )


def _score_model(name: str, runs: Sequence[CheckedRun], counted: set[QuestionKey]) -> WorldOfModel:
    """Score a model in a world, on the questions that count."""
    # A world may be asked in several runs, each with protocols of its own.
    results_of: dict[tuple[str, tuple[str, ...]], list[Results]] = {}
    described = []
    for run in runs:
        if run.results is None:
            if (run.world_name, run.question_set, DESCRIBE) in counted:
                described.append(score_descriptions(run.described).all_questions)
            continue
        key = (run.question_set, tuple(run.run.record["protocols"]))
        results_of.setdefault(key, []).append({**run.results, "model": name})
    entries = []
    counted_entries = []
    for (question_set, _), results in results_of.items():
        pooled = pool_runs(results)
        if len(pooled) > 1:
            raise UserError(
                f"{name} has {len(pooled)} kinds of runs of {runs[0].world_name}, which differ in "
                f"more than turn and training; submit one kind."
            )
        entry = {**pooled[0], "model": name}
        entries.append(entry)
        rows = []
        for row in entry["rows"]:
            question = (runs[0].world_name, question_set, row["protocol"])
            if question in counted:
                rows.append(row)
        counted_entries.append({**entry, "rows": rows})
    is_held_out = any(entry["held_out"] for entry in entries)
    scored = score_world(counted_entries, is_trained=is_held_out)
    score = scored.unseen if is_held_out else scored.all_questions
    # Several trainings that describe one world count equally.
    return WorldOfModel(
        entries=tuple(entries),
        score=mean_within([score, *described]) if described else score,
        is_unseen=is_held_out,
    )


def _with_ranks(rows: Sequence[BoardRow]) -> list[BoardRow]:
    """The rows in order, with ranks; equal means share a rank."""

    def order(row: BoardRow) -> tuple[bool, float]:
        return bool(row.why_unranked), 0.0 if row.mean is None else -row.mean.value

    ordered = sorted(rows, key=order)
    means = [row.mean for row in ordered if not row.why_unranked]
    values = [mean.value for mean in means if mean is not None]
    ranked = []
    for row in ordered:
        rank = None
        if not row.why_unranked and row.mean is not None:
            rank = 1 + values.index(row.mean.value)
        ranked.append(replace(row, rank=rank))
    return ranked
