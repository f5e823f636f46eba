"""GCC offloading, toolchain and runtime, on top of a stock gcc."""


class UserError(Exception):
    """What a user is told in one line, without a traceback; its text is the message.  The root of such errors."""
