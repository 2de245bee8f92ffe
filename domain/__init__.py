"""The rules: messages, calls, artifacts, events and the decisions of one conversation. No I/O, no clock."""
