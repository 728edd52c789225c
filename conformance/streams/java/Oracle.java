import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.node.ArrayNode;
import com.fasterxml.jackson.databind.node.ObjectNode;
import java.io.BufferedReader;
import java.io.InputStreamReader;
import java.io.PrintStream;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Properties;
import org.apache.kafka.common.serialization.ByteArrayDeserializer;
import org.apache.kafka.common.serialization.ByteArraySerializer;
import org.apache.kafka.streams.TestInputTopic;
import org.apache.kafka.streams.TopologyTestDriver;

/**
 * What Kafka Streams makes of a plan and its records. A case is a line on standard input,
 * {"plan", "records": [{"topic", "key", "value", "timestamp"}], "topics"}, its answer a line on standard output,
 * {"outputs": {topic: [{"key", "value", "timestamp"}]}} or {"error"}.
 */
public final class Oracle {

    private Oracle() {}

    public static void main(String[] arguments) throws Exception {
        BufferedReader lines = new BufferedReader(new InputStreamReader(System.in, StandardCharsets.UTF_8));
        PrintStream out = new PrintStream(System.out, true, StandardCharsets.UTF_8);
        Path scratch = Files.createTempDirectory("headrace-oracle");
        int number = 0;
        for (String line = lines.readLine(); line != null; line = lines.readLine()) {
            ObjectNode answer = Rows.JSON.createObjectNode();
            try {
                answer.set("outputs", run(Rows.JSON.readTree(line), scratch.resolve("case-" + number++)));
            } catch (Exception | StackOverflowError error) {
                answer.put("error", error.toString());
            }
            out.println(answer);
        }
    }

    private static ObjectNode run(JsonNode given, Path directory) {
        Properties settings = new Properties();
        settings.put("application.id", "oracle");
        settings.put("bootstrap.servers", "nowhere:1");
        settings.put("state.dir", directory.toString());
        settings.put("statestore.cache.max.bytes", "0");
        settings.put("default.key.serde", KeySerde.class.getName());
        settings.put("default.value.serde", ValueSerde.class.getName());
        ObjectNode outputs = Rows.JSON.createObjectNode();
        try (TopologyTestDriver driver = new TopologyTestDriver(Topologies.of(given.get("plan")), settings)) {
            for (JsonNode record : given.get("records")) {
                TestInputTopic<byte[], byte[]> topic =
                    driver.createInputTopic(record.get("topic").asText(), new ByteArraySerializer(), new ByteArraySerializer());
                topic.pipeInput(bytes(record.get("key")), bytes(record.get("value")), record.get("timestamp").asLong());
                // Final results and the nulls of outer joins leave at most once a second of the clock.
                driver.advanceWallClockTime(java.time.Duration.ofSeconds(2));
            }
            for (JsonNode topic : given.get("topics")) {
                outputs.set(topic.asText(), read(driver, topic.asText()));
            }
        }
        return outputs;
    }

    private static ArrayNode read(TopologyTestDriver driver, String topic) {
        ArrayNode records = Rows.JSON.createArrayNode();
        var outputs = driver.createOutputTopic(topic, new ByteArrayDeserializer(), new ByteArrayDeserializer());
        while (!outputs.isEmpty()) {
            var each = outputs.readRecord();
            ObjectNode read = records.addObject();
            read.set("key", tree(each.key()));
            read.set("value", tree(each.value()));
            read.put("timestamp", each.timestamp());
        }
        return records;
    }

    private static byte[] bytes(JsonNode node) {
        return node == null || node.isNull() ? null : node.toString().getBytes(StandardCharsets.UTF_8);
    }

    private static JsonNode tree(byte[] data) {
        try {
            return data == null ? Rows.JSON.nullNode() : Rows.JSON.readTree(data);
        } catch (java.io.IOException error) {
            throw new IllegalStateException(error);
        }
    }

    /** For internal topics whose serde the DSL takes from the settings. */
    public static final class KeySerde extends org.apache.kafka.common.serialization.Serdes.WrapperSerde<Object> {
        public KeySerde() {
            super(Rows.KEYS.serializer(), Rows.KEYS.deserializer());
        }
    }

    /** As above. */
    public static final class ValueSerde extends org.apache.kafka.common.serialization.Serdes.WrapperSerde<java.util.Map<String, Object>> {
        public ValueSerde() {
            super(Rows.VALUES.serializer(), Rows.VALUES.deserializer());
        }
    }
}
