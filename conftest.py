"""Everything shown in docstrings and documents is executed by the tests."""

from sybil import Sybil
from sybil.parsers.markdown import PythonCodeBlockParser, SkipParser
from sybil.parsers.rest import DocTestParser

_documents = Sybil(parsers=[PythonCodeBlockParser(), SkipParser()], patterns=["*.md"])
_docstrings = Sybil(
    parsers=[DocTestParser()],
    patterns=["src/szoht/*.py", "src/szoht/**/*.py"],
)

pytest_collect_file = (_documents + _docstrings).pytest()
