package headrace

import java.util.concurrent.ConcurrentHashMap
import java.util.concurrent.atomic.{AtomicLong, AtomicLongArray, LongAdder}

import scala.jdk.CollectionConverters._

import com.fasterxml.jackson.databind.ObjectMapper
import com.fasterxml.jackson.databind.node.ObjectNode
import org.apache.spark.{SparkContext, SparkEnv}
import org.apache.spark.util.AccumulatorV2

/**
 * Live counts of each pipeline, kept beside Spark's own progress because a real-time batch lasts a minute and reports only at its end.
 *
 * Tasks in the driver's process count here directly. Tasks elsewhere count for themselves and hand their counts over when they end,
 * through an accumulator.
 */
object Meters {
  private val pipelines = new ConcurrentHashMap[String, PipelineMeter]()
  private[headrace] val json = new ObjectMapper()

  def of(pipeline: String): PipelineMeter = pipelines.computeIfAbsent(pipeline, _ => new PipelineMeter)

  /** The counts of a pipeline as JSON; all zero when nothing was counted yet. */
  def snapshot(pipeline: String): String = json.writeValueAsString(of(pipeline).toJson(pipeline))

  def forget(pipeline: String): Unit = pipelines.remove(pipeline)

  private[headrace] def inDriver: Boolean = SparkEnv.get == null || SparkEnv.get.executorId == "driver"
}

/** The counts of one pipeline. Safe for many threads; nothing here waits. */
final class PipelineMeter extends Serializable {
  val rowsOut = new LongAdder
  val bad = new LongAdder
  val late = new LongAdder
  /** Records that a step cannot use: without a key or a value where it needs one. */
  val dropped = new LongAdder
  val latency = new LatencyHistogram
  private val lastOutput = new AtomicLong
  private val partitions = new ConcurrentHashMap[String, PartitionMeter]()
  private val lateMeters = new ConcurrentHashMap[(String, String), LateMeter]()

  /** What came too late for a step from one source partition. */
  def lateOf(step: String, partition: String): LateMeter = lateMeters.computeIfAbsent((step, partition), _ => new LateMeter)

  /** One record came too late, `behindMs` behind the newest time of all partitions; `where` is of this meter. */
  def cameLate(where: LateMeter, behindMs: Long): Unit = {
    late.increment()
    where.came(behindMs)
  }

  def rowsIn: Long = partitions.values.asScala.iterator.map(_.rows).sum

  def partition(name: String): PartitionMeter = partitions.computeIfAbsent(name, _ => new PartitionMeter)

  /** One record left; `sourceTimestamp` is when its source record was written, negative if nobody knows. */
  def sent(sourceTimestamp: Long): Unit = {
    val now = System.currentTimeMillis()
    rowsOut.increment()
    // Read before writing: within one millisecond all tasks would write the same value to the same cache line.
    if (lastOutput.get < now) lastOutput.lazySet(now)
    if (sourceTimestamp >= 0) latency.record(now - sourceTimestamp)
  }

  def add(other: PipelineMeter): Unit = {
    rowsOut.add(other.rowsOut.sum)
    bad.add(other.bad.sum)
    late.add(other.late.sum)
    dropped.add(other.dropped.sum)
    latency.add(other.latency)
    lastOutput.accumulateAndGet(other.lastOutput.get, Math.max(_, _))
    other.partitions.forEach((name, counts) => partition(name).add(counts))
    other.lateMeters.forEach((place, counts) => lateOf(place._1, place._2).add(counts))
  }

  def isEmpty: Boolean = rowsIn == 0 && rowsOut.sum == 0 && bad.sum == 0 && late.sum == 0 && dropped.sum == 0

  def toJson(pipeline: String): ObjectNode = {
    val node = Meters.json.createObjectNode()
    node.put("pipeline", pipeline).put("rows_in", rowsIn).put("rows_out", rowsOut.sum).put("bad", bad.sum).put("late", late.sum).put("dropped", dropped.sum)
    if (lastOutput.get > 0) node.put("last_output_ms", lastOutput.get) else node.putNull("last_output_ms")
    node.set[ObjectNode]("latency_ms", latency.toJson)
    val each = node.putObject("partitions")
    partitions.asScala.toSeq.sortBy(_._1).foreach { case (name, counts) => each.set[ObjectNode](name, counts.toJson) }
    val lateOnes = node.putArray("late_partitions")
    lateMeters.asScala.toSeq.sortBy(_._1).foreach { case ((step, partition), counts) => lateOnes.add(counts.toJson(step, partition)) }
    node
  }
}

/** What came from one source partition: how many records, and the newest timestamp among them. Each task that reads it counts for itself until it ends. */
final class PartitionMeter extends Serializable {
  private var endedRows = 0L
  private var endedNewest = Long.MinValue
  private val open = new java.util.ArrayList[RowMeter]()

  /** The meter of a task that begins to read. */
  def begin(): RowMeter = synchronized {
    val began = new RowMeter
    open.add(began)
    began
  }

  def end(meter: RowMeter): Unit = synchronized {
    if (open.remove(meter)) add(meter.rows, meter.newest)
  }

  def rows: Long = synchronized(endedRows + open.asScala.iterator.map(_.rows).sum)

  private def newest: Long = synchronized(open.asScala.iterator.map(_.newest).foldLeft(endedNewest)(Math.max))

  def add(other: PartitionMeter): Unit = add(other.rows, other.newest)

  private def add(rows: Long, newest: Long): Unit = synchronized {
    endedRows += rows
    endedNewest = Math.max(endedNewest, newest)
  }

  def toJson: ObjectNode = {
    val node = Meters.json.createObjectNode().put("rows", rows)
    if (newest == Long.MinValue) node.putNull("max_timestamp_ms") else node.put("max_timestamp_ms", newest)
  }
}

/** What one task read of a source partition. Only the task writes, so a row costs it neither a lock nor a fence; others see it a moment later. */
final class RowMeter extends Serializable {
  private val count = new AtomicLong
  private val latest = new AtomicLong(Long.MinValue)

  def came(timestampMillis: Long): Unit = {
    count.lazySet(count.getPlain + 1)
    if (latest.getPlain < timestampMillis) latest.lazySet(timestampMillis)
  }

  def rows: Long = count.get
  def newest: Long = latest.get
}

/** The records of one source partition that came too late for a step, and by how much the worst of them was behind. */
final class LateMeter extends Serializable {
  private val records = new LongAdder
  private val behind = new AtomicLong

  def came(behindMs: Long): Unit = {
    records.increment()
    if (behind.get < behindMs) behind.accumulateAndGet(behindMs, Math.max(_, _))
  }

  def add(other: LateMeter): Unit = {
    records.add(other.records.sum)
    behind.accumulateAndGet(other.behind.get, Math.max(_, _))
  }

  def toJson(step: String, partition: String): ObjectNode =
    Meters.json.createObjectNode().put("step", step).put("partition", partition).put("records", records.sum).put("behind_ms", behind.get)
}

/** Milliseconds in buckets that are exact below 16 and an eighth of their value wide above; everything past 24 days is one bucket. */
final class LatencyHistogram extends Serializable {
  import LatencyHistogram._
  private val counts = new AtomicLongArray(Buckets)

  def record(millis: Long): Unit = counts.incrementAndGet(bucket(millis))

  def add(other: LatencyHistogram): Unit = (0 until Buckets).foreach { i =>
    val more = other.counts.get(i)
    if (more != 0) counts.addAndGet(i, more)
  }

  def toJson: ObjectNode = {
    val values = Array.tabulate(Buckets)(counts.get)
    val total = values.sum
    val node = Meters.json.createObjectNode().put("count", total)
    for ((name, share) <- Seq("p50" -> 0.50, "p95" -> 0.95, "p99" -> 0.99, "max" -> 1.0))
      if (total == 0) node.putNull(name) else node.put(name, upperBound(quantile(values, Math.ceil(total * share).toLong)))
    // Pairs of upper bound and count, since the start: a reader that keeps the last ones can tell the latency of the time between.
    val buckets = node.putArray("buckets")
    values.indices.foreach(i => if (values(i) > 0) buckets.addArray().add(upperBound(i)).add(values(i)))
    node
  }

  private def quantile(values: Array[Long], rank: Long): Int = {
    var seen = 0L
    values.indices.find { i => seen += values(i); seen >= rank }.getOrElse(Buckets - 1)
  }
}

object LatencyHistogram {
  private val Exact = 16
  private val Parts = 8
  private val Buckets = Exact + (31 - 4) * Parts

  /** Clocks of two machines differ, so what seems to have left before it came counts as no time at all. */
  private def bucket(millis: Long): Int = {
    val value = Math.max(0L, Math.min(millis, Int.MaxValue.toLong))
    if (value < Exact) value.toInt
    else {
      val exponent = 63 - java.lang.Long.numberOfLeadingZeros(value)
      Exact + (exponent - 4) * Parts + ((value >> (exponent - 3)) & (Parts - 1)).toInt
    }
  }

  private def upperBound(bucket: Int): Long =
    if (bucket < Exact) bucket
    else {
      val exponent = 4 + (bucket - Exact) / Parts
      ((Parts + (bucket - Exact) % Parts + 1).toLong << (exponent - 3)) - 1
    }
}

/** Carries the counts of tasks in other processes to the driver. In the driver's own process it stays empty. */
final class MeterAccumulator(pipeline: String) extends AccumulatorV2[PipelineMeter, PipelineMeter] {
  private var counts = new PipelineMeter

  override def isZero: Boolean = counts.isEmpty
  override def copy(): MeterAccumulator = {
    val same = new MeterAccumulator(pipeline)
    same.counts.add(counts)
    same
  }
  override def reset(): Unit = counts = new PipelineMeter
  override def add(more: PipelineMeter): Unit = counts.add(more)
  override def merge(other: AccumulatorV2[PipelineMeter, PipelineMeter]): Unit = Meters.of(pipeline).add(other.value)
  override def value: PipelineMeter = counts
}

/** Where tasks get a meter from: made in the driver, sent along with the tasks. */
final class TaskMeter private (pipeline: String, totals: MeterAccumulator) extends Serializable {
  def task(): TaskMeter.OfTask = new TaskMeter.OfTask(if (Meters.inDriver) Meters.of(pipeline) else new PipelineMeter, totals)
}

object TaskMeter {
  def of(context: SparkContext, pipeline: String): TaskMeter = {
    val totals = new MeterAccumulator(pipeline)
    context.register(totals)
    new TaskMeter(pipeline, totals)
  }

  /** One task's meter. `close` hands the counts over where the driver cannot see them. */
  final class OfTask private[headrace] (val counts: PipelineMeter, totals: MeterAccumulator) {
    def sent(sourceTimestamp: Long): Unit = counts.sent(sourceTimestamp)
    def close(): Unit = if (!Meters.inDriver) totals.add(counts)
  }
}
