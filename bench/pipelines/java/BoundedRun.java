import com.fasterxml.jackson.databind.ObjectMapper;
import com.fasterxml.jackson.databind.ObjectReader;
import com.fasterxml.jackson.databind.ObjectWriter;
import java.time.Duration;
import java.util.Map;
import java.util.Properties;
import org.apache.kafka.common.serialization.Serde;
import org.apache.kafka.common.serialization.Serdes;
import org.apache.kafka.streams.KafkaStreams;
import org.apache.kafka.streams.KeyValue;
import org.apache.kafka.streams.StreamsBuilder;
import org.apache.kafka.streams.StreamsConfig;
import org.apache.kafka.streams.kstream.Consumed;
import org.apache.kafka.streams.kstream.Grouped;
import org.apache.kafka.streams.kstream.Joined;
import org.apache.kafka.streams.kstream.KStream;
import org.apache.kafka.streams.kstream.Produced;
import org.apache.kafka.streams.kstream.TimeWindows;

/**
 * Works off a backlog with Kafka Streams and its default settings, and says how far it is: `ready`, `started`, `first N`, `done N`.
 * Done means closed: all records processed, caches flushed, everything acknowledged. It ends when its input does.
 */
public final class BoundedRun {
    record Event(long id, String name, double amount, String kind, String note) {}

    record Priced(long id, String name, double gross, String kind) {}

    record User(String city, long tier) {}

    record Enriched(long id, double amount, String city, long tier) {}

    record Counted(long start, long n) {}

    private static final ObjectMapper JSON = new ObjectMapper();
    private static final double LEAST_AMOUNT = 10.0;
    private static final double TAX = 1.19;
    private static final long FIRST_PART = 500_000;

    public static void main(String[] arguments) throws Exception {
        String job = arguments[0], events = arguments[4], users = arguments[5], output = arguments[6];
        long count = Long.parseLong(arguments[7]);
        StreamsBuilder builder = new StreamsBuilder();
        switch (job) {
            case "map" -> map(builder, events, output);
            case "count" -> count(builder.stream(events, Consumed.with(Serdes.String(), Serdes.ByteArray())), Serdes.ByteArray(), output);
            case "count-json" -> count(wanted(builder, events), json(Event.class), output);
            case "join" -> join(builder, events, users, output);
            default -> throw new IllegalArgumentException(job);
        }
        Properties settings = new Properties();
        settings.put(StreamsConfig.APPLICATION_ID_CONFIG, arguments[1] + "-" + output);
        settings.put(StreamsConfig.BOOTSTRAP_SERVERS_CONFIG, arguments[2]);
        settings.put(StreamsConfig.STATE_DIR_CONFIG, arguments[3]);
        settings.put(StreamsConfig.NUM_STREAM_THREADS_CONFIG, arguments[8]);
        settings.put("auto.offset.reset", "earliest");
        System.out.println("ready");
        KafkaStreams streams = new KafkaStreams(builder.build(), settings);
        streams.setUncaughtExceptionHandler(error -> {
            error.printStackTrace();
            System.exit(1);
            return null;
        });
        streams.start();
        System.out.println("started");
        watch(streams, count, job.equals("join") ? 1_000 : 0);
        streams.close(Duration.ofSeconds(60));
        System.out.println("done " + count);
        while (System.in.read() >= 0) {
            // until the parent has looked
        }
    }

    private static void map(StreamsBuilder builder, String events, String output) {
        wanted(builder, events)
            .mapValues(event -> new Priced(event.id(), event.name(), event.amount() * TAX, event.kind()))
            .to(output, Produced.with(Serdes.String(), json(Priced.class)));
    }

    private static KStream<String, Event> wanted(StreamsBuilder builder, String events) {
        return builder.stream(events, Consumed.with(Serdes.String(), json(Event.class))).filter((key, event) -> event.amount() >= LEAST_AMOUNT);
    }

    private static <V> void count(KStream<String, V> stream, Serde<V> serde, String output) {
        stream.groupByKey(Grouped.with(Serdes.String(), serde))
            .windowedBy(TimeWindows.ofSizeAndGrace(Duration.ofSeconds(10), Duration.ofDays(1)))
            .count()
            .toStream()
            .map((window, n) -> KeyValue.pair(window.key(), new Counted(window.window().start(), n)))
            .to(output, Produced.with(Serdes.String(), json(Counted.class)));
    }

    private static void join(StreamsBuilder builder, String events, String users, String output) {
        var table = builder.table(users, Consumed.with(Serdes.String(), json(User.class)));
        builder.stream(events, Consumed.with(Serdes.String(), json(Event.class)))
            .join(
                table,
                (event, user) -> new Enriched(event.id(), event.amount(), user.city(), user.tier()),
                Joined.with(Serdes.String(), json(Event.class), json(User.class)))
            .to(output, Produced.with(Serdes.String(), json(Enriched.class)));
    }

    private static void watch(KafkaStreams streams, long count, long others) throws InterruptedException {
        boolean first = false;
        while (true) {
            long done = processed(streams) - others;
            if (done >= FIRST_PART && !first) {
                first = true;
                System.out.println("first " + done);
            }
            if (done >= count) return;
            Thread.sleep(50);
        }
    }

    private static long processed(KafkaStreams streams) {
        double sum = 0;
        for (Map.Entry<org.apache.kafka.common.MetricName, ? extends org.apache.kafka.common.Metric> each : streams.metrics().entrySet()) {
            if (each.getKey().name().equals("process-total") && each.getKey().group().equals("stream-thread-metrics")) {
                sum += (double) each.getValue().metricValue();
            }
        }
        return (long) sum;
    }

    private static <T> Serde<T> json(Class<T> type) {
        ObjectReader reader = JSON.readerFor(type);
        ObjectWriter writer = JSON.writerFor(type);
        return Serdes.serdeFrom(
            (topic, value) -> {
                try {
                    return value == null ? null : writer.writeValueAsBytes(value);
                } catch (java.io.IOException error) {
                    throw new java.io.UncheckedIOException(error);
                }
            },
            (topic, bytes) -> {
                try {
                    return bytes == null ? null : reader.readValue(bytes);
                } catch (java.io.IOException error) {
                    throw new java.io.UncheckedIOException(error);
                }
            });
    }
}
