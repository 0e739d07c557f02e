"""Keys that are handled where they arrive, in the order in which they were pressed.

Textual lets a key bubble up to the app, which then looks for bindings; and it hands the next key on before the last one
has had its effect.  With fast hands, a slow line or a key macro, letters could so become commands and the other way
round.  Widgets with this mixin run their own bindings at once, and `Serial` makes the app wait for each key.
"""

from __future__ import annotations

import asyncio

from textual import events
from textual.app import App
from textual.widget import Widget

__all__ = ["DirectKeys", "Serial"]

_PATIENCE = 0.5
"""Seconds after which the app goes on although the last key is still being handled."""


class DirectKeys(Widget):
    """A mixin: `run_own_binding` does what a binding of the widget itself would do."""

    async def run_own_binding(self, event: events.Key) -> bool:
        """Run the action that one of the widget's own bindings gives the key; False where none does."""
        for binding in self._bindings.key_to_bindings.get(event.key, ()):
            if await self.app.run_action(binding.action, self):
                return True
        return False


class Serial(App[int]):
    """An app that gives out the next key only when the last one has been handled."""

    async def on_event(self, event: events.Event) -> None:
        target: Widget | None = None
        if isinstance(event, events.Key) and not event.is_forwarded:
            target = self.focused or self.screen
        await super().on_event(event)
        if target is None or not target.is_running:
            return
        handled = asyncio.Event()
        if target.post_message(events.Callback(callback=handled.set)):
            try:
                await asyncio.wait_for(handled.wait(), _PATIENCE)
            except TimeoutError:
                pass
