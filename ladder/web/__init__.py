"""A ladder's pages: what its views tell, drawn for whoever asks, and forms that call what its commands call.

Routes are by noun, each a module with its template in `templates/`. Must hold no SQL, and no rule about who may see or
do what: `ladder.access` has these, and what a page draws is a value that was made for its viewer.
"""

from ladder.web.app import make_app
from ladder.web.serve import Address, serve_pages
from ladder.web.shipped import document_files
from ladder.web.site import write_site
