package headrace

import java.time.Duration
import java.util
import java.util.{Collections, Optional}
import java.util.concurrent.ExecutionException

import scala.collection.mutable

import org.apache.kafka.clients.admin.{Admin, NewTopic}
import org.apache.kafka.common.KafkaException
import org.apache.kafka.common.errors.{TopicExistsException, UnknownTopicOrPartitionException}
import org.apache.spark.sql.catalyst.InternalRow
import org.apache.spark.sql.connector.catalog.{SupportsWrite, Table, TableCapability}
import org.apache.spark.sql.connector.write._
import org.apache.spark.sql.connector.write.streaming.{StreamingDataWriterFactory, StreamingWrite}
import org.apache.spark.sql.internal.connector.SupportsStreamingUpdateAsAppend
import org.apache.spark.sql.types.StructType
import org.apache.spark.sql.util.CaseInsensitiveStringMap
import org.apache.spark.unsafe.types.UTF8String

/**
 * Exactly once into Kafka, in micro-batches: every slot of a batch is one transaction that also holds the batch id.
 *
 * A slot is a unit that looks the same whenever Spark repeats a batch: a source partition, or a shuffle partition. It is never the index of a
 * task, whose order changes between a live batch and the same batch after a restart.
 */
object ExactlyOnceSink {
  val MarkerTopic = "_headrace_markers"
  private val TransactionTimeoutMs = 300000

  def table(rows: SinkRow, kafka: KafkaOptions, options: CaseInsensitiveStringMap, meter: TaskMeter): Table = {
    if (!rows.hasSlot) throw new IllegalArgumentException("exactly_once needs a column 'slot' of type STRING that names the source or shuffle partition of each row")
    val markerTopic = options.getOrDefault("marker.topic", MarkerTopic)
    val timeoutMs = options.getInt("transaction.timeout.ms", TransactionTimeoutMs)
    val checkReplay = options.getBoolean("check.replay", true)
    new ExactlyOnceTable(queryId => {
      createMarkerTopic(kafka, markerTopic)
      new ExactlyOnceFactory(rows, SlotSettings(queryId, kafka, markerTopic, timeoutMs, checkReplay), meter)
    })
  }

  /** Kafka takes offsets only for topics that exist. This one never holds a record. */
  private def createMarkerTopic(kafka: KafkaOptions, name: String): Unit = {
    val admin = kafka.admin()
    try
      if (!exists(admin, name))
        admin.createTopics(Collections.singleton(new NewTopic(name, Optional.of[Integer](1), Optional.empty[java.lang.Short]()))).all().get()
    catch {
      case e: ExecutionException if e.getCause.isInstanceOf[TopicExistsException] => ()
      case e: Exception => throw KafkaTrouble.explain(e, s"exactly-once sink, creating the topic $name that batch markers are committed for")
    } finally admin.close(Duration.ZERO)
  }

  /** Asked first, because who may not create topics may still use one that somebody else has made. */
  private def exists(admin: Admin, name: String): Boolean =
    try {
      admin.describeTopics(Collections.singleton(name)).allTopicNames().get()
      true
    } catch { case e: ExecutionException if e.getCause.isInstanceOf[UnknownTopicOrPartitionException] => false }
}

private final class ExactlyOnceTable(factory: String => ExactlyOnceFactory) extends Table with SupportsWrite {
  override def name(): String = "headrace exactly-once sink"
  override def schema(): StructType = new StructType()
  override def capabilities(): util.Set[TableCapability] = util.EnumSet.of(TableCapability.STREAMING_WRITE)

  override def newWriteBuilder(info: LogicalWriteInfo): WriteBuilder =
    new WriteBuilder with SupportsTruncate with SupportsStreamingUpdateAsAppend {
      // Complete mode writes all of its rows again and again; to Kafka that is an append like any other.
      override def truncate(): WriteBuilder = this
      override def build(): Write = new Write {
        // The query id is the one in the checkpoint: a new checkpoint, whose batches start at 0 again, never meets old markers.
        override def toStreaming: StreamingWrite = new ExactlyOnceWrite(factory(info.queryId()))
      }
    }
}

private final class ExactlyOnceWrite(factory: ExactlyOnceFactory) extends StreamingWrite {
  override def createStreamingWriterFactory(info: PhysicalWriteInfo): StreamingDataWriterFactory = factory
  override def commit(epochId: Long, messages: Array[WriterCommitMessage]): Unit = ()
  override def abort(epochId: Long, messages: Array[WriterCommitMessage]): Unit = ()
}

private final class ExactlyOnceFactory(rows: SinkRow, settings: SlotSettings, meter: TaskMeter) extends StreamingDataWriterFactory {
  override def createWriter(partitionId: Int, taskId: Long, epochId: Long): DataWriter[InternalRow] =
    new ExactlyOnceWriter(rows, settings, epochId, meter.task())
}

private case object SlotsCommitted extends WriterCommitMessage

/** One task: the slots it met, each with a transaction of its own. */
private final class ExactlyOnceWriter(rows: SinkRow, settings: SlotSettings, batch: Long, counts: TaskMeter.OfTask) extends DataWriter[InternalRow] {
  private val held = mutable.LinkedHashMap.empty[UTF8String, Slot]
  private var slotName: UTF8String = _
  private var slot: Slot = _

  override def write(row: InternalRow): Unit = {
    val name = rows.slot(row)
    if (slotName == null || !slotName.equals(name)) turnTo(name)
    try slot.send(rows.record(row, slot.partitions))
    catch { case e: KafkaException => throw explained(e, slot) }
    if (!slot.written) counts.sent(rows.sourceTimestamp(row))
  }

  private def turnTo(name: UTF8String): Unit = {
    slot = held.getOrElse(name, {
      val taken =
        try Slots.take(settings, name.toString)
        catch { case e: Exception => throw KafkaTrouble.explain(e, s"exactly-once sink, opening slot $name of query ${settings.queryId}") }
      held.update(name.copy(), taken)
      taken.enter(batch)
      taken
    })
    slotName = name.copy()
  }

  /** Each slot commits on its own. If a later one fails, the task is repeated and finds the earlier ones written. */
  override def commit(): WriterCommitMessage = {
    while (held.nonEmpty) {
      val (name, next) = held.head
      try next.commit()
      catch { case e: KafkaException => throw explained(e, next) }
      held.remove(name)
      Slots.put(next)
    }
    SlotsCommitted
  }

  override def abort(): Unit = {
    held.values.foreach(_.abandon())
    held.clear()
  }

  override def close(): Unit = {
    abort()
    counts.close()
  }

  private def explained(error: Exception, slot: Slot): RuntimeException =
    KafkaTrouble.explain(error, s"exactly-once sink, batch $batch of slot ${slot.name} of query ${settings.queryId}")
}
