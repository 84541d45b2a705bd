"""The functions that task YAMLs name with `!function`.

Filters, `process_results` functions and aggregations of lm-eval.
"""
