package headrace

import java.util

import org.apache.spark.internal.Logging
import org.apache.spark.sql.catalyst.InternalRow

/** Counts the late rows of one task. The first of each source partition is also told in the log, with the way out. */
final class LateRows(layout: FlowLayout, settings: ProcessorSettings) extends Logging {
  private val told = new util.HashSet[String]()
  private lazy val meter = settings.meter.task()

  def count(row: InternalRow, watermark: Long): Unit = {
    meter.counts.late.increment()
    val partition = s"${layout.topic(row)}-${layout.partition(row)}"
    if (told.add(partition))
      logWarning(s"late: step '${settings.step}' of pipeline '${settings.pipeline}' leaves out a record of $partition at offset ${layout.offset(row)}: " +
        s"its time ${layout.ts(row)} is too far behind the newest seen, $watermark. A longer grace lets such records in.")
  }

  def close(): Unit = if (!told.isEmpty) meter.close()
}
