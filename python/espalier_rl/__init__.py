"""Espalier for Python: `espalier_rl.trainer` is the torch backend (extra `train`)."""

__version__ = "0.2.0"
