"""Groups: who is a member, who reads what, and how far they got, as a state machine without I/O.

One `GroupCoordinator` owns the groups of one `__consumer_offsets` partition. A request goes in together with the time;
records to append, answers to send and the next deadline come out. Loading after a restart is the replay of those records.
Must not open files or sockets, read a clock, or know the event loop: `headrace.broker.groups` is the shell that does.
"""
