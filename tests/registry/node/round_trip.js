// Confluent's serializers for Node.js: what they write is read by them again, and printed for others to read.
//
// usage: node round_trip.js FOLDER REGISTRY_URL TOPIC DESCRIPTORS
// DESCRIPTORS is a FileDescriptorSet in base64 with the message shop.Order. Prints one line of JSON: bytes in hex and what was read, per format.
const [folder, url, topic, descriptors] = process.argv.slice(2);
const from = (name) => require(require.resolve(name, { paths: [folder] }));
const registry = from("@confluentinc/schemaregistry");
const protobuf = from("@bufbuild/protobuf");
const wkt = from("@bufbuild/protobuf/wkt");
const { SerdeType } = registry;
const client = new registry.SchemaRegistryClient({ baseURLs: [url] });

const MONEY = { type: "record", name: "Money", namespace: "shop", fields: [{ name: "cents", type: "long" }] };
const ORDER = {
  type: "record", name: "Order", namespace: "shop",
  fields: [{ name: "id", type: "string" }, { name: "price", type: "shop.Money" }],
};
const MONEY_JSON = { $id: "money.json", type: "object", properties: { cents: { type: "integer" } } };
const ORDER_JSON = {
  $schema: "http://json-schema.org/draft-07/schema#", title: "Order", type: "object",
  properties: { id: { type: "string" }, price: { $ref: "money.json" } },
};
const value = { id: "a", price: { cents: 5 } };

async function written(name, serializer, deserializer, object, show = (x) => x) {
  const bytes = await serializer.serialize(`${topic}-${name}`, object);
  const read = await deserializer.deserialize(`${topic}-${name}`, bytes);
  return { hex: bytes.toString("hex"), read: show(read) };
}

async function avro() {
  await client.register(`${topic}-money-avro`, { schema: JSON.stringify(MONEY), schemaType: "AVRO" });
  const references = [{ name: "shop.Money", subject: `${topic}-money-avro`, version: 1 }];
  await client.register(`${topic}-avro-value`, { schema: JSON.stringify(ORDER), schemaType: "AVRO", references });
  const options = { autoRegisterSchemas: false, useLatestVersion: true };
  return written("avro", new registry.AvroSerializer(client, SerdeType.VALUE, options),
    new registry.AvroDeserializer(client, SerdeType.VALUE, {}), value);
}

async function json() {
  await client.register(`${topic}-money-json`, { schema: JSON.stringify(MONEY_JSON), schemaType: "JSON" });
  const references = [{ name: "money.json", subject: `${topic}-money-json`, version: 1 }];
  await client.register(`${topic}-json-value`, { schema: JSON.stringify(ORDER_JSON), schemaType: "JSON", references });
  const options = { autoRegisterSchemas: false, useLatestVersion: true, validate: true };
  return written("json", new registry.JsonSerializer(client, SerdeType.VALUE, options),
    new registry.JsonDeserializer(client, SerdeType.VALUE, {}), value);
}

async function proto() {
  const set = protobuf.fromBinary(wkt.FileDescriptorSetSchema, Buffer.from(descriptors, "base64"));
  const files = protobuf.createFileRegistry(set);
  const Order = files.getMessage("shop.Order");
  const order = protobuf.fromJson(Order, { price: { cents: "5" }, note: "n" });
  // Registers the schema and what it imports, as descriptors.
  return written("proto", new registry.ProtobufSerializer(client, SerdeType.VALUE, { autoRegisterSchemas: true, registry: protobuf.createMutableRegistry(...files) }),
    new registry.ProtobufDeserializer(client, SerdeType.VALUE, {}), order, (read) => protobuf.toJson(Order, read));
}

async function main() {
  const found = { avro: await avro(), json: await json(), protobuf: await proto() };
  let refusal = null;
  try {
    await client.register(`${topic}-avro-value`, { schema: JSON.stringify({ ...MONEY, name: "Order", fields: [{ name: "x", type: "int" }] }), schemaType: "AVRO" });
  } catch (error) {
    refusal = { status: error.status, code: error.errorCode };
  }
  console.log(JSON.stringify({ ...found, refusal, subjects: (await client.getAllSubjects()).filter((name) => name.startsWith(topic)).sort() }));
}

main().then(() => process.exit(0), (error) => { console.error(error); process.exit(1); });
