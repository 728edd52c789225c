package headrace

import java.nio.charset.StandardCharsets.UTF_8
import java.util.{Base64, Map => JMap}

import org.apache.kafka.clients.producer.ProducerRecord
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

/**
 * The way out for records that cannot be decoded: an expression that sends one record to the processing log and is false.
 *
 * In a filter, `good OR side_output(…)` keeps the good rows at no cost and turns each bad one into data. It writes at least once: what a
 * repeated batch sends again has the same key.
 */
object SideOutput {
  private val Types = Seq(StringType, IntegerType, LongType, TimestampType, BinaryType, BinaryType, StringType)

  /** `record`: topic, partition, offset, timestamp, key, value and reason, in this order. */
  def column(settings: JMap[String, String], pipeline: String, logTopic: String, record: Array[Column]): Column = {
    val inputs = record.toSeq.zip(Types).map { case (column, wanted) => ColumnConversions.expression(column.cast(wanted)) }
    val meter = TaskMeter.of(SparkSession.active.sparkContext, pipeline)
    ExpressionColumns.column(SideOutput(inputs, pipeline, logTopic, KafkaOptions.checked(settings), meter))
  }
}

/** Not deterministic for Catalyst, so it is neither moved, nor doubled, nor left out; evaluated where it stands. */
final case class SideOutput(children: Seq[Expression], pipeline: String, logTopic: String, options: KafkaOptions, meter: TaskMeter)
    extends Expression {
  @transient private var task: SideOutputTask = _

  override lazy val deterministic: Boolean = false
  override def stateful: Boolean = true
  override def foldable: Boolean = false
  override def nullable: Boolean = false
  override def dataType: DataType = BooleanType
  override def prettyName: String = "side_output"
  override def toString: String = s"$prettyName($pipeline, $logTopic, ${children.mkString(", ")})"
  override protected def withNewChildrenInternal(newChildren: IndexedSeq[Expression]): Expression = copy(children = newChildren)

  override def eval(row: InternalRow): Any = send(children.map(_.eval(row)).toArray)

  override protected def doGenCode(ctx: CodegenContext, ev: ExprCode): ExprCode = {
    val self = ctx.addReferenceObj("sideOutput", this, classOf[SideOutput].getName)
    val values = ctx.freshName("badRecord")
    val steps = children.map(_.genCode(ctx)).zipWithIndex.map { case (child, i) =>
      code"""
        ${child.code}
        if (!${child.isNull}) $values[$i] = ${child.value};
      """
    }
    val body = steps.foldLeft(code"Object[] $values = new Object[${children.size}];")(_ + _)
    ev.copy(code = body + code"boolean ${ev.value} = $self.send($values);", isNull = FalseLiteral)
  }

  /** Called by generated code as well, so it must stay public. */
  def send(values: Array[Any]): Boolean = {
    val context = TaskContext.get()
    if (task == null || !(task.context eq context)) task = SideOutputTask.start(context, pipeline, logTopic, options, meter)
    task.send(values)
    false
  }
}

/** The bad records of one task: sent as they come, all with the broker before the task may end. */
private final class SideOutputTask(val context: TaskContext, pipeline: String, logTopic: String, options: KafkaOptions, meter: TaskMeter) {
  private val producer = new TaskProducer(options, s"side output of $pipeline to $logTopic")
  private val counts = meter.task()

  def send(values: Array[Any]): Unit = {
    val entry = new BadRecord(values)
    producer.send(new ProducerRecord(logTopic, entry.position.getBytes(UTF_8), entry.json(pipeline)))
    counts.counts.bad.increment()
  }

  /** Runs when the task has ended, well or not. An exception from here fails a task that would otherwise have ended well. */
  def end(): Unit =
    try if (!context.isFailed() && !context.isInterrupted()) producer.finish()
    finally {
      producer.close()
      counts.close()
    }
}

private object SideOutputTask {
  def start(context: TaskContext, pipeline: String, logTopic: String, options: KafkaOptions, meter: TaskMeter): SideOutputTask = {
    if (context == null) throw new IllegalStateException("side_output can only run inside a Spark task")
    val task = new SideOutputTask(context, pipeline, logTopic, options, meter)
    context.addTaskCompletionListener[Unit](_ => task.end())
    task
  }
}

/** A record as the processing log shows it. Bytes are base64; what is longer than 64 KB is cut, and said to be. */
private final class BadRecord(values: Array[Any]) {
  private def text(i: Int): String = if (values(i) == null) null else values(i).asInstanceOf[UTF8String].toString
  private def bytes(i: Int): Array[Byte] = values(i).asInstanceOf[Array[Byte]]

  def position: String = s"${text(0)}-${values(1)}-${values(2)}"

  def json(pipeline: String): Array[Byte] = {
    val node = Meters.json.createObjectNode()
    node.put("pipeline", pipeline).put("topic", text(0))
    node.put("partition", values(1).asInstanceOf[Integer]).put("offset", values(2).asInstanceOf[java.lang.Long])
    if (values(3) == null) node.putNull("timestamp") else node.put("timestamp", Math.floorDiv(values(3).asInstanceOf[Long], 1000L))
    node.put("reason", if (values(6) == null) "" else text(6).take(BadRecord.ReasonLimit))
    val (key, value) = (bytes(4), bytes(5))
    node.put("key", encoded(key)).put("value", encoded(value))
    if (value == null) node.putNull("size") else node.put("size", value.length)
    node.put("cut", tooLong(key) || tooLong(value))
    Meters.json.writeValueAsBytes(node)
  }

  private def tooLong(data: Array[Byte]): Boolean = data != null && data.length > BadRecord.BytesLimit

  private def encoded(data: Array[Byte]): String =
    if (data == null) null else Base64.getEncoder.encodeToString(if (tooLong(data)) data.take(BadRecord.BytesLimit) else data)
}

private object BadRecord {
  private val BytesLimit = 64 * 1024
  private val ReasonLimit = 1000
}
