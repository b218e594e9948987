"""Play Coup and write a bot in the browser, without a server: Python runs in a worker of the page.

The modules here that the worker runs import only the standard library and packages that do the same, so that a browser
can load them. `build.py` makes the folder of pages and runs on a developer's machine.
"""
