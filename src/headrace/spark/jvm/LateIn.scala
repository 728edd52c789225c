package headrace

import org.apache.spark.TaskContext
import org.apache.spark.sql.{Column, SparkSession, SparkSessionExtensions}
import org.apache.spark.sql.catalyst.InternalRow
import org.apache.spark.sql.catalyst.expressions.Expression
import org.apache.spark.sql.catalyst.expressions.codegen.{CodegenContext, ExprCode, FalseLiteral}
import org.apache.spark.sql.catalyst.expressions.codegen.Block._
import org.apache.spark.sql.catalyst.rules.Rule
import org.apache.spark.sql.classic.ColumnConversions
import org.apache.spark.sql.execution.{ColumnarRule, SparkPlan}
import org.apache.spark.sql.execution.streaming.operators.stateful.WatermarkSupport
import org.apache.spark.sql.headraceaccess.ExpressionColumns
import org.apache.spark.sql.types._
import org.apache.spark.unsafe.types.UTF8String

/** The windows of one of Spark's own aggregates: [start, start + size), a start every `advance` milliseconds since the epoch. */
final case class LateWindows(pipeline: String, step: String, sizeMs: Long, advanceMs: Long, graceMs: Long) {
  /** Records before this time miss at least one of their windows: those that end at or before the watermark, from which Spark has taken the grace already. */
  def lateBefore(watermarkMs: Long): Long =
    if (watermarkMs < sizeMs) Long.MinValue else Math.floorDiv(watermarkMs - sizeMs, advanceMs) * advanceMs + sizeMs
}

/**
 * Counts the records that one of Spark's own aggregates will leave out as late: an expression over a record's place and time that is true, for a filter in front of it.
 *
 * Spark itself counts them only behind the shuffle, where nobody knows any more which partition they came from, and by window instead of by record.
 */
object LateIn {
  def column(windows: LateWindows, topic: Column, partition: Column, ts: Column): Column = {
    val children = Seq(topic.cast(StringType), partition.cast(IntegerType), ts.cast(TimestampType)).map(ColumnConversions.expression)
    ExpressionColumns.column(LateIn(children, windows, TaskMeter.of(SparkSession.active.sparkContext, windows.pipeline), 0L))
  }
}

/** Not deterministic for Catalyst, so that each row is counted once, where it stands. `watermarkMs` is that of the batch, set by `BatchWatermark`. */
final case class LateIn(children: Seq[Expression], windows: LateWindows, meter: TaskMeter, watermarkMs: Long) extends Expression {
  @transient private var task: LateTask = _
  private val lateBeforeMicros = Math.max(windows.lateBefore(watermarkMs), Long.MinValue / 1000L) * 1000L
  private val newestMs = watermarkMs + windows.graceMs

  override lazy val deterministic: Boolean = false
  override def stateful: Boolean = true
  override def foldable: Boolean = false
  override def nullable: Boolean = false
  override def dataType: DataType = BooleanType
  override def prettyName: String = "late_in"
  override def toString: String = s"$prettyName(${children.mkString(", ")})"
  override protected def withNewChildrenInternal(newChildren: IndexedSeq[Expression]): Expression = copy(children = newChildren)

  override def eval(row: InternalRow): Any = {
    val Seq(topic, partition, ts) = children.map(_.eval(row))
    if (ts == null) true else count(topic.asInstanceOf[UTF8String], partition.asInstanceOf[Int], ts.asInstanceOf[Long])
  }

  override protected def doGenCode(ctx: CodegenContext, ev: ExprCode): ExprCode = {
    val self = ctx.addReferenceObj("lateIn", this, classOf[LateIn].getName)
    val inputs = children.map(_.genCode(ctx))
    val arguments = inputs.map(_.value.toString).mkString(", ")
    val body = inputs.map(_.code).reduce(_ + _)
    ev.copy(code = body + code"boolean ${ev.value} = ${inputs(2).isNull} || $self.count($arguments);", isNull = FalseLiteral)
  }

  /** Called by generated code as well, so it must stay public. */
  def count(topic: UTF8String, partition: Int, tsMicros: Long): Boolean = {
    if (tsMicros < lateBeforeMicros) {
      if (task == null) task = start()
      task.count(topic, partition, newestMs - Math.floorDiv(tsMicros, 1000L))
    }
    true
  }

  private def start(): LateTask = {
    val started = new LateTask(meter.task(), windows.pipeline, windows.step)
    TaskContext.get().addTaskCompletionListener[Unit](_ => started.close())
    started
  }
}

/** Tells each `LateIn` the watermark of the batch that is being planned, which the aggregate behind it goes by. A batch is planned anew, so it is never an old one. */
object BatchWatermark extends Rule[SparkPlan] {
  override def apply(plan: SparkPlan): SparkPlan = plan.transform {
    case operator: WatermarkSupport if operator.eventTimeWatermarkForLateEvents.isDefined => told(operator, operator.eventTimeWatermarkForLateEvents.get)
  }

  private def told(operator: SparkPlan, watermark: Long): SparkPlan =
    operator.transformAllExpressions { case late: LateIn => late.copy(watermarkMs = watermark) }
}

/** Makes that a rule of every session: the setting `spark.sql.extensions`. */
final class StreamingRules extends (SparkSessionExtensions => Unit) {
  override def apply(extensions: SparkSessionExtensions): Unit =
    extensions.injectColumnar(_ => new ColumnarRule { override def preColumnarTransitions: Rule[SparkPlan] = BatchWatermark })
}
