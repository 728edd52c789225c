package headrace

import java.util

import org.apache.spark.sql.catalyst.InternalRow
import org.apache.spark.sql.streaming.TimeMode
import org.apache.spark.sql.types.StructType

/** What the folds over event-time windows share: a store by window start, and its expiry once the watermark has passed a window's end and grace. */
abstract class WindowFold(layout: FlowLayout, settings: ProcessorSettings, val fold: FoldFunctions, val emission: Emission, storeWidth: Long)
    extends RowProcessor(layout, settings) {
  override def valueSchema: StructType = fold.valueSchema
  override def timeMode: TimeMode = TimeMode.EventTime()
  @transient protected var windows: WindowStore = _
  @transient private var timer: KeyTimer = _
  @transient private var changed: util.TreeMap[java.lang.Long, InternalRow] = _

  protected def endOf(start: Long): Long
  /** The watermark at which the window of this start takes no more records. */
  protected def closesAt(start: Long): Long
  protected final def isClosed(start: Long): Boolean = closesAt(start) <= watermark
  // Final results leave as soon as they can; to clear away what is of no use any more may wait, and costs less when done seldom.
  private val slack: Long = if (emission.isFinal) 0L else storeWidth

  override protected def open(): Unit = {
    windows = new WindowStore(mapState("windows", WindowStore.key, WindowStore.value(fold.stateSchema)), storeWidth, fold.stateSchema.length, settings.realTime)
    timer = new KeyTimer(getHandle, valueState("timer", KeyTimer.schema))
    changed = new util.TreeMap[java.lang.Long, InternalRow]()
  }

  override protected def beginKey(key: InternalRow): Unit = windows.begin(key)

  override protected def endKey(key: InternalRow, out: Outputs): Unit = {
    if (!changed.isEmpty) {
      changed.forEach((start, old) => emit(key, start, windows.get(start), old, out))
      changed.clear()
    }
    windows.flush()
  }

  /** Puts a window's new accumulator in its place; null deletes it. */
  protected def store(key: InternalRow, start: Long, before: Accumulator, state: InternalRow, ts: Long, out: Outputs): Unit = {
    val old = if (emission.sendOld && before != null) fold.result(key, before.state) else null
    val after = if (state == null) null else new Accumulator(state, ts)
    if (after == null) windows.remove(start)
    else {
      val isFirst = windows.put(start, after)
      if (emission.isFinal) { if (before == null) timer.bring(closesAt(start)) }
      else if (isFirst) timer.ensure(closesAt(start) + slack)
    }
    if (emission.isEveryUpdate) emit(key, start, if (after == null) new Accumulator(null, ts) else after, old, out)
    else if (emission.isLastOfBatch && !changed.containsKey(start)) changed.put(start, old)
  }

  override protected def onTimer(key: InternalRow, expiryMs: Long, out: Outputs): Unit = {
    windows.begin(key)
    var next: Option[Long] = None
    windows.all().forEach { (start, accumulator) =>
      if (isClosed(start)) {
        if (emission.isFinal) emit(key, start, accumulator, null, out)
        windows.remove(start)
      } else if (next.forall(_ > closesAt(start))) next = Some(closesAt(start))
    }
    windows.flush()
    timer.next(next.map(_ + slack))
  }

  protected def emit(key: InternalRow, start: Long, accumulator: Accumulator, old: InternalRow, out: Outputs): Unit = {
    // A deletion at the end of a batch has no accumulator left to tell the time.
    val ts = if (accumulator == null) endOf(start) else accumulator.ts
    out.emit(key, if (accumulator == null) null else fold.result(key, accumulator.state), old, ts, start, endOf(start))
  }
}

/** Tumbling and hopping windows: [start, start + size), a start every `advance` milliseconds since the epoch. */
final class TimeWindowFold(layout: FlowLayout, settings: ProcessorSettings, fold: FoldFunctions, emission: Emission, size: Long, advance: Long, grace: Long)
    extends WindowFold(layout, settings, fold, emission, size) {
  override protected def endOf(start: Long): Long = start + size
  override protected def closesAt(start: Long): Long = start + size + grace

  override protected def onRow(key: InternalRow, row: InternalRow, out: Outputs): Unit = {
    val ts = layout.ts(row)
    var start = Math.max(0L, ts - size + advance) / advance * advance
    var isLate = false
    while (start <= ts) {
      if (isClosed(start)) isLate = true
      else {
        val before = windows.get(start)
        val state = fold.add(key, if (before == null) null else before.state, layout.left(row))
        store(key, start, before, state, if (before == null) ts else Math.max(ts, before.ts), out)
      }
      start += advance
    }
    if (isLate) late(row)
  }
}

/** When results leave: at every update, once per batch with what changed last, or once when a window is closed. */
final case class Emission(isEveryUpdate: Boolean, isFinal: Boolean, sendOld: Boolean) {
  def isLastOfBatch: Boolean = !isEveryUpdate && !isFinal
}

object Emission {
  def apply(spec: Spec): Emission = spec.optionalText("emit").getOrElse("every_update") match {
    case "every_update" => new Emission(true, false, spec.flag("old"))
    case "last_of_batch" => new Emission(false, false, spec.flag("old"))
    case "final" => new Emission(false, true, false)
    case other => throw new IllegalArgumentException(s"emit of step '${spec.step}' must be every_update, last_of_batch or final, not '$other'")
  }
}
