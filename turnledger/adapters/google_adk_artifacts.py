"""Google ADK's artifacts in a store: every version of every file, as records of a conversation of its own.

A file whose name begins with `user:` is the user's. Versions count from 0 on, and from 0 again once the file
is deleted. Two writers never get one version. Contents have each a conversation of their own, so that nobody
reads them who asks for names: written first, and then named. What is held for a run and delivered with its
answer are names and versions: the sessions' service holds them.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from time import time
from typing import Any
from uuid import uuid4

from turnledger.adapters.awaiting import Place, awaited
from turnledger.adapters.extras import extra
from turnledger.adapters.folds import Folds
from turnledger.adapters.google_adk_places import artifacts_of, content_at
from turnledger.adapters.naming import as_id
from turnledger.domain.events import ConversationCleared, DomainEvent, RecordKept
from turnledger.domain.records import Record

with extra("google-adk"):
    from google.adk.artifacts import artifact_util
    from google.adk.artifacts.base_artifact_service import ArtifactVersion, BaseArtifactService, ensure_part
    from google.adk.errors.input_validation_error import InputValidationError
    from google.genai import types

ARTIFACT, PART = "google-adk.artifact", "google-adk.artifact-part"
_USERS = "user:"
_REFERENCES_MAX = 5


class TurnledgerArtifactService(BaseArtifactService):  # type: ignore[misc]
    """ADK's artifacts in a store: a path or URL, or a store of either kind."""

    def __init__(self, store: Place) -> None:
        self.store, self._is_own = awaited(store)
        self._known = Folds(_Files)

    async def close(self) -> None:
        """Closes the store, if it was opened here."""
        if self._is_own:
            await self.store.close()

    async def save_artifact(
        self,
        *,
        app_name: str,
        user_id: str,
        filename: str,
        artifact: types.Part | dict[str, Any],
        session_id: str | None = None,
        custom_metadata: dict[str, Any] | None = None,
    ) -> int:
        """Records the next version, and says which it is. Raises ADK's `InputValidationError`."""
        conversation = _place(app_name, user_id, filename, session_id)
        part = ensure_part(artifact)
        mime = _mime_type(part)
        if artifact_util.is_artifact_ref(part):
            _checked_reference(part, app_name, user_id, session_id)
        uri = artifact_util.get_artifact_uri
        names = {"app_name": app_name, "user_id": user_id, "filename": filename}
        in_session = {} if filename.startswith(_USERS) else {"session_id": session_id}
        value: dict[str, Any] = {
            "filename": filename,
            "custom_metadata": custom_metadata or {},
            "mime_type": mime,
            "create_time": time(),
            "part": await self._put(filename, part),
        }
        while True:
            files = await self._files(conversation)
            version = len(files.standing(filename))
            place = {"version": version, "canonical_uri": uri(**names, **in_session, version=version)}
            if await self._keep(conversation, files, {**value, **place}):
                return version  # else another writer took the place

    async def load_artifact(
        self,
        *,
        app_name: str,
        user_id: str,
        filename: str,
        session_id: str | None = None,
        version: int | None = None,
    ) -> types.Part | None:
        """The newest version or the one asked for, references followed; None where there is none."""
        for _ in range(_REFERENCES_MAX):
            conversation = _place(app_name, user_id, filename, session_id)
            found = (await self._files(conversation)).version_of(filename, version)
            if found is None:
                return None
            part = await self._got(found["part"])
            if not artifact_util.is_artifact_ref(part):
                return None if _is_empty(part) else part
            target = _checked_reference(part, app_name, user_id, session_id)
            filename, session_id, version = target.filename, target.session_id, target.version
        raise InputValidationError(
            f"Artifact references of {filename!r} go on for over {_REFERENCES_MAX} steps."
        )

    async def list_artifact_keys(
        self, *, app_name: str, user_id: str, session_id: str | None = None
    ) -> list[str]:
        places = [artifacts_of(app_name, user_id)]
        if session_id:
            places.append(artifacts_of(app_name, user_id, session_id))
        found = [await self._files(place) for place in places]
        return sorted(name for files in found for name in files.names())

    async def delete_artifact(
        self, *, app_name: str, user_id: str, filename: str, session_id: str | None = None
    ) -> None:
        """Records that the file is gone; the log still tells what it was."""
        conversation = _place(app_name, user_id, filename, session_id)
        while (files := await self._files(conversation)).standing(filename):
            await self._keep(conversation, files, {"filename": filename, "version": None})

    async def list_versions(
        self, *, app_name: str, user_id: str, filename: str, session_id: str | None = None
    ) -> list[int]:
        files = await self._files(_place(app_name, user_id, filename, session_id))
        return list(range(len(files.standing(filename))))

    async def list_artifact_versions(
        self, *, app_name: str, user_id: str, filename: str, session_id: str | None = None
    ) -> list[ArtifactVersion]:
        files = await self._files(_place(app_name, user_id, filename, session_id))
        return [_described(value) for value in files.standing(filename)]

    async def get_artifact_version(
        self,
        *,
        app_name: str,
        user_id: str,
        filename: str,
        session_id: str | None = None,
        version: int | None = None,
    ) -> ArtifactVersion | None:
        files = await self._files(_place(app_name, user_id, filename, session_id))
        found = files.version_of(filename, version)
        return None if found is None else _described(found)

    async def _files(self, conversation: str) -> "_Files":
        """The files as the log has them now."""
        return await self._known.now(self.store, conversation)

    async def _keep(self, conversation: str, files: "_Files", value: dict[str, Any]) -> bool:
        """Records a version or a deletion as the file's next, if nobody else did."""
        filename = value["filename"]
        key = as_id(f"{files.counts.get(filename, 0)} {filename}")
        done = await self.store.append(conversation, [], records=[Record(ARTIFACT, key, value)])
        return bool(done.records)

    async def _put(self, filename: str, part: types.Part) -> str:
        """Records the contents, and says in which conversation: no other writing is to read them."""
        place = content_at(uuid4().hex)
        contents = part.model_dump(mode="json", exclude_none=True)
        await self.store.append(place, [], records=[Record(PART, as_id(filename), contents)])
        return place

    async def _got(self, place: str) -> types.Part:
        [record] = await self.store.records(place, PART)
        return types.Part.model_validate(record.value)


@dataclass(slots=True)
class _Files:
    """The files of a session or a user: the versions that stand, and how much was ever recorded of each."""

    version: int = 0
    counts: dict[str, int] = field(default_factory=dict)
    versions: dict[str, list[Mapping[str, Any]]] = field(default_factory=dict)

    def told(self, event: DomainEvent) -> "_Files":
        if isinstance(event, ConversationCleared):
            return _Files(event.version)
        if isinstance(event, RecordKept) and event.kind == ARTIFACT:
            name = event.record["filename"]
            self.counts[name] = self.counts.get(name, 0) + 1
            if event.record["version"] is None:
                self.versions.pop(name, None)
            else:
                self.versions.setdefault(name, []).append(event.record)
        self.version = event.version
        return self

    def names(self) -> list[str]:
        return list(self.versions)

    def standing(self, filename: str) -> list[Mapping[str, Any]]:
        """The versions behind the last deletion, from 0 on."""
        return self.versions.get(filename, [])

    def version_of(self, filename: str, version: int | None) -> Mapping[str, Any] | None:
        """The version of this number, or the newest; None where there is none."""
        standing = self.standing(filename)
        if version is None:
            return standing[-1] if standing else None
        return standing[version] if 0 <= version < len(standing) else None


def _place(app_name: str, user_id: str, filename: str, session_id: str | None) -> str:
    if filename.startswith(_USERS):
        return artifacts_of(app_name, user_id)
    if not session_id:
        raise InputValidationError("Session ID must be provided for session-scoped artifacts.")
    return artifacts_of(app_name, user_id, session_id)


def _mime_type(part: types.Part) -> str | None:
    if part.inline_data is not None:
        return str(part.inline_data.mime_type)
    if part.text is not None:
        return "text/plain"
    if part.file_data is None:
        raise InputValidationError("Not supported artifact type.")
    mime: str | None = part.file_data.mime_type
    return None if artifact_util.is_artifact_ref(part) else mime


def _checked_reference(part: types.Part, app_name: str, user_id: str, session_id: str | None) -> Any:
    """Where a reference leads to: a file of the same user, and session if it is no user's."""
    uri = part.file_data.file_uri
    target = artifact_util.parse_artifact_uri(uri)
    if target is None:
        raise InputValidationError(f"Invalid artifact reference URI: {uri}")
    artifact_util.validate_artifact_reference_scope(
        app_name=app_name, user_id=user_id, session_id=session_id, parsed_uri=target
    )
    return target


def _is_empty(part: types.Part) -> bool:
    """Whether a rewind left this in place of a file that was not there yet."""
    return bool(part == types.Part() or artifact_util._is_rewind_tombstone(part))


def _described(value: Mapping[str, Any]) -> ArtifactVersion:
    return ArtifactVersion(**{key: value[key] for key in ArtifactVersion.model_fields if key in value})
