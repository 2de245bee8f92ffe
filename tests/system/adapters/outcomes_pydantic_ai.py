"""What the model is sent after each scene, on a store of ours and on the library's
`InMemoryConversationStore`.

`u` the user, `a` the assistant, `c:x` a call of x, `r:x` its result. The tests assert each row, and
docs/adapters.md shows them.
"""

OUTCOMES = {
    ("a tool loop of several steps", "turnledger"): (
        "u c:call-1 r:call-1 depot c:call-2 c:call-3 r:call-2 depot r:call-3 label.txt a u"
    ),
    ("a tool loop of several steps", "peer"): (
        "u c:call-1 r:call-1 depot c:call-2 c:call-3 r:call-2 depot r:call-3 label.txt a u"
    ),
    ("killed between call and result", "turnledger"): (
        "u c:call-1 r:call-1 Tool call was interrupted; no result. u"
    ),
    ("killed between call and result", "peer"): "u",
    ("cancelled in mid-tool", "turnledger"): "u c:call-1 r:call-1 Tool call was interrupted; no result. u",
    ("cancelled in mid-tool", "peer"): (
        "u c:call-1 r:call-1 The tool call was interrupted before a result was produced. u"
    ),
    ("a human approves in another process", "turnledger"): (
        "u c:call-1 r:call-1 label.txt c:call-2 r:call-2 9 EUR a u"
    ),
    ("a human approves in another process", "peer"): "what waited is not there; u",
    ("a late result", "turnledger"): "u c:call-1 r:call-1 depot u a u",
    ("a late result", "peer"): "refused: results for ['call-1'], where [] wait for one",
    ("a step sent again", "turnledger"): "a conflict; u c:call-1 r:call-1 depot a u",
    ("a step sent again", "peer"): "a conflict; u c:call-1 r:call-1 depot a u",
    ("two workers on one session", "turnledger"): (
        "a conflict, made again; u a u a u c:call-1 r:call-1 depot a u"
    ),
    ("two workers on one session", "peer"): "u a u a u",
}
