"""Pure folds over events: what the log shows, for a provider, a client, an operator, an auditor."""
