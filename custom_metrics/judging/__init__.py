"""The meaning of a judge's words: ratings and preferences, and how far judges agree."""
