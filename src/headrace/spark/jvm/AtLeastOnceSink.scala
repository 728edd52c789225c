package headrace

import org.apache.kafka.clients.producer.ProducerRecord
import org.apache.kafka.common.KafkaException
import org.apache.spark.sql.ForeachWriter
import org.apache.spark.sql.catalyst.InternalRow

/**
 * At least once: rows leave the moment they arrive, and a task ends only when the broker has them all.
 *
 * It is a ForeachWriter because real-time mode accepts those, and it is given internal rows (see KafkaSink), so no row is converted.
 */
final class AtLeastOnceSink(rows: SinkRow, options: KafkaOptions, meter: TaskMeter) extends ForeachWriter[InternalRow] {
  @transient private var producer: TaskProducer = _
  @transient private var counts: TaskMeter.OfTask = _

  override def open(partitionId: Long, epochId: Long): Boolean = {
    producer = new TaskProducer(options, "at-least-once sink")
    counts = meter.task()
    true
  }

  override def process(row: InternalRow): Unit = {
    producer.send(recordOf(row))
    counts.sent(rows.sourceTimestamp(row))
  }

  private def recordOf(row: InternalRow): ProducerRecord[Array[Byte], Array[Byte]] =
    try rows.record(row, producer.partitions)
    catch { case e: KafkaException => throw KafkaTrouble.explain(e, "at-least-once sink, asking for a topic's partitions") }

  override def close(error: Throwable): Unit =
    if (producer != null) {
      try if (error == null) producer.finish()
      finally {
        producer.close()
        counts.close()
      }
    }
}
