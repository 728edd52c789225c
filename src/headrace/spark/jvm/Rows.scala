package headrace

import java.util

import org.apache.spark.sql.{Column, DataFrame, PlannedRows}
import org.apache.spark.sql.catalyst.InternalRow
import org.apache.spark.sql.catalyst.expressions.GenericInternalRow
import org.apache.spark.sql.catalyst.plans.logical.TransformWithState
import org.apache.spark.sql.functions.{col, expr}
import org.apache.spark.sql.streaming.{ExpiredTimerInfo, MapState, OutputMode, StatefulProcessor, TTLConfig, TimeMode, TimerValues, ValueState}
import org.apache.spark.sql.types.{LongType, StructType, TimestampType}
import org.apache.spark.unsafe.types.UTF8String

/**
 * Where the columns of the keyed flow are in the rows a processor gets: first the fields of the key, then what the flow has of
 * `side, left, right, undo, ts, topic, partition, offset, window_start, window_end`. `ts` has become milliseconds.
 */
final class FlowLayout(val key: StructType, columns: StructType) extends Serializable {
  private def at(name: String): Int = if (columns.fieldNames.contains(name)) key.length + columns.fieldIndex(name) else -1
  private def struct(name: String): StructType =
    columns.find(_.name == name).map(field => RowEncoding.nullable(field.dataType.asInstanceOf[StructType])).getOrElse(new StructType)

  val left: StructType = struct("left")
  val right: StructType = struct("right")
  private val sideAt = at("side")
  private val leftAt = at("left")
  private val rightAt = at("right")
  private val undoAt = at("undo")
  private val tsAt = at("ts")
  private val topicAt = at("topic")
  private val partitionAt = at("partition")
  private val offsetAt = at("offset")
  private val windowStartAt = at("window_start")
  private val windowEndAt = at("window_end")

  def side(row: InternalRow): Int = if (sideAt < 0) 0 else row.getInt(sideAt)
  /** Null is a tombstone, or the row is of the other side. */
  def left(row: InternalRow): InternalRow = if (row.isNullAt(leftAt)) null else row.getStruct(leftAt, left.length)
  def right(row: InternalRow): InternalRow = if (rightAt < 0 || row.isNullAt(rightAt)) null else row.getStruct(rightAt, right.length)
  def undo(row: InternalRow): Boolean = undoAt >= 0 && !row.isNullAt(undoAt) && row.getBoolean(undoAt)
  /** Event time in milliseconds. */
  def ts(row: InternalRow): Long = row.getLong(tsAt)
  def topic(row: InternalRow): UTF8String = if (row.isNullAt(topicAt)) UTF8String.EMPTY_UTF8 else row.getUTF8String(topicAt)
  def partition(row: InternalRow): Int = row.getInt(partitionAt)
  def offset(row: InternalRow): Long = row.getLong(offsetAt)
  /** Of flows with windowed keys. */
  def windowStart(row: InternalRow): Long = row.getLong(windowStartAt)
  def windowEnd(row: InternalRow): Long = row.getLong(windowEndAt)
}

/**
 * What all processors share. A processor is made on the driver from a specification, sent to the tasks, and opened once in each.
 *
 * It sees the rows of a key one by one in Kafka's order: `beginKey`, `onRow` for each, `endKey`; in a micro-batch once per key and batch, in
 * real-time mode around every row. So a state that is read in `beginKey` and written in `endKey` costs one read and one write in both.
 */
abstract class RowProcessor(val layout: FlowLayout, val settings: ProcessorSettings) extends StatefulProcessor[InternalRow, InternalRow, InternalRow] {
  /** Value columns of what comes out. */
  def valueSchema: StructType
  def outputSchema: StructType = Rows.output(layout.key, valueSchema)
  /** Event time: timers and the watermark. None: neither, and no cost of them. */
  def timeMode: TimeMode = TimeMode.None()
  /** The side whose rows go first on equal timestamps; -1: none. */
  protected def firstSide: Int = -1

  /** Creates the state variables. Runs in every task, and on the driver to learn their schemas. */
  protected def open(): Unit
  protected def beginKey(key: InternalRow): Unit = ()
  protected def onRow(key: InternalRow, row: InternalRow, out: Outputs): Unit
  protected def endKey(key: InternalRow, out: Outputs): Unit = ()
  protected def onTimer(key: InternalRow, expiryMs: Long, out: Outputs): Unit = ()

  /** The largest event time of the batches before this one, in milliseconds; `Long.MinValue` as long as there is none. */
  protected var watermark: Long = Long.MinValue
  @transient private var order: RowOrder = _
  @transient private var lateRows: LateRows = _

  final override def init(outputMode: OutputMode, timeMode: TimeMode): Unit = {
    order = new RowOrder(layout, firstSide)
    lateRows = new LateRows(layout, settings)
    open()
  }

  final override def handleInputRows(key: InternalRow, rows: Iterator[InternalRow], timers: TimerValues): Iterator[InternalRow] = {
    setWatermark(timers)
    new KeyRows(key, ordered(rows))
  }

  final override def handleExpiredTimer(key: InternalRow, timers: TimerValues, expired: ExpiredTimerInfo): Iterator[InternalRow] = {
    setWatermark(timers)
    val out = new Outputs
    onTimer(key, expired.getExpiryTimeInMs(), out)
    out.drain()
  }

  override def close(): Unit = if (lateRows != null) lateRows.close()

  /** Counts a row that came too late for what it belonged to, and says so in the log. */
  protected def late(row: InternalRow): Unit = lateRows.count(row, watermark)

  protected def valueState(name: String, schema: StructType): ValueState[InternalRow] =
    getHandle.getValueState[InternalRow](name, RowEncoding.of(schema), TTLConfig.NONE)

  protected def mapState(name: String, key: StructType, value: StructType): MapState[InternalRow, InternalRow] =
    getHandle.getMapState[InternalRow, InternalRow](name, RowEncoding.of(key), RowEncoding.of(value), TTLConfig.NONE)

  private def setWatermark(timers: TimerValues): Unit = {
    // Spark begins at the epoch, before any record was seen: nothing can be late then.
    val current = timers.getCurrentWatermarkInMs()
    watermark = if (current <= 0) Long.MinValue else current
  }

  /** In a micro-batch Spark reuses one row object for all, and to ask for the next row overwrites the last: each is copied before that. */
  private def ordered(rows: Iterator[InternalRow]): util.Iterator[InternalRow] = {
    if (rows.knownSize == 1) return util.Collections.singletonList(rows.next()).iterator
    val all = new util.ArrayList[InternalRow]()
    while (rows.hasNext) all.add(rows.next().copy())
    order.sorted(all).iterator
  }

  /** Handles a row when the one before has been taken by whoever reads, so that outputs of a batch are never held together. */
  private final class KeyRows(key: InternalRow, rows: util.Iterator[InternalRow]) extends Iterator[InternalRow] {
    private val out = new Outputs
    private var begun = false
    private var ended = false

    override def hasNext: Boolean = {
      while (out.isEmpty && !ended) advance()
      !out.isEmpty
    }

    override def next(): InternalRow = {
      if (!hasNext) throw new NoSuchElementException
      out.take()
    }

    private def advance(): Unit = {
      if (!begun) { begun = true; beginKey(key) }
      if (rows.hasNext) onRow(key, rows.next(), out)
      else { ended = true; endKey(key, out) }
    }
  }
}

/** What every processor is told, in a form that travels to the tasks. */
final class ProcessorSettings(val step: String, val pipeline: String, val realTime: Boolean, val meter: TaskMeter) extends Serializable

/** Rows on their way out of a processor. */
final class Outputs {
  private val rows = new util.ArrayDeque[InternalRow]()

  def isEmpty: Boolean = rows.isEmpty
  def take(): InternalRow = rows.poll()
  def drain(): Iterator[InternalRow] = Iterator.continually(rows.poll()).takeWhile(_ != null)

  /** A row as it is; nothing of it may be changed before it has been taken. */
  def add(row: InternalRow): Unit = rows.add(row)

  /** The common output row. `value` null deletes. The structs are kept as they are: copy what a projection will reuse. */
  def emit(key: InternalRow, value: InternalRow, old: InternalRow, tsMs: Long): Unit = {
    val row = new GenericInternalRow(6)
    row.update(0, key)
    row.update(1, value)
    row.update(2, old)
    row.update(3, tsMs * 1000L)
    rows.add(row)
  }

  def emit(key: InternalRow, value: InternalRow, old: InternalRow, tsMs: Long, windowStart: Long, windowEnd: Long): Unit = {
    emit(key, value, old, tsMs)
    val row = rows.peekLast()
    row.setLong(4, windowStart)
    row.setLong(5, windowEnd)
  }
}

object Rows {
  private val flowColumns = Seq("side", "left", "right", "undo", "ts", "topic", "partition", "offset", "window_start", "window_end")

  /** The output every processor has; two-way processors append their columns. */
  def output(key: StructType, value: StructType): StructType = new StructType()
    .add("key", key)
    .add("value", value)
    .add("old", value)
    .add("ts", TimestampType)
    .add("window_start", LongType)
    .add("window_end", LongType)

  /** The key under which a state variable keeps what belongs to a whole partition. */
  def nulls(key: StructType): InternalRow = new GenericInternalRow(key.length)

  def layout(flow: DataFrame): FlowLayout = {
    val key = RowEncoding.nullable(flow.schema("key").dataType.asInstanceOf[StructType])
    val rest = StructType(flowColumns.filter(flow.columns.contains).map(name => flow.schema(name)))
    new FlowLayout(key, rest)
  }

  def settings(flow: DataFrame, spec: Spec): ProcessorSettings =
    new ProcessorSettings(spec.step, spec.pipeline, spec.flag("real_time"), TaskMeter.of(flow.sparkSession.sparkContext, spec.pipeline))

  /**
   * The keyed flow through a processor.
   *
   * Rows are grouped by the key's fields rather than by the struct, because Spark sorts plain columns by prefix and structs only by
   * comparing. The watermark is the largest event time so far. Spark drops rows behind the watermark in front of a processor with timers,
   * and without a count, if it finds the watermark's column in its input: a number computed from that column does not carry the mark, so all
   * rows come through and the processor decides what is late.
   */
  def through(flow: DataFrame, processor: RowProcessor): DataFrame = {
    val watermarked = if (processor.timeMode == TimeMode.None()) flow else flow.withWatermark("ts", "0 seconds")
    val input = watermarked.select(keyColumns(processor.layout.key) ++ restColumns(flow): _*)
    val plan = input.queryExecution.analyzed
    val grouping = plan.output.take(processor.layout.key.length)
    val transformed = TransformWithState[InternalRow, InternalRow, InternalRow](
      grouping, plan.output, processor, processor.timeMode, OutputMode.Update(), plan
    )(RowEncoding.of(processor.layout.key), RowEncoding.of(StructType(input.schema.fields)), RowEncoding.of(processor.outputSchema))
    PlannedRows(flow.sparkSession, transformed)
  }

  private def keyColumns(key: StructType): Seq[Column] =
    key.fieldNames.toSeq.zipWithIndex.map { case (name, i) => col("key").getField(name).as(s"key_$i") }

  private def restColumns(flow: DataFrame): Seq[Column] = flowColumns.filter(flow.columns.contains).map {
    case "ts" => expr("unix_millis(ts) AS ts")
    case name => col(name)
  }
}
