"""One module per verb of the `evalprep` command, each with `configure(parser)` and `main(args) -> int`."""
