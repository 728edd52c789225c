package headrace

import java.util

import org.apache.spark.internal.Logging
import org.apache.spark.sql.catalyst.InternalRow
import org.apache.spark.unsafe.types.UTF8String

/** Counts the late rows of one task. */
final class LateRows(layout: FlowLayout, settings: ProcessorSettings) {
  private var task: LateTask = _

  def count(row: InternalRow, watermark: Long): Unit = {
    if (task == null) task = new LateTask(settings.meter.task(), settings.pipeline, settings.step)
    task.count(layout.topic(row), layout.partition(row), watermark - layout.ts(row))
  }

  def close(): Unit = if (task != null) task.close()
}

/**
 * Counts what comes too late for a step in one task, by source partition. The first of each partition is also told in Spark's log; who looks at the
 * pipeline's progress sees all of them.
 */
private[headrace] final class LateTask(meter: TaskMeter.OfTask, pipeline: String, step: String) extends Logging {
  private val meters = new PerPartition[LateMeter](name => {
    logWarning(s"late: records of $name come too late for step '$step' of pipeline '$pipeline'. A longer grace lets such records in.")
    meter.counts.lateOf(step, name)
  })

  /** `behindMs`: how far the record is behind the newest time of all partitions. */
  def count(topic: UTF8String, partition: Int, behindMs: Long): Unit = meter.counts.cameLate(meters.of(topic, partition), behindMs)

  def close(): Unit = meter.close()
}

/** One thing for each source partition. Rows of a partition mostly come after one another, so the last one is kept at hand. */
private[headrace] final class PerPartition[A](make: String => A) {
  private val all = new util.HashMap[String, A]()
  private var topicBytes: UTF8String = _
  private var partitionNumber = -1
  private var current: A = _

  def of(topic: UTF8String, partition: Int): A = {
    if (partition != partitionNumber || topic == null || !topic.equals(topicBytes)) {
      topicBytes = if (topic == null) UTF8String.EMPTY_UTF8 else topic.copy()
      partitionNumber = partition
      current = all.computeIfAbsent(s"$topicBytes-$partition", name => make(name))
    }
    current
  }
}
