package headrace

import java.nio.ByteBuffer

/**
 * The numbers of Kafka's own serializers, which Spark's SQL cannot read from bytes. Bytes of another length give 0: the format's `error` has told of them.
 * Null gives null. Compiled into the query, so a record costs one read of its array.
 */
object Primitives {
  def integer(bytes: Array[Byte]): Int = if (bytes.length == 4) ByteBuffer.wrap(bytes).getInt else 0

  def bigint(bytes: Array[Byte]): Long = if (bytes.length == 8) ByteBuffer.wrap(bytes).getLong else 0L

  /** The BIGINT of the eight bytes that end `fromEnd` bytes before the end; of a windowed key. */
  def bigintBeforeEnd(bytes: Array[Byte], fromEnd: Int): Long = {
    val position = bytes.length - fromEnd - 8
    if (position >= 0) ByteBuffer.wrap(bytes).getLong(position) else 0L
  }

  def double(bytes: Array[Byte]): Double = if (bytes.length == 8) ByteBuffer.wrap(bytes).getDouble else 0.0

  def doubleBytes(value: Double): Array[Byte] = ByteBuffer.allocate(8).putDouble(value).array()
}
