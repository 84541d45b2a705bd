"""Names of tools whose runs are read, where other code asks for one of them."""

#: The tool of a run that names no other.
LM_EVAL = "lm-eval"
#: Tables, of which the user names the columns.
TABLE = "table"
