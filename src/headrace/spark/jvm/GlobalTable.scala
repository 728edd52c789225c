package headrace

import java.time.Duration
import java.util.Properties
import java.util.concurrent.{ConcurrentHashMap, ConcurrentLinkedQueue, CountDownLatch, TimeUnit}

import scala.jdk.CollectionConverters._

import com.fasterxml.jackson.databind.JsonNode
import org.apache.kafka.clients.consumer.{ConsumerConfig, ConsumerRecord, KafkaConsumer}
import org.apache.kafka.common.TopicPartition
import org.apache.kafka.common.errors.{UnknownTopicOrPartitionException, WakeupException}
import org.apache.kafka.common.serialization.ByteArrayDeserializer
import org.apache.spark.internal.Logging
import org.apache.spark.sql.catalyst.InternalRow
import org.apache.spark.sql.catalyst.expressions.{GenericInternalRow, UnsafeRow}
import org.apache.spark.sql.types.StructType

/**
 * What a global table is: a topic, how to reach it, and how its records are decoded. Compared by `id`, so that all tasks of a process share one copy.
 *
 * `parse` turns (key BINARY, value BINARY) into columns that are computed once; `decode` turns those into (key, value, reason for which it is bad).
 */
final class GlobalTableSpec(
    val id: String,
    val topic: String,
    val kafka: KafkaOptions,
    val parse: CompiledStruct,
    val decode: CompiledStruct,
    val maxBytes: Long,
    val loadTimeoutMs: Long,
    val idleMs: Long)
    extends Serializable {
  def keyType: StructType = decode.schema(GlobalTables.KeyColumn).dataType.asInstanceOf[StructType]
  def valueType: StructType = decode.schema(GlobalTables.ValueColumn).dataType.asInstanceOf[StructType]
}

/**
 * A topic as a map from key to last value, in the memory of this process: read to its end before the first look-up, followed ever after.
 *
 * One daemon thread owns the consumer and is the only writer. The map holds decoded rows, so a look-up decodes nothing. Memory is bounded by `maxBytes` (rows plus
 * about 120 bytes each); a table that outgrows it fails, and says so, rather than taking the process down. Whoever looks something up in a failed table gets its
 * error; the next one to ask starts anew. Only committed records count.
 */
final class GlobalTable private[headrace] (spec: GlobalTableSpec) extends Logging {
  import GlobalTables._

  private val keyFields = spec.keyType.length
  private val valueFields = spec.valueType.length
  private val rows = new ConcurrentHashMap[UnsafeRow, UnsafeRow]()
  private val loaded = new CountDownLatch(1)
  private val waiters = new ConcurrentLinkedQueue[CountDownLatch]()
  private val consumer = newConsumer(spec)
  @volatile private var failure: Throwable = _
  @volatile private var closing = false
  @volatile private var lastUseMs = System.currentTimeMillis()
  @volatile private var bytes = 0L
  @volatile private var bad = 0L
  private val thread = new Thread(() => follow(), s"headrace-global-table-${spec.topic}")
  thread.setDaemon(true)

  /** Apart from the constructor, so that the thread never sees half an object. */
  private[headrace] def start(): GlobalTable = {
    thread.start()
    this
  }

  /** The last value under a key, or null. Waits while the table is read for the first time. */
  def get(key: UnsafeRow): UnsafeRow = {
    if (loaded.getCount > 0) awaitLoad()
    if (failure != null) throw failed()
    // A volatile write for each row would be dear; idleness is counted in minutes.
    val now = System.currentTimeMillis()
    if (now - lastUseMs > 1000) lastUseMs = now
    rows.get(key)
  }

  /** Waits until everything that is in the topic now has been read. */
  def catchUp(timeoutMs: Long): Unit = {
    awaitLoad()
    val done = new CountDownLatch(1)
    waiters.add(done)
    consumer.wakeup()
    if (!done.await(timeoutMs, TimeUnit.MILLISECONDS)) throw new IllegalStateException(s"global table ${spec.topic}: did not catch up within $timeoutMs ms")
    if (failure != null) throw failed()
  }

  def close(): Unit = {
    closing = true
    consumer.wakeup()
    thread.join(10000)
  }

  private[headrace] def alive: Boolean = failure == null && !closing

  private[headrace] def summary: Map[String, Any] =
    Map("topic" -> spec.topic, "rows" -> rows.size, "bytes" -> bytes, "bad" -> bad, "loaded" -> (loaded.getCount == 0 && failure == null), "error" -> Option(failure).map(_.getMessage).orNull)

  private def awaitLoad(): Unit = {
    if (!loaded.await(spec.loadTimeoutMs, TimeUnit.MILLISECONDS))
      throw new IllegalStateException(s"global table ${spec.topic}: not read to its end within ${spec.loadTimeoutMs} ms; raise load_timeout_ms, or compact the topic")
    if (failure != null) throw failed()
  }

  private def failed(): Throwable = {
    tables.remove(spec.id, this)
    failure match {
      case tooLarge: IllegalStateException => new IllegalStateException(s"global table ${spec.topic}: ${tooLarge.getMessage}", tooLarge)
      case other => KafkaTrouble.explain(other, s"global table ${spec.topic}")
    }
  }

  private def follow(): Unit =
    try {
      assign(first = true)
      readTo(consumer.endOffsets(consumer.assignment()).asScala.toMap)
      loaded.countDown()
      logInfo(s"global table ${spec.topic}: ${rows.size} rows, $bytes bytes, $bad undecodable records")
      while (!closing && !idle) step()
    } catch {
      case error: Throwable if !closing =>
        failure = error
        logError(s"global table ${spec.topic} failed", error)
      case _: Throwable => ()
    } finally end()

  private def step(): Unit =
    try {
      poll()
      assign(first = false)
      if (!waiters.isEmpty) serve()
    } catch { case _: WakeupException => () }

  /** A waiter leaves the queue only when it is served: the wake-up that comes with it may interrupt any call to Kafka. */
  private def serve(): Unit = {
    val asking = waiters.asScala.toSeq
    readTo(consumer.endOffsets(consumer.assignment()).asScala.toMap)
    asking.foreach { waiter =>
      waiters.remove(waiter)
      waiter.countDown()
    }
  }

  private def idle: Boolean = System.currentTimeMillis() - lastUseMs > spec.idleMs

  /** The last thing the thread does: nobody must wait for it after this. */
  private def end(): Unit = {
    if (failure == null) tables.remove(spec.id, this)
    closing = closing || failure == null
    loaded.countDown()
    Iterator.continually(waiters.poll()).takeWhile(_ != null).foreach(_.countDown())
    consumer.close(Duration.ZERO)
  }

  private var assignedMs = 0L

  /** All partitions; those added later are found within half a minute. */
  private def assign(first: Boolean): Unit = {
    val now = System.currentTimeMillis()
    if (first || now - assignedMs > PartitionCheckMs) {
      assignedMs = now
      val known = Option(consumer.partitionsFor(spec.topic)).map(_.asScala.toSeq).getOrElse(Nil).map(p => new TopicPartition(p.topic, p.partition))
      if (first && known.isEmpty) throw new UnknownTopicOrPartitionException(spec.topic)
      val added = known.filterNot(consumer.assignment().contains)
      if (added.nonEmpty) {
        consumer.assign((consumer.assignment().asScala.toSeq ++ added).asJava)
        consumer.seekToBeginning(added.asJava)
      }
    }
  }

  private def readTo(ends: Map[TopicPartition, java.lang.Long]): Unit =
    while (!closing && ends.exists { case (partition, end) => consumer.position(partition) < end })
      try poll()
      catch { case _: WakeupException => () }

  private def poll(): Unit = consumer.poll(PollTime).forEach(record => apply(record))

  private def apply(record: ConsumerRecord[Array[Byte], Array[Byte]]): Unit = {
    val decoded = this.decoded(record)
    if (record.key == null || !decoded.isNullAt(ErrorColumn) || decoded.isNullAt(KeyColumn)) {
      bad += 1
      if (bad <= 10) logWarning(s"global table ${spec.topic}: offset ${record.offset} of partition ${record.partition} skipped: ${reason(record, decoded)}")
    } else {
      val key = struct(decoded, KeyColumn, keyFields)
      val before = if (record.value == null || decoded.isNullAt(ValueColumn)) rows.remove(key) else put(key, struct(decoded, ValueColumn, valueFields))
      if (before != null) bytes -= size(key, before)
    }
  }

  private def struct(decoded: InternalRow, column: Int, fields: Int): UnsafeRow = decoded.getStruct(column, fields).copy().asInstanceOf[UnsafeRow]

  private def reason(record: ConsumerRecord[Array[Byte], Array[Byte]], decoded: InternalRow): String =
    if (record.key == null) "it has no key"
    else if (decoded.isNullAt(ErrorColumn)) "its key is null"
    else decoded.getString(ErrorColumn).take(500)

  private def put(key: UnsafeRow, value: UnsafeRow): UnsafeRow = {
    bytes += size(key, value)
    val before = rows.put(key, value)
    if (bytes - (if (before == null) 0 else size(key, before)) > spec.maxBytes)
      throw new IllegalStateException(
        s"the table is larger than ${spec.maxBytes} bytes, the limit of what every process holds in memory: raise max_bytes, or join with a table instead of a global table")
    before
  }

  private def decoded(record: ConsumerRecord[Array[Byte], Array[Byte]]): InternalRow = spec.decode(spec.parse(new GenericInternalRow(Array[Any](record.key, record.value))))
}

/** The global tables of this process. */
object GlobalTables {
  private[headrace] val KeyColumn = 0
  private[headrace] val ValueColumn = 1
  private[headrace] val ErrorColumn = 2
  private val RowOverhead = 120
  private[headrace] val PartitionCheckMs = 30000L
  private[headrace] val PollTime = Duration.ofSeconds(1)
  private val Required = Map(
    ConsumerConfig.ISOLATION_LEVEL_CONFIG -> "read_committed",
    ConsumerConfig.ENABLE_AUTO_COMMIT_CONFIG -> "false",
    ConsumerConfig.AUTO_OFFSET_RESET_CONFIG -> "earliest",
    ConsumerConfig.ALLOW_AUTO_CREATE_TOPICS_CONFIG -> "false")

  private[headrace] val tables = new ConcurrentHashMap[String, GlobalTable]()

  /** The one copy of this process. A copy that failed or was idle for too long is replaced by one that reads the topic again. */
  def of(spec: GlobalTableSpec): GlobalTable =
    tables.compute(spec.id, (_, held) => if (held != null && held.alive) held else new GlobalTable(spec).start())

  /** Closes the copy of this process, if there is one; what looks it up later starts anew. */
  def close(id: String): Unit = Option(tables.remove(id)).foreach(_.close())

  def closeAll(): Unit = tables.keySet().asScala.toSeq.foreach(close)

  /** Waits until this process has read everything that the topic holds now. For tests, and for whoever must see a write of their own. */
  def catchUp(id: String, timeoutMs: Long): Unit =
    Option(tables.get(id)).foreach(_.catchUp(timeoutMs))

  /** What this process holds, as JSON: topic, rows, bytes, undecodable records, error. */
  def summaries(): String = {
    val node = Meters.json.createArrayNode()
    tables.values().asScala.foreach(table => node.add(Meters.json.valueToTree[JsonNode](table.summary.asJava)))
    Meters.json.writeValueAsString(node)
  }

  private[headrace] def size(key: UnsafeRow, value: UnsafeRow): Long = key.getSizeInBytes.toLong + value.getSizeInBytes + RowOverhead

  private[headrace] def newConsumer(spec: GlobalTableSpec): KafkaConsumer[Array[Byte], Array[Byte]] = {
    val config = new Properties()
    (Map("client.id" -> "headrace-global-table") ++ spec.kafka.settings ++ Required).foreach { case (name, value) => config.setProperty(name, value) }
    config.remove(ConsumerConfig.GROUP_ID_CONFIG)
    new KafkaConsumer(config, new ByteArrayDeserializer(), new ByteArrayDeserializer())
  }
}
