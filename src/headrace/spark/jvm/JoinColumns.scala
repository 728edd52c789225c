package headrace

import org.apache.spark.internal.Logging
import org.apache.spark.sql.{DataFrame, SparkSession}
import org.apache.spark.sql.catalyst.InternalRow
import org.apache.spark.sql.catalyst.expressions.GenericInternalRow
import org.apache.spark.sql.types.{LongType, StructType}

/**
 * The value columns of a join's result: an SQL text that gives a struct, over `key`, `left`, `right` (structs; a missing side is NULL) and
 * `left_ts`, `right_ts` (BIGINT, milliseconds; NULL where the side is missing). The result is reused by the next call.
 */
final class JoinColumns private (compiled: CompiledStruct) extends Serializable {
  val schema: StructType = RowEncoding.nullable(compiled.schema)
  @transient private lazy val scope = new GenericInternalRow(5)

  def apply(key: InternalRow, left: InternalRow, leftTs: Long, right: InternalRow, rightTs: Long): InternalRow = {
    scope.update(0, key)
    scope.update(1, left)
    scope.update(2, right)
    if (left == null) scope.setNullAt(3) else scope.setLong(3, leftTs)
    if (right == null) scope.setNullAt(4) else scope.setLong(4, rightTs)
    compiled(scope)
  }
}

object JoinColumns {
  def of(session: SparkSession, key: StructType, left: StructType, right: StructType, text: String): JoinColumns = {
    val scope = new Scope(session, Seq("key" -> key, "left" -> left, "right" -> right, "left_ts" -> LongType, "right_ts" -> LongType))
    new JoinColumns(scope.struct(text))
  }

  def of(flow: DataFrame, layout: FlowLayout, text: String): JoinColumns = of(flow.sparkSession, layout.key, layout.left, layout.right, text)
}

/** One side of a join as it is kept: a row and its time. The row must not be one that somebody reuses. */
final class TimedRow(val row: InternalRow, val ts: Long)

object TimedRow {
  def schema(row: StructType): StructType = new StructType().add("row", row).add("ts", LongType)

  /** From a state whose row begins with `row, ts` at `at`; null where there is none. State rows are new arrays, so their structs can be kept. */
  def read(state: InternalRow, at: Int, fields: Int): TimedRow =
    if (state == null || state.isNullAt(at)) null else new TimedRow(state.getStruct(at, fields), state.getLong(at + 1))

  def write(state: GenericInternalRow, at: Int, timed: TimedRow): Unit =
    if (timed == null) {
      state.setNullAt(at)
      state.setNullAt(at + 1)
    } else {
      state.update(at, timed.row)
      state.setLong(at + 1, timed.ts)
    }
}

object NullKey {
  /** A key all of whose fields are null is no key: NULL equals nothing. */
  def is(key: InternalRow): Boolean = {
    var i = 0
    while (i < key.numFields && key.isNullAt(i)) i += 1
    i == key.numFields
  }
}

/** Counts records that a step cannot use (no key, no value), as Kafka Streams' dropped-records does. The first of a task is told in the log. */
final class UnusableRows(layout: FlowLayout, settings: ProcessorSettings) extends Logging {
  private var told = false
  private lazy val meter = settings.meter.task()

  def count(row: InternalRow, why: String): Unit = {
    meter.counts.dropped.increment()
    if (!told) {
      told = true
      logWarning(s"step '${settings.step}' of pipeline '${settings.pipeline}' cannot use the record of ${layout.topic(row)}-${layout.partition(row)} at offset ${layout.offset(row)}: $why")
    }
  }

  def close(): Unit = if (told) meter.close()
}

/** What the processors of joins and tables share. */
abstract class JoinProcessor(layout: FlowLayout, settings: ProcessorSettings) extends RowProcessor(layout, settings) {
  @transient private var unusableRows: UnusableRows = _

  protected def openStates(): Unit

  final override protected def open(): Unit = {
    unusableRows = new UnusableRows(layout, settings)
    openStates()
  }

  override def close(): Unit = {
    super.close()
    if (unusableRows != null) unusableRows.close()
  }

  protected def unusable(row: InternalRow, why: String): Unit = unusableRows.count(row, why)
}
