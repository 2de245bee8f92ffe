"""What the model is sent after each scene, on a history of ours and on LangChain's `FileChatMessageHistory`.

`u` the user, `a` the assistant, `c:x` a call of x, `r:x` its result. The tests assert each row, and
docs/adapters.md shows them. Where OpenAI refuses the list, the row says why.
"""

_WANTS = "refused: no result right behind its turn for ['call_1']"
_TWICE = "refused: a call id is declared twice"

OUTCOMES = {
    ("a tool loop of several steps", "turnledger"): (
        "u c:track r:track depot 1 c:track c:track r:track depot 2 r:track depot 2 a u"
    ),
    ("a tool loop of several steps", "peer"): (
        "u c:track r:track depot 1 c:track c:track r:track depot 2 r:track depot 2 a u"
    ),
    ("killed between call and result", "turnledger"): (
        "u c:die r:die Tool call was interrupted; no result. u"
    ),
    ("killed between call and result", "peer"): f"u c:die u, {_WANTS}",
    ("cancelled in mid-tool", "turnledger"): (
        "u c:interrupted r:interrupted Tool call was interrupted; no result. u"
    ),
    ("cancelled in mid-tool", "peer"): f"u c:interrupted u, {_WANTS}",
    ("a human approves in another process", "turnledger"): "u c:refund r:refund 9 EUR u a u",
    ("a human approves in another process", "peer"): "u c:refund r:refund 9 EUR u a u",
    ("a late result", "turnledger"): "u c:refund r:refund 9 EUR u a u",
    ("a late result", "peer"): f"u c:refund u a r:refund 9 EUR u, {_WANTS}",
    ("a step sent again", "turnledger"): "u c:track r:track depot 1 a u",
    ("a step sent again", "peer"): (f"u c:track r:track depot 1 a u c:track r:track depot 1 a u, {_TWICE}"),
    ("two workers on one session", "turnledger"): (
        "u c:track r:track depot 1 u c:track r:track depot 2 a a u"
    ),
    ("two workers on one session", "peer"): (
        f"u c:track u c:track r:track depot 1 a r:track depot 2 a u, {_WANTS}"
    ),
    ("the model uses an id again", "turnledger"): (
        "u c:track r:track depot 1 a u c:track r:track depot 2 a u"
    ),
    ("the model uses an id again", "peer"): (
        f"u c:track r:track depot 1 a u c:track r:track depot 2 a u, {_TWICE}"
    ),
}
