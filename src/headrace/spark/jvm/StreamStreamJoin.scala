package headrace

import java.util

import org.apache.spark.sql.DataFrame
import org.apache.spark.sql.catalyst.InternalRow
import org.apache.spark.sql.catalyst.expressions.GenericInternalRow
import org.apache.spark.sql.streaming.{TimeMode, ValueState}
import org.apache.spark.sql.types.{LongType, StructType}

/** How far apart rows may be, in milliseconds: a right row's time lies in [left - before, left + after]. */
final case class JoinWindow(beforeMs: Long, afterMs: Long, graceMs: Long) {
  /** How long a row is kept behind the newest time seen. */
  val retentionMs: Long = beforeMs + afterMs + graceMs
  val bucketMs: Long = Math.max(1L, beforeMs + afterMs + 1)

  /** What a row looks back and ahead for on the other side. */
  def back(side: Int): Long = if (side == 0) beforeMs else afterMs
  def ahead(side: Int): Long = if (side == 0) afterMs else beforeMs

  /** From this watermark on a row that found nothing never will. */
  def closing(side: Int, ts: Long): Long = ts + ahead(side) + graceMs + 1
  def openedBy(side: Int, closing: Long): Long = closing - ahead(side) - graceMs - 1

  def bucket(ts: Long): Long = Math.floorDiv(ts, bucketMs)
  /** From this watermark on nothing can meet the rows of a bucket. */
  def expiry(bucket: Long): Long = (bucket + 1) * bucketMs + retentionMs
  def expiredBucket(expiry: Long): Option[Long] =
    if (Math.floorMod(expiry - retentionMs, bucketMs) == 0) Some(Math.floorDiv(expiry - retentionMs, bucketMs) - 1) else None
}

/**
 * Two streams: rows of equal key whose times are close enough. Pairs come out at once, ordered by the other row's time, with the later time of both.
 *
 * With `keepLeft` or `keepRight` a row of that side that found nothing comes out alone once its window and the grace have passed, that is when the watermark
 * says so, the largest time of all earlier batches, or a later row of the same key. A row that is already out of its window when it comes, and finds nothing, comes out alone at once.
 * A key's lone rows come out by time, before anything that later rows of the key give.
 *
 * A row is late when its window and the grace had passed, by the watermark, before it came. It is counted; it still meets what is kept and, unless it is older than
 * before + after + grace, is kept itself. A row that is not late meets every row of its window that was not late either. Kafka Streams keeps each side's
 * rows by the times of that side alone, so there a late row may meet more, or less.
 */
final class StreamStreamJoin(
    layout: FlowLayout, settings: ProcessorSettings, columns: JoinColumns, window: JoinWindow, keepLeft: Boolean, keepRight: Boolean)
    extends JoinProcessor(layout, settings) {
  @transient private var sides: Array[WindowRows] = _
  @transient private var closingState: ValueState[InternalRow] = _
  private var now = Long.MinValue
  private var closing = Long.MaxValue
  private var closingHeld = Long.MaxValue

  override def valueSchema: StructType = columns.schema
  override def timeMode: TimeMode = TimeMode.EventTime()

  private def keeps(side: Int): Boolean = if (side == 0) keepLeft else keepRight
  private def keepsAny: Boolean = keepLeft || keepRight

  override protected def openStates(): Unit = {
    sides = Array("left" -> layout.left, "right" -> layout.right).map { case (name, row) =>
      new WindowRows(mapState(name, WindowRows.keySchema, WindowRows.valueSchema(row)), row.length, window.bucketMs)
    }
    if (keepsAny) closingState = valueState("closing", new StructType().add("ms", LongType))
  }

  override protected def beginKey(key: InternalRow): Unit = {
    sides.foreach(_.begin())
    if (keepsAny) {
      val held = closingState.get()
      closing = if (held == null) Long.MaxValue else held.getLong(0)
      closingHeld = closing
    }
  }

  override protected def onRow(key: InternalRow, row: InternalRow, out: Outputs): Unit = {
    val side = layout.side(row)
    val value = if (side == 0) layout.left(row) else layout.right(row)
    // For its own key a row moves time on at once, as in Kafka Streams; other keys wait for the watermark.
    now = Math.max(watermark, layout.ts(row))
    if (closing <= now) closeWindows(key, out)
    if (value == null) unusable(row, "it has no value")
    else if (!NullKey.is(key)) join(key, side, row, value.copy(), out)
    else if (keeps(side)) alone(null, side, new WindowRow(layout.ts(row), false, value.copy()), out)
    else unusable(row, "it has no key")
  }

  private def join(key: InternalRow, side: Int, row: InternalRow, value: InternalRow, out: Outputs): Unit = {
    val ts = layout.ts(row)
    val expired = if (watermark == Long.MinValue) Long.MinValue else watermark - window.retentionMs
    val matches = sides(1 - side).between(Math.max(ts - window.back(side), expired + 1), ts + window.ahead(side))
    matches.forEach { other =>
      pair(key, side, ts, value, other, out)
      sides(1 - side).settle(other)
    }
    val unmatched = matches.isEmpty && keeps(side)
    val waits = unmatched && ts + window.ahead(side) >= watermark
    val kept = new WindowRow(ts, waits, value)
    if (unmatched && !waits) alone(key, side, kept, out)
    if (window.closing(side, ts) <= watermark) late(row)
    if (ts > expired) keep(side, kept)
  }

  private def keep(side: Int, row: WindowRow): Unit = {
    val bucket = window.bucket(row.ts)
    val own = sides(side)
    // Timers are set once: Spark warns when one is there already.
    if (own.isEmpty(bucket) && sides(1 - side).isEmpty(bucket)) getHandle.registerTimer(window.expiry(bucket))
    if (row.waiting) {
      val closes = window.closing(side, row.ts)
      if (!own.isWaiting(row.ts)) getHandle.registerTimer(closes)
      closing = Math.min(closing, closes)
    }
    own.add(row)
  }

  /** The windows of this key that have closed since: their timers come after the batch's rows, and that would be out of order. */
  private def closeWindows(key: InternalRow, out: Outputs): Unit = {
    val timers = getHandle.listTimers().toArray.sorted
    timers.takeWhile(_ <= now).foreach(closeWindow(key, _, out))
    closing = timers.find(_ > now).getOrElse(Long.MaxValue)
  }

  private def closeWindow(key: InternalRow, closes: Long, out: Outputs): Unit =
    for (side <- Seq(1, 0) if keeps(side)) {
      val ts = window.openedBy(side, closes)
      val other = 1 - side
      // Where before and after differ, older rows of the other side may have a later timer though they are closed as well: older ones go first.
      if (keeps(other)) release(key, other, window.openedBy(other, closes), Math.min(ts - 1, window.openedBy(other, now)), out)
      release(key, side, ts, ts, out)
    }

  private def release(key: InternalRow, side: Int, from: Long, to: Long, out: Outputs): Unit =
    if (from <= to) sides(side).between(from, to).forEach { row =>
      if (row.waiting) {
        sides(side).settle(row)
        alone(key, side, row, out)
      }
    }

  override protected def onTimer(key: InternalRow, expiryMs: Long, out: Outputs): Unit = {
    now = watermark
    sides.foreach(_.begin())
    closeWindow(key, expiryMs, out)
    window.expiredBucket(expiryMs).foreach(bucket => sides.foreach(_.remove(bucket)))
    sides.foreach(_.write())
    if (keepsAny) moveClosing(expiryMs)
  }

  /** A key without open windows keeps nothing. */
  private def moveClosing(passed: Long): Unit = {
    val held = closingState.get()
    if (held != null && held.getLong(0) <= passed) {
      closingHeld = held.getLong(0)
      closing = getHandle.listTimers().filter(_ > passed).minOption.getOrElse(Long.MaxValue)
      writeClosing()
    }
  }

  override protected def endKey(key: InternalRow, out: Outputs): Unit = {
    sides.foreach(_.write())
    if (keepsAny) writeClosing()
  }

  private def writeClosing(): Unit =
    if (closing != closingHeld) {
      if (closing == Long.MaxValue) closingState.clear() else closingState.update(new GenericInternalRow(Array[Any](closing)))
    }

  private def pair(key: InternalRow, side: Int, ts: Long, value: InternalRow, other: WindowRow, out: Outputs): Unit = {
    val joined = if (side == 0) columns(key, value, ts, other.row, other.ts) else columns(key, other.row, other.ts, value, ts)
    out.emit(key, joined.copy(), null, Math.max(ts, other.ts))
  }

  private def alone(key: InternalRow, side: Int, row: WindowRow, out: Outputs): Unit = {
    val joined = if (side == 0) columns(key, row.row, row.ts, null, 0L) else columns(key, null, 0L, row.row, row.ts)
    out.emit(key, joined.copy(), null, row.ts)
  }
}

object StreamStreamJoin {
  def apply(flow: DataFrame, json: String): DataFrame = {
    val spec = Spec(json)
    val layout = Rows.layout(flow)
    val columns = JoinColumns.of(flow, layout, spec.text("columns"))
    val window = JoinWindow(spec.long("before_ms"), spec.long("after_ms"), spec.long("grace_ms"))
    val kind = spec.text("kind")
    val keepLeft = kind == "left" || kind == "outer"
    val keepRight = kind == "right" || kind == "outer"
    Rows.through(flow, new StreamStreamJoin(layout, Rows.settings(flow, spec), columns, window, keepLeft, keepRight))
  }
}
