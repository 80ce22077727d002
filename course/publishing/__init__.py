"""What is made of the sources: stubs, notebooks, figures, the instrument and the website."""

import sys

# with nbformat comes jsonschema, which does without this or takes two seconds to import it
sys.modules.setdefault("rfc3987_syntax", None)
