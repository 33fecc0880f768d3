"""The torch backend of Espalier: one process that holds a model and answers requests to train it (`python -m
espalier_trainer`)."""

__version__ = "0.1.0"

# Raised when a frame or a request changes its meaning; both sides refuse another one at the handshake.
PROTOCOL = 1
