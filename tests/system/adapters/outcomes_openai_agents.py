"""What the model is asked with after each scene, on a session of ours and on the SDK's `SQLiteSession`.

`u` the user, `a` the assistant, `t` a thought, `c:x` a call of x, `r:x` its result. The tests assert each
row, and docs/adapters.md shows them. Where OpenAI refuses the list, the row says why.
"""

OUTCOMES = {
    ("a tool loop of several steps", "turnledger"): (
        "u t c:track r:track depot 1 t c:track c:track r:track depot 2 r:track depot 3 a u"
    ),
    ("a tool loop of several steps", "peer"): (
        "u t c:track r:track depot 1 t c:track c:track r:track depot 2 r:track depot 3 a u"
    ),
    ("killed between call and result", "turnledger"): "u c:track r:track depot 1 u",
    ("killed between call and result", "peer"): "u c:track r:track depot 1 u",
    ("cancelled in mid-tool", "turnledger"): "u c:track r:track depot 1 u",
    ("cancelled in mid-tool", "peer"): "u c:track r:track depot 1 u",
    ("a human approves in another process", "turnledger"): "u t c:refund r:refund 9 EUR a u",
    ("a human approves in another process", "peer"): "u t c:refund r:refund 9 EUR a u",
    ("a late result", "turnledger"): "u t c:refund r:refund 9 EUR u a a u",
    ("a late result", "peer"): (
        "u t c:refund u a r:refund 9 EUR a u, refused: no result for ['call_1'] before the next input"
    ),
    ("a late output", "turnledger"): "u c:track r:track depot u a u",
    ("a late output", "peer"): (
        "u c:track u a r:track depot u, refused: no result for ['call_1'] before the next input"
    ),
    ("a step sent again", "turnledger"): "u t c:track r:track depot 1 a u",
    ("a step sent again", "peer"): (
        "u t c:track a r:track depot 1 a u, refused: the id 'msg_1' stands twice"
    ),
    ("two workers on one session", "turnledger"): "u u c:track r:track depot 2 a c:wait r:wait at last a u",
    ("two workers on one session", "peer"): "u u c:track r:track depot 2 a c:wait r:wait at last a u",
    ("the model uses an id again", "turnledger"): "u c:track r:track depot 1 a u c:track r:track depot 2 a u",
    ("the model uses an id again", "peer"): (
        "u c:track a u r:track depot 2 a u, refused: no result for ['call_1'] before the next input"
    ),
}
