"""What the model is sent after each scene, on a store of ours and on ADK's own `SqliteSessionService`.

`u` the user, `a` the assistant, `c:x` a call of x, `r:x` its result. The tests assert each row, and
docs/adapters.md shows them.
"""

OUTCOMES = {
    ("a tool loop of several steps", "turnledger"): (
        "u c:track r:track depot c:track c:label r:track depot r:label label.txt a u"
    ),
    ("a tool loop of several steps", "peer"): (
        "u c:track r:track depot c:track c:label r:track depot r:label label.txt a u"
    ),
    ("killed between call and result", "turnledger"): "u c:die r:die Tool call was interrupted; no result. u",
    ("killed between call and result", "peer"): "u u",
    ("cancelled in mid-tool", "turnledger"): "u c:wait r:wait Tool call was interrupted; no result. u",
    ("cancelled in mid-tool", "peer"): "u u",
    ("a human approves in another process", "turnledger"): (
        "u c:label r:label label.txt c:refund r:refund 9 EUR a u"
    ),
    (
        "a human approves in another process",
        "peer",
    ): "u c:label r:label label.txt c:refund r:refund 9 EUR a u",
    ("a late result", "turnledger"): "u c:wait r:wait depot u a a u",
    ("a late result", "peer"): "u c:wait r:wait depot u a a u",
    ("a step sent again", "turnledger"): "u c:track r:track depot a u",
    ("a step sent again", "peer"): "raises IntegrityError",
    ("two workers on one session", "turnledger"): "u c:gate r:gate yes u c:track r:track depot a a u",
    ("two workers on one session", "peer"): "raises StaleSessionError: what the first worker did is lost",
    ("the model uses an id again", "turnledger"): "u c:track r:track depot a u c:track r:track depot a u",
    ("the model uses an id again", "peer"): "refused: an id is declared twice",
}
