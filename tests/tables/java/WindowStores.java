import java.io.BufferedReader;
import java.io.InputStreamReader;
import java.nio.charset.StandardCharsets;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Collections;
import java.util.List;
import java.util.Properties;
import org.apache.kafka.common.serialization.Serdes;
import org.apache.kafka.streams.KeyValue;
import org.apache.kafka.streams.Topology;
import org.apache.kafka.streams.TopologyTestDriver;
import org.apache.kafka.streams.kstream.Windowed;
import org.apache.kafka.streams.kstream.internals.SessionWindow;
import org.apache.kafka.streams.processor.api.Processor;
import org.apache.kafka.streams.processor.api.Record;
import org.apache.kafka.streams.state.KeyValueIterator;
import org.apache.kafka.streams.state.SessionStore;
import org.apache.kafka.streams.state.StoreBuilder;
import org.apache.kafka.streams.state.Stores;
import org.apache.kafka.streams.state.WindowStore;

/**
 * What Kafka Streams' own stores keep. Standard input: "new time|session memory|disk retention" opens a store, "put key start end value" (value "-"
 * deletes) writes to it, and "all" prints its rows as "key/start/end/value", sorted, on one line.
 */
public final class WindowStores {

    private static final String NAME = "store";

    private WindowStores() {}

    public static void main(String[] arguments) throws Exception {
        BufferedReader lines = new BufferedReader(new InputStreamReader(System.in, StandardCharsets.UTF_8));
        TopologyTestDriver driver = null;
        boolean sessions = false;
        int number = 0;
        for (String line = lines.readLine(); line != null; line = lines.readLine()) {
            String[] words = line.split(" ");
            if (words[0].equals("new")) {
                if (driver != null) {
                    driver.close();
                }
                sessions = words[1].equals("session");
                driver = open(sessions, words[2].equals("memory"), Long.parseLong(words[3]), Path.of(arguments[0], "" + number++));
            } else if (words[0].equals("put")) {
                put(driver, sessions, words[1], Long.parseLong(words[2]), Long.parseLong(words[3]), words[4]);
            } else {
                System.out.println(String.join(" ", all(driver, sessions)));
            }
        }
        if (driver != null) {
            driver.close();
        }
    }

    private static TopologyTestDriver open(boolean sessions, boolean memory, long retentionMs, Path directory) {
        Duration retention = Duration.ofMillis(retentionMs);
        Duration size = Duration.ofMillis(1);
        StoreBuilder<?> store = sessions
            ? Stores.sessionStoreBuilder(
                memory ? Stores.inMemorySessionStore(NAME, retention) : Stores.persistentSessionStore(NAME, retention),
                Serdes.String(), Serdes.String())
            : Stores.windowStoreBuilder(
                memory ? Stores.inMemoryWindowStore(NAME, retention, size, false) : Stores.persistentWindowStore(NAME, retention, size, false),
                Serdes.String(), Serdes.String());
        Topology topology = new Topology();
        topology.addSource("in", Serdes.String().deserializer(), Serdes.String().deserializer(), "in");
        topology.addProcessor("nothing", () -> new Processor<Object, Object, Object, Object>() {
            @Override
            public void process(Record<Object, Object> record) {}
        }, "in");
        topology.addStateStore(store, "nothing");
        Properties settings = new Properties();
        settings.put("application.id", "window-stores");
        settings.put("bootstrap.servers", "nowhere:1");
        settings.put("state.dir", directory.toString());
        return new TopologyTestDriver(topology, settings);
    }

    private static void put(TopologyTestDriver driver, boolean sessions, String key, long start, long end, String given) {
        String value = given.equals("-") ? null : given;
        if (sessions) {
            SessionStore<String, String> store = driver.getSessionStore(NAME);
            store.put(new Windowed<>(key, new SessionWindow(start, end)), value);
        } else {
            WindowStore<String, String> store = driver.getWindowStore(NAME);
            store.put(key, value, start);
        }
    }

    private static List<String> all(TopologyTestDriver driver, boolean sessions) {
        List<String> rows = new ArrayList<>();
        try (KeyValueIterator<Windowed<String>, String> found = sessions
                ? driver.<String, String>getSessionStore(NAME).fetch("a", "z")
                : driver.<String, String>getWindowStore(NAME).all()) {
            while (found.hasNext()) {
                KeyValue<Windowed<String>, String> row = found.next();
                long end = sessions ? row.key.window().end() : row.key.window().start();
                rows.add(row.key.key() + "/" + row.key.window().start() + "/" + end + "/" + row.value);
            }
        }
        Collections.sort(rows);
        return rows;
    }
}
