"""From graph nodes to values: decompositions of primitives, and rewrites that are exact."""
