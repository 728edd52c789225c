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

  /** A producer that keeps order and repeats nothing; `more` wins over what the user gave. */
  def producer(more: (String, String)*): KafkaProducer[Array[Byte], Array[Byte]] = {
    val config = new Properties()
    (KafkaOptions.ProducerDefaults ++ settings ++ KafkaOptions.Required ++ more).foreach { case (name, value) => config.setProperty(name, value) }
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
  private val ProducerDefaults = Map("linger.ms" -> "0", "batch.size" -> "65536", "client.id" -> "headrace")
  private val Required = Map("acks" -> "all", "enable.idempotence" -> "true")
  private val Refused = Map(
    "acks" -> Set("all", "-1"),
    "enable.idempotence" -> Set("true"),
    "transactional.id" -> Set.empty[String],
    "key.serializer" -> Set.empty[String],
    "value.serializer" -> Set.empty[String])

  /** From options as users write them; those that would break the sink's promises are refused. */
  def checked(settings: JMap[String, String]): KafkaOptions = {
    val given = settings.asScala.toMap
    if (given.getOrElse("bootstrap.servers", "").isEmpty) throw new IllegalArgumentException("the sink needs kafka.bootstrap.servers")
    for ((name, allowed) <- Refused; value <- given.get(name) if !allowed.contains(value.toLowerCase))
      throw new IllegalArgumentException(s"kafka.$name=$value would break what the sink promises: leave it out")
    KafkaOptions(given)
  }
}
