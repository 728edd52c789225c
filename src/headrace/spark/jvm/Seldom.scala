package headrace

import org.apache.spark.sql.catalyst.InternalRow
import org.apache.spark.sql.catalyst.expressions.{BoundReference, Expression, GenericInternalRow, UnaryExpression}
import org.apache.spark.sql.catalyst.expressions.codegen.{CodeGenerator, CodegenContext, ExprCode}
import org.apache.spark.sql.catalyst.expressions.codegen.Block._
import org.apache.spark.sql.types.DataType

/**
 * An expression that few rows need, such as the reason why a record is bad: it is interpreted, not compiled into the query.
 *
 * Java compiles no method of more than 8,000 bytes of code, and a query is one method: what a good record never needs must not be in it.
 */
final case class Seldom(child: Expression) extends UnaryExpression {
  override def dataType: DataType = child.dataType
  override def nullable: Boolean = true
  override def prettyName: String = "headrace_seldom"
  override protected def withNewChildInternal(newChild: Expression): Expression = copy(child = newChild)

  override def eval(row: InternalRow): Any = child.eval(row)

  override protected def doGenCode(ctx: CodegenContext, ev: ExprCode): ExprCode = {
    val inputs = child.collect { case input: BoundReference => input }.distinct
    val places = inputs.zipWithIndex.toMap
    val rebound = child.transform { case input: BoundReference => BoundReference(places(input), input.dataType, nullable = true) }
    val self = ctx.addReferenceObj("seldom", Seldom(rebound), classOf[Seldom].getName)
    val values = ctx.freshName("seldomInputs")
    val steps = inputs.map(_.genCode(ctx)).zipWithIndex.map { case (input, i) =>
      code"""
        ${input.code}
        if (!${input.isNull}) $values[$i] = ${input.value};
      """
    }
    val body = steps.foldLeft(code"Object[] $values = new Object[${inputs.size}];")(_ + _)
    val type_ = CodeGenerator.boxedType(dataType)
    val boxed = ctx.freshName("seldomResult")
    ev.copy(code = body + code"""
      $type_ $boxed = ($type_) $self.of($values);
      boolean ${ev.isNull} = $boxed == null;
      ${CodeGenerator.javaType(dataType)} ${ev.value} = ${ev.isNull} ? ${CodeGenerator.defaultValue(dataType)} : $boxed;
    """)
  }

  /** Called by generated code, so it must stay public. */
  def of(values: Array[Any]): Any = child.eval(new GenericInternalRow(values))
}
