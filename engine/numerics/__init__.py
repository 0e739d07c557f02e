"""Special functions on numpy arrays, in double precision: what numpy itself does not have.

Nothing here knows of tensors. Each function takes a float64 array (the block-wise kernels of `blocks.py` take any float array) and
gives a fresh one; NaN goes through. The series in `coefficients.py` are the project's own, made by tests/golden/make_chebyshev.py.
"""
