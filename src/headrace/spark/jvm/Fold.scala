package headrace

import org.apache.spark.sql.DataFrame
import org.apache.spark.sql.catalyst.InternalRow
import org.apache.spark.sql.catalyst.expressions.GenericInternalRow
import org.apache.spark.sql.streaming.ValueState
import org.apache.spark.sql.types.{LongType, StructType}

/** An accumulator and the largest event time that went into it, as they are kept. */
object Accumulator {
  def schema(state: StructType): StructType = new StructType().add("ts", LongType).add("state", state)
}

final class Accumulator(var state: InternalRow, var ts: Long) {
  @transient private lazy val row = new GenericInternalRow(2)

  def stored: InternalRow = {
    row.setLong(0, ts)
    row.update(1, state)
    row
  }
}

/** Folds without windows: of a stream (rows are added), of a table (the old row is taken out, the new one added). */
final class KeyFold(layout: FlowLayout, settings: ProcessorSettings, fold: FoldFunctions, everyUpdate: Boolean, sendOld: Boolean)
    extends RowProcessor(layout, settings) {
  override def valueSchema: StructType = fold.valueSchema
  @transient private var states: ValueState[InternalRow] = _
  @transient private var current: Accumulator = _
  @transient private var existed = false
  @transient private var changed = false
  @transient private var old: InternalRow = _

  override protected def open(): Unit = states = valueState("accumulator", Accumulator.schema(fold.stateSchema))

  override protected def beginKey(key: InternalRow): Unit = {
    val stored = states.get()
    existed = stored != null
    changed = false
    current = if (existed) new Accumulator(stored.getStruct(1, fold.stateSchema.length).copy(), stored.getLong(0)) else new Accumulator(null, Long.MinValue)
    if (sendOld) old = fold.result(key, current.state)
  }

  override protected def onRow(key: InternalRow, row: InternalRow, out: Outputs): Unit = {
    val added = if (layout.undo(row)) null else layout.left(row)
    val removed = if (layout.undo(row)) layout.left(row) else layout.right(row)
    if (added != null || removed != null) {
      if (removed != null && current.state != null) current.state = fold.remove(key, current.state, removed)
      if (added != null) current.state = fold.add(key, current.state, added)
      current.ts = Math.max(current.ts, layout.ts(row))
      changed = true
      if (everyUpdate) emit(key, out)
    }
  }

  override protected def endKey(key: InternalRow, out: Outputs): Unit = if (changed) {
    if (!everyUpdate) emit(key, out)
    if (current.state != null) states.update(current.stored)
    else if (existed) states.clear()
  }

  private def emit(key: InternalRow, out: Outputs): Unit = {
    val value = fold.result(key, current.state)
    out.emit(key, value, if (sendOld) old else null, current.ts)
    if (sendOld) old = value
    if (current.state == null) current.ts = Long.MinValue
  }
}

/** The way in from Python. */
object Fold {
  def apply(flow: DataFrame, specification: String): DataFrame = {
    val spec = Spec(specification)
    val layout = Rows.layout(flow)
    val settings = Rows.settings(flow, spec)
    val fold = FoldFunctions(flow.sparkSession, layout, spec)
    Rows.through(flow, new KeyFold(layout, settings, fold, spec.flag("every_update", otherwise = true), spec.flag("old")))
  }
}
