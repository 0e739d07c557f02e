"""The symbolic domain: values with sources, guards, effects, breaks, and the segments of a compiled function."""
