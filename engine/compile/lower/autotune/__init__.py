"""Choices that are measured."""
