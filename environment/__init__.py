"""Pinned package sets, the installer, and the builders of the demo and test models."""
