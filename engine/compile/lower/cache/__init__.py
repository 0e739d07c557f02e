"""Compiled objects and measured choices on disk."""
