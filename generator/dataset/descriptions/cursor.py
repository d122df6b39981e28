"""The place of the parser in a sentence: the next terms, and words of place and scenery."""

from collections.abc import Sequence

from .description import Span, UnreadPart
from .drafts import Drafts, UnreadError
from .lexicon import Term
from .sentences import NOUNS, SCENERY, look_ahead

_END = Term("end", None, -1, -1)
KIND_WORDS = ("kind", "aspect", "surface")
_PLACE_OPENINGS = ("prepositions", "in", "with", "of", "relation")
_SCENERY_OPENINGS = ("a", "the", "its", "all", "scenic")


class Cursor:
    """A place in a sentence that moves forward, and looks ahead in constant time."""

    def __init__(self, terms: Sequence[Term], answer: str, drafts: Drafts):
        self.terms = terms
        self.answer = answer
        self.drafts = drafts
        self.position = 0
        """Index of the next term."""
        self.unjudged: list[UnreadPart] = []
        """Relations of this sentence that the world does not have."""
        self._ahead = look_ahead(terms)

    # The next terms

    @property
    def at_end(self) -> bool:
        """Whether the sentence has no further term."""
        return self.position >= len(self.terms)

    @property
    def kind(self) -> str:
        """The class of the next term; `end` after the last."""
        return self.kind_after(0)

    def kind_after(self, n: int) -> str:
        """Return the class of a later term.

        Args:
            n: how many places it is after the next term.

        Returns:
            Its class; `end` after the last.
        """
        place = self.position + n
        return self.terms[place].kind if place < len(self.terms) else "end"

    def next(self) -> Term:
        """Take the next term.

        Returns:
            The term; one of the class `end` after the last.
        """
        if self.at_end:
            return _END
        self.position += 1
        return self.terms[self.position - 1]

    def skip(self, *kinds: str) -> bool:
        """Skip all next terms of some classes.

        Args:
            kinds: the classes.

        Returns:
            Whether there was one.
        """
        start = self.position
        while self.kind in kinds:
            self.position += 1
        return self.position > start

    def word(self) -> str:
        """The next term as the answer writes it, in small letters."""
        term = self.terms[self.position]
        return self.answer[term.start : term.end].casefold()

    def span_of(self, term: Term) -> Span:
        """The place of a term in the answer."""
        return term.start, term.end

    def unexpected(self) -> UnreadError:
        """The error for a term that no rule allows here."""
        if self.at_end:
            return UnreadError("the sentence ends too early")
        return UnreadError(f"no rule allows '{self.word():.40}' here")

    def is_kind_word(self, n: int = 0) -> bool:
        """Whether the term n places after the next is the name of an attribute kind, or a word
        such as "finish"."""
        return self.kind_after(n) in KIND_WORDS

    def belongs_to_noun(self, n: int) -> bool:
        """Whether the run of values n terms ahead ends in a noun, to which they then belong: "red
        and small cubes". After "red, one" they do not."""
        start = min(self.position + n, len(self.terms))
        follower = self._ahead.after_values[start]
        if follower == len(self.terms):
            return False
        if self.terms[follower].kind not in (*NOUNS, "one"):
            return False
        return follower == start or self.terms[follower - 1].kind not in ("comma", "and")

    # Place and scenery

    def scenery_end(self) -> int:
        """Find the end of a phrase of scenery that begins at the next term: "on a plain floor".

        Returns:
            The index after its last term; 0 without such a phrase.
        """
        start = self.position
        opens_attribute = self.kind in ("with", "has")
        # One opening at most; a second one would belong to another phrase.
        if self.kind in _PLACE_OPENINGS:
            start += 1
        # "casting a shadow", "a plain floor"
        while start < len(self.terms) and self.terms[start].kind in _SCENERY_OPENINGS:
            start += 1
        last = self._ahead.last_scenery[start] if start < len(self.terms) else -1
        # "With a shiny surface" says a value of the object, "on a shiny surface" is scenery.
        if last < 0 or (opens_attribute and self.terms[last].kind == "surface"):
            return 0
        return last + 1

    def skip_place(self) -> bool:
        """Skip words of place and phrases of scenery.

        Returns:
            Whether there were any.
        """
        start = self.position
        while True:
            if self.kind == "place":
                self.position += 1
                continue
            end = self.scenery_end()
            if not end:
                return self.position > start
            self.position = end
            if self.terms[end - 1].kind == "container" and self.skip("of"):
                # "a row of two cubes"
                return True
            # "The background is plain": what is said of scenery is not judged.
            if self.skip("be") and not self.belongs_to_noun(0):
                self.skip("value", "scenic", "filler", *SCENERY)
