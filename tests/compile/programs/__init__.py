"""Programs run eager and compiled; see `harness.py`."""
