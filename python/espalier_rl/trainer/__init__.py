"""The torch backend of Espalier: one process that holds a model and answers requests to train it (`python -m
espalier_rl.trainer`)."""

from espalier_rl import __version__ as __version__

# Raised when a frame or a request changes its meaning; both sides refuse another one at the handshake.
PROTOCOL = 1
