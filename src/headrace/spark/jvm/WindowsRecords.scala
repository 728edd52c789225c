package headrace

import java.util

import org.apache.spark.sql.catalyst.InternalRow
import org.apache.spark.sql.catalyst.expressions.GenericInternalRow
import org.apache.spark.sql.catalyst.util.GenericArrayData
import org.apache.spark.sql.streaming.ValueState
import org.apache.spark.sql.types.{ArrayType, LongType, StructType}

/**
 * What windows of records share, as against windows of time: what is in a window follows from the order of a key's records, so nothing is ever
 * late; a result leaves once, when its window is complete. Its bounds are the smallest and the largest event time in it, both inclusive.
 */
abstract class RecordWindowFold(layout: FlowLayout, settings: ProcessorSettings, val fold: FoldFunctions) extends RowProcessor(layout, settings) {
  override def valueSchema: StructType = fold.valueSchema
  @transient private var stored: ValueState[InternalRow] = _
  @transient private var cache: KeyCache[RecordWindows] = _
  @transient protected var current: RecordWindows = _
  @transient private var changed = false

  override protected def open(): Unit = {
    stored = valueState("open", RecordWindows.schema(fold.stateSchema))
    cache = new KeyCache[RecordWindows](settings.realTime)
  }

  override protected def beginKey(key: InternalRow): Unit = {
    current = cache.get(key)(RecordWindows.read(stored.get(), fold.stateSchema.length))
    changed = false
  }

  override protected def onRow(key: InternalRow, row: InternalRow, out: Outputs): Unit = if (layout.left(row) != null) {
    changed = true
    record(key, row, out)
  }

  protected def record(key: InternalRow, row: InternalRow, out: Outputs): Unit

  override protected def endKey(key: InternalRow, out: Outputs): Unit = if (changed) stored.update(current.stored)

  protected def add(key: InternalRow, row: InternalRow, window: RecordWindow): Unit = {
    window.state = fold.add(key, window.state, layout.left(row))
    window.first = Math.min(window.first, layout.ts(row))
    window.last = Math.max(window.last, layout.ts(row))
    window.records += 1
  }

  protected def complete(key: InternalRow, window: RecordWindow, out: Outputs): Unit =
    out.emit(key, fold.result(key, window.state), null, window.last, window.first, window.last)
}

/** Every `size` records of a key, a new window each `advance` records. */
final class CountFold(layout: FlowLayout, settings: ProcessorSettings, fold: FoldFunctions, size: Long, advance: Long)
    extends RecordWindowFold(layout, settings, fold) {
  override protected def record(key: InternalRow, row: InternalRow, out: Outputs): Unit = {
    if (current.seen % advance == 0) current.windows.add(new RecordWindow)
    current.seen += 1
    current.windows.forEach(window => add(key, row, window))
    if (current.windows.peekFirst.records == size) complete(key, current.windows.pollFirst(), out)
  }
}

/**
 * Records of a key up to one for which `end` holds. `inclusive`: it is the last of its window; else the first of the next. A window that
 * nobody ends is complete at `max` records.
 */
final class PunctuationFold(layout: FlowLayout, settings: ProcessorSettings, fold: FoldFunctions, end: CompiledCondition, inclusive: Boolean, max: Long)
    extends RecordWindowFold(layout, settings, fold) {
  @transient private lazy val names = new GenericInternalRow(2)

  override protected def record(key: InternalRow, row: InternalRow, out: Outputs): Unit = {
    names.update(0, key)
    names.update(1, layout.left(row))
    val ends = end(names)
    if (ends && !inclusive) close(key, out)
    if (current.windows.isEmpty) current.windows.add(new RecordWindow)
    add(key, row, current.windows.peekFirst)
    if ((ends && inclusive) || current.windows.peekFirst.records >= max) close(key, out)
  }

  private def close(key: InternalRow, out: Outputs): Unit = if (!current.windows.isEmpty) complete(key, current.windows.pollFirst(), out)
}

final class RecordWindow {
  var state: InternalRow = _
  var first: Long = Long.MaxValue
  var last: Long = Long.MinValue
  var records: Long = 0
}

/** The windows of a key that are not complete, the oldest first, and how many records the key has had. */
final class RecordWindows {
  var seen: Long = 0
  val windows = new util.ArrayDeque[RecordWindow]()

  def stored: InternalRow = {
    val open = new Array[Any](windows.size)
    var i = 0
    windows.forEach { window =>
      open(i) = InternalRow(window.first, window.last, window.records, window.state)
      i += 1
    }
    InternalRow(seen, new GenericArrayData(open))
  }
}

object RecordWindows {
  def schema(state: StructType): StructType = {
    val window = new StructType().add("first", LongType).add("last", LongType).add("records", LongType).add("state", state)
    new StructType().add("seen", LongType).add("windows", ArrayType(window))
  }

  def read(row: InternalRow, stateFields: Int): RecordWindows = {
    val read = new RecordWindows
    if (row != null) {
      read.seen = row.getLong(0)
      val open = row.getArray(1)
      (0 until open.numElements()).foreach { i =>
        val stored = open.getStruct(i, 4)
        val window = new RecordWindow
        window.first = stored.getLong(0)
        window.last = stored.getLong(1)
        window.records = stored.getLong(2)
        window.state = if (stored.isNullAt(3)) null else stored.getStruct(3, stateFields)
        read.windows.add(window)
      }
    }
    read
  }
}
