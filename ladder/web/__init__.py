"""Serve a ladder's pages: its views as HTML and JSON for each viewer, and forms that call what its commands call.

Routes are by noun, each a module with its template in `templates/`. This package must hold no SQL, and no rule about
who may see or do what: `ladder.permissions` has these, and what a page draws is a value that was made for its viewer.
"""

from ladder.web.app import ROUTERS, make_app
from ladder.web.downloads import list_document_files
from ladder.web.server import ServerAddress, serve_web
from ladder.web.static_export import export_static_site
