package headrace

import org.apache.spark.sql.DataFrame
import org.apache.spark.sql.catalyst.InternalRow
import org.apache.spark.sql.catalyst.expressions.GenericInternalRow
import org.apache.spark.sql.streaming.ValueState
import org.apache.spark.sql.types.StructType

/**
 * A stream of rows taken as a table: each row comes out with the value that its key had before (`old`, NULL if none). A null value deletes.
 *
 * Every row comes out, also a deletion of what was not there, as from a KTable's source with a store. Rows without a key are dropped and counted.
 * Order is that of the offsets; timestamps do not matter, as in an unversioned store.
 */
final class TableChanges(layout: FlowLayout, settings: ProcessorSettings) extends JoinProcessor(layout, settings) {
  @transient private var state: ValueState[InternalRow] = _
  private var current: InternalRow = _
  private var changed = false

  override def valueSchema: StructType = layout.left
  override protected def openStates(): Unit = state = valueState("table", new StructType().add("row", layout.left))

  override protected def beginKey(key: InternalRow): Unit = {
    val held = state.get()
    current = if (held == null) null else held.getStruct(0, layout.left.length)
    changed = false
  }

  override protected def onRow(key: InternalRow, row: InternalRow, out: Outputs): Unit =
    if (NullKey.is(key)) unusable(row, "it has no key")
    else {
      val value = layout.left(row)
      out.emit(key, value, current, layout.ts(row))
      changed ||= value != null || current != null
      current = if (value == null) null else value.copy()
    }

  override protected def endKey(key: InternalRow, out: Outputs): Unit =
    if (changed) { if (current == null) state.clear() else state.update(new GenericInternalRow(Array[Any](current))) }
}

object TableChanges {
  def apply(flow: DataFrame, json: String): DataFrame = {
    val spec = Spec(json)
    Rows.through(flow, new TableChanges(Rows.layout(flow), Rows.settings(flow, spec)))
  }
}
