"""What a judge's words say: ratings and preferences in its reply, and how far judges agree."""
