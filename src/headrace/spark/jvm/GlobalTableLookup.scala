package headrace

import scala.jdk.CollectionConverters._

import org.apache.spark.SparkContext
import org.apache.spark.scheduler.{SparkListener, SparkListenerApplicationEnd}
import org.apache.spark.sql.SparkSession
import org.apache.spark.sql.catalyst.InternalRow
import org.apache.spark.sql.catalyst.expressions.{CreateNamedStruct, Expression, Literal, UnaryExpression, UnsafeProjection, UnsafeRow}
import org.apache.spark.sql.catalyst.expressions.codegen.{CodegenContext, ExprCode}
import org.apache.spark.sql.types.{BinaryType, DataType, StructType}

/**
 * A look-up in a global table as an expression: a struct (the key) becomes a struct (the value), or NULL where the table has no such key.
 *
 * It is not deterministic: the table moves on, so one look-up must not be evaluated twice for a row, nor folded into a constant.
 */
case class GlobalTableLookup(child: Expression, source: GlobalTableSource) extends UnaryExpression {
  override lazy val deterministic: Boolean = false
  override def nullable: Boolean = true
  override def dataType: DataType = source.valueType
  override def prettyName: String = "global_table"
  override def nullSafeEval(key: Any): Any = source.get(key.asInstanceOf[InternalRow])
  override protected def withNewChildInternal(newChild: Expression): Expression = copy(child = newChild)

  override protected def doGenCode(ctx: CodegenContext, ev: ExprCode): ExprCode = {
    val table = ctx.addReferenceObj("globalTable", source)
    nullSafeCodeGen(ctx, ev, key => s"""
      |${ev.value} = $table.get($key);
      |${ev.isNull} = ${ev.value} == null;""".stripMargin)
  }
}

/** What an expression holds of a global table: enough to find or make this process's copy. */
final class GlobalTableSource(spec: GlobalTableSpec) extends Serializable {
  def keyType: StructType = spec.keyType
  val valueType: StructType = spec.valueType

  // Rows are equal byte by byte only when one kind of projection wrote them. A projection writes into a buffer of its own, so each thread has one.
  @transient private lazy val projection = ThreadLocal.withInitial[UnsafeProjection](() => UnsafeProjection.create(keyType))
  @transient private var table: GlobalTable = _

  def get(key: InternalRow): UnsafeRow = {
    if (table == null || !table.alive) table = GlobalTables.of(spec)
    table.get(projection.get.apply(key))
  }
}

object GlobalTableLookup {
  /**
   * Registers the SQL function `name(key)` for a global table described by JSON (see headrace.spark.stateful.global_tables).
   * The key is the table's key struct, or the only field of it.
   */
  def register(session: SparkSession, name: String, json: String): String = {
    val spec = parse(session, json)
    val source = new GlobalTableSource(spec)
    session.asInstanceOf[org.apache.spark.sql.classic.SparkSession].sessionState.functionRegistry
      .createOrReplaceTempFunction(name, arguments => lookup(name, arguments, source), "scala_udf")
    closeWith(session.sparkContext)
    spec.id
  }

  private def lookup(name: String, arguments: Seq[Expression], source: GlobalTableSource): Expression = arguments match {
    case Seq(key) if source.keyType.length == 1 && !key.dataType.isInstanceOf[StructType] =>
      GlobalTableLookup(CreateNamedStruct(Seq(Literal(source.keyType.head.name), key)), source)
    case Seq(key) => GlobalTableLookup(key, source)
    case other => throw new IllegalArgumentException(s"$name takes one argument, the key, not ${other.length}")
  }

  private def parse(session: SparkSession, json: String): GlobalTableSpec = {
    val spec = Spec(json)
    val record = new Scope(session, Seq("key" -> BinaryType, "value" -> BinaryType))
    val parse = record.struct(spec.text("parse"))
    val decode = new Scope(session, parse.schema.fields.toSeq.map(field => field.name -> field.dataType)).struct(spec.text("decode"))
    val kafka = Meters.json.readTree(json).get("kafka").properties().asScala.map(option => option.getKey -> option.getValue.asText).toMap
    new GlobalTableSpec(
      json, spec.text("topic"), KafkaOptions(kafka), parse, decode, spec.long("max_bytes"), spec.long("load_timeout_ms"), spec.long("idle_ms"))
  }

  private val watched = java.util.Collections.newSetFromMap(new java.util.WeakHashMap[SparkContext, java.lang.Boolean]())

  /** The threads of this process end with its session. Executors elsewhere end as processes. */
  private def closeWith(context: SparkContext): Unit = watched.synchronized {
    if (watched.add(context)) context.addSparkListener(new SparkListener {
      override def onApplicationEnd(end: SparkListenerApplicationEnd): Unit = GlobalTables.closeAll()
    })
  }
}
