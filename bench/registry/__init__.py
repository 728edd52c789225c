"""The schema registry measured: look-ups, registrations, and a start with many schemas; beside Karapace where there is one."""
