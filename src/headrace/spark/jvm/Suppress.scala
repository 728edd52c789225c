package headrace

import org.apache.spark.sql.DataFrame
import org.apache.spark.sql.catalyst.InternalRow
import org.apache.spark.sql.execution.streaming.operators.stateful.transformwithstate.statefulprocessor.{ImplicitGroupingKeyTracker, StatefulProcessorHandleImpl}
import org.apache.spark.sql.streaming.{MapState, TimeMode, ValueState}
import org.apache.spark.sql.types.{LongType, StructType}

/** Fewer updates of a table: holds them back until a window is closed, or for a time. */
object Suppress {
  def apply(flow: DataFrame, specification: String): DataFrame = {
    val spec = Spec(specification)
    val layout = Rows.layout(flow)
    val settings = Rows.settings(flow, spec)
    val processor =
      if (spec.flag("until_window_closes")) new SuppressWindows(layout, settings, spec.long("wait_ms"))
      else new SuppressUpdates(layout, settings, spec.long("wait_ms"), spec.optionalLong("max_records"))
    Rows.through(flow, processor)
  }
}

/**
 * The last value of each window, once the watermark is `wait` past its end. A window whose last value is a deletion leaves nothing. What comes
 * for a window that has left is late.
 */
final class SuppressWindows(layout: FlowLayout, settings: ProcessorSettings, wait: Long) extends RowProcessor(layout, settings) {
  override def valueSchema: StructType = layout.left
  override def timeMode: TimeMode = TimeMode.EventTime()
  @transient private var held: MapState[InternalRow, InternalRow] = _
  @transient private var timer: KeyTimer = _

  override protected def open(): Unit = {
    held = mapState("held", SuppressWindows.window, new StructType().add("ts", LongType).add("value", layout.left))
    timer = new KeyTimer(getHandle, valueState("timer", KeyTimer.schema))
  }

  override protected def onRow(key: InternalRow, row: InternalRow, out: Outputs): Unit = {
    val window = InternalRow(layout.windowStart(row), layout.windowEnd(row))
    val closesAt = layout.windowEnd(row) + wait
    if (closesAt <= watermark) late(row)
    else if (layout.left(row) == null) held.removeKey(window)
    else {
      held.updateValue(window, InternalRow(layout.ts(row), layout.left(row)))
      timer.bring(closesAt)
    }
  }

  override protected def onTimer(key: InternalRow, expiryMs: Long, out: Outputs): Unit = {
    val windows = held.iterator().map { case (window, value) => (window.getLong(0), window.getLong(1), value.copy()) }.toArray
    windows.filter(_._2 + wait <= watermark).sortBy(window => (window._2, window._1)).foreach { case (start, end, value) =>
      out.emit(key, value.getStruct(1, layout.left.length), null, value.getLong(0), start, end)
      held.removeKey(InternalRow(start, end))
    }
    val open = windows.map(_._2 + wait).filter(_ > watermark)
    timer.next(open.minOption)
  }
}

object SuppressWindows {
  val window: StructType = new StructType().add("start", LongType).add("end", LongType)
}

/**
 * At most one update per key in `wait` milliseconds of event time: the first begins the time, the last one seen leaves at its end. With more than
 * `max` keys waiting in a partition, those that have waited longest leave early.
 */
final class SuppressUpdates(layout: FlowLayout, settings: ProcessorSettings, wait: Long, max: Option[Long]) extends RowProcessor(layout, settings) {
  override def valueSchema: StructType = layout.left
  override def timeMode: TimeMode = TimeMode.EventTime()
  @transient private var held: ValueState[InternalRow] = _
  @transient private var count: ValueState[InternalRow] = _
  @transient private var waiting = 0L
  @transient private var isCounted = false

  override protected def open(): Unit = {
    held = valueState("held", new StructType().add("due", LongType).add("ts", LongType).add("value", layout.left))
    count = valueState("count", new StructType().add("waiting", LongType))
  }

  override protected def onRow(key: InternalRow, row: InternalRow, out: Outputs): Unit = {
    val before = dueTime()
    // Timers run after the rows of a batch: what is due must leave before this row takes its place.
    val isDue = before.exists(_ <= watermark)
    if (isDue) {
      leave(key, out)
      getHandle.deleteTimer(before.get)
    }
    val isNew = isDue || before.isEmpty
    val due = if (isNew) layout.ts(row) + wait else before.get
    if (due <= watermark) out.emit(key, layout.left(row), null, layout.ts(row))
    else {
      held.update(InternalRow(due, layout.ts(row), layout.left(row)))
      if (isNew) {
        getHandle.registerTimer(due)
        addWaiting(key, 1)
        if (max.exists(waiting > _)) release(key, out)
      }
    }
  }

  override protected def onTimer(key: InternalRow, expiryMs: Long, out: Outputs): Unit = leave(key, out)

  private def dueTime(): Option[Long] = Option(held.get()).map(_.getLong(0))

  private def leave(key: InternalRow, out: Outputs): Unit = {
    val value = held.get()
    if (value != null) {
      val copied = value.copy()
      out.emit(key.copy(), if (copied.isNullAt(2)) null else copied.getStruct(2, layout.left.length), null, copied.getLong(1))
      held.clear()
      addWaiting(key, -1)
    }
  }

  /** The key that has waited longest leaves: timers are kept in the order of their times, over all keys of the partition. */
  private def release(current: InternalRow, out: Outputs): Unit = {
    val timers = getHandle.asInstanceOf[StatefulProcessorHandleImpl].getExpiredTimers(Long.MaxValue - 1)
    if (timers.hasNext) {
      val (longest: InternalRow @unchecked, due) = timers.next()
      val key = longest.copy()
      as(key) {
        leave(key, out)
        getHandle.deleteTimer(due)
      }
      ImplicitGroupingKeyTracker.setImplicitKey(current)
    }
  }

  /** The count of the whole partition is kept under one key; it is a variable of its own, so a row of that key does not meet it. */
  private def addWaiting(key: InternalRow, more: Long): Unit = if (max.isDefined) {
    as(Rows.nulls(layout.key)) {
      if (!isCounted) {
        val stored = count.get()
        waiting = if (stored == null) 0L else stored.getLong(0)
        isCounted = true
      }
      waiting += more
      count.update(InternalRow(waiting))
    }
    ImplicitGroupingKeyTracker.setImplicitKey(key)
  }

  private def as(key: InternalRow)(body: => Unit): Unit = {
    ImplicitGroupingKeyTracker.setImplicitKey(key)
    body
  }
}
