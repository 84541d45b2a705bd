"""The parts of `evalprep judge`: its arguments, and what it prints."""
