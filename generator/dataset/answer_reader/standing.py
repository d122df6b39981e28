"""Keep the statements of an answer that still stand."""

HEDGED = 1
"""How explicitly a clause states a label: "it could be B". A more explicit statement beats a less
explicit one."""
AFFIRMED = 2
""""B matches", "so B"."""
LED = 3
""""B." at the start of a line with more text. Several labels that lead are a list and state
nothing."""
ANSWERED = 4
""""B" alone, "Answer: B", "the correct caption is B"."""
FINAL = 5
""""Final answer: B", \\boxed{B}, <answer>B</answer>."""

CONTRAST = 1
"""How strongly a clause turns away from what was stated before it: "however". Only an equally
explicit statement replaces the earlier one."""
DOUBT = 2
""""Actually", "wait": any later statement replaces the earlier one."""
RETRACTION = 3
""""I was wrong": the earlier statement no longer stands, even if nothing follows."""

SEVERAL = -1
"""The label of a statement that names several options, none, or one that does not exist."""


class StandingStatements:
    """The statements of an answer that still stand, by how explicit they are.

    Example:
        >>> statements = StandingStatements()
        >>> statements.state(0, ANSWERED)
        >>> statements.turn(DOUBT)
        >>> statements.state(1, AFFIRMED)
        >>> statements.answer()
        1
    """

    def __init__(self) -> None:
        self._labels: dict[int, set[int]] = {}
        """The labels that are stated as explicitly as the key says."""
        self._denied: set[int] = set()
        self._turned = 0
        """CONTRAST or DOUBT since the last statement, else 0."""
        self.has_doubts = False
        """Whether the answer has doubted or taken back anything."""
        self._explains = False
        """Whether the answer explains an explicit statement by now."""

    @property
    def explicit(self) -> int:
        """How explicit the most explicit standing statement is.

        Returns:
            HEDGED to FINAL, or 0 if no statement stands.
        """
        return max(self._labels, default=0)

    def state(self, label: int, explicit: int) -> None:
        """Take a statement.

        Args:
            label: Index of the stated label, or SEVERAL.
            explicit: How explicit the statement is, HEDGED to FINAL.
        """
        doubt_replaces = self._turned == DOUBT and explicit > HEDGED
        # "A or B, but more likely B" replaces a statement of several labels in any case.
        only_several = all(labels == {SEVERAL} for labels in self._labels.values())
        least_explicit = AFFIRMED if only_several else max(self.explicit, AFFIRMED)
        contrast_replaces = self._turned == CONTRAST and explicit >= least_explicit
        if doubt_replaces or contrast_replaces:
            self._forget()
        self._turned = 0
        # An explanation names options without choosing them; only a final answer changes the
        # choice.
        if self._explains and explicit < FINAL:
            return
        if explicit >= ANSWERED:
            self._denied.discard(label)
        self._labels.setdefault(explicit, set()).add(label)

    def deny(self, label: int, *, strictly: bool) -> None:
        """Take a denial of a label.

        Args:
            label: Index of the label.
            strictly: Whether the denial also ends explicit statements of the label, as "A is wrong"
                does.
        """
        self._denied.add(label)
        if not strictly:
            return
        for explicit, labels in list(self._labels.items()):
            labels.discard(label)
            if not labels:
                del self._labels[explicit]

    def is_denied(self, label: int) -> bool:
        """Return whether a label was denied.

        Args:
            label: Index of the label.

        Returns:
            True if it was, and no later explicit statement named it.
        """
        return label in self._denied

    def turn(self, strength: int) -> None:
        """Take a turn away from what was stated.

        Args:
            strength: CONTRAST, DOUBT or RETRACTION; 0 for none.
        """
        self.has_doubts = self.has_doubts or strength >= DOUBT
        if strength == RETRACTION:
            self._forget()
        self._turned = max(self._turned, strength) if self._labels else 0

    def explain(self) -> None:
        """Ignore later statements if an explicit one stands: they explain it."""
        self._explains = self._explains or self.explicit >= LED

    def answer(self) -> int | None:
        """Return the label that the most explicit statements agree on.

        Returns:
            Its index; None if the statements differ or there are none.
        """
        for explicit in sorted(self._labels, reverse=True):
            labels = self._labels[explicit]
            # An explicit answer outweighs an earlier denial; hints at a denied label do not count.
            if explicit < ANSWERED:
                labels = labels - self._denied
            is_list_of_options = explicit == LED and len(labels) > 1
            if is_list_of_options or not labels:
                continue
            if len(labels) > 1 or SEVERAL in labels:
                return None
            return next(iter(labels))
        return None

    def _forget(self) -> None:
        self._labels.clear()
        self._denied.clear()
        self._explains = False
