"""Importers: schedule files from what people already have. Their entrance is convert.py."""
