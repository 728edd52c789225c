package headrace

import java.util

import org.apache.kafka.clients.producer.{Producer, ProducerRecord}
import org.apache.kafka.common.header.internals.RecordHeaders
import org.apache.kafka.common.utils.Utils
import org.apache.spark.sql.catalyst.InternalRow
import org.apache.spark.sql.types._
import org.apache.spark.unsafe.types.UTF8String

/**
 * The row form that every sink takes, and how such a row becomes a record.
 *
 * Columns are found by name: `topic STRING`, `partition INT` (null: by key, murmur2), `key BINARY`, `value BINARY` (null: a tombstone),
 * `headers ARRAY<STRUCT<key STRING, value BINARY>>`, `timestamp TIMESTAMP`, `slot STRING`. All but `topic` and `value` may be left out.
 * `source_timestamp TIMESTAMP` is for the latency meter only and never leaves. `key_suffix INT` says how many bytes at the key's end do not decide its
 * partition: the window of a windowed key, so that all windows of a key are in one partition, as Kafka Streams places them.
 *
 * It works on Spark's internal rows: nothing is converted that the producer does not need.
 */
final class SinkRow(schema: StructType) extends Serializable {
  private val topicAt = SinkRow.ordinal(schema, "topic", StringType, required = true)
  private val partitionAt = SinkRow.ordinal(schema, "partition", IntegerType)
  private val keyAt = SinkRow.ordinal(schema, "key", BinaryType)
  private val valueAt = SinkRow.ordinal(schema, "value", BinaryType, required = true)
  private val headersAt = SinkRow.ordinal(schema, "headers", SinkRow.Headers)
  private val timestampAt = SinkRow.ordinal(schema, "timestamp", TimestampType)
  private val keySuffixAt = SinkRow.ordinal(schema, "key_suffix", IntegerType)
  private val slotAt = SinkRow.ordinal(schema, "slot", StringType)
  private val sourceTimestampAt = {
    val own = SinkRow.ordinal(schema, "source_timestamp", TimestampType)
    if (own >= 0) own else timestampAt
  }

  // One query writes to few topics, and mostly to the same one as the row before: the name is decoded when it changes.
  @transient private var topicBytes: UTF8String = _
  @transient private var topicName: String = _

  def hasSlot: Boolean = slotAt >= 0

  /** The unit of the transaction; the bytes belong to the row, so copy what is kept. */
  def slot(row: InternalRow): UTF8String = {
    if (row.isNullAt(slotAt)) throw new IllegalArgumentException("a row without a slot reached the exactly-once sink: every row must name its source or shuffle partition")
    row.getUTF8String(slotAt)
  }

  /** When the row's source record was written, in milliseconds; -1 if the row does not say. */
  def sourceTimestamp(row: InternalRow): Long =
    if (sourceTimestampAt < 0 || row.isNullAt(sourceTimestampAt)) -1L else Math.floorDiv(row.getLong(sourceTimestampAt), 1000L)

  def record(row: InternalRow, partitions: PartitionCounts): ProducerRecord[Array[Byte], Array[Byte]] = {
    val name = topic(row)
    val key = binary(row, keyAt)
    val timestamp: java.lang.Long = if (timestampAt < 0 || row.isNullAt(timestampAt)) null else timestampOf(row)
    new ProducerRecord(name, partition(row, name, key, partitions), timestamp, key, binary(row, valueAt), headers(row))
  }

  private def partition(row: InternalRow, topic: String, key: Array[Byte], partitions: PartitionCounts): Integer =
    if (partitionAt >= 0 && !row.isNullAt(partitionAt)) row.getInt(partitionAt)
    else if (keySuffixAt < 0 || key == null || row.isNullAt(keySuffixAt) || row.getInt(keySuffixAt) == 0) null
    else {
      val placed = util.Arrays.copyOf(key, Math.max(0, key.length - row.getInt(keySuffixAt)))
      Utils.toPositive(Utils.murmur2(placed)) % partitions.of(topic)
    }

  private def timestampOf(row: InternalRow): java.lang.Long = {
    val millis = Math.floorDiv(row.getLong(timestampAt), 1000L)
    if (millis < 0) throw new IllegalArgumentException(s"a record for topic $topicName has a timestamp before 1970 ($millis ms), which Kafka cannot hold")
    millis
  }

  private def topic(row: InternalRow): String = {
    if (row.isNullAt(topicAt)) throw new IllegalArgumentException("a row without a topic reached the sink: every row must name its output topic")
    val bytes = row.getUTF8String(topicAt)
    if (topicBytes == null || !topicBytes.equals(bytes)) {
      topicBytes = bytes.copy()
      topicName = bytes.toString
    }
    topicName
  }

  private def binary(row: InternalRow, at: Int): Array[Byte] = if (at < 0 || row.isNullAt(at)) null else row.getBinary(at)

  private def headers(row: InternalRow): RecordHeaders = {
    if (headersAt < 0 || row.isNullAt(headersAt)) return null
    val array = row.getArray(headersAt)
    val headers = new RecordHeaders()
    var i = 0
    while (i < array.numElements()) {
      val header = array.getStruct(i, 2)
      headers.add(header.getUTF8String(0).toString, if (header.isNullAt(1)) null else header.getBinary(1))
      i += 1
    }
    headers
  }
}

/** How many partitions topics have, as a producer knows it; asked once per topic, so make a new one for each batch. */
final class PartitionCounts(producer: Producer[_, _]) {
  private val known = new util.HashMap[String, Integer]()

  def of(topic: String): Int = known.computeIfAbsent(topic, name => producer.partitionsFor(name).size)
}

object SinkRow {
  private val Headers = ArrayType(StructType(Seq(StructField("key", StringType), StructField("value", BinaryType))))

  private def ordinal(schema: StructType, name: String, wanted: DataType, required: Boolean = false): Int = {
    val at = schema.fieldNames.indexOf(name)
    if (at < 0 && required) throw new IllegalArgumentException(s"the sink needs a column '$name' of type ${wanted.sql}; the query has ${schema.fieldNames.mkString(", ")}")
    if (at >= 0 && !DataType.equalsIgnoreNullability(schema(at).dataType, wanted))
      throw new IllegalArgumentException(s"the sink's column '$name' must be ${wanted.sql}, the query gives ${schema(at).dataType.sql}")
    at
  }
}
