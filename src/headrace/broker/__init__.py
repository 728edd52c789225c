"""The broker: sockets, dispatch, one file per API, start-up and shutdown."""
