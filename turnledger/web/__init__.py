"""The page: conversations, their events and every earlier state, to be read in a browser.

It reads a store and changes nothing. It needs the extra `web`, so nothing else imports it unasked.
"""
