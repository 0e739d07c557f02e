"""The command palette: every action of the table, found by name."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import TYPE_CHECKING

from textual.command import DiscoveryHit, Hit, Hits, Provider

from .actions import ACTIONS, MODES, Action, key_text

if TYPE_CHECKING:
    from .screen import NotebookScreen

__all__ = ["ActionProvider"]


class ActionProvider(Provider):
    """Offers the actions of the notebook that is open."""

    def _run(self, action: Action) -> Callable[[], object]:
        screen: NotebookScreen = self.screen  # type: ignore[assignment]
        return partial(screen.act, action.name)

    def _help(self, action: Action) -> str:
        keymap = self.screen.keymap  # type: ignore[attr-defined]
        keys = next((k for mode in MODES if (k := key_text(action, mode, keymap))), "")
        return f"{keys}: {action.help}" if keys else action.help

    async def discover(self) -> Hits:
        for action in ACTIONS:
            yield DiscoveryHit(action.label, self._run(action), help=self._help(action))

    async def search(self, query: str) -> Hits:
        matcher = self.matcher(query)
        words = query.lower().split()
        for action in ACTIONS:
            # Letters of a name may be left out; of a sentence, in which any letters can be found, whole words count.
            score = matcher.match(action.label)
            if not score and all(word in action.help.lower() for word in words):
                score = 0.1
            if score > 0:
                yield Hit(score, matcher.highlight(action.label), self._run(action), help=self._help(action))
