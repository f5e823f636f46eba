"""gompy inspect, config, run: the command line tools."""
