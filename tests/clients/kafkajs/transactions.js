// Transactions with KafkaJS: one aborted, one committed with the offsets of a group.
//
// usage: node transactions.js KAFKAJS_FOLDER BOOTSTRAP TOPIC GROUP
const [folder, bootstrap, topic, group] = process.argv.slice(2);
const { Kafka, logLevel } = require(require.resolve("kafkajs", { paths: [folder] }));
const kafka = new Kafka({ clientId: "kafkajs", brokers: [bootstrap], logLevel: logLevel.ERROR });

const messages = (word) => [0, 1, 2].map((partition) => ({ partition, value: `${word}-${partition}` }));

async function main() {
  const producer = kafka.producer({ transactionalId: `${group}-id`, idempotent: true, maxInFlightRequests: 1 });
  await producer.connect();
  const aborted = await producer.transaction();
  await aborted.send({ topic, messages: messages("aborted") });
  await aborted.abort();
  const committed = await producer.transaction();
  await committed.send({ topic, messages: messages("committed") });
  await committed.sendOffsets({
    consumerGroupId: group,
    topics: [{ topic, partitions: [{ partition: 1, offset: "1" }] }],
  });
  await committed.commit();
  await producer.disconnect();
}

main().catch((error) => {
  console.error(error);
  process.exit(1);
});
