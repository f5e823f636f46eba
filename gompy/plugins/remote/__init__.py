"""Devices of other machines: the plugin, and the worker that serves one (docs/cluster.md)."""
