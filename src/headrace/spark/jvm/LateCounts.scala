package headrace

import scala.jdk.CollectionConverters._

import org.apache.spark.internal.Logging
import org.apache.spark.sql.SparkSession
import org.apache.spark.sql.streaming.StreamingQueryListener

/**
 * The late rows that Spark's own aggregation leaves out: it says how many with the progress of each batch, and only there.
 *
 * Queries are named `pipeline/stage`. Processors of ours count their late rows themselves, and Spark drops none in front of them.
 */
object LateCounts {
  /** Count for all queries of a session, from now on. */
  def watch(session: SparkSession): Unit = session.streams.addListener(new LateCounts)
}

private final class LateCounts extends StreamingQueryListener with Logging {
  override def onQueryStarted(event: StreamingQueryListener.QueryStartedEvent): Unit = ()
  override def onQueryTerminated(event: StreamingQueryListener.QueryTerminatedEvent): Unit = ()

  override def onQueryProgress(event: StreamingQueryListener.QueryProgressEvent): Unit = {
    val progress = event.progress
    val late = progress.stateOperators.map(_.numRowsDroppedByWatermark).sum
    if (late > 0 && progress.name != null) {
      val pipeline = progress.name.takeWhile(_ != '/')
      Meters.late(pipeline, late)
      logWarning(s"late: ${progress.name} leaves out $late records of batch ${progress.batchId}, whose windows have been closed by the watermark " +
        s"${progress.eventTime.get("watermark")}. ${furthestBehind(pipeline)}A longer grace lets such records in.")
    }
  }

  private def furthestBehind(pipeline: String): String = {
    val partitions = Meters.of(pipeline).toJson(pipeline).get("partitions").properties().asScala
    val newest = partitions.map(one => one.getKey -> one.getValue.get("max_timestamp_ms").asLong(Long.MaxValue))
    newest.minByOption(_._2).filter(_ => newest.size > 1).map { case (name, time) => s"The partition furthest behind is $name, at $time ms. " }.getOrElse("")
  }
}
