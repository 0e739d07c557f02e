"""Prepared segments: what runs on a call."""
