package headrace

import scala.reflect.ClassTag

import org.apache.spark.sql.catalyst.InternalRow
import org.apache.spark.sql.catalyst.encoders.{AgnosticEncoder, ExpressionEncoder}
import org.apache.spark.sql.catalyst.expressions.{BoundReference, CreateNamedStruct, Expression, GetStructField, LeafExpression, Literal}
import org.apache.spark.sql.catalyst.expressions.codegen.{CodegenContext, ExprCode, FalseLiteral, JavaCode}
import org.apache.spark.sql.types.{ArrayType, DataType, MapType, ObjectType, StructField, StructType}

/**
 * Encoders that take rows as Spark holds them. `transformWithState` and its state variables are typed; with the encoder of `Row` every
 * value would be converted to Java objects and back, per row and per look at a state. With these a row stays the `UnsafeRow` it is.
 */
object RowEncoding {

  /** What comes in is handed on as it is (it may be reused by whoever gave it: copy what is kept); what goes out is written field by field. */
  def of(schema: StructType): ExpressionEncoder[InternalRow] = {
    val row = BoundReference(0, schema, nullable = false)
    val fields = schema.fields.toSeq.zipWithIndex.flatMap { case (field, i) =>
      Seq[Expression](Literal(field.name), GetStructField(row, i, Some(field.name)))
    }
    ExpressionEncoder(new RowsAsTheyAre(schema), CreateNamedStruct(fields), InputRow())
  }

  /** The same type where every part may be null: state must not depend on what today's expressions happen to prove. */
  def nullable(schema: StructType): StructType = nullableType(schema).asInstanceOf[StructType]

  def nullableType(dataType: DataType): DataType = dataType match {
    case struct: StructType => StructType(struct.fields.map(f => StructField(f.name, nullableType(f.dataType), nullable = true)))
    case ArrayType(element, _) => ArrayType(nullableType(element), containsNull = true)
    case MapType(key, value, _) => MapType(nullableType(key), nullableType(value), valueContainsNull = true)
    case other => other
  }
}

private final class RowsAsTheyAre(override val schema: StructType) extends AgnosticEncoder[InternalRow] {
  override def isPrimitive: Boolean = false
  override def dataType: DataType = schema
  override def isStruct: Boolean = true
  override def clsTag: ClassTag[InternalRow] = ClassTag(classOf[InternalRow])
}

/** The row a projection is given, as an object. */
case class InputRow() extends LeafExpression {
  override def nullable: Boolean = false
  override def dataType: DataType = ObjectType(classOf[InternalRow])
  override def eval(input: InternalRow): Any = input
  override protected def doGenCode(context: CodegenContext, code: ExprCode): ExprCode =
    ExprCode(FalseLiteral, JavaCode.expression(context.INPUT_ROW, dataType))
}
