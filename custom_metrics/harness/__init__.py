"""What task YAMLs name with `!function`: filters, `process_results` functions and aggregations of lm-eval."""
