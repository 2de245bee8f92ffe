"""What the model is sent after each scene: with the middleware, without and with a checkpointer, and by
LangGraph's own `AsyncSqliteSaver` alone.

`u` the user, `a` the assistant, `c:x` a call of x, `r:x` its result. The tests assert each row, and
docs/adapters.md shows them. An approval needs a checkpointer: LangGraph resumes from it.
"""

OUTCOMES = {
    (
        "a tool loop of several steps",
        "turnledger",
    ): "u c:track r:track depot c:track c:label r:track depot r:label made a u",
    (
        "a tool loop of several steps",
        "turnledger and a checkpointer",
    ): "u c:track r:track depot c:track c:label r:track depot r:label made a u",
    (
        "a tool loop of several steps",
        "peer",
    ): "u c:track r:track depot c:track c:label r:track depot r:label made a u",
    (
        "killed between call and result",
        "turnledger",
    ): "u c:track c:die r:die Tool call was interrupted; no result. r:track depot u",
    (
        "killed between call and result",
        "turnledger and a checkpointer",
    ): "u c:track c:die r:track depot r:die Tool call was interrupted; no result. u",
    (
        "killed between call and result",
        "peer",
    ): "refused: no result right behind its turn for ['c-track', 'c-die']",
    ("cancelled in mid-tool", "turnledger"): "u c:wait r:wait Tool call was interrupted; no result. u",
    (
        "cancelled in mid-tool",
        "turnledger and a checkpointer",
    ): "u c:wait r:wait Tool call was interrupted; no result. u",
    ("cancelled in mid-tool", "peer"): "refused: no result right behind its turn for ['c-wait']",
    (
        "a human approves in another process",
        "turnledger",
    ): "u c:label r:label made c:refund r:refund 9 EUR a u",
    (
        "a human approves in another process",
        "turnledger and a checkpointer",
    ): "u c:label r:label made c:refund r:refund 9 EUR a u",
    ("a human approves in another process", "peer"): "u c:label r:label made c:refund r:refund 9 EUR a u",
    ("a late result", "turnledger"): "u c:wait r:wait depot u a",
    ("a late result", "turnledger and a checkpointer"): "u c:wait r:wait depot u a",
    ("a late result", "peer"): "refused: no result right behind its turn for ['c-wait']",
    ("a step sent again", "turnledger"): "u c:track r:track depot a a u",
    ("a step sent again", "turnledger and a checkpointer"): "u c:track r:track depot a a u",
    ("a step sent again", "peer"): "refused: the result of 'c-track' stands behind no turn that waits for it",
    ("two workers on one session", "turnledger"): "u c:gate r:gate open u c:track r:track depot a a u",
    ("two workers on one session", "turnledger and a checkpointer"): "u c:gate r:gate open a u",
    ("two workers on one session", "peer"): "u c:gate r:gate open a u",
    ("the model uses an id again", "turnledger"): "u c:track r:track depot a u c:track r:track depot a u",
    (
        "the model uses an id again",
        "turnledger and a checkpointer",
    ): "u c:track r:track depot a u c:track r:track depot a u",
    ("the model uses an id again", "peer"): "refused: a call id is declared twice",
}
