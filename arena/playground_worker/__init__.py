"""Play and try programs in the browser: the Python that the worker of the playground's page runs.

The modules import only the standard library and packages that do the same, so that a browser can load them.
"""
