package headrace

import org.apache.spark.sql.catalyst.InternalRow
import org.apache.spark.sql.catalyst.expressions.GenericInternalRow
import org.apache.spark.sql.streaming.{TimeMode, ValueState}
import org.apache.spark.sql.types.{LongType, StructType}

/**
 * Hopping windows whose cost per record does not depend on size ÷ advance. A record goes into one pane, as long as the windows' advance; when
 * time has passed a pane's end, the window that ends there is the running value of the panes before plus this one, and leaves.
 *
 * Time is the key's own newest record, or the watermark for a key that is silent. A record for an earlier pane corrects the windows that have
 * left already: they leave once more, as many as it is late by. `emit: final` waits for the watermark and the grace instead, and never corrects.
 * A key's window leaves at every advance for as long as there are records in it.
 */
final class PaneFold(layout: FlowLayout, settings: ProcessorSettings, fold: FoldFunctions, emission: Emission, size: Long, advance: Long, grace: Long)
    extends RowProcessor(layout, settings) {
  if (!fold.canMerge) throw new IllegalArgumentException(s"step '${settings.step}': an incremental window needs a merge of two accumulators")
  override def valueSchema: StructType = fold.valueSchema
  override def timeMode: TimeMode = TimeMode.EventTime()
  private val pane = PaneFold.gcd(size, advance)
  private val delay = if (emission.isFinal) grace else 0L
  // Panes of no more use are looked for seldom: that reads all of a key's panes.
  private val sweepEvery = Math.max(size, grace / 8)
  @transient private var panes: WindowStore = _
  @transient private var running: Running = _
  @transient private var stored: ValueState[InternalRow] = _
  @transient private var cache: KeyCache[PaneState] = _
  @transient private var at: PaneState = _

  override protected def open(): Unit = {
    val state = fold.stateSchema
    def store(name: String) =
      new WindowStore(mapState(name, WindowStore.key, WindowStore.value(state)), pane * PaneFold.PanesInARow, state.length, settings.realTime)
    panes = store("panes")
    running = if (fold.canUnmerge) new RunningInverse(fold, panes) else new RunningStacks(fold, panes, store("sums"), pane, size - pane)
    stored = valueState("running", PaneState.schema(state))
    cache = new KeyCache[PaneState](settings.realTime)
  }

  override protected def beginKey(key: InternalRow): Unit = {
    at = cache.get(key)(PaneState.read(stored.get(), fold.stateSchema.length))
    panes.begin(key)
    running.begin(key, at)
  }

  override protected def onRow(key: InternalRow, row: InternalRow, out: Outputs): Unit = {
    val ts = layout.ts(row)
    val start = Math.floorDiv(ts, pane) * pane
    if (Math.floorDiv(ts, advance) * advance + size + grace <= watermark) late(row)
    else {
      if (!at.isUsed) use(start)
      else if (emission.isFinal) passTo(key, watermarkPane, out)
      else passTo(key, start, out)
      add(key, start, ts, row, out)
      if (at.timer == PaneState.None) setTimer(at.open + pane + delay)
      // The record is in later windows, but the first that it belongs to has closed.
      if (Math.max(0L, Math.floorDiv(ts - size, advance) + 1) * advance + size + grace <= watermark) late(row)
    }
  }

  override protected def endKey(key: InternalRow, out: Outputs): Unit = {
    panes.flush()
    running.flush()
    if (at.changed) {
      if (at.isUsed) stored.update(at.stored) else stored.clear()
      at.changed = false
    }
  }

  override protected def onTimer(key: InternalRow, expiryMs: Long, out: Outputs): Unit = {
    beginKey(key)
    passTo(key, watermarkPane, out)
    if (at.sweep <= watermark) sweep()
    next() match {
      case Some(time) => setTimer(time)
      case None => at.clear()
    }
    endKey(key, out)
  }

  /** The pane that holds the watermark, less the grace when results are final: everything before it has ended. */
  private def watermarkPane: Long = if (watermark == Long.MinValue) Long.MinValue else Math.floorDiv(watermark - delay, pane) * pane

  private def use(start: Long): Unit = {
    at.open = start
    at.flip = start
    at.sweep = start + size + grace + sweepEvery
    at.changed = true
  }

  private def setTimer(timeMs: Long): Unit = {
    getHandle.registerTimer(timeMs)
    at.timer = timeMs
    at.changed = true
  }

  private def add(key: InternalRow, start: Long, ts: Long, row: InternalRow, out: Outputs): Unit = {
    val before = panes.get(start)
    val old = if (emission.sendOld) toCorrect(start).map(end => end -> fold.result(key, windowState(key, end))).toMap else Map.empty[Long, InternalRow]
    val state = fold.add(key, if (before == null) null else before.state, layout.left(row))
    if (state == null) panes.remove(start) else panes.put(start, new Accumulator(state, if (before == null) ts else Math.max(ts, before.ts)))
    if (start < at.open) {
      if (emission.isFinal) moveBack(key, start)
      else {
        if (start > at.open - size) {
          running.correct(key, start, before == null, layout.left(row))
          at.ts = Math.max(at.ts, ts)
        }
        correct(key, start, old, out)
      }
      at.changed = true
    }
  }

  /** The ends of the windows that hold this pane and have left, as far as they are not closed. */
  private def toCorrect(start: Long): Iterator[Long] =
    Iterator.iterate(start + pane)(_ + pane).takeWhile(_ <= Math.min(start + size, at.open)).filter(end => isWindowEnd(end) && end + grace > watermark)

  private def correct(key: InternalRow, start: Long, old: Map[Long, InternalRow], out: Outputs): Unit = toCorrect(start).foreach { end =>
    val state = windowState(key, end)
    if (state != null) emit(key, end, state, newestTime(end), old.getOrElse(end, null), out)
  }

  private def newestTime(end: Long): Long = {
    val held = panes.range(end - size, end - pane)
    held.get(held.size - 1).getValue.ts
  }

  private def windowState(key: InternalRow, end: Long): InternalRow = {
    var state: InternalRow = null
    panes.range(end - size, end - pane).forEach(entry => state = fold.merge(key, state, entry.getValue.state))
    state
  }

  /** Nothing of this key has left from here on: begin again at the earlier pane. */
  private def moveBack(key: InternalRow, start: Long): Unit = {
    at.open = Math.max(start, watermarkPane)
    running.rebuild(key, at.open - size + pane, at.open)
  }

  /** Ends panes one by one until `target` is the open one. */
  private def passTo(key: InternalRow, target: Long, out: Outputs): Unit = while (at.open < target) {
    at.changed = true
    val ended = panes.get(at.open)
    val end = at.open + pane
    if (ended != null) at.ts = ended.ts
    if (isWindowEnd(end)) {
      val state = fold.merge(key, running.value(key, at.open - size + pane), if (ended == null) null else ended.state)
      if (state != null) emit(key, end, state, at.ts, null, out)
    }
    running.move(key, ended, end - size, end)
    at.open = if (at.filled > 0) end else nextFilled(end, target)
  }

  private def isWindowEnd(end: Long): Boolean = end >= size && (end - size) % advance == 0

  /** With nothing in the window nothing leaves, so the panes without records can be skipped. */
  private def nextFilled(from: Long, target: Long): Long =
    if (!emission.isFinal || panes.get(from) != null) { if (panes.get(from) != null) from else target }
    else {
      val later = panes.all().ceilingKey(from)
      if (later == null) target else Math.min(later, target)
    }

  private def emit(key: InternalRow, end: Long, state: InternalRow, ts: Long, old: InternalRow, out: Outputs): Unit =
    out.emit(key, fold.result(key, state), old, ts, end - size, end)

  private def sweep(): Unit = {
    panes.all().forEach { (start, _) =>
      if (start <= at.open - size && Math.floorDiv(start, advance) * advance + size + grace <= watermark) panes.remove(start)
    }
    at.sweep = watermark + sweepEvery
    at.changed = true
  }

  /** When to look at this key again: when its open pane ends, else when its panes may go. */
  private def next(): Option[Long] =
    if (at.filled > 0 || panes.get(at.open) != null) Some(at.open + pane + delay)
    else {
      val left = panes.all()
      val later = left.ceilingKey(at.open)
      if (later != null) Some(later + pane + delay)
      else if (left.isEmpty) None
      else Some(Math.max(at.sweep, watermark + 1))
    }
}

object PaneFold {
  /** Neighbouring panes share a row of the store: few reads and writes when a batch spans many, and little to rewrite when it spans one. */
  private val PanesInARow = 16L

  @scala.annotation.tailrec
  private def gcd(a: Long, b: Long): Long = if (b == 0) a else gcd(b, a % b)
}

/** Where a key stands: the pane that is open, the running value of the panes before it that are in its window, and how many of them are filled. */
final class PaneState {
  var open: Long = PaneState.None
  var filled: Long = 0
  /** The newest event time among the ended panes. */
  var ts: Long = Long.MinValue
  var flip: Long = PaneState.None
  var timer: Long = PaneState.None
  var sweep: Long = Long.MaxValue
  var value: InternalRow = _
  var changed = false

  def isUsed: Boolean = open != PaneState.None

  def clear(): Unit = {
    open = PaneState.None
    timer = PaneState.None
    filled = 0
    value = null
    changed = true
  }

  def stored: InternalRow = {
    val row = new GenericInternalRow(7)
    row.setLong(0, open)
    row.setLong(1, filled)
    row.setLong(2, ts)
    row.setLong(3, flip)
    row.setLong(4, timer)
    row.setLong(5, sweep)
    row.update(6, value)
    row
  }
}

object PaneState {
  val None: Long = Long.MinValue

  def schema(state: StructType): StructType = new StructType()
    .add("open", LongType).add("filled", LongType).add("ts", LongType).add("flip", LongType).add("timer", LongType).add("sweep", LongType).add("value", state)

  def read(row: InternalRow, stateFields: Int): PaneState = {
    val read = new PaneState
    if (row != null) {
      read.open = row.getLong(0)
      read.filled = row.getLong(1)
      read.ts = row.getLong(2)
      read.flip = row.getLong(3)
      read.timer = row.getLong(4)
      read.sweep = row.getLong(5)
      read.value = if (row.isNullAt(6)) null else row.getStruct(6, stateFields)
    }
    read
  }
}
