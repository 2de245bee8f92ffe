"""Everything that touches the world: the database, the bytes, the retries."""
