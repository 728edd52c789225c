package headrace

import java.nio.ByteBuffer

/**
 * What Spark's SQL lacks of numbers: those of Kafka's own serializers, read from bytes, and Python's arithmetic. Bytes of another length give 0: the
 * format's `error` has told of them. Null gives null. Compiled into the query, so a record costs one read of its array.
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

  /** Python's `//` of floats. The remainder decides, not the rounded quotient: 1.0 // 0.1 is 9.0. The divisor is not zero. */
  def floorDivide(dividend: Double, divisor: Double): Double = {
    val rest = dividend % divisor
    val down = if (rest != 0.0 && (rest < 0.0) != (divisor < 0.0)) 1.0 else 0.0
    val quotient = (dividend - rest) / divisor - down
    if (quotient == 0.0) Math.copySign(0.0, dividend / divisor)
    else {
      val floor = Math.floor(quotient)
      if (quotient - floor > 0.5) floor + 1.0 else floor
    }
  }
}
