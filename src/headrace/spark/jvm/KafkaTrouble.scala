package headrace

import java.util.concurrent.ExecutionException

import org.apache.kafka.common.errors._

/** What Kafka's exceptions mean for someone who runs a pipeline: what happened, and what to do next. */
object KafkaTrouble {
  def explain(error: Throwable, doing: String): RuntimeException = {
    val cause = unwrapped(error)
    new RuntimeException(s"$doing: ${words(cause)} [${cause.getClass.getSimpleName}: ${cause.getMessage}]", cause)
  }

  private def unwrapped(error: Throwable): Throwable = error match {
    case e: ExecutionException if e.getCause != null => unwrapped(e.getCause)
    // The producer wraps what broke a transaction into a plain KafkaException for every later call.
    case e if e.getClass == classOf[org.apache.kafka.common.KafkaException] && e.getCause != null => unwrapped(e.getCause)
    case e => e
  }

  private def words(cause: Throwable): String = cause match {
    case _: ProducerFencedException | _: InvalidProducerEpochException | _: FencedInstanceIdException =>
      "another process took over this transactional id, or the transaction ran longer than transaction.timeout.ms and the broker ended it. " +
        "If the pipeline runs twice, stop one; if batches take long, raise transaction.timeout.ms or lower maxOffsetsPerTrigger. The batch is done again and nothing is doubled"
    case _: InvalidTxnTimeoutException =>
      "transaction.timeout.ms is above the broker's transaction.max.timeout.ms: lower the first or raise the second"
    case _: TransactionalIdAuthorizationException =>
      "this user may not use the transactional id: grant Write and Describe on it"
    case _: GroupAuthorizationException =>
      "this user may not use the group that holds the batch markers: grant Read and Describe on it"
    case _: TopicAuthorizationException | _: ClusterAuthorizationException =>
      "this user may not write there: grant Write and Describe on the topic (and IdempotentWrite on old clusters)"
    case _: AuthenticationException =>
      "the broker refused this user: check security.protocol and the sasl.* and ssl.* settings"
    case _: RecordTooLargeException =>
      "the record is larger than the topic or the producer takes: raise max.message.bytes of the topic and max.request.size of the producer"
    case _: UnknownTopicOrPartitionException | _: InvalidTopicException =>
      "there is no such topic or partition: create it first"
    case e: TimeoutException if String.valueOf(e.getMessage).contains("not present in metadata") =>
      "there is no such topic or partition: create it first"
    case _: TimeoutException =>
      "the broker did not answer in time: check that it runs and that bootstrap.servers is right"
    case _: InterruptException | _: InterruptedException => "the task was stopped"
    case _ => "the broker did not take it"
  }
}
