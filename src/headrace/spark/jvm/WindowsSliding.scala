package headrace

import java.lang.{Long => JavaLong}
import java.util

import org.apache.spark.sql.catalyst.InternalRow

/**
 * Kafka Streams' sliding windows [start, start + difference], both bounds inclusive: one that ends at each record (its left window) and one
 * that begins right after it (its right window), as far as there are records in it. So each set of records that lie within `difference` of
 * one another is a window, and only windows that differ exist.
 */
final class SlidingFold(layout: FlowLayout, settings: ProcessorSettings, fold: FoldFunctions, emission: Emission, difference: Long, grace: Long)
    extends WindowFold(layout, settings, fold, emission, Math.max(1L, difference)) {
  override protected def endOf(start: Long): Long = start + difference
  // The end belongs to the window, so it takes one millisecond more than for windows whose end does not.
  override protected def closesAt(start: Long): Long = start + difference + grace + 1
  @transient private var missed = false

  override protected def onRow(key: InternalRow, row: InternalRow, out: Outputs): Unit = if (layout.left(row) != null) {
    val ts = layout.ts(row)
    missed = isClosed(ts)
    if (!missed) {
      val known = windows.range(Math.max(0L, ts - 2 * difference), ts + 1)
      if (ts < difference) beforeFirstLeft(key, row, ts, known, out) else between(key, row, ts, known, out)
    }
    if (missed) late(row)
  }

  /** The windows from the newest to the oldest: all that contain the record, then the first that ends before it, which tells of the record before. */
  private def between(key: InternalRow, row: InternalRow, ts: Long, known: util.ArrayList[util.Map.Entry[JavaLong, Accumulator]], out: Outputs): Unit = {
    var right: Accumulator = null
    var left: Accumulator = null
    var hasLeft = false
    var hasRight = false
    var previous = Long.MinValue
    var i = known.size - 1
    while (i >= 0) {
      val start = known.get(i).getKey.longValue
      val window = known.get(i).getValue
      val end = start + difference
      if (start == ts + 1) hasRight = true
      else if (end > ts) {
        if (right == null) right = window
        update(key, row, start, window, out)
      } else if (end == ts) {
        hasLeft = true
        update(key, row, start, window, out)
        // Another record of the same time has made all windows already.
        if (window.ts >= ts) return
        previous = window.ts
      } else {
        left = window
        previous = window.ts
        i = 0
      }
      i -= 1
    }
    if (previous != Long.MinValue && previous + 1 + difference >= ts && !exists(known, previous + 1)) update(key, row, previous + 1, null, out)
    if (!hasLeft) {
      val reaches = previous != Long.MinValue && ts - difference <= previous
      update(key, row, ts - difference, if (reaches) new Accumulator(left.state, ts) else null, out)
    }
    if (!hasRight && right != null && right.ts > ts) copyRight(key, ts, right, out)
  }

  /** A left window of these would begin before the epoch: they share the window [0, difference]. */
  private def beforeFirstLeft(key: InternalRow, row: InternalRow, ts: Long, known: util.ArrayList[util.Map.Entry[JavaLong, Accumulator]], out: Outputs): Unit = {
    var combined: Accumulator = null
    var right: Accumulator = null
    var hasRight = false
    var previous = Long.MinValue
    known.forEach { entry =>
      val start = entry.getKey.longValue
      val window = entry.getValue
      if (start == 0) {
        combined = window
        if (window.ts < ts) previous = window.ts
      } else if (start <= ts) {
        right = window
        update(key, row, start, window, out)
      } else if (start == ts + 1) hasRight = true
    }
    if (right == null && combined != null && combined.ts > ts) right = combined
    if (!hasRight && right != null && right.ts > ts) copyRight(key, ts, right, out)
    if (previous != Long.MinValue && !exists(known, previous + 1)) update(key, row, previous + 1, null, out)
    update(key, row, 0L, combined, out)
  }

  /** The record into a window; `before` is what the window holds, or begins with when it is new. */
  private def update(key: InternalRow, row: InternalRow, start: Long, before: Accumulator, out: Outputs): Unit =
    if (isClosed(start)) missed = true
    else {
      val ts = layout.ts(row)
      val state = fold.add(key, if (before == null) null else before.state, layout.left(row))
      store(key, start, windows.get(start), state, if (before == null) ts else Math.max(ts, before.ts), out)
    }

  private def copyRight(key: InternalRow, ts: Long, right: Accumulator, out: Outputs): Unit = store(key, ts + 1, null, right.state, right.ts, out)

  private def exists(known: util.ArrayList[util.Map.Entry[JavaLong, Accumulator]], start: Long): Boolean = known.stream.anyMatch(_.getKey == start)
}
