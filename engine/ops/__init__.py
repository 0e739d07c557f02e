"""The operators, by families of mathematics.

`table.py` says what an entry is, `declare.py` turns declarations into functions, `families.py` lists the families;
importing
that one fills the table.  This file imports nothing, so that the table can be had without the operators.
"""
