"""Homes in other ecosystems: one file each, behind an extra of the same name, imported only when used."""
