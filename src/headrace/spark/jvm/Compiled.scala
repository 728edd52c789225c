package headrace

import org.apache.spark.sql.{DataFrame, Row, SparkSession}
import org.apache.spark.sql.catalyst.InternalRow
import org.apache.spark.sql.catalyst.expressions.{Alias, BindReferences, BasePredicate, BoundReference, Cast, CommonExpressionRef, CreateNamedStruct, Expression, GenericInternalRow, NamedExpression, Predicate, UnsafeProjection, With}
import org.apache.spark.sql.catalyst.optimizer.{ConstantFolding, ReplaceExpressions, SimplifyCasts}
import org.apache.spark.sql.catalyst.plans.logical.{LogicalPlan, Project}
import org.apache.spark.sql.types.{BooleanType, DataType, StructType}

/**
 * The names an SQL text of a processor may use, each a struct or a plain column: `state.total`, `row.amount`, `ts`.
 *
 * Texts are parsed and analysed on the driver, where the session and its functions are; the bound expressions travel with the processor, and
 * each task compiles them once.
 */
final class Scope(session: SparkSession, names: Seq[(String, DataType)]) {
  private val schema = names.foldLeft(new StructType) { case (all, (name, dataType)) => all.add(name, dataType, nullable = true) }
  private lazy val empty: DataFrame = session.createDataFrame(java.util.Collections.emptyList[Row](), schema)

  /** A row of this scope, to be filled by position with `update` before a text is evaluated over it. */
  def row(): GenericInternalRow = new GenericInternalRow(names.length)

  /** A text that gives a struct, cast to `as` if that is given. */
  def struct(text: String, as: Option[StructType] = None): CompiledStruct = {
    val expression = bound(text)
    val target = as.getOrElse(expression.dataType match {
      case struct: StructType => struct
      case other => throw new IllegalArgumentException(s"a struct is wanted, and '$text' is ${other.sql}")
    })
    new CompiledStruct(casted(expression, target), target)
  }

  /** A text that gives true or false; null is false. */
  def condition(text: String): CompiledCondition = new CompiledCondition(casted(bound(text), BooleanType))

  /** A text of any type. */
  def value(text: String, as: DataType): CompiledValue = new CompiledValue(casted(bound(text), as))

  def typeOf(text: String): DataType = bound(text).dataType

  private def casted(expression: Expression, target: DataType): Expression = (expression, target) match {
    case (same, _) if same.dataType == target => same
    case (named: CreateNamedStruct, struct: StructType) if named.valExprs.length == struct.length =>
      CreateNamedStruct(named.nameExprs.zip(named.valExprs).zip(struct.fields).flatMap { case ((name, value), field) =>
        Seq(name, casted(value, field.dataType))
      })
    case (other, _) => Cast(other, target, Some(session.conf.get("spark.sql.session.timeZone")))
  }

  /** NULLIF and BETWEEN name an operand once and use it twice, which only Spark's optimizer can take apart: here it is written out. */
  private def inlined(plan: LogicalPlan): LogicalPlan = plan.transformExpressionsUp { case With(body, definitions) =>
    body.transform { case ref: CommonExpressionRef => definitions.find(_.id == ref.id).map(_.child).getOrElse(ref) }
  }

  private def bound(text: String): Expression = {
    val analyzed = empty.selectExpr(s"$text AS result").queryExecution.analyzed
    val replaced = SimplifyCasts(ConstantFolding(inlined(ReplaceExpressions(analyzed))))
    replaced match {
      case Project(Seq(Alias(expression, _)), child) => BindReferences.bindReference(expression, child.output)
      case Project(Seq(column: NamedExpression), child) => BindReferences.bindReference(column: Expression, child.output)
      case _ => throw new IllegalArgumentException(s"'$text' is not an expression over one row")
    }
  }
}

/** A struct computed from a row. The result is reused by the next call: copy what is kept. */
final class CompiledStruct private[headrace] (expression: Expression, val schema: StructType) extends Serializable {
  // A struct that is never null is written field by field, which spares the one around it.
  private val fields: Option[Seq[Expression]] = expression match {
    case named: CreateNamedStruct => Some(named.valExprs)
    case _ => None
  }
  private val column: Int = expression match {
    case BoundReference(ordinal, _, _) => ordinal
    case _ => -1
  }
  @transient private lazy val projection: UnsafeProjection = UnsafeProjection.create(fields.getOrElse(Seq(expression)))

  def apply(input: InternalRow): InternalRow =
    if (column >= 0) structAt(input, column)
    else if (fields.isDefined) projection(input)
    else structAt(projection(input), 0)

  private def structAt(row: InternalRow, ordinal: Int): InternalRow = if (row.isNullAt(ordinal)) null else row.getStruct(ordinal, schema.length)
}

final class CompiledCondition private[headrace] (expression: Expression) extends Serializable {
  @transient private lazy val predicate: BasePredicate = {
    val created = Predicate.create(expression)
    created.initialize(0)
    created
  }

  def apply(input: InternalRow): Boolean = predicate.eval(input)
}

final class CompiledValue private[headrace] (expression: Expression) extends Serializable {
  @transient private lazy val projection: UnsafeProjection = UnsafeProjection.create(Seq(expression))
  private val dataType = expression.dataType

  /** Null, or the value as Spark holds it. */
  def apply(input: InternalRow): Any = {
    val result = projection(input)
    if (result.isNullAt(0)) null else result.get(0, dataType)
  }
}
