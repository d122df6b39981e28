"""The data of the gallery of descriptions: the image with its boxes, and the words of each answer
with the verdict of every atom.

Prose is cut into segments by the places of its atoms. JSON has no places, so each object that it
names is written as a phrase of the world's words.
"""

from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any

from generator.base.errors import visible
from generator.dataset.descriptions.judging import Verdict
from generator.dataset.descriptions.truth import ImageTruth
from generator.dataset.descriptions.vocabulary import Vocabulary
from generator.dataset.reader import World

RIGHT, EXCHANGED, INVENTED, UNDECIDED, UNREAD = (
    "right",
    "exchanged",
    "invented",
    "undecided",
    "unread",
)
"""The colours of a page."""
COLOUR_OF: Mapping[str, str] = {
    Verdict.RIGHT: RIGHT,
    Verdict.EXCHANGED: EXCHANGED,
    Verdict.REVERSED: EXCHANGED,
    Verdict.INVENTED: INVENTED,
    Verdict.UNDECIDED: UNDECIDED,
    Verdict.UNMATCHED: UNDECIDED,
}
"""The colour of each verdict. A reversed relation has the right words for the wrong objects, as an
exchanged value has. A value of an object that is not there is not judged."""
_WORST_FIRST = (INVENTED, EXCHANGED, UNDECIDED, RIGHT)
"""Which colour the words of several atoms have, such as "red" in "two red cubes"."""
_MOST_ANSWER = 20_000
"""Most characters of an answer that a page shows: with a few longer ones it opens slowly."""
_MOST_PHRASES = 100
"""Most objects and relations of a JSON answer that a page shows as phrases."""
Line = Mapping[str, Any]
"""A line of descriptions.jsonl (evaluator.runs.described.ImageLine)."""
Segment = dict[str, Any]
"""Part of a description: `text`; `colour`, "" without an atom; `objects`, numbers of objects of the
image that it speaks of; `why`, its verdict in words; `noun`, whether to print the numbers."""


def image_data(truth: ImageTruth, world: World) -> dict[str, Any]:
    """Collect what the gallery shows of an image itself.

    Args:
        truth: The record of the image.
        world: Its world.

    Returns:
        A dictionary for JSON: the scene, its split, counts, and objects. Boxes are left, top, width
        and height as shares of the image.
    """
    width, height = world.image(truth.scene_id).size
    objects = []
    for actual in truth.objects:
        box = None
        if actual.box is not None:
            left, top, right, bottom = actual.box
            # In shares, because the page shows the image at several sizes.
            box = [left / width, top / height]
            box += [(right - left) / width, (bottom - top) / height]
        name = noun_phrase(actual.category, actual.attributes, truth.vocabulary)
        objects.append({"name": visible(name), "box": box})
    return {
        "scene": truth.scene_id,
        "split": truth.split or "",
        "objects": objects,
        "interference": truth.interference,
        "load": truth.load,
    }


def noun_phrase(category: str | None, values: Mapping[str, str], vocabulary: Vocabulary) -> str:
    """Name an object by its category and its judged values.

    Args:
        category: The category; None for an object without one.
        values: Its values by attribute kind.
        vocabulary: The words of the world.

    Returns:
        Such as "large red cube".
    """
    words = []
    for kind in vocabulary.judged_kinds:
        if kind in values:
            words.append(value_word(kind, values[kind], vocabulary))
    words.append(category_word(category, vocabulary))
    return " ".join(words)


def value_word(kind: str, value: str, vocabulary: Vocabulary) -> str:
    """Return the world's word for a value.

    Args:
        kind: The attribute kind.
        value: The value.
        vocabulary: The words of the world.

    Returns:
        The word; the value itself if the world has none.
    """
    words_of_kind = vocabulary.values.get(kind, {})
    terms = words_of_kind.get(value, (value,))
    return terms[0]


def category_word(category: str | None, vocabulary: Vocabulary) -> str:
    """Return the world's word for a category.

    Args:
        category: The category; None for an object without one.
        vocabulary: The words of the world.

    Returns:
        The word; the category itself if the world has none.
    """
    if category is None:
        return vocabulary.generic
    terms = vocabulary.nouns.get(category, (category,))
    return terms[0]


def answer_data(line: Line, truth: ImageTruth) -> dict[str, Any]:
    """Collect what the gallery shows of an answer.

    Args:
        line: The line of the image.
        truth: Its record.

    Returns:
        A dictionary for JSON: `phrases`, lists of segments; `answer`, the whole answer;
        `states`, the colour of each object of the image ("missed" if it is not named); `counts`,
        the number of atoms by colour; `unread`, reasons with the words that were not read; and
        `failed`, why there is no answer ("" if there is one).
    """
    answer = line["answer"][:_MOST_ANSWER]
    # An image without an answer has no counts.
    if "counts" not in line:
        failed = visible(line["finish"])
        return {"failed": failed, "answer": visible(answer), "phrases": [], "states": []}
    atoms = line["atoms"]
    # An answer of which nothing was read is shown as it is, like prose.
    has_places = any(atom["span"] is not None for atom in atoms)
    is_prose = has_places or not (atoms or line["described"])
    phrases = _object_phrases(line, truth)
    if "reader_answer" in line:
        # What the model wrote, then what the reader made of it.
        phrases = [[_segment(answer)], *phrases]
    elif is_prose:
        phrases = [_prose_segments(answer, line, truth)]
    counts = Counter(COLOUR_OF.get(atom["verdict"], UNDECIDED) for atom in atoms)
    states = _object_states(line, truth)
    counts["missed"] = states.count("missed")
    counts[UNREAD] = len(line["unread"])
    return {
        "failed": "",
        "answer": visible(answer),
        "phrases": phrases,
        "states": states,
        "counts": dict(counts),
        "unread": _unread_reasons(line),
    }


def _object_states(line: Line, truth: ImageTruth) -> list[str]:
    """The colour of each object of the image: of its worst value; "missed" if it is not named."""
    states = ["missed"] * len(truth.objects)
    kinds = truth.vocabulary.judged_kinds
    colours_of: dict[int, list[str]] = {}
    for atom in line["atoms"]:
        if atom["kind"] in kinds:
            colour = COLOUR_OF.get(atom["verdict"], UNDECIDED)
            colours_of.setdefault(atom["objects"][0], []).append(colour)
    for index, described in enumerate(line["described"]):
        match = described["matches"]
        if match is None:
            continue
        colours = colours_of.get(index, [])
        n_values = sum(kind in truth.objects[match].attributes for kind in kinds)
        state = _worst(colours or [RIGHT])
        # An object of which a value is not said is not completely right.
        if state == RIGHT and len(colours) < n_values:
            state = UNDECIDED
        states[match] = state
    return states


def _worst(colours: Sequence[str]) -> str:
    return min(colours, key=_WORST_FIRST.index)


def _unread_reasons(line: Line) -> list[str]:
    reasons = []
    # Places are those of the text that was read: of the reader's answer, where there is one.
    text = line.get("reader_answer", line["answer"])
    for part in line["unread"][:_MOST_PHRASES]:
        words = text[part["start"] : part["end"]].strip()
        short = words if len(words) <= 80 else f"{words[:79]}…"
        reasons.append(visible(f"“{short}”: {part['reason']}"))
    return reasons


def _prose_segments(answer: str, line: Line, truth: ImageTruth) -> list[Segment]:
    """The whole answer in segments, in order. Where two parts overlap, the first has the words."""
    atoms_of_place: dict[tuple[int, int], list[Any]] = {}
    for atom in line["atoms"]:
        if atom["span"] is not None:
            atoms_of_place.setdefault(tuple(atom["span"]), []).append(atom)
    parts: list[tuple[int, int, Segment]] = []
    for (start, end), atoms in atoms_of_place.items():
        segment = _atoms_segment(answer[start:end], atoms, line=line, truth=truth)
        parts.append((start, end, segment))
    for part in line["unread"]:
        text = answer[part["start"] : part["end"]]
        segment = _segment(text, UNREAD, why=f"not read: {part['reason']}")
        parts.append((part["start"], part["end"], segment))
    # Of parts that begin at one place the longest first, which then has the words.
    parts.sort(key=lambda part: (part[0], -part[1]))

    segments = []
    place = 0
    for start, end, segment in parts:
        # Of a long answer the end is cut off, with the parts in it.
        if start < place or start >= len(answer):
            continue
        if start > place:
            segments.append(_segment(answer[place:start]))
        segments.append(segment)
        place = end
    if place < len(answer):
        segments.append(_segment(answer[place:]))
    return segments


def _object_phrases(line: Line, truth: ImageTruth) -> list[list[Segment]]:
    """Each described object and relation as a phrase, for answers without places."""
    atoms_of_object: dict[int, dict[str, Any]] = {}
    relations = []
    for atom in line["atoms"]:
        if atom["kind"] == "relation":
            relations.append(atom)
        else:
            atoms_of_object.setdefault(atom["objects"][0], {})[atom["kind"]] = atom
    phrases = []
    for index in range(len(line["described"][:_MOST_PHRASES])):
        phrases.append(_object_phrase(atoms_of_object.get(index, {}), line, truth))
    for atom in relations[:_MOST_PHRASES]:
        phrases.append(_relation_phrase(atom, line, truth))
    return phrases


def _object_phrase(atoms: Mapping[str, Any], line: Line, truth: ImageTruth) -> list[Segment]:
    """Such as "large red cube", each word with its verdict."""
    vocabulary = truth.vocabulary
    segments = []
    for kind in vocabulary.judged_kinds:
        if kind in atoms:
            word = value_word(kind, atoms[kind]["value"], vocabulary)
            segments.append(_atoms_segment(word, [atoms[kind]], line=line, truth=truth))
    noun = atoms.get(vocabulary.category)
    if noun is None:
        segments.append(_segment(vocabulary.generic))
    else:
        word = category_word(noun["value"], vocabulary)
        segments.append(_atoms_segment(word, [noun], line=line, truth=truth))
    return _spaced(segments)


def _relation_phrase(atom: Any, line: Line, truth: ImageTruth) -> list[Segment]:
    """Such as "cube left of cone"."""
    vocabulary = truth.vocabulary
    name = atom["value"]
    terms = vocabulary.relations.get(name, (name,))
    relation = _atoms_segment(terms[0], [atom], line=line, truth=truth)
    ends = []
    for index in atom["objects"]:
        described = line["described"][index]
        end = _segment(category_word(described["category"], vocabulary))
        if described["matches"] is not None:
            end |= {"objects": [described["matches"]], "noun": True}
        ends.append(end)
    return _spaced([ends[0], relation, ends[1]])


def _spaced(segments: Sequence[Segment]) -> list[Segment]:
    spaced = []
    for number, segment in enumerate(segments):
        if number:
            spaced.append(_segment(" "))
        spaced.append(segment)
    return spaced


def _segment(text: str, colour: str = "", why: str = "") -> Segment:
    return {
        "text": visible(text),
        "colour": colour,
        "objects": [],
        "why": visible(why),
        "noun": False,
    }


def _atoms_segment(text: str, atoms: Sequence[Any], *, line: Line, truth: ImageTruth) -> Segment:
    """The segment of words that one or several atoms have."""
    colours = [COLOUR_OF.get(atom["verdict"], UNDECIDED) for atom in atoms]
    reasons = dict.fromkeys(_reason(atom, line, truth) for atom in atoms)
    matches = []
    for atom in atoms:
        for index in atom["objects"]:
            match = line["described"][index]["matches"]
            if match is not None and match not in matches:
                matches.append(match)
    is_noun = atoms[0]["kind"] == truth.vocabulary.category
    return {
        **_segment(text, _worst(colours), "; ".join(reasons)),
        "objects": sorted(matches),
        "noun": is_noun,
    }


def _reason(atom: Any, line: Line, truth: ImageTruth) -> str:
    """The verdict of an atom in words, with what is true instead."""
    verdict, kind = atom["verdict"], atom["kind"]
    vocabulary = truth.vocabulary
    matches = [line["described"][index]["matches"] for index in atom["objects"]]
    if kind == "relation":
        return {
            Verdict.REVERSED: "reversed: it holds the other way round",
            Verdict.INVENTED: "invented: it holds neither way",
            Verdict.UNDECIDED: "undecided: too close to tell, so it counts neither way",
        }.get(verdict, verdict)
    if verdict == Verdict.UNMATCHED:
        return "not judged: its object is not in the image"
    if kind == vocabulary.category:
        return "right" if verdict == Verdict.RIGHT else "invented: no such object is in the image"
    if verdict in (Verdict.RIGHT, Verdict.UNDECIDED) or matches[0] is None:
        return str(verdict)
    actual = truth.objects[matches[0]]
    own_value = value_word(kind, actual.attributes[kind], vocabulary)
    is_own = f"object {matches[0] + 1} is {own_value}"
    if verdict != Verdict.EXCHANGED:
        return f"invented: {is_own}, and no object has this value"
    owners = []
    for number, other in enumerate(truth.objects, 1):
        if other.attributes.get(kind) == atom["value"]:
            owners.append(str(number))
    return f"exchanged: {is_own}; this is the value of object {', '.join(owners)}"
