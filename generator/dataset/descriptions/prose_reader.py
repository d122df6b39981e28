"""Reads a description in prose, sentence by sentence, by a declared grammar.

The grammar (docs/descriptions.md, "Prose") is wider than that of captions. In it, capitals are
rules, `[ ]` is optional and `*` repeats:

    SENTENCE  = CLAUSE (SEPARATOR CLAUSE)*
    CLAUSE    = [OPENING] PHRASE [PREDICATES]            "there is a red cube", "the cube is red"
              | RELATION TARGET (is | are) PHRASE        "behind it is a sphere"
              | KIND : VALUE                             "color: red"
    PHRASE    = [ARTICLE | NUMBER | ORDINAL] VALUES NOUN AFTER*
    AFTER     = made of VALUE | with a VALUE finish | that is PREDICATES | , VALUES | (VALUES)
              | RELATION TARGET
    PREDICATES= PREDICATE ((, | and) PREDICATE)*
    PREDICATE = VALUES | made of VALUE | a PHRASE | RELATION TARGET | has a VALUE color
    TARGET    = PHRASE | it

Words of place and scenery ("in the background", "on a plain floor") may stand between these and
say nothing that is judged. A sentence with any other word is unread as a whole, and so is one whose
pronoun or definite phrase may mean several objects. The parser is deterministic: it looks ahead
only by tables that are filled once a sentence, so its time is linear in the length of the answer.
"""

from collections.abc import Sequence

from .description import Description, Span, UnreadPart
from .drafts import Drafts, UnreadError
from .lexicon import AMBIGUOUS, UNKNOWN, Lexicon, Term
from .phrases import PhraseParser
from .sentences import MOST_PROSE, Sentence, split_sentences, terms_of

_NEVER_READ = {
    "hedge": "a hedge",
    "not": "a denial",
    UNKNOWN: "an unknown word",
    AMBIGUOUS: "a word with two meanings",
}
"""Classes of terms that make their sentence unread, and why."""
_PLURAL_VERBS = ("are", "stand", "sit", "lie", "rest", "have")
_SINGULAR_VERBS = ("is", "stands", "sits", "lies", "rests", "has")


def read_prose(answer: str, span: Span, lexicon: Lexicon) -> Description:
    """Read the sentences of a part of an answer.

    Args:
        answer: the whole answer.
        span: the part without reasoning.
        lexicon: of the image's world.

    Returns:
        The description, with a part for each sentence that was not read.
    """
    start, end = span
    last = min(end, start + MOST_PROSE)
    drafts = Drafts(lexicon.vocabulary.category)
    unread: list[UnreadPart] = []
    for sentence in split_sentences(answer, (start, last)):
        try:
            unread += _read_sentence(sentence, answer, drafts=drafts, lexicon=lexicon)
            drafts.keep()
        except UnreadError as error:
            drafts.roll_back()
            unread.append(UnreadPart(*sentence.span, str(error)))
    if last < end:
        unread.append(UnreadPart(last, end, "beyond the longest description"))
    objects, relations = drafts.finished()
    return Description(objects, relations, tuple(unread))


def _read_sentence(
    sentence: Sentence, answer: str, *, drafts: Drafts, lexicon: Lexicon
) -> list[UnreadPart]:
    """Read a sentence into the drafts. Returns the relations in it that are not judged."""
    if sentence.is_question:
        raise UnreadError("a question")
    # A hedge or an unknown word may change what any other word means, so nothing is read of it.
    terms = terms_of(sentence, lexicon)
    for term in terms:
        if term.kind in _NEVER_READ:
            raise UnreadError(f"{_NEVER_READ[term.kind]}: '{answer[term.start : term.end]:.40}'")
    parser = ClauseParser(terms, answer, drafts)
    parser.read()
    return parser.unjudged


class ClauseParser(PhraseParser):
    """Reads the clauses of a sentence; phrases are read by its base class."""

    def __init__(self, terms: Sequence[Term], answer: str, drafts: Drafts):
        super().__init__(terms, answer, drafts)
        self._introduces = False
        """Whether the sentence has "there is", "I see" or "the image shows"."""
        self._coordinated: list[int] = []
        """The objects of the phrases in a row: of "a cube and a cone are red", both."""

    def read(self) -> None:
        """Read the whole sentence.

        Raises:
            UnreadError: it does not follow the grammar.
        """
        # A header may stand only at the start of a line.
        self._skip_header()
        # A list needs no separator before its first phrase, and one before each other.
        is_separated = True
        while not self.at_end:
            if self._skip_separators():
                is_separated = True
                continue
            if not is_separated:
                raise self.unexpected()
            is_separated = self._read_clause()

    def _skip_header(self) -> None:
        """Skip a header such as "Object 2:" or "First object:", whose lines "Color: red" may
        follow; or "First,"."""
        kinds = (self.kind, self.kind_after(1))
        is_header = kinds in (("generic", "number"), ("ordinal", "generic"))
        if is_header and self.kind_after(2) in ("colon", "end"):
            self.position += 2
            self.drafts.open = None
            self.drafts.opens_object = True
        elif kinds == ("ordinal", "comma"):
            self.position += 2

    def _skip_separators(self) -> bool:
        """Skip one word that separates or introduces phrases. Returns whether there was one."""
        if self.kind in ("comma", "and", "while", "filler", "intro", "colon"):
            self._introduces = self._introduces or self.kind == "intro"
            self.position += 1
            return True
        if self.kind == "viewer":
            # "I can clearly see"
            self.position += 1
            self.skip("filler")
            if self.kind != "see":
                raise self.unexpected()
            self.skip("see", "filler")
            self._introduces = True
            return True
        if self.kind == "with" and not self.scenery_end():
            # "a cube with a sphere behind it" names a second object.
            self.position += 1
            return True
        if not self.skip_place():
            return False
        # "On the left is a red cube."
        if self.skip("be", "stand"):
            self._introduces = True
        return True

    def _read_clause(self) -> bool:
        """Read one clause. Returns whether a phrase may follow without a separator."""
        if self.kind == "there":
            self._read_existence()
            return True
        if self.kind == "no":
            self._read_denial()
            return False
        if self.kind in ("relation", "relation_of_it"):
            self._read_inversion()
            return False
        is_key = self.kind in ("kind", "generic") and self.kind_after(1) == "colon"
        if is_key:
            self._read_key()
            return False
        if self.is_kind_word() or (self.kind == "the" and self.is_kind_word(1)):
            self._read_kind_of()
            return False
        if self.kind == "its":
            self._read_its_kind()
            return False
        subjects = self.read_phrase()
        self._coordinated += subjects
        if not subjects and self.kind in ("be", "stand"):
            # "The objects are a cube and a cone."
            self.skip("be", "stand", "filler")
            self._introduces = True
            return True
        if self.kind == "be" and self.is_kind_word(1) and self.word() == "'s":
            # "the cube's color is red"
            self.position += 1
            self._read_kind_is(subjects)
        elif self.kind in ("be", "stand", "has"):
            self.read_predicates(self._subjects_of_verb(subjects))
            self._coordinated = []
        elif self.kind == "comma" and self.kind_after(1) in ("be", "stand"):
            # "A cube, large and red, stands behind a sphere."
            self.position += 1
            self.read_predicates(self._subjects_of_verb(subjects))
            self._coordinated = []
        return False

    def _subjects_of_verb(self, subjects: list[int]) -> list[int]:
        """The subjects of the verb that is the next term, by its number: one object, or all of the
        phrases in a row. "Two cubes, one red and one blue, are …" speaks of both cubes."""
        if self.word() not in _PLURAL_VERBS:
            if len(subjects) > 1 and self.word() in _SINGULAR_VERBS:
                raise UnreadError("a verb whose number does not fit")
            return subjects
        # "There is a cube and two cones are red" speaks of the cones alone.
        together = list(dict.fromkeys(self._coordinated))
        if len(together) < 2 or self._introduces:
            together = subjects
        if len(together) < 2:
            raise UnreadError("a verb whose number does not fit")
        return together

    def _read_existence(self) -> None:
        """Read "there is", and the denial of other objects: "there are no other objects"."""
        self.position += 1
        self.skip("filler")
        if self.kind not in ("be", "stand"):
            raise self.unexpected()
        self.skip("be", "stand", "filler")
        self._introduces = True
        if self.kind == "no":
            self._read_denial()

    def _read_denial(self) -> None:
        """Read "no other objects (are visible)", which names none."""
        self.position += 1
        is_of_others = self.skip("other", "filler")
        if not is_of_others or self.kind not in ("generic", "generics"):
            raise UnreadError("a denial")
        self.position += 1
        self.skip("be", "stand")

    def _read_inversion(self) -> None:
        """Read "behind the cube is a sphere": the relation comes before its subject."""
        relation, targets = self.read_relation([])
        self._coordinated = []
        while self.kind == "comma" or self.skip_place():
            self.skip("comma")
        # "Behind it, there is a cone" says the verb before the subject.
        if self.kind == "there":
            self.position += 1
        names_several = self.kind == "be" and self.word() == "are"
        # After "there is a cube and", "behind it a sphere" needs no verb.
        has_verb = self.skip("filler", "be", "stand") or self._introduces
        subjects = self.read_phrase()
        if not has_verb and self.kind in ("be", "stand"):
            # "To the left of the cube, a sphere stands."
            has_verb = self.skip("be", "stand")
        if not has_verb:
            raise self.unexpected()
        self.add_relation(subjects, relation, targets)
        # "Behind it are a cube and a cone": both are behind it.
        while names_several and self.kind in ("comma", "and"):
            self.skip("comma", "and")
            subjects = self.read_phrase()
            self.add_relation(subjects, relation, targets)

    def _read_key(self) -> None:
        """A line such as "Color: red" or "Shape: cube" about the open object."""
        key = self.next()
        self.position += 1
        term = self.next()
        # Only the line of the category begins an object by itself; a value needs a header or an
        # open object.
        is_category = key.kind == "generic"
        if is_category and term.kind == "noun":
            self._name_open_object(term)
        elif not is_category and term.kind in ("value", "after"):
            if self.drafts.open is None and not self.drafts.opens_object:
                raise UnreadError("a value of no object")
            if self.drafts.open is None:
                self.drafts.open = self.drafts.add(None)
            kind, value = term.meaning
            if kind != key.meaning:
                raise UnreadError("a value of another kind")
            self.drafts.set_value(self.drafts.open, kind, value=value, span=self.span_of(term))
        else:
            raise self.unexpected()
        self.drafts.opens_object = False

    def _name_open_object(self, noun: Term) -> None:
        """Give the open object its category; open a new object if there is none that lacks one."""
        span = self.span_of(noun)
        open_object = self.drafts.open
        if open_object is not None and self.drafts.objects[open_object].category is None:
            self.drafts.name_category(open_object, noun.meaning, span)
        else:
            self.drafts.open = self.drafts.add(noun.meaning, span)

    def _read_kind_of(self) -> None:
        """Read "the color of the cube is red"."""
        self.skip("the")
        self.position += 1
        if self.kind != "of":
            raise self.unexpected()
        self.position += 1
        subjects = self.read_phrase(inner=True)
        self._expect("be")
        self.read_values(subjects)

    def _read_its_kind(self) -> None:
        """Read "its color is red"."""
        self.position += 1
        self._read_kind_is([self.resolve_it()])

    def _read_kind_is(self, subjects: Sequence[int]) -> None:
        if not self.is_kind_word():
            raise self.unexpected()
        self.position += 1
        self._expect("be")
        self.read_values(subjects)

    def _expect(self, kind: str) -> None:
        if self.kind != kind:
            raise self.unexpected()
        self.position += 1
