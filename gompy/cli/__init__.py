"""gompy inspect, config, doctor, accel: the command line tools."""
