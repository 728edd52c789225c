package headrace

import java.nio.ByteBuffer

import org.apache.spark.sql.SparkSessionExtensions
import org.apache.spark.sql.catalyst.FunctionIdentifier
import org.apache.spark.sql.catalyst.expressions.{Expression, ExpressionInfo}
import org.apache.spark.sql.catalyst.expressions.objects.StaticInvoke
import org.apache.spark.sql.types.{BinaryType, DataType, DoubleType, IntegerType, LongType}

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

/** Makes them functions of every session: the setting `spark.sql.extensions`. */
final class PrimitiveFunctions extends (SparkSessionExtensions => Unit) {
  override def apply(extensions: SparkSessionExtensions): Unit = {
    add(extensions, "headrace_integer", "integer", IntegerType, BinaryType)
    add(extensions, "headrace_bigint", "bigint", LongType, BinaryType)
    add(extensions, "headrace_bigint_before_end", "bigintBeforeEnd", LongType, BinaryType, IntegerType)
    add(extensions, "headrace_double", "double", DoubleType, BinaryType)
    add(extensions, "headrace_double_bytes", "doubleBytes", BinaryType, DoubleType)
  }

  private def add(extensions: SparkSessionExtensions, name: String, method: String, result: DataType, arguments: DataType*): Unit = {
    val build = (children: Seq[Expression]) => {
      require(children.length == arguments.length, s"$name takes ${arguments.length} arguments")
      StaticInvoke(Primitives.getClass, result, method, children, arguments, propagateNull = true, returnNullable = false)
    }
    extensions.injectFunction((FunctionIdentifier(name), new ExpressionInfo(classOf[PrimitiveFunctions].getName, name), build))
  }
}
