package headrace

import java.time.Duration
import java.util.{Collections, Optional}
import java.util.concurrent.TimeUnit
import java.util.concurrent.atomic.AtomicLong

import scala.collection.mutable

import org.apache.kafka.clients.admin.ListConsumerGroupOffsetsOptions
import org.apache.kafka.clients.consumer.{ConsumerGroupMetadata, OffsetAndMetadata}
import org.apache.kafka.clients.producer.{KafkaProducer, ProducerRecord}
import org.apache.kafka.common.TopicPartition

/** What all slots of one query have in common. */
final case class SlotSettings(queryId: String, options: KafkaOptions, markerTopic: String, transactionTimeoutMs: Int, checkReplay: Boolean)

/**
 * One slot's transactional producer and the last batch it committed. Whoever holds it is the only one to use it.
 *
 * The batch id is committed with the records, as the offset of (marker topic, 0) in a group named like the transactional id: the next process
 * learns from it whether a batch that Spark repeats was written already.
 */
final class Slot private (val settings: SlotSettings, val name: String) {
  val id: String = s"${settings.queryId}-$name"
  val serial: Long = Slot.serials.incrementAndGet()
  private val marker = new TopicPartition(settings.markerTopic, 0)
  private val producer: KafkaProducer[Array[Byte], Array[Byte]] = settings.options.transactionalProducer(id, settings.transactionTimeoutMs)

  private var done = -1L
  private var doneRows = -1L
  private var batch = -1L
  private var rows = 0L
  private var committing = false
  var partitions: PartitionCounts = _
  private[headrace] var releasedAt = System.nanoTime()

  /** Fences whoever used the id before, ends what they left open, then reads how far they came. */
  private def initialise(): Unit = {
    producer.initTransactions()
    val admin = settings.options.admin()
    try {
      val committed = admin.listConsumerGroupOffsets(id, new ListConsumerGroupOffsetsOptions().requireStable(true)).partitionsToOffsetAndMetadata().get()
      val found = committed.get(marker)
      if (found != null) {
        done = found.offset() - 1
        doneRows = Slot.rowsOf(found.metadata())
      }
    } finally admin.close(Duration.ZERO)
  }

  /** Start on a batch. Its transaction begins with the first row, or never if the batch was written before. */
  def enter(batchId: Long): Unit = {
    if (done > batchId)
      throw new IllegalStateException(s"slot $name is asked to write batch $batchId but has written batch $done already: the checkpoint is older than the output. " +
        "Restore the newer checkpoint, or start the pipeline anew with an empty one")
    batch = batchId
    rows = 0
    partitions = new PartitionCounts(producer)
    committing = false
  }

  def written: Boolean = done == batch

  def send(record: ProducerRecord[Array[Byte], Array[Byte]]): Unit = {
    if (!written) {
      if (rows == 0) producer.beginTransaction()
      producer.send(record)
    }
    rows += 1
  }

  def commit(): Unit =
    if (written) checkReplay()
    else if (rows > 0) {
      committing = true
      val position = new OffsetAndMetadata(batch + 1, Optional.empty[Integer](), Slot.metadataOf(rows))
      producer.sendOffsetsToTransaction(Collections.singletonMap(marker, position), new ConsumerGroupMetadata(id))
      producer.commitTransaction()
      done = batch
      doneRows = rows
    }

  /** A repeated batch must be the batch that was written; if it is not, the query is not deterministic or the checkpoint has lost something. */
  private def checkReplay(): Unit =
    if (settings.checkReplay && doneRows >= 0 && doneRows != rows)
      throw new IllegalStateException(s"slot $name wrote batch $batch with $doneRows records, and now the same batch has $rows: the query is not deterministic " +
        "(rand, uuid, a function with outside state in a filter), or the checkpoint lost its last batch. Take the cause out, " +
        "or set the sink's option check.replay=false to go on with what was written")

  /** Give up: what is open is aborted while the producer closes, or by the next initTransactions. A commit that was asked for stays undecided. */
  def abandon(): Unit = if (committing) Producers.closeLater(producer, Duration.ZERO) else close()

  private[headrace] def close(): Unit = Producers.closeLater(producer)
}

object Slot {
  private val serials = new AtomicLong()
  private val RowsPrefix = "rows="

  private[headrace] def open(settings: SlotSettings, name: String): Slot = {
    val slot = new Slot(settings, name)
    try {
      slot.initialise()
      slot
    } catch {
      case e: Exception =>
        slot.abandon()
        throw e
    }
  }

  private def metadataOf(rows: Long): String = RowsPrefix + rows

  private def rowsOf(metadata: String): Long =
    if (metadata != null && metadata.startsWith(RowsPrefix)) metadata.substring(RowsPrefix.length).toLongOption.getOrElse(-1L) else -1L
}

/**
 * The slots of this process that no task holds. Taking one out makes the taker its only user: a second attempt of the same task finds none,
 * opens its own, and with that fences the first.
 */
object Slots {
  private val idle = mutable.HashMap.empty[String, Slot]

  def take(settings: SlotSettings, name: String): Slot = {
    val pooled = synchronized(idle.remove(s"${settings.queryId}-$name"))
    pooled match {
      case Some(slot) if slot.settings == settings => slot
      case other =>
        other.foreach(_.close())
        Slot.open(settings, name)
    }
  }

  /** Give back a slot whose batch is committed. Of two for one id the older is fenced, so the newer stays. */
  def put(slot: Slot): Unit = synchronized {
    slot.releasedAt = System.nanoTime()
    idle.get(slot.id) match {
      case Some(other) if other.serial > slot.serial => slot.close()
      case other =>
        other.foreach(_.close())
        idle.update(slot.id, slot)
    }
  }

  def closeQuery(queryId: String): Unit = closeWhere(_.settings.queryId == queryId)

  def closeIdle(olderThanMillis: Long): Unit = {
    val limit = System.nanoTime() - TimeUnit.MILLISECONDS.toNanos(olderThanMillis)
    closeWhere(_.releasedAt - limit <= 0)
  }

  def count(): Int = synchronized(idle.size)

  private def closeWhere(chosen: Slot => Boolean): Unit = synchronized {
    idle.filterInPlace { (_, slot) =>
      val close = chosen(slot)
      if (close) slot.close()
      !close
    }
  }
}
