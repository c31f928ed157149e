"""The schedule file: reading, validating, refusing. Its entrances stand in load.py."""
