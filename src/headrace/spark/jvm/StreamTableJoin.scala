package headrace

import org.apache.spark.sql.DataFrame
import org.apache.spark.sql.catalyst.InternalRow
import org.apache.spark.sql.catalyst.expressions.GenericInternalRow
import org.apache.spark.sql.streaming.ValueState
import org.apache.spark.sql.types.StructType

/**
 * Each row of a stream (side 0) with the row that a table (side 1) has under the same key at that moment. The result has the stream's time.
 *
 * `inner` drops rows that find nothing, `leftJoin` keeps them with NULLs. A stream's row without a value is dropped and counted, one without a
 * key too, unless the join is a left one. On equal timestamps the table goes first. State: the table's rows. A table's row alone reads nothing.
 */
final class StreamTableJoin(layout: FlowLayout, settings: ProcessorSettings, columns: JoinColumns, leftJoin: Boolean, rememberedRows: Int)
    extends JoinProcessor(layout, settings) {
  @transient private var state: ValueState[InternalRow] = _
  @transient private var remembered: RememberedRows = _
  private var table: TimedRow = _
  private var known = false
  private var changed = false

  override def valueSchema: StructType = columns.schema
  override protected def firstSide: Int = 1

  override protected def openStates(): Unit = {
    state = valueState("table", TimedRow.schema(layout.right))
    remembered = new RememberedRows(rememberedRows)
  }

  override protected def beginKey(key: InternalRow): Unit = {
    known = false
    changed = false
  }

  override protected def onRow(key: InternalRow, row: InternalRow, out: Outputs): Unit =
    if (layout.side(row) == 1) onTable(key, row) else onStream(key, row, out)

  private def onTable(key: InternalRow, row: InternalRow): Unit =
    if (NullKey.is(key)) unusable(row, "a table's row needs a key")
    else {
      val value = layout.right(row)
      table = if (value == null) null else new TimedRow(value.copy(), layout.ts(row))
      known = true
      changed = true
    }

  private def onStream(key: InternalRow, row: InternalRow, out: Outputs): Unit = {
    val value = layout.left(row)
    val keyless = NullKey.is(key)
    if (value == null) unusable(row, "it has no value")
    else if (keyless && !leftJoin) unusable(row, "it has no key")
    else {
      val found = if (keyless) null else lookUp(key)
      if (found != null || leftJoin) {
        val ts = layout.ts(row)
        val joined = if (found == null) columns(key, value, ts, null, 0L) else columns(key, value, ts, found.row, found.ts)
        // Not copied: one row goes in and one comes out, which is taken before the next goes in.
        out.emit(if (keyless) null else key, joined, null, ts)
      }
    }
  }

  private def lookUp(key: InternalRow): TimedRow = {
    if (!known) {
      known = true
      if (!remembered.has(key)) remembered.put(key, TimedRow.read(state.get(), 0, layout.right.length))
      table = remembered.last
    }
    table
  }

  override protected def endKey(key: InternalRow, out: Outputs): Unit =
    if (changed) {
      remembered.replace(key, table)
      if (table == null) state.clear() else state.update(new GenericInternalRow(Array[Any](table.row, table.ts)))
    }
}

object StreamTableJoin {
  def apply(flow: DataFrame, json: String): DataFrame = {
    val spec = Spec(json)
    val layout = Rows.layout(flow)
    val columns = JoinColumns.of(flow, layout, spec.text("columns"))
    val remembered = spec.optionalLong("remembered_rows").getOrElse(0L).toInt
    Rows.through(flow, new StreamTableJoin(layout, Rows.settings(flow, spec), columns, spec.text("kind") == "left", remembered))
  }
}
