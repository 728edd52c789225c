package headrace

import java.time.Duration
import java.util.concurrent.{Executors, TimeUnit}
import java.util.concurrent.atomic.{AtomicLong, AtomicReference}

import scala.collection.mutable
import scala.util.control.NonFatal

import org.apache.kafka.clients.producer.{Callback, KafkaProducer, ProducerRecord, RecordMetadata}
import org.apache.kafka.common.errors.InterruptException

/**
 * The producers that at-least-once writers of this process share: one for each set of Kafka options, lent out to tasks and counted.
 *
 * A producer nobody has used for a minute is closed, so is one whose last query ended, and one that failed as soon as nobody holds it.
 */
object Producers {
  private val IdleMillis = 60000L
  private val CloseWithin = Duration.ofSeconds(10)
  private val log = org.slf4j.LoggerFactory.getLogger("headrace.Producers")

  final class Shared private[Producers] (val options: KafkaOptions) {
    val producer: KafkaProducer[Array[Byte], Array[Byte]] = options.producer()
    private[Producers] var users = 0
    private[Producers] var retired = false
    private[Producers] var releasedAt = System.nanoTime()
  }

  private val shared = mutable.HashMap.empty[KafkaOptions, Shared]
  private val background = Executors.newSingleThreadScheduledExecutor { (task: Runnable) =>
    val thread = new Thread(task, "headrace-producers")
    thread.setDaemon(true)
    thread
  }
  background.scheduleWithFixedDelay(() => { closeIdle(IdleMillis); Slots.closeIdle(IdleMillis * 5) }, 10, 10, TimeUnit.SECONDS)

  def acquire(options: KafkaOptions): Shared = synchronized {
    val one = shared.getOrElseUpdate(options, new Shared(options))
    one.users += 1
    one
  }

  /** Give a producer back; `failed` takes it out of use for whoever comes next. */
  def release(one: Shared, failed: Boolean): Unit = synchronized {
    one.users -= 1
    one.releasedAt = System.nanoTime()
    if (failed && !one.retired) {
      one.retired = true
      if (shared.get(one.options).contains(one)) shared.remove(one.options)
    }
    if (one.retired && one.users == 0) closeLater(one.producer)
  }

  /** Close what nobody holds and nobody has held for so long. */
  def closeIdle(olderThanMillis: Long): Unit = synchronized {
    val limit = System.nanoTime() - TimeUnit.MILLISECONDS.toNanos(olderThanMillis)
    shared.filterInPlace { (_, one) =>
      val idle = one.users == 0 && one.releasedAt - limit <= 0
      if (idle) closeLater(one.producer)
      !idle
    }
  }

  /** For the end of a session: everything that is not in use goes, now. Returns how many producers are still held by tasks. */
  def closeAll(): Int = {
    Slots.closeIdle(0)
    synchronized {
      closeIdle(0)
      shared.size
    }
  }

  /** How many producers this process holds: shared ones and pooled transactional ones. */
  def count(): Int = synchronized(shared.size) + Slots.count()

  /** Closing may wait for a broker, so no task and no lock waits for it. With time given, a transaction that is open is aborted on the way. */
  private[headrace] def closeLater(producer: KafkaProducer[_, _], within: Duration = CloseWithin): Unit =
    background.execute { () =>
      try producer.close(within)
      catch { case NonFatal(e) => log.warn("a Kafka producer did not close cleanly", e) }
    }
}

/**
 * One task's use of a shared producer: records go out at once and in order, the first failure is kept and raised by the next call.
 *
 * Nothing is safe before `finish` has returned; it waits for this task's records only, because flushing the producer would wait for those of
 * other pipelines too, whose topics may be out of reach. `close` must follow, however the task ended.
 */
final class TaskProducer(options: KafkaOptions, doing: String) extends Callback {
  private val shared = Producers.acquire(options)
  val partitions = new PartitionCounts(shared.producer)
  private val failure = new AtomicReference[Exception]()
  private val answered = new AtomicLong()
  private var sent = 0L
  @volatile private var waiting = false
  private var closed = false

  override def onCompletion(metadata: RecordMetadata, error: Exception): Unit = {
    if (error != null) failure.compareAndSet(null, error)
    answered.incrementAndGet()
    if (waiting) answered.synchronized(answered.notifyAll())
  }

  def send(record: ProducerRecord[Array[Byte], Array[Byte]]): Unit = {
    if (failure.get != null) raise(failure.get)
    sent += 1
    try shared.producer.send(record, this)
    catch { case e: Exception => failure.compareAndSet(null, e); raise(e) }
  }

  /** Wait until the broker has everything that was sent; raises what went wrong. The producer answers for every record within delivery.timeout.ms. */
  def finish(): Unit = {
    waiting = true
    try answered.synchronized(while (answered.get < sent && failure.get == null) answered.wait(100))
    catch { case e: InterruptedException => failure.compareAndSet(null, new InterruptException(e)) }
    if (failure.get != null) raise(failure.get)
  }

  def close(): Unit = if (!closed) {
    closed = true
    Producers.release(shared, failed = failure.get != null && !failure.get.isInstanceOf[InterruptException])
  }

  private def raise(error: Exception): Nothing = throw KafkaTrouble.explain(error, doing)
}
