"""The loop-level form that every printer prints: index arithmetic, scalar expressions, statements."""
