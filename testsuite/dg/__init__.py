"""GCC's run tests without DejaGnu: the dg- directives, their meaning, the runs and the report.

The pure parts are ``tcl``, ``directives``, ``selectors``, ``plan``, ``messages``, ``report`` and ``expected``;
``targets``, ``scans``, ``runner`` and ``source`` start processes or read files.  The behaviour is that of GCC 12's
``gcc/testsuite/lib/*.exp`` over DejaGnu 1.6.3's ``dg.exp``.
"""
