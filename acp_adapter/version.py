"""The version of this program, where both the package's metadata and the handshake read it."""

__version__ = "0.1.0"
