"""`pytest testsuite` runs the dg- programs below testsuite/gompy, by the plugin that users have too."""

from gompy.dg.collector import pytest_addoption, pytest_collect_file  # noqa: F401
