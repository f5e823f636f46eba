"""In a client's own Python: run a module of its tests, write a line of JSON for each result at once.

    results.py MODULE FILE

A line has the test's name, PASS, FAIL or SKIP, and why.  What is written stands when the process is ended from outside.
"""

import json
import sys
import unittest

LONGEST = 400
"""Of a reason, in characters."""


class Lines(unittest.TestResult):
    """Writes each result to a file.  A test with subtests that fail is told once."""

    def __init__(self, file):
        super().__init__()
        self.file = file
        self.told = False

    def tell(self, test, status, reason=""):
        """Write one line, unless this test has one already."""
        if not self.told:
            self.told = True
            print(json.dumps({"name": test.id(), "status": status, "reason": reason}), file=self.file, flush=True)

    def startTest(self, test):
        super().startTest(test)
        self.told = False
        print(json.dumps({"name": test.id(), "status": "BEGUN", "reason": ""}), file=self.file, flush=True)

    def bad(self, test, error):
        """A failure or an error, with the exception's text in one line."""
        self.tell(test, "FAIL", f"{error[0].__name__}: {' '.join(str(error[1]).split())[:LONGEST]}")

    def addError(self, test, error):
        super().addError(test, error)
        if not hasattr(test, "_testMethodName"):  # a class or a module that could not be set up
            self.told = False
        self.bad(test, error)

    def addFailure(self, test, error):
        super().addFailure(test, error)
        self.bad(test, error)

    def addSubTest(self, test, subtest, error):
        super().addSubTest(test, subtest, error)
        if error is not None:
            self.bad(test, error)

    def addSkip(self, test, reason):
        super().addSkip(test, reason)
        if not hasattr(test, "_testMethodName"):
            self.told = False
        self.tell(test, "SKIP", reason)

    def addExpectedFailure(self, test, error):
        super().addExpectedFailure(test, error)
        self.tell(test, "PASS", "fails as its authors expect")

    def addUnexpectedSuccess(self, test):
        super().addUnexpectedSuccess(test)
        self.tell(test, "FAIL", "passes, against what its authors expect")

    def addSuccess(self, test):
        super().addSuccess(test)
        self.tell(test, "PASS")


def main():
    """Status 0 when all tests were run, whatever came of them."""
    module, path = sys.argv[1:]
    sys.path[0] = ""
    with open(path, "w") as file:
        unittest.defaultTestLoader.loadTestsFromName(module).run(Lines(file))


if __name__ == "__main__":
    main()
