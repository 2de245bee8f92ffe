"""The signatures of google-adk 2.13 as they were read: a test compares them with the installed release."""

# ruff: noqa: E501

SESSION_SIGNATURES = [
    "create_session(self, *, app_name: 'str', user_id: 'str', state: 'Optional[dict[str, Any]]' = None, session_id: 'Optional[str]' = None) -> 'Session'",
    "delete_session(self, *, app_name: 'str', user_id: 'str', session_id: 'str') -> 'None'",
    "get_session(self, *, app_name: 'str', user_id: 'str', session_id: 'str', config: 'Optional[GetSessionConfig]' = None) -> 'Optional[Session]'",
    "list_sessions(self, *, app_name: 'str', user_id: 'Optional[str]' = None) -> 'ListSessionsResponse'",
]
MORE_SIGNATURES = [
    "append_event(self, session: 'Session', event: 'Event') -> 'Event'",
    "get_user_state(self, *, app_name: 'str', user_id: 'str') -> 'dict[str, Any]'",
    "flush(self) -> 'None'",
]
ARTIFACT_SIGNATURES = [
    "delete_artifact(self, *, app_name: 'str', user_id: 'str', filename: 'str', session_id: 'Optional[str]' = None) -> 'None'",
    "get_artifact_version(self, *, app_name: 'str', user_id: 'str', filename: 'str', session_id: 'Optional[str]' = None, version: 'Optional[int]' = None) -> 'Optional[ArtifactVersion]'",
    "list_artifact_keys(self, *, app_name: 'str', user_id: 'str', session_id: 'Optional[str]' = None) -> 'list[str]'",
    "list_artifact_versions(self, *, app_name: 'str', user_id: 'str', filename: 'str', session_id: 'Optional[str]' = None) -> 'list[ArtifactVersion]'",
    "list_versions(self, *, app_name: 'str', user_id: 'str', filename: 'str', session_id: 'Optional[str]' = None) -> 'list[int]'",
    "load_artifact(self, *, app_name: 'str', user_id: 'str', filename: 'str', session_id: 'Optional[str]' = None, version: 'Optional[int]' = None) -> 'Optional[types.Part]'",
    "save_artifact(self, *, app_name: 'str', user_id: 'str', filename: 'str', artifact: 'Union[types.Part, dict[str, Any]]', session_id: 'Optional[str]' = None, custom_metadata: 'Optional[dict[str, Any]]' = None) -> 'int'",
]
