package headrace

import java.util

import org.apache.spark.sql.catalyst.InternalRow
import org.apache.spark.sql.catalyst.expressions.UnsafeRow

/**
 * What was last read of a state, by key, so that real-time mode does not ask the store for every row. The least recently used key goes first;
 * none are kept when `limit` is 0, which suits micro-batches: there a key is met once per batch.
 *
 * Sound because a state belongs to one task at a time, all changes go through here, and nothing here outlives its task.
 */
final class RememberedRows(limit: Int) {
  private val rows = new util.LinkedHashMap[InternalRow, RememberedRows.Entry](16, 0.75f, true) {
    override def removeEldestEntry(eldest: util.Map.Entry[InternalRow, RememberedRows.Entry]): Boolean = size > limit
  }
  private var found: TimedRow = _

  /** What the last `has` or `put` was about. */
  def last: TimedRow = found

  def has(key: InternalRow): Boolean = limit > 0 && {
    val entry = rows.get(key)
    if (entry != null) found = entry.row
    entry != null
  }

  /** Null is remembered as well: that there is no row. */
  def put(key: InternalRow, row: TimedRow): Unit = {
    found = row
    if (limit > 0) rows.put(key.copy(), new RememberedRows.Entry(row))
  }

  /** A key that was written without being read is not worth a place, unless it has one. */
  def replace(key: InternalRow, row: TimedRow): Unit = if (limit > 0) {
    val entry = rows.get(key)
    if (entry != null) entry.row = row
  }
}

object RememberedRows {
  private final class Entry(var row: TimedRow)
}
