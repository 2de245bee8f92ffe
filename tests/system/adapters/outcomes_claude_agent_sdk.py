"""What the model is asked with after each scene, on a store of ours and on the SDK's `InMemorySessionStore`.

`u` the user, `a` the assistant, `c:x` a call of x, `r:x` its result; "view" is what `sendable` gives of ours
for Anthropic then, the answer to that request included. The tests assert each row, and docs/adapters.md
shows them.
"""

OUTCOMES = {
    ("a tool loop of several steps", "turnledger"): (
        "u c:call-1 r:call-1 depot c:call-2 c:call-3 r:call-2 depot r:call-3 label.txt a u"
    ),
    ("a tool loop of several steps", "view"): (
        "u c:call-1 r:call-1 depot c:call-2 c:call-3 r:call-2 depot r:call-3 label.txt a u a"
    ),
    ("a tool loop of several steps", "peer"): (
        "u c:call-1 r:call-1 depot c:call-2 c:call-3 r:call-2 depot r:call-3 label.txt a u"
    ),
    ("killed between call and result", "turnledger"): (
        "u c:call-1 r:call-1 [Tool result missing due to internal error] u"
    ),
    ("killed between call and result", "view"): (
        "u c:call-1 r:call-1 Tool call was interrupted; no result. u a"
    ),
    ("killed between call and result", "peer"): "u",
    ("cancelled in mid-tool", "turnledger"): (
        "u c:call-1 r:call-1 [Tool result missing due to internal error] u"
    ),
    ("cancelled in mid-tool", "view"): "u c:call-1 r:call-1 Tool call was interrupted; no result. u a",
    ("cancelled in mid-tool", "peer"): "u c:call-1 r:call-1 [Tool result missing due to internal error] u",
    ("a human approves in another process", "turnledger"): "u c:call-1 r:call-1 label.txt u a u",
    ("a human approves in another process", "view"): "u c:call-1 r:call-1 label.txt u a u a",
    ("a human approves in another process", "peer"): "u a u",
    ("a late result", "turnledger"): "u c:call-1 r:call-1 depot u a u u",
    ("a late result", "view"): "u c:call-1 r:call-1 depot u a u u a",
    ("a late result", "peer"): "u c:call-1 r:call-1 depot u a u u",
    ("a step sent again", "turnledger"): "u c:call-1 r:call-1 depot a u",
    ("a step sent again", "view"): "u c:call-1 r:call-1 depot a u a",
    ("a step sent again", "peer"): "u c:call-1 r:call-1 depot a u, and entries are kept twice",
    ("two workers on one session", "turnledger"): "10 of 10 entries are kept",
    ("two workers on one session", "peer"): "6 of 10 entries are kept",
}
