"""What the model is sent after each scene, on a store of ours and on Strands' own `FileSessionManager`.

`u` the user, `a` the assistant, `c:x` a call of x, `r:x` its result. The tests assert each row, and
docs/adapters.md shows them.
"""

OUTCOMES = {
    (
        "a tool loop of several steps",
        "turnledger",
    ): "u c:track r:track depot c:track c:label r:track depot r:label made a u",
    (
        "a tool loop of several steps",
        "peer",
    ): "u c:track r:track depot c:track c:label r:track depot r:label made a u",
    ("killed between call and result", "turnledger"): "u c:die r:die Tool was interrupted. u",
    ("killed between call and result", "peer"): "u c:die r:die Tool was interrupted. u",
    ("cancelled in mid-tool", "turnledger"): "u c:wait r:wait Tool was interrupted. u",
    ("cancelled in mid-tool", "peer"): "u c:wait r:wait Tool was interrupted. u",
    (
        "a human approves in another process",
        "turnledger",
    ): "u c:label r:label made c:refund r:refund 9 EUR a u",
    ("a human approves in another process", "peer"): "u c:label r:label made c:refund r:refund 9 EUR a u",
    ("a late result", "turnledger"): "u c:wait r:wait depot u a a u",
    ("a late result", "peer"): "u c:wait r:wait Tool was interrupted. u a a u",
    ("a step sent again", "turnledger"): "u c:track r:track depot a u",
    ("a step sent again", "peer"): "u c:track r:track depot a u",
    ("two workers on one session", "turnledger"): "u c:gate r:gate open u c:track r:track depot a a u",
    ("two workers on one session", "peer"): "u c:gate r:gate open a c:track r:track depot a u",
    ("the model uses an id again", "turnledger"): "u c:track r:track depot a u c:track r:track depot a u",
    ("the model uses an id again", "peer"): "refused: an id is declared twice",
}
