"""One partition's files, in Kafka's own on-disk format: segments, indexes, recovery, producer state, retention.

Synchronous, without an event loop and without a wall clock: times are passed in. `log.Log` is one partition,
`directory.LogDirectory` one entry of `log.dirs`.

Who may call what: one owner thread calls everything, save that `Log.read`, `Log.offset_for_timestamp` and
`Log.max_timestamp` may run in reader threads, `Reservation.write` in a writer thread, and `Log.flush` and the jobs given
to `defer` in any thread. What those share with the owner is either replaced whole (the tuple of segments, the end of the
log), append-only below a bound the reader took first (index entries), or behind a lock (open files, the recovery point).
"""
