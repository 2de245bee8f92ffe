"""Google ADK's artifacts in a store: every version of every file, as records of the session's conversation.

A file whose name begins with `user:` is the user's and stands with the user's state. Versions count from 0
on, and from 0 again once the file is deleted. Two writers never get one version. What is held for a run and
delivered with its answer are names and versions: the sessions' service holds them.
"""

from collections.abc import Mapping
from time import time
from typing import Any

from turnledger.adapters.awaiting import Place, awaited
from turnledger.adapters.extras import extra
from turnledger.adapters.google_adk_places import conversation_of
from turnledger.domain.errors import ConversationNotFound
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
        while True:
            kept = await self._kept(conversation, filename)
            version = len(_versions(kept))
            key = f"{len(kept)} {filename}"
            value = {
                "filename": filename,
                "version": version,
                "custom_metadata": custom_metadata or {},
                "mime_type": mime,
                "create_time": time(),
                "canonical_uri": artifact_util.get_artifact_uri(
                    app_name=app_name,
                    user_id=user_id,
                    filename=filename,
                    version=version,
                    session_id=None if filename.startswith(_USERS) else session_id,
                ),
            }
            part_record = Record(PART, key, part.model_dump(mode="json", exclude_none=True))
            done = await self.store.append(
                conversation, [], records=[Record(ARTIFACT, key, value), part_record]
            )
            if done.records:
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
            key = _key_of(await self._kept(conversation, filename), version)
            if key is None:
                return None
            [record] = await self.store.records(conversation, PART, key=key)
            part = types.Part.model_validate(record.value)
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
        names: set[str] = set()
        for place in (user_id, None), (user_id, session_id):
            for name in await self._names(conversation_of(app_name, *place)):
                names.add(name)
        return sorted(names)

    async def delete_artifact(
        self, *, app_name: str, user_id: str, filename: str, session_id: str | None = None
    ) -> None:
        """Records that the file is gone; the log still tells what it was."""
        conversation = _place(app_name, user_id, filename, session_id)
        while _versions(kept := await self._kept(conversation, filename)):
            value = {"filename": filename, "version": None}
            key = f"{len(kept)} {filename}"
            await self.store.append(conversation, [], records=[Record(ARTIFACT, key, value)])

    async def list_versions(
        self, *, app_name: str, user_id: str, filename: str, session_id: str | None = None
    ) -> list[int]:
        kept = await self._kept(_place(app_name, user_id, filename, session_id), filename)
        return [value["version"] for _, value in _versions(kept)]

    async def list_artifact_versions(
        self, *, app_name: str, user_id: str, filename: str, session_id: str | None = None
    ) -> list[ArtifactVersion]:
        kept = await self._kept(_place(app_name, user_id, filename, session_id), filename)
        return [_described(value) for _, value in _versions(kept)]

    async def get_artifact_version(
        self,
        *,
        app_name: str,
        user_id: str,
        filename: str,
        session_id: str | None = None,
        version: int | None = None,
    ) -> ArtifactVersion | None:
        kept = await self._kept(_place(app_name, user_id, filename, session_id), filename)
        key = _key_of(kept, version)
        return None if key is None else _described(dict(kept)[key])

    async def _kept(self, conversation: str, filename: str) -> list[tuple[str, Mapping[str, Any]]]:
        """What was recorded of a file, in order: versions, and deletions of all before."""
        return [(key, value) for key, value in await self._all(conversation) if value["filename"] == filename]

    async def _names(self, conversation: str) -> set[str]:
        names: dict[str, Any] = {}
        for _, value in await self._all(conversation):
            names[value["filename"]] = value["version"]
        return {name for name, version in names.items() if version is not None}

    async def _all(self, conversation: str) -> list[tuple[str, Mapping[str, Any]]]:
        try:
            return [
                (str(record.key), record.value) for record in await self.store.records(conversation, ARTIFACT)
            ]
        except ConversationNotFound:
            return []


def _place(app_name: str, user_id: str, filename: str, session_id: str | None) -> str:
    if filename.startswith(_USERS):
        return conversation_of(app_name, user_id)
    if session_id is None:
        raise InputValidationError("Session ID must be provided for session-scoped artifacts.")
    return conversation_of(app_name, user_id, session_id)


def _versions(kept: list[tuple[str, Mapping[str, Any]]]) -> list[tuple[str, Mapping[str, Any]]]:
    """The versions that stand: those behind the last deletion."""
    deleted = max((place for place, (_, value) in enumerate(kept) if value["version"] is None), default=-1)
    return kept[deleted + 1 :]


def _key_of(kept: list[tuple[str, Mapping[str, Any]]], version: int | None) -> str | None:
    standing = _versions(kept)
    if version is None:
        return standing[-1][0] if standing else None
    return standing[version][0] if 0 <= version < len(standing) else None


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
    return ArtifactVersion(**{key: given for key, given in value.items() if key != "filename"})
