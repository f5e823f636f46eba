"""Devices served to other machines (docs/cluster.md)."""
