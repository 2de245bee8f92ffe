"""Programs that use turnledger as it is meant to be used."""
