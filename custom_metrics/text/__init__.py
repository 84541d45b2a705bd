"""Overlap of a generated text with a reference: ROUGE, BLEU, token F1, exact match."""
