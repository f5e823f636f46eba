"""Devices written in Python: derive a class from Device and name it in GOMPY_PYTHON_DEVICE (docs/plugins.md)."""

from gompy.plugins.python.device import Device, Image, Launch, Table

__all__ = ["Device", "Image", "Launch", "Table"]
