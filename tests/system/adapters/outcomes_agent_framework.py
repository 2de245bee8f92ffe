"""What the model is sent after each scene, on a store of ours and on the framework's `FileHistoryProvider`.

Both with `require_per_service_call_history_persistence`. `u` the user, `a` the assistant, `c:x` a call of x,
`r:x` its result. The tests assert each row, and docs/adapters.md shows them.
"""

OUTCOMES = {
    ("a tool loop of several steps", "turnledger"): (
        "u c:track r:track depot c:track c:label r:track depot r:label made a u"
    ),
    ("a tool loop of several steps", "peer"): (
        "u c:track r:track depot c:track c:label r:track depot r:label made a u"
    ),
    ("killed between call and result", "turnledger"): "u c:die r:die Tool call was interrupted; no result. u",
    ("killed between call and result", "peer"): "refused: no result right behind its turn for ['c-die']",
    ("cancelled in mid-tool", "turnledger"): "u c:wait r:wait Tool call was interrupted; no result. u",
    ("cancelled in mid-tool", "peer"): "refused: no result right behind its turn for ['c-wait']",
    ("a human approves in another process", "turnledger"): (
        "u c:label r:label made c:refund r:refund 9 EUR a u"
    ),
    ("a human approves in another process", "peer"): "u c:label r:label made c:refund r:refund 9 EUR a u",
    ("a late result", "turnledger"): "u c:wait r:wait depot u a",
    ("a late result", "peer"): "refused: no result right behind its turn for ['c-wait']",
    ("a step sent again", "turnledger"): "u c:track r:track depot a u",
    ("a step sent again", "peer"): "refused: a call id is declared twice",
    ("two workers on one session", "turnledger"): "u c:gate r:gate open u c:track r:track depot a a u",
    ("two workers on one session", "peer"): "refused: no result right behind its turn for ['c-gate']",
    ("the model uses an id again", "turnledger"): "u c:track r:track depot a u c:track r:track depot a u",
    ("the model uses an id again", "peer"): "refused: a call id is declared twice",
}
