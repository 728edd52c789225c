// A round trip with KafkaJS: admin, produce, consume as a group, commit, and say what was seen as one line of JSON.
//
// usage: node round_trip.js KAFKAJS_FOLDER BOOTSTRAP TOPIC GROUP COUNT
const [folder, bootstrap, topic, group, countText] = process.argv.slice(2);
const { Kafka, logLevel } = require(require.resolve("kafkajs", { paths: [folder] }));
const count = Number(countText);
const kafka = new Kafka({ clientId: "kafkajs", brokers: [bootstrap], logLevel: logLevel.ERROR });

async function produce() {
  const producer = kafka.producer({ idempotent: true, maxInFlightRequests: 1 });
  await producer.connect();
  const messages = Array.from({ length: count }, (_, i) => ({
    key: String(i % 7),
    value: `kafkajs-${i}`,
    headers: { n: String(i) },
  }));
  await producer.send({ topic, messages, compression: 1 });
  await producer.disconnect();
}

async function consume() {
  const values = [];
  let headers = 0;
  const consumer = kafka.consumer({ groupId: group });
  await consumer.connect();
  await consumer.subscribe({ topics: [topic], fromBeginning: true });
  await new Promise((resolve, reject) => {
    setTimeout(() => reject(new Error(`only ${values.length} of ${count} records came`)), 30000).unref();
    consumer
      .run({
        eachMessage: async ({ message }) => {
          values.push(message.value.toString());
          headers += Object.keys(message.headers).length;
          if (values.length === count) resolve();
        },
      })
      .catch(reject);
  });
  await consumer.disconnect();
  return { values, headers };
}

async function main() {
  const admin = kafka.admin();
  await admin.connect();
  await admin.createTopics({ topics: [{ topic, numPartitions: 3 }], waitForLeaders: true });
  await produce();
  const { values, headers } = await consume();
  const ends = await admin.fetchTopicOffsets(topic);
  const commits = await admin.fetchOffsets({ groupId: group, topics: [topic] });
  const total = (offsets) => offsets.reduce((sum, each) => sum + Math.max(0, Number(each.offset)), 0);
  const { groups } = await admin.describeGroups([group]);
  await admin.deleteGroups([group]);
  await admin.deleteTopics({ topics: [topic] });
  await admin.disconnect();
  console.log(
    JSON.stringify({ values, headers, end: total(ends), committed: total(commits[0].partitions), state: groups[0].state }),
  );
}

main().catch((error) => {
  console.error(error);
  process.exit(1);
});
