"""Taking in conversations that were recorded elsewhere: files read, formats understood, a store grown.

`read_messages` is for programs, `read_transcripts` streams a file of many conversations, `renamed` gives the
only one of a file another id. `import_transcript` records one so that importing it again changes nothing, and
`import_sound` the same without the messages that cannot be kept.
"""

from turnledger.importing.files import read_transcripts
from turnledger.importing.formats import ALIASES, FORMATS, guessed_format
from turnledger.importing.messages import read_messages
from turnledger.importing.recording import Imported, import_sound, import_transcript
from turnledger.importing.renaming import renamed
from turnledger.importing.transcripts import BadLine, Transcript

__all__ = [
    "ALIASES",
    "FORMATS",
    "BadLine",
    "Imported",
    "Transcript",
    "guessed_format",
    "import_sound",
    "import_transcript",
    "read_messages",
    "read_transcripts",
    "renamed",
]
