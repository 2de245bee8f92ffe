"""Everything a caller can do wrong, one class a refusal, each also the builtin that it resembles."""


class TurnledgerError(Exception):
    """The root of every error that this package raises on purpose."""


class InvalidArgument(TurnledgerError, ValueError):
    """An option or argument has no meaning here; the message says what would have."""


class InvalidId(InvalidArgument):
    """A conversation, execution or turn id or a key is no string of 1 to 255 plain characters."""


class InvalidMessage(TurnledgerError, ValueError):
    """A message cannot be kept; nothing of its append was recorded.

    `index` is its place in the input (from 0), `reason` what is wrong with it.
    """

    def __init__(self, index: int, reason: str) -> None:
        super().__init__(f"message {index}: {reason}")
        self.index = index
        self.reason = reason


class IdempotencyConflict(TurnledgerError, ValueError):
    """The key was used before with other input: use a new key for new input."""


class VersionConflict(TurnledgerError, RuntimeError):
    """The buffer has changed since `expected_version`, or what is recorded beside it since
    `expected_records`: read it again and decide again."""


class VersionNotFound(TurnledgerError, LookupError):
    """The log does not reach that version."""

    @classmethod
    def beyond(cls, conversation_id: str, version: int, last: int) -> "VersionNotFound":
        return cls(f"conversation {conversation_id!r} has no version {version}: give one of 0 to {last}")


class ConversationNotFound(TurnledgerError, LookupError):
    """No conversation of that id has an event."""


class ConversationExists(TurnledgerError, ValueError):
    """There is a conversation of that id already: give the fork another."""


class EntryNotFound(TurnledgerError, LookupError):
    """No entry of that number is in the buffer: it has left that, or there never was one."""


class RequestNotFound(TurnledgerError, LookupError):
    """The conversation has no recorded request of that number."""


class TakeNotFound(TurnledgerError, LookupError):
    """The conversation has no take of that id."""


class TakeSettled(TurnledgerError, RuntimeError):
    """The take was already settled in another way."""


class ImportConflict(TurnledgerError, ValueError):
    """The file does not begin with what was imported before; nothing was recorded."""


class MigrationRefused(TurnledgerError, ValueError):
    """The target holds something else than the beginning of the source; nothing was copied."""


class PackageMissing(TurnledgerError, ImportError):
    """This needs a package that is not installed; the message says which extra brings it."""


class StoreBusy(TurnledgerError, TimeoutError):
    """The database stayed locked past the timeout; nothing was recorded, try again."""


class StoreUnreachable(TurnledgerError, ConnectionError):
    """The database server could not be reached within the timeout; nothing was recorded, try again."""


class OutcomeUnknown(StoreUnreachable):
    """The connection was lost while the call was recorded, and the server did not come back in time.

    It was recorded as a whole, or not at all: read the conversation again to see which. With an
    `idempotency_key` the same call can simply be made again.
    """


class StoreClosed(TurnledgerError, RuntimeError):
    """The store was closed, or belongs to the parent of this forked process: open a new one."""


class StoreNotFound(TurnledgerError, FileNotFoundError):
    """There is no store at that place."""


class NotAStore(TurnledgerError, ValueError):
    """The file is no turnledger store."""


class NotReadModels(TurnledgerError, ValueError):
    """The file holds no read models, or those of another log: name another, or rebuild it."""


class StoreUnwritable(TurnledgerError, PermissionError):
    """The store is open for reading only, or its file or folder may not be written."""


class StoreFull(TurnledgerError, OSError):
    """The disk, or a quota, has no room; nothing was recorded."""


class StoreDamaged(TurnledgerError, OSError):
    """The database file itself is damaged: restore it, or save what is sound with `export --salvage`."""


class CorruptEvent(TurnledgerError, ValueError):
    """One event cannot be read; other conversations are not touched by it.

    `conversation_id`, `version` and `reason` name it.
    """

    def __init__(self, conversation_id: str, version: int, reason: str) -> None:
        super().__init__(f"conversation {conversation_id!r}, version {version}: {reason}")
        self.conversation_id = conversation_id
        self.version = version
        self.reason = reason


class NewerLog(TurnledgerError, RuntimeError):
    """The log holds an event that a newer turnledger wrote: upgrade to read and write it."""


class ArtifactDropped(UserWarning):
    """The category of the warning that names an artifact which was not kept (RT-TOOL-6)."""
