"""Messages put together again from the pieces that are left: each that was not touched is the very same."""

from collections.abc import Sequence
from operator import is_
from typing import Any

from turnledger.importing.doctor.anatomy import Anatomy, Piece
from turnledger.importing.doctor.pairing import Body
from turnledger.importing.doctor.patching import Origins


def rebuilt(body: Body, pieces: Sequence[Piece], anatomy: Anatomy, origins: Origins) -> Any:
    """The message with these pieces: itself, where they are the ones that it held."""
    if len(body.given) == len(pieces) and all(map(is_, body.given, (piece.raw for piece in pieces))):
        return body.message
    return origins.note(anatomy.rebuilt(body.message, pieces), body.message)


def assembled(
    placed: Sequence[Piece], bodies: Sequence[Body], anatomy: Anatomy, origins: Origins
) -> list[Any]:
    """The messages of these pieces, in order."""
    body_of = {body.index: body for body in bodies}
    messages: list[Any] = []
    rules = anatomy.rules
    for home, pieces in _groups(placed, body_of, own=rules.own_messages or rules.own_lines):
        whole = _moved_whole(pieces, body_of) if rules.own_lines else None
        if home is not None:
            messages.append(rebuilt(body_of[home], pieces, anatomy, origins))
        elif rules.own_messages:
            messages += [piece.raw for piece in pieces]
        elif whole:
            messages.append(rebuilt(whole, pieces, anatomy, origins))
        else:
            messages.append(anatomy.carrier(pieces, messages[-1] if messages else {}))
    return messages


def _moved_whole(pieces: Sequence[Piece], bodies: dict[int, Body]) -> Body | None:
    """The message that held this result and nothing else, so that it can be moved as it is."""
    body = bodies.get(pieces[0].was) if pieces[0].was is not None else None
    return body if body and len(body.given) == len(pieces) == 1 else None


Group = tuple[int | None, list[Piece]]


def _groups(placed: Sequence[Piece], bodies: dict[int, Body], *, own: bool) -> list[Group]:
    """Pieces by the message that holds them; those without a home join a message of the user's beside them,
    unless a result is a message of its own."""
    groups: list[Group] = []
    for piece in placed:
        if (groups and groups[-1][0] == piece.home and (piece.home is not None or not own)) or (
            piece.home is None and not own and groups and _is_users(groups[-1], bodies)
        ):
            groups[-1][1].append(piece)
        elif groups and groups[-1][0] is None and not own and bodies[piece.home or 0].side == "user":
            groups[-1] = (piece.home, [*groups[-1][1], piece])
        else:
            groups.append((piece.home, [piece]))
    return groups


def _is_users(group: Group, bodies: dict[int, Body]) -> bool:
    return group[0] is not None and bodies[group[0]].side == "user"
