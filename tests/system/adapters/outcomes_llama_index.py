"""What the model is sent after each scene, on a store of ours and on LlamaIndex's `SQLAlchemyChatStore`.

`FunctionAgent` writes what it did to its memory when it has ended, `StepwiseAgent` each step as it comes: it
plays the kill and the cancel, on both stores. A loop of one's own plays a late result, a step sent again and
two workers.
`u` the user, `a` the assistant, `c:x` a call of x, `r:x` its result. The tests assert each row.
"""

OUTCOMES = {
    ("a tool loop of several steps", "turnledger"): "u c:track r:track depot c:track r:track depot a u",
    ("a tool loop of several steps", "peer"): "u c:track r:track depot c:track r:track depot a u",
    (
        "killed between call and result",
        "turnledger",
    ): "u c:die r:die Tool call was interrupted; no result. u",
    ("killed between call and result", "peer"): "refused: no result right behind its turn for ['c-die']",
    ("cancelled in mid-tool", "turnledger"): "u c:wait r:wait Tool call was interrupted; no result. u",
    ("cancelled in mid-tool", "peer"): "refused: no result right behind its turn for ['c-wait']",
    ("cancelled in mid-tool, FunctionAgent's own", "turnledger"): "u u",
    ("cancelled in mid-tool, FunctionAgent's own", "peer"): "u u",
    (
        "a human approves in another process",
        "turnledger",
    ): "u c:label r:label made c:refund r:refund 9 EUR: yes a u",
    (
        "a human approves in another process",
        "peer",
    ): "u c:label r:label made c:refund r:refund 9 EUR: yes a u",
    ("a late result", "turnledger"): "u c:track r:track depot u a u",
    ("a late result", "peer"): "refused: no result right behind its turn for ['c-track']",
    ("a step sent again", "turnledger"): "u c:track r:track depot c:track r:track depot a u",
    ("a step sent again", "peer"): "refused: a call id is declared twice",
    ("two workers on one session", "turnledger"): "u c:track r:track depot u a u",
    ("two workers on one session", "peer"): "refused: no result right behind its turn for ['c-track']",
    ("the model uses an id again", "turnledger"): "u c:track r:track depot a u c:track r:track depot a u",
    ("the model uses an id again", "peer"): "refused: a call id is declared twice",
}
