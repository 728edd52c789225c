import com.fasterxml.jackson.databind.ObjectMapper;
import java.io.IOException;
import java.util.LinkedHashMap;
import java.util.Map;
import org.apache.kafka.common.serialization.Serde;
import org.apache.kafka.common.serialization.Serdes;
import org.apache.kafka.streams.kstream.Windowed;
import org.apache.kafka.streams.kstream.internals.SessionWindow;
import org.apache.kafka.streams.kstream.internals.TimeWindow;

/** Rows in topics: JSON objects. A windowed key carries its window under three names of its own. */
final class Rows {

    static final ObjectMapper JSON = new ObjectMapper();
    static final String START = "__window_start";
    static final String END = "__window_end";
    static final String KIND = "__window_kind";

    private Rows() {}

    static final Serde<Map<String, Object>> VALUES = Serdes.serdeFrom((topic, row) -> bytes(row), (topic, data) -> row(data));
    static final Serde<Object> KEYS = Serdes.serdeFrom((topic, key) -> bytes(flat(key)), (topic, data) -> windowed(row(data)));

    @SuppressWarnings("unchecked")
    static Map<String, Object> columns(Object key) {
        return (Map<String, Object>) (key instanceof Windowed ? ((Windowed<?>) key).key() : key);
    }

    private static Map<String, Object> flat(Object key) {
        if (!(key instanceof Windowed)) {
            return columns(key);
        }
        Windowed<?> windowed = (Windowed<?>) key;
        Map<String, Object> row = new LinkedHashMap<>(columns(key));
        row.put(START, windowed.window().start());
        row.put(END, windowed.window().end());
        row.put(KIND, windowed.window() instanceof SessionWindow ? "session" : "time");
        return row;
    }

    private static Object windowed(Map<String, Object> row) {
        if (row == null || !row.containsKey(START)) {
            return row;
        }
        long start = (Long) row.remove(START);
        long end = (Long) row.remove(END);
        return new Windowed<>(row, "session".equals(row.remove(KIND)) ? new SessionWindow(start, end) : new TimeWindow(start, end));
    }

    private static byte[] bytes(Map<String, Object> row) {
        try {
            return row == null ? null : JSON.writeValueAsBytes(row);
        } catch (IOException error) {
            throw new IllegalStateException(error);
        }
    }

    @SuppressWarnings("unchecked")
    static Map<String, Object> row(byte[] data) {
        try {
            return data == null ? null : (Map<String, Object>) Expressions.plain(JSON.readTree(data));
        } catch (IOException error) {
            throw new IllegalStateException(error);
        }
    }
}
