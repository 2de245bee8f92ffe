"""Arguments as a provider takes them: as JSON text, or as a map. What is neither stays readable in one."""

import json
import math
from typing import Any

from turnledger.domain.values import copied, json_text, kept, parsed

INVALID_KEY = "invalid_json"
VALUE_KEY = "value"


def arguments_json(arguments: Any) -> str:
    """Arguments as JSON text. What a model cut off or glued together stays readable under `invalid_json`."""
    if arguments is None or (isinstance(arguments, str) and not arguments.strip()):
        return "{}"
    if not isinstance(arguments, str):
        return json_text(arguments)
    try:
        parsed(arguments)
    except ValueError:
        return json.dumps({INVALID_KEY: arguments}, ensure_ascii=False)
    return arguments


def arguments_map(arguments: Any) -> dict[str, Any]:
    """Arguments as a map: another JSON value under `value`, a text that is none under `invalid_json`."""
    if arguments is None or (isinstance(arguments, str) and not arguments.strip()):
        return {}
    if isinstance(arguments, str):
        try:
            arguments = kept(json.loads(arguments, parse_constant=_refused, parse_float=_finite))
        except (ValueError, RecursionError):  # no JSON, or nested deeper than a message may be
            return {INVALID_KEY: arguments}
    return copied(arguments) if isinstance(arguments, dict) else {VALUE_KEY: copied(arguments)}


def _refused(name: str) -> Any:
    raise ValueError(f"{name} is no JSON")


def _finite(text: str) -> float:
    number = float(text)
    if not math.isfinite(number):
        raise ValueError(f"{text} is too large")
    return number
