package headrace

import java.util

import scala.jdk.CollectionConverters._

import org.apache.spark.sql.SparkSession
import org.apache.spark.sql.catalyst.InternalRow
import org.apache.spark.sql.connector.catalog.{Table, TableProvider}
import org.apache.spark.sql.connector.expressions.Transform
import org.apache.spark.sql.execution.streaming.sources.ForeachWriterTable
import org.apache.spark.sql.streaming.StreamingQueryListener
import org.apache.spark.sql.types.StructType
import org.apache.spark.sql.util.CaseInsensitiveStringMap

/**
 * The sink as a data source: `df.writeStream.format("headrace.KafkaSink").option("guarantee", …).option("kafka.bootstrap.servers", …)`.
 *
 * Real-time mode checks a sink by the class of its table, and Spark's own foreach table is on its list. That table takes any function from
 * internal rows, so the identity hands our writer the rows as they are: no Row objects, and no check switched off.
 */
final class KafkaSink extends TableProvider {
  override def supportsExternalMetadata(): Boolean = true

  override def inferSchema(options: CaseInsensitiveStringMap): StructType =
    throw new UnsupportedOperationException("headrace.KafkaSink only writes; read with format kafka")

  override def getTable(schema: StructType, partitioning: Array[Transform], properties: util.Map[String, String]): Table = {
    val options = new CaseInsensitiveStringMap(properties)
    val kafka = KafkaSink.kafkaOptions(properties)
    val rows = new SinkRow(schema)
    val meter = TaskMeter.of(SparkSession.active.sparkContext, options.getOrDefault("pipeline", ""))
    KafkaSink.closeProducersWithQueries(SparkSession.active)
    options.getOrDefault("guarantee", "") match {
      case "at_least_once" => new ForeachWriterTable[InternalRow](new AtLeastOnceSink(rows, kafka, meter), Right((row: InternalRow) => row))
      case "exactly_once" => ExactlyOnceSink.table(rows, kafka, options, meter)
      case other => throw new IllegalArgumentException(s"guarantee must be at_least_once or exactly_once, not '$other'")
    }
  }
}

object KafkaSink {
  private val Prefix = "kafka."
  private val listening = util.Collections.newSetFromMap(new util.WeakHashMap[SparkSession, java.lang.Boolean]())

  /** Spark's options are case-insensitive by now; Kafka's names are all lower case, so nothing is lost. */
  private def kafkaOptions(properties: util.Map[String, String]): KafkaOptions =
    KafkaOptions.checked(properties.asScala.collect { case (name, value) if name.toLowerCase.startsWith(Prefix) => name.substring(Prefix.length) -> value }.asJava)

  private def closeProducersWithQueries(session: SparkSession): Unit = listening.synchronized {
    if (listening.add(session)) session.streams.addListener(new QueryEnds)
  }

  /** When a query ends, this process needs its transactional producers no more. Executors elsewhere close theirs when idle. */
  private final class QueryEnds extends StreamingQueryListener {
    override def onQueryStarted(event: StreamingQueryListener.QueryStartedEvent): Unit = ()
    override def onQueryProgress(event: StreamingQueryListener.QueryProgressEvent): Unit = ()
    override def onQueryTerminated(event: StreamingQueryListener.QueryTerminatedEvent): Unit = {
      Slots.closeQuery(event.id.toString)
      Producers.closeIdle(0)
    }
  }
}
