package headrace

import java.util.{Map => JMap, Properties}

import scala.jdk.CollectionConverters._

import org.apache.kafka.clients.admin.{Admin, AdminClientConfig}
import org.apache.kafka.clients.producer.{KafkaProducer, ProducerConfig}
import org.apache.kafka.common.serialization.ByteArraySerializer

/**
 * What a sink may say to Kafka's clients: Kafka's own names, authentication included. Compared by value, as it is the key of every cache.
 *
 * It never prints its values: passwords may be among them, and Spark prints plans.
 */
final case class KafkaOptions(settings: Map[String, String]) {
  override def toString: String = s"KafkaOptions(${settings.getOrElse("bootstrap.servers", "?")})"

  /** A producer that keeps order and repeats nothing. */
  def producer(): KafkaProducer[Array[Byte], Array[Byte]] = producer(settings)

  /** One for transactions. There is one for each slot, so each may hold less than the shared one. */
  def transactionalProducer(id: String, timeoutMs: Int): KafkaProducer[Array[Byte], Array[Byte]] =
    producer(Map("buffer.memory" -> "8388608") ++ settings ++ Map("transactional.id" -> id, "transaction.timeout.ms" -> timeoutMs.toString))

  private def producer(chosen: Map[String, String]): KafkaProducer[Array[Byte], Array[Byte]] = {
    val config = new Properties()
    (chosen ++ KafkaOptions.Required).foreach { case (name, value) => config.setProperty(name, value) }
    new KafkaProducer(config, new ByteArraySerializer(), new ByteArraySerializer())
  }

  def admin(): Admin = {
    val config = new Properties()
    val forProducersOnly = ProducerConfig.configNames().asScala.diff(AdminClientConfig.configNames().asScala)
    settings.foreach { case (name, value) => if (!forProducersOnly.contains(name)) config.setProperty(name, value) }
    Admin.create(config)
  }
}

object KafkaOptions {
  private val ProducerDefaults = Map("linger.ms" -> "0", "batch.size" -> "65536")
  private val Required = Map("acks" -> "all", "enable.idempotence" -> "true")
  private val Refused = Map(
    "acks" -> Set("all", "-1"),
    "enable.idempotence" -> Set("true"),
    "transactional.id" -> Set.empty[String],
    "key.serializer" -> Set.empty[String],
    "value.serializer" -> Set.empty[String])

  /** From options as users write them, completed, so that equal wishes share a producer. What would break the sink's promises is refused. */
  def checked(settings: JMap[String, String]): KafkaOptions = {
    val given = settings.asScala.toMap
    if (given.getOrElse("bootstrap.servers", "").isEmpty) throw new IllegalArgumentException("the sink needs kafka.bootstrap.servers")
    for ((name, allowed) <- Refused; value <- given.get(name) if !allowed.contains(value.toLowerCase))
      throw new IllegalArgumentException(s"kafka.$name=$value would break what the sink promises: leave it out")
    KafkaOptions(ProducerDefaults ++ given)
  }
}
