"""dg- programs without DejaGnu: directives, their meaning, compilation, run, judgement; ``collector`` is for pytest.

Pure parts: ``tcl``, ``directives``, ``selectors``, ``plan``, ``messages``, ``explain``; ``targets``, ``scans``,
``runner`` and ``collector`` start processes or read files.  The behaviour is that of GCC 12's
``gcc/testsuite/lib/*.exp`` over DejaGnu 1.6.3's ``dg.exp``.  Nothing that compiles, links or runs a program imports
this package.
"""
