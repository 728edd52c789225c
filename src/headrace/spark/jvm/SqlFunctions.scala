package headrace

import org.apache.spark.sql.SparkSessionExtensions
import org.apache.spark.sql.catalyst.FunctionIdentifier
import org.apache.spark.sql.catalyst.expressions.{Expression, ExpressionInfo}
import org.apache.spark.sql.catalyst.expressions.objects.StaticInvoke
import org.apache.spark.sql.types._

/** What our SQL calls and Spark does not have, as functions of every session: the setting `spark.sql.extensions`. */
final class SqlFunctions extends (SparkSessionExtensions => Unit) {
  override def apply(extensions: SparkSessionExtensions): Unit = {
    primitive(extensions, "headrace_integer", "integer", IntegerType, BinaryType)
    primitive(extensions, "headrace_bigint", "bigint", LongType, BinaryType)
    primitive(extensions, "headrace_bigint_before_end", "bigintBeforeEnd", LongType, BinaryType, IntegerType)
    primitive(extensions, "headrace_double", "double", DoubleType, BinaryType)
    primitive(extensions, "headrace_double_bytes", "doubleBytes", BinaryType, DoubleType)
    primitive(extensions, "headrace_floor_divide", "floorDivide", DoubleType, DoubleType, DoubleType)
    // (bytes, the schema as DDL with the column for broken text at its end)
    add(extensions, "headrace_from_json", 2)(arguments => JsonDecode(arguments.head, DataType.fromDDL(arguments(1).eval().toString).asInstanceOf[StructType]))
    add(extensions, "headrace_to_json", 1)(arguments => JsonEncode(arguments.head))
    add(extensions, "headrace_seldom", 1)(arguments => Seldom(arguments.head))
  }

  private def primitive(extensions: SparkSessionExtensions, name: String, method: String, result: DataType, arguments: DataType*): Unit =
    add(extensions, name, arguments.length)(StaticInvoke(Primitives.getClass, result, method, _, arguments, propagateNull = true, returnNullable = false))

  private def add(extensions: SparkSessionExtensions, name: String, width: Int)(build: Seq[Expression] => Expression): Unit = {
    val checked = (arguments: Seq[Expression]) => {
      require(arguments.length == width, s"$name takes $width arguments")
      build(arguments)
    }
    extensions.injectFunction((FunctionIdentifier(name), new ExpressionInfo(classOf[SqlFunctions].getName, name), checked))
  }
}
