from tracer import Tracer


class Mine(Tracer):
    """The tracer of examples/python_device, with no memory to give."""

    def alloc(self, device, size):
        raise ValueError("no room")
