"""The objects and relations of a description while it is read, sentence by sentence.

A sentence is read whole or not at all: `roll_back` removes what an unread sentence has added.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field

from .description import (
    MOST_OBJECTS,
    DescribedObject,
    DescribedRelation,
    Span,
)

_MOST_ALIKE = 20
"""A definite phrase is looked up among at most so many objects of its category, which bounds the
time of hostile answers."""


class UnreadError(Exception):
    """A sentence that says nothing which can be read for sure."""


@dataclass
class Draft:
    """An object of which sentences may still say more."""

    category: str | None
    """Its category; None if not yet named."""
    attributes: dict[str, str] = field(default_factory=dict)
    """Its values by kind."""
    spans: dict[str, Span] = field(default_factory=dict)
    """Where they stand in the answer."""
    contradicted: set[str] = field(default_factory=set)
    """Kinds of which sentences name different values: the object has none of them."""


class Drafts:
    """All objects and relations read so far, and what pronouns refer to."""

    def __init__(self, category_word: str):
        self._category_word = category_word
        self.objects: list[Draft] = []
        """The objects in order of mention."""
        self.relations: list[DescribedRelation] = []
        """The relations in order of mention."""
        self.group: list[int] = []
        """The objects of the last plural, such as "two cubes"."""
        self.taken: set[int] = set()
        """Those of the group that "one" or "the other" has named."""
        self.mentioned: list[int] = []
        """The objects that this sentence has mentioned, each once."""
        self.mentioned_before: list[int] = []
        """The objects that the sentence before has mentioned; empty after an unread one."""
        self.open: int | None = None
        """The object to which lines such as "Color: red" belong."""
        self.opens_object = False
        """Whether the next such line begins a new object, after a header "Object 2:"."""
        self._by_category: dict[str | None, list[int]] = {}
        self._start()

    def _start(self) -> None:
        self._n_objects, self._n_relations = len(self.objects), len(self.relations)
        self._before = (list(self.group), set(self.taken), self.open)
        self._changes: list[tuple[int, str | None]] = []
        self.mentioned = []

    def keep(self) -> None:
        """End a sentence that was read.

        Raises:
            UnreadError: it has introduced an object of which it says nothing.
        """
        for draft in self.objects[self._n_objects :]:
            # Such an object could match any of the image's without saying anything.
            if draft.category is None and not draft.attributes:
                raise UnreadError("an object without a category")
        if self.mentioned:
            self.mentioned_before = self.mentioned
        self._start()

    def roll_back(self) -> None:
        """Remove what the current sentence has added."""
        # Backwards, so that a category is taken back after the values that were said with it.
        for index, kind in reversed(self._changes):
            draft = self.objects[index]
            if kind is None:
                # The sentence had named the category of an object that had none.
                self._by_category[draft.category].remove(index)
                draft.category = None
                self._by_category.setdefault(None, []).append(index)
            else:
                draft.attributes.pop(kind, None)
                draft.spans.pop(kind, None)
        for index in range(self._n_objects, len(self.objects)):
            self._by_category[self.objects[index].category].remove(index)
        del self.objects[self._n_objects :]
        del self.relations[self._n_relations :]
        self.group, self.taken, self.open = self._before
        self.mentioned_before = []
        self._start()

    def add(self, category: str | None, span: Span | None = None) -> int:
        """Add an object and mention it.

        Raises:
            UnreadError: there are too many.
        """
        # "100 cubes" in every sentence would otherwise outgrow memory.
        if len(self.objects) >= MOST_OBJECTS:
            raise UnreadError(f"more than {MOST_OBJECTS:,} objects")
        index = len(self.objects)
        draft = Draft(category)
        if span is not None and category is not None:
            draft.spans[self._category_word] = span
        self.objects.append(draft)
        self._by_category.setdefault(category, []).append(index)
        self.mention([index])
        return index

    def mention(self, indices: Iterable[int]) -> None:
        """Note that the current sentence mentions objects.

        Args:
            indices: of the objects.
        """
        for index in indices:
            if index not in self.mentioned[-_MOST_ALIKE:]:
                self.mentioned.append(index)

    def name_category(self, index: int, category: str, span: Span) -> None:
        """Say of what category an object is.

        Raises:
            UnreadError: it is known to be of another.
        """
        draft = self.objects[index]
        if draft.category == category:
            return
        if draft.category is not None:
            raise UnreadError("an object of two categories")
        self._by_category[None].remove(index)
        self._by_category.setdefault(category, []).append(index)
        draft.category = category
        draft.spans[self._category_word] = span
        # Objects of this sentence are removed as a whole; only older ones need a note of the
        # change.
        if index < self._n_objects:
            self._changes.append((index, None))

    def set_value(self, index: int, kind: str, *, value: str, span: Span) -> None:
        """Say a value of an object. A second, different value takes the first back.

        Raises:
            UnreadError: the object has another value of this kind.
        """
        draft = self.objects[index]
        known = draft.attributes.get(kind)
        if kind in draft.contradicted or (known is not None and known != value):
            # Not undone by `roll_back`: an answer that contradicts itself must not keep either
            # value.
            draft.contradicted.add(kind)
            draft.attributes.pop(kind, None)
            draft.spans.pop(kind, None)
            raise UnreadError(f"two values of one {kind}")
        if known is None:
            draft.attributes[kind] = value
            draft.spans[kind] = span
            if index < self._n_objects:
                self._changes.append((index, kind))

    def relate(
        self, subjects: Sequence[int], name: str, targets: Sequence[int], span: Span
    ) -> None:
        """Say a relation of each subject to each target.

        Raises:
            UnreadError: an object is related to itself.
        """
        for subject in subjects:
            for target in targets:
                if subject == target:
                    raise UnreadError("an object related to itself")
                self.relations.append(DescribedRelation(subject, name, target, span))

    def matching(self, category: str | None, values: dict[str, str]) -> list[int]:
        """The objects that a definite phrase may mean, in order of mention.

        Args:
            category: of the noun; None for "object", which any category fits.
            values: that the phrase names.

        Returns:
            Those that have all the values; if there are none, those that contradict no value.

        Raises:
            UnreadError: there are too many to compare.
        """
        if category is None:
            among = list(range(len(self.objects)))
        else:
            among = self._by_category.get(category, [])
        if len(among) > _MOST_ALIKE:
            raise UnreadError("one of too many objects")
        complete = []
        possible = []
        for index in among:
            own = self.objects[index].attributes
            if all(own.get(kind) == value for kind, value in values.items()):
                complete.append(index)
            elif all(own.get(kind, value) == value for kind, value in values.items()):
                possible.append(index)
        # "The red cube" may name a cube whose color was not said yet, if no cube was called red.
        return complete or possible

    def are_alike(self, indices: Sequence[int]) -> bool:
        """Return whether nothing tells some objects apart, so that any of them may be meant.

        Args:
            indices: of at least one object.

        Returns:
            True for one object, and for several of one category with equal values that no relation
            names.
        """
        first = self.objects[indices[0]]
        related = {
            end for relation in self.relations for end in (relation.subject, relation.target)
        }
        for index in indices:
            draft = self.objects[index]
            if index in related or (draft.category, draft.attributes) != (
                first.category,
                first.attributes,
            ):
                return len(indices) == 1
        return True

    def of_category(self, category: str | None) -> list[int]:
        """Return the objects of a category.

        Args:
            category: None for all objects.

        Returns:
            Their indices, in order of mention.
        """
        if category is None:
            return list(range(len(self.objects)))
        return sorted(self._by_category.get(category, ()))

    def form_group(self, indices: Sequence[int]) -> None:
        """Make a plural the group that "one" and "the other" refer to.

        Args:
            indices: of its objects.
        """
        self.group, self.taken = list(indices), set()

    def next_of_group(self) -> int | None:
        """The next object of the group that is not yet taken; None without one."""
        for index in self.group:
            if index not in self.taken:
                return index
        return None

    def finished(self) -> tuple[tuple[DescribedObject, ...], tuple[DescribedRelation, ...]]:
        """The objects and relations that were read."""
        objects = [
            DescribedObject(draft.category, draft.attributes, draft.spans) for draft in self.objects
        ]
        return tuple(objects), tuple(self.relations)
