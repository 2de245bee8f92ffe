"""The doctor: what a provider would refuse of a transcript, and the same transcript as it accepts it.

It works on messages as they stand in their own format, and without a store: `examine` on a list of
them, a request or a path, `examine_text` on the text of a file, `examine_database` and `fix_database` on a
client's SQLite file.
"""

from turnledger.importing.doctor.databases import examine_database, fix_database
from turnledger.importing.doctor.examining import Examined, examine_text
from turnledger.importing.doctor.findings import Finding
from turnledger.importing.doctor.sources import examine

__all__ = ["Examined", "Finding", "examine", "examine_database", "examine_text", "fix_database"]
