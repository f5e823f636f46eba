pytest_plugins = ["gompy.dg.collector"]
