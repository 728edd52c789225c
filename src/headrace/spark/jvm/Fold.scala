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

final class Accumulator(var state: InternalRow, var ts: Long)

/** Folds without windows: of a stream (rows are added), of a table (the old row is taken out, the new one added). */
final class KeyFold(layout: FlowLayout, settings: ProcessorSettings, fold: FoldFunctions, emission: Emission) extends RowProcessor(layout, settings) {
  override def valueSchema: StructType = fold.valueSchema
  @transient private var states: ValueState[InternalRow] = _
  @transient private var cache: KeyCache[Accumulator] = _
  @transient private var stored: GenericInternalRow = _
  @transient private var current: Accumulator = _
  @transient private var existed = false
  @transient private var changed = false
  @transient private var old: InternalRow = _

  override protected def open(): Unit = {
    states = valueState("accumulator", Accumulator.schema(fold.stateSchema))
    cache = new KeyCache[Accumulator](settings.realTime)
    stored = new GenericInternalRow(2)
  }

  override protected def beginKey(key: InternalRow): Unit = {
    current = cache.get(key)(read())
    existed = current.state != null
    changed = false
    if (emission.sendOld) old = fold.result(key, current.state)
  }

  override protected def onRow(key: InternalRow, row: InternalRow, out: Outputs): Unit = {
    val added = if (layout.undo(row)) null else layout.left(row)
    val removed = if (layout.undo(row)) layout.left(row) else layout.right(row)
    if (added != null || removed != null) {
      val ts = if (current.state == null) layout.ts(row) else Math.max(current.ts, layout.ts(row))
      if (removed != null && current.state != null) current.state = fold.remove(key, current.state, removed)
      if (added != null) current.state = fold.add(key, current.state, added)
      current.ts = ts
      changed = true
      if (emission.isEveryUpdate) emit(key, out)
    }
  }

  override protected def endKey(key: InternalRow, out: Outputs): Unit = if (changed) {
    if (emission.isLastOfBatch) emit(key, out)
    if (current.state == null) { if (existed) states.clear() }
    else {
      stored.setLong(0, current.ts)
      stored.update(1, current.state)
      states.update(stored)
    }
  }

  private def read(): Accumulator = {
    val row = states.get()
    if (row == null) new Accumulator(null, Long.MinValue) else new Accumulator(row.getStruct(1, fold.stateSchema.length), row.getLong(0))
  }

  private def emit(key: InternalRow, out: Outputs): Unit = {
    val value = fold.result(key, current.state)
    out.emit(key, value, if (emission.sendOld) old else null, current.ts)
    if (emission.sendOld) old = value
  }
}

/** The way in from Python: which processor a specification asks for. */
object Fold {
  def apply(flow: DataFrame, specification: String): DataFrame = {
    val spec = Spec(specification)
    Rows.through(flow, processor(flow, spec))
  }

  private def processor(flow: DataFrame, spec: Spec): RowProcessor = {
    val layout = Rows.layout(flow)
    val settings = Rows.settings(flow, spec)
    val fold = FoldFunctions(flow.sparkSession, layout, spec)
    val emission = Emission(spec)
    spec.optionalSpec("window") match {
      case None => new KeyFold(layout, settings, fold, emission)
      case Some(window) => windowed(flow, layout, settings, fold, emission, window)
    }
  }

  private def windowed(flow: DataFrame, layout: FlowLayout, settings: ProcessorSettings, fold: FoldFunctions, emission: Emission, window: Spec): RowProcessor = {
    def size = window.long("size_ms")
    def grace = window.long("grace_ms")
    window.text("kind") match {
      case "tumbling" => new TimeWindowFold(layout, settings, fold, emission, size, size, grace)
      case "hopping" if window.flag("incremental") => new PaneFold(layout, settings, fold, emission, size, window.long("advance_ms"), grace)
      case "hopping" => new TimeWindowFold(layout, settings, fold, emission, size, window.long("advance_ms"), grace)
      case "sliding" => new SlidingFold(layout, settings, fold, emission, window.long("difference_ms"), grace)
      case "session" => new SessionFold(layout, settings, fold, emission, window.long("gap_ms"), grace)
      case "count" => new CountFold(layout, settings, fold, window.long("size"), window.long("advance"))
      case "punctuation" =>
        val end = new Scope(flow.sparkSession, Seq("key" -> layout.key, "row" -> layout.left)).condition(window.text("end"))
        new PunctuationFold(layout, settings, fold, end, window.flag("inclusive", otherwise = true), window.long("max_records"))
      case other => throw new IllegalArgumentException(s"step '${settings.step}' has a window of unknown kind '$other'")
    }
  }
}
