"""eval_config.yaml -> Config: every mistake told at once, with file, line, key and what is allowed."""
