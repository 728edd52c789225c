package headrace

import org.apache.spark.TaskContext
import org.apache.spark.sql.{Column, SparkSession}
import org.apache.spark.sql.catalyst.InternalRow
import org.apache.spark.sql.catalyst.expressions.Expression
import org.apache.spark.sql.catalyst.expressions.codegen.{CodegenContext, ExprCode, FalseLiteral}
import org.apache.spark.sql.catalyst.expressions.codegen.Block._
import org.apache.spark.sql.classic.ColumnConversions
import org.apache.spark.sql.headraceaccess.ExpressionColumns
import org.apache.spark.sql.types._
import org.apache.spark.unsafe.types.UTF8String

/** Counts what a source gave: an expression over a Kafka row's topic, partition and timestamp that is true, for a filter right after the source. */
object RowsIn {
  def column(pipeline: String, topic: Column, partition: Column, timestamp: Column): Column = {
    val children = Seq(topic.cast(StringType), partition.cast(IntegerType), timestamp.cast(TimestampType)).map(ColumnConversions.expression)
    ExpressionColumns.column(RowsIn(children, TaskMeter.of(SparkSession.active.sparkContext, pipeline)))
  }
}

/** Not deterministic for Catalyst, so that each row is counted once, where the source gave it. */
final case class RowsIn(children: Seq[Expression], meter: TaskMeter) extends Expression {
  @transient private var task: RowsInTask = _

  override lazy val deterministic: Boolean = false
  override def stateful: Boolean = true
  override def foldable: Boolean = false
  override def nullable: Boolean = false
  override def dataType: DataType = BooleanType
  override def prettyName: String = "rows_in"
  override def toString: String = s"$prettyName(${children.mkString(", ")})"
  override protected def withNewChildrenInternal(newChildren: IndexedSeq[Expression]): Expression = copy(children = newChildren)

  override def eval(row: InternalRow): Any = {
    val Seq(topic, partition, timestamp) = children.map(_.eval(row))
    count(topic.asInstanceOf[UTF8String], partition.asInstanceOf[Int], timestamp.asInstanceOf[Long])
  }

  override protected def doGenCode(ctx: CodegenContext, ev: ExprCode): ExprCode = {
    val self = ctx.addReferenceObj("rowsIn", this, classOf[RowsIn].getName)
    val inputs = children.map(_.genCode(ctx))
    val arguments = inputs.map(_.value.toString).mkString(", ")
    val body = inputs.map(_.code).reduce(_ + _)
    ev.copy(code = body + code"boolean ${ev.value} = $self.count($arguments);", isNull = FalseLiteral)
  }

  /** Called by generated code as well, so it must stay public. */
  def count(topic: UTF8String, partition: Int, timestampMicros: Long): Boolean = {
    if (task == null) task = RowsInTask.start(meter, topic, partition)
    task.count(timestampMicros)
    true
  }
}

/** A task of a Kafka source reads one partition of one topic, so that the first row tells where all of them come from. */
private final class RowsInTask(task: TaskMeter.OfTask, partition: PartitionMeter) {
  private val rows = partition.begin()

  def count(timestampMicros: Long): Unit = rows.came(Math.floorDiv(timestampMicros, 1000L))

  def close(): Unit = {
    partition.end(rows)
    task.close()
  }
}

private object RowsInTask {
  def start(meter: TaskMeter, topic: UTF8String, partition: Int): RowsInTask = {
    val ofTask = meter.task()
    val task = new RowsInTask(ofTask, ofTask.counts.partition(s"$topic-$partition"))
    TaskContext.get().addTaskCompletionListener[Unit](_ => task.close())
    task
  }
}
