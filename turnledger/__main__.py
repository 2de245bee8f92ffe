"""`python -m turnledger`."""

from turnledger.cli import main

main()
