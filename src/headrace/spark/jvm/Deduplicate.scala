package headrace

import org.apache.spark.sql.DataFrame
import org.apache.spark.sql.catalyst.InternalRow
import org.apache.spark.sql.streaming.{TimeMode, ValueState}
import org.apache.spark.sql.types.{LongType, StructType}

/**
 * The first row for each key of the flow within a time; the key is what rows are compared by, and the row itself comes out as `value`.
 *
 * A row is a repetition when it lies less than `within` from the last one let through, earlier or later. What lies `within` or more behind the
 * watermark is late: what was let through then is no longer known.
 */
final class Deduplicate(layout: FlowLayout, settings: ProcessorSettings, within: Long) extends RowProcessor(layout, settings) {
  override def valueSchema: StructType = layout.left
  override def timeMode: TimeMode = TimeMode.EventTime()
  @transient private var through: ValueState[InternalRow] = _
  @transient private var cache: KeyCache[Deduplicate.Last] = _
  @transient private var last: Deduplicate.Last = _

  override protected def open(): Unit = {
    through = valueState("through", new StructType().add("ts", LongType).add("timer", LongType))
    cache = new KeyCache[Deduplicate.Last](settings.realTime)
  }

  override protected def beginKey(key: InternalRow): Unit = last = cache.get(key) {
    val row = through.get()
    if (row == null) new Deduplicate.Last else new Deduplicate.Last(row.getLong(0), row.getLong(1))
  }

  override protected def onRow(key: InternalRow, row: InternalRow, out: Outputs): Unit = {
    val ts = layout.ts(row)
    if (ts + within <= watermark) late(row)
    else if (!last.isSet || Math.abs(ts - last.ts) >= within) {
      out.emit(key, layout.left(row), null, ts)
      if (!last.isSet || ts > last.ts) pass(ts)
    }
  }

  override protected def onTimer(key: InternalRow, expiryMs: Long, out: Outputs): Unit = {
    beginKey(key)
    last.timer = Deduplicate.None
    if (last.ts + 2 * within <= watermark) {
      last.ts = Deduplicate.None
      cache.forget(key)
      through.clear()
    } else pass(last.ts)
  }

  /** Rows that are not late reach back `within` behind the watermark, and may repeat one as far behind them. */
  private def pass(ts: Long): Unit = {
    last.ts = ts
    if (last.timer == Deduplicate.None) {
      last.timer = ts + 2 * within
      getHandle.registerTimer(last.timer)
    }
    through.update(InternalRow(last.ts, last.timer))
  }
}

object Deduplicate {
  private[headrace] val None: Long = Long.MinValue

  private[headrace] final class Last(var ts: Long = None, var timer: Long = None) {
    def isSet: Boolean = ts != None
  }

  def apply(flow: DataFrame, specification: String): DataFrame = {
    val spec = Spec(specification)
    Rows.through(flow, new Deduplicate(Rows.layout(flow), Rows.settings(flow, spec), spec.long("within_ms")))
  }
}
