"""One module per command or group of commands. They are imported at every start, so they import heavy things inside functions."""
