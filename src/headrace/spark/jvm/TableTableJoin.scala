package headrace

import org.apache.spark.sql.DataFrame
import org.apache.spark.sql.catalyst.InternalRow
import org.apache.spark.sql.catalyst.expressions.GenericInternalRow
import org.apache.spark.sql.streaming.ValueState
import org.apache.spark.sql.types.StructType

/**
 * Two tables by their keys. Each change of a side gives a change of the result, with the result's value before (`old`) if that is wanted.
 *
 * What comes out is what Kafka Streams sends on, deletions included: a side that must be there and is not gives nothing at all; else the result, or
 * its deletion. An inner join so deletes once more when a side is deleted that was not there while the other is; a left or outer join does not
 * when neither was there. The time is the later one of both rows. State: both rows, read and written as one.
 */
final class TableTableJoin(layout: FlowLayout, settings: ProcessorSettings, columns: JoinColumns, needsLeft: Boolean, needsRight: Boolean, withOld: Boolean)
    extends JoinProcessor(layout, settings) {
  @transient private var state: ValueState[InternalRow] = _
  private var left: TimedRow = _
  private var right: TimedRow = _
  private var changed = false

  override def valueSchema: StructType = columns.schema

  override protected def openStates(): Unit =
    state = valueState("tables", StructType(Seq("left" -> layout.left, "right" -> layout.right).flatMap { case (side, row) =>
      TimedRow.schema(row).fields.map(field => field.copy(name = s"${side}_${field.name}"))
    }))

  override protected def beginKey(key: InternalRow): Unit = {
    val held = state.get()
    left = TimedRow.read(held, 0, layout.left.length)
    right = TimedRow.read(held, 2, layout.right.length)
    changed = false
  }

  override protected def onRow(key: InternalRow, row: InternalRow, out: Outputs): Unit =
    if (NullKey.is(key)) unusable(row, "a table's row needs a key")
    else if (layout.side(row) == 0) onLeft(key, timed(layout.left(row), row), layout.ts(row), out)
    else onRight(key, timed(layout.right(row), row), layout.ts(row), out)

  private def timed(value: InternalRow, row: InternalRow): TimedRow = if (value == null) null else new TimedRow(value.copy(), layout.ts(row))

  private def onLeft(key: InternalRow, next: TimedRow, ts: Long, out: Outputs): Unit = {
    val before = left
    left = next
    changed = true
    if (sends(before, next, right, otherNeeded = needsRight)) {
      val old = if (withOld) result(key, before, right) else null
      out.emit(key, result(key, next, right), old, later(ts, right))
    }
  }

  private def onRight(key: InternalRow, next: TimedRow, ts: Long, out: Outputs): Unit = {
    val before = right
    right = next
    changed = true
    if (sends(before, next, left, otherNeeded = needsLeft)) {
      val old = if (withOld) result(key, left, before) else null
      out.emit(key, result(key, left, next), old, later(ts, left))
    }
  }

  /** Whether a change of one side is sent on. Without the other side it depends on whether that is needed, and on whether anything changed. */
  private def sends(before: TimedRow, next: TimedRow, other: TimedRow, otherNeeded: Boolean): Boolean =
    other != null || (!otherNeeded && (before != null || next != null))

  private def later(ts: Long, other: TimedRow): Long = if (other == null) ts else Math.max(ts, other.ts)

  private def result(key: InternalRow, left: TimedRow, right: TimedRow): InternalRow =
    if ((left == null && (needsLeft || right == null)) || (right == null && (needsRight || left == null))) null
    else columns(key, row(left), ts(left), row(right), ts(right)).copy()

  private def row(timed: TimedRow): InternalRow = if (timed == null) null else timed.row
  private def ts(timed: TimedRow): Long = if (timed == null) 0L else timed.ts

  override protected def endKey(key: InternalRow, out: Outputs): Unit =
    if (changed) {
      if (left == null && right == null) state.clear()
      else {
        val held = new GenericInternalRow(4)
        TimedRow.write(held, 0, left)
        TimedRow.write(held, 2, right)
        state.update(held)
      }
    }
}

object TableTableJoin {
  def apply(flow: DataFrame, json: String): DataFrame = {
    val spec = Spec(json)
    val layout = Rows.layout(flow)
    val columns = JoinColumns.of(flow, layout, spec.text("columns"))
    val kind = spec.text("kind")
    val needsLeft = kind == "inner" || kind == "left"
    val needsRight = kind == "inner" || kind == "right"
    Rows.through(flow, new TableTableJoin(layout, Rows.settings(flow, spec), columns, needsLeft, needsRight, spec.flag("old")))
  }
}
