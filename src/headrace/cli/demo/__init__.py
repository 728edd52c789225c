"""The demo: synthetic events into three topics, a group that reads them, and a live table of both."""
