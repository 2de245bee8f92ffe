"""Adapters: turnledger where an ecosystem already has a place for a store, one file an ecosystem.

Each is behind an extra of its own, imports nothing but that ecosystem, and is as thin over the face as it can
be: what is right about a conversation is decided below, not here.
"""
