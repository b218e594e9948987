"""Dies of a syntax error at the start: traceback on stderr, exit code 1. A string hides the error from linters."""

exec("def choose(request:\n    return 0\n")
