"""The table of actions, and what is made from it: keys, help, palette, hints."""

from __future__ import annotations

import time
from dataclasses import replace

import pytest
from textual import events
from textual._xterm_parser import XTermParser

from tapescope.app.tui import terminal_keys
from tapescope.app.tui.actions import ACTIONS, GROUPS, MODES, by_name, hints, key_text, make_keymap
from tapescope.app.tui.help import help_text
from tapescope.app.tui.keymap import PENDING, SEQUENCE_SECONDS, KeyMap, normal, shown
from tapescope.app.tui.themes import DARK, look_of


def test_every_action_is_complete():
    """A label, a sentence of help, a group, a handler; names are unique."""
    assert len(by_name) == len(ACTIONS)
    for action in ACTIONS:
        assert action.label and action.help.endswith("."), action.name
        assert action.group in GROUPS and callable(action.handler)


def test_no_two_actions_claim_a_key():
    """The map of all modes can be built, which it refuses to for a clash."""
    make_keymap()
    with pytest.raises(ValueError, match="means both"):
        KeyMap({"command": [("x", "one"), ("x", "two")]})
    with pytest.raises(ValueError, match="begins a sequence"):
        KeyMap({"command": [("d", "one"), ("d d", "two")]})


def test_everything_that_is_run_has_a_key_that_any_terminal_sends():
    """Ctrl+Enter and the like need a modern terminal: each of their actions has another key."""
    modern = ("ctrl+enter", "shift+enter", "ctrl+shift", "alt+enter")
    for action in ACTIONS:
        for mode in MODES:
            keys = action.keys_in(mode)
            if keys and any(key.startswith(modern) for key in keys):
                assert any(not key.startswith(modern) for key in keys), (action.name, mode)


def test_edit_mode_takes_no_letters_from_the_text():
    """Only keys that print nothing are bound while writing."""
    for action in ACTIONS:
        assert all(len(key) > 1 and key != "space" for key in action.keys_in("edit")), action.name


def test_sequences_need_their_second_key_in_time():
    """D D deletes; D alone, or D and much later D, does not."""
    keys = make_keymap()
    assert keys.feed("command", "d", 0.0) == PENDING and keys.begun == "d"
    assert keys.feed("command", "d", 0.5) == "delete"
    assert keys.feed("command", "d", 1.0) == PENDING
    assert keys.feed("command", "d", 1.1 + SEQUENCE_SECONDS) == PENDING
    assert keys.feed("command", "j", 2.5) == "next"
    assert keys.feed("command", "d", 3.0) == PENDING
    assert keys.feed("edit", "d", 3.1) is None


def test_keys_are_known_however_a_terminal_sends_them():
    """One spelling for the forms of the old and the new protocols."""
    assert normal("ctrl+\r") == "ctrl+enter"
    assert normal("ctrl+underscore") == normal("ctrl+slash") == "ctrl+/"
    assert normal("ctrl+shift+minus") == "ctrl+shift+-"
    assert normal("question_mark") == "?"
    assert shown("ctrl+j") == "Ctrl+J" and shown("d d") == "D D" and shown("M") == "Shift+M"


@pytest.mark.parametrize(("sequence", "key"), [("\x1b\r", "alt+enter"), ("\x1b/", "alt+slash"), ("\x1bs", "alt+s")])
def test_alt_is_heard_in_old_terminals(sequence, key):
    """Textual's parser, with our additions to its table."""
    terminal_keys.install()
    parser = XTermParser()
    heard = [event for event in parser.feed(sequence) if isinstance(event, events.Key)]
    if not heard:  # a sequence that could go on: the parser waits for more, and gives up at its next tick
        time.sleep(0.15)
        heard = [event for event in parser.tick() if isinstance(event, events.Key)]
    assert [event.key for event in heard] == [key]


async def test_a_mistake_in_a_command_does_not_end_the_app(open_app, monkeypatch):
    """An exception in one command is a sentence; the app and the document live."""
    broken = replace(by_name["save"], handler=lambda commands: 1 / 0)
    async with open_app() as user:
        monkeypatch.setitem(by_name, "save", broken)
        await user.press("ctrl+s", "b")
        assert "division by zero" in user.toasts() and len(user.sources) == 2


def test_help_lists_every_action(plain):
    """The help screen is made from the table: every label is there, with a key where it has one."""
    text = " ".join(plain(help_text(look_of(DARK, {}))).split())
    for action in ACTIONS:
        assert action.label in text, action.label
        first = next((shown(keys) for mode in MODES for keys in action.keys_in(mode)), "")
        assert first in text, action.name


def test_hints_have_keys_and_name_actions():
    """Each mode's line of hints has the ways to everything else."""
    for mode in MODES:
        names = [name for _, _, name in hints(mode)]
        assert {"palette", "help"} <= set(names), mode
        assert all(keys and label and name in by_name for keys, label, name in hints(mode))


async def test_the_palette_runs_an_action(open_app):
    """Ctrl+P, a few letters, Enter."""
    async with open_app() as user:
        await user.press("ctrl+p")
        await user.type("markdown")
        await user.sees("Make it a text cell")
        await user.press("down", "enter")
        await user.until(lambda: user.screen.notebook.cells[0].cell_type == "markdown")


async def test_the_palette_offers_every_action(open_app):
    """Nothing is reachable by key alone."""
    async with open_app() as user:
        provider = next(iter(user.screen.COMMANDS))(user.screen)
        offered = [hit.text or str(hit.display) async for hit in provider.discover()]
        assert len(offered) == len(ACTIONS)


async def test_help_opens_and_closes(open_app):
    """F1 from both modes, Esc back to where one was."""
    async with open_app() as user:
        await user.press("f1")
        await user.sees("Jupyter")
        await user.press("escape", "enter", "f1")
        await user.sees("Jupyter")
        await user.press("escape")
        assert user.screen.mode == "edit"


async def test_a_hint_can_be_clicked(open_app):
    """The line of hints answers to the mouse."""
    async with open_app() as user:
        row = user.text.split("\n")[-1]
        await user.pilot.click("#hints", offset=(row.index("Insert"), 0))
        await user.until(lambda: len(user.sources) == 2)


async def test_no_action_breaks_an_empty_notebook(open_app):
    """Every action may be called at any time; where it has nothing to do it does nothing, or says so."""
    async with open_app(None) as user:
        for action in ACTIONS:
            if action.name in ("quit", "screenshot"):  # they leave, and write a file: stories of their own
                continue
            user.screen.act(action.name)
            await user.settle(0)
            while user.app.screen is not user.screen:
                user.app.pop_screen()
                await user.settle(0)
            assert user.app._exception is None and user.sources, action.name


def test_key_text_names_the_first_key_first():
    """What the palette and the hints show is the key to learn."""
    assert key_text(by_name["run"], "command").startswith("Ctrl+J")
    assert key_text(by_name["delete"], "command") == "D D"
