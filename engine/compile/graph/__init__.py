"""Captured graphs: nodes, printing as valid Python, running, and passes that need no shapes."""
