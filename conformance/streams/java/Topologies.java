import com.fasterxml.jackson.databind.JsonNode;
import java.time.Duration;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import org.apache.kafka.streams.KeyValue;
import org.apache.kafka.streams.StreamsBuilder;
import org.apache.kafka.streams.Topology;
import org.apache.kafka.streams.kstream.Aggregator;
import org.apache.kafka.streams.kstream.Branched;
import org.apache.kafka.streams.kstream.Consumed;
import org.apache.kafka.streams.kstream.EmitStrategy;
import org.apache.kafka.streams.kstream.GlobalKTable;
import org.apache.kafka.streams.kstream.Grouped;
import org.apache.kafka.streams.kstream.Initializer;
import org.apache.kafka.streams.kstream.JoinWindows;
import org.apache.kafka.streams.kstream.KGroupedStream;
import org.apache.kafka.streams.kstream.KGroupedTable;
import org.apache.kafka.streams.kstream.KStream;
import org.apache.kafka.streams.kstream.KTable;
import org.apache.kafka.streams.kstream.Joined;
import org.apache.kafka.streams.kstream.Materialized;
import org.apache.kafka.streams.kstream.Merger;
import org.apache.kafka.streams.kstream.Produced;
import org.apache.kafka.streams.kstream.Repartitioned;
import org.apache.kafka.streams.kstream.SessionWindows;
import org.apache.kafka.streams.kstream.SlidingWindows;
import org.apache.kafka.streams.kstream.StreamJoined;
import org.apache.kafka.streams.kstream.Suppressed;
import org.apache.kafka.streams.kstream.TimeWindows;
import org.apache.kafka.streams.kstream.ValueJoiner;
import org.apache.kafka.streams.kstream.Windowed;
import org.apache.kafka.streams.processor.api.ContextualFixedKeyProcessor;
import org.apache.kafka.streams.processor.api.ContextualProcessor;
import org.apache.kafka.streams.processor.api.FixedKeyRecord;
import org.apache.kafka.streams.processor.api.Record;

/** A plan of Headrace built with Kafka Streams' own DSL, step by step. */
@SuppressWarnings({"unchecked", "rawtypes"})
final class Topologies {

    private final StreamsBuilder builder = new StreamsBuilder();
    private final Map<String, KStream<Object, Map<String, Object>>> streams = new HashMap<>();
    private final Map<String, KTable<Object, Map<String, Object>>> tables = new HashMap<>();
    private final Map<String, GlobalKTable<Object, Map<String, Object>>> globals = new HashMap<>();
    private final Map<String, List<String>> globalKeys = new HashMap<>();
    private final Map<String, KGroupedStream> groupedStreams = new HashMap<>();
    private final Map<String, KGroupedTable> groupedTables = new HashMap<>();

    static Topology of(JsonNode plan) {
        Topologies built = new Topologies();
        plan.get("steps").forEach(built::add);
        return built.builder.build();
    }

    private void add(JsonNode step) {
        String id = step.get("id").asText();
        String input = step.has("input") ? step.get("input").asText() : null;
        switch (step.get("node").asText()) {
            case "StreamSource":
                streams.put(id, builder.stream(step.get("topic").asText(), consumed(step)));
                return;
            case "TableSource":
                tables.put(id, step.has("store")
                    ? builder.table(step.get("topic").asText(), consumed(step), stored())
                    : builder.table(step.get("topic").asText(), consumed(step)));
                return;
            case "GlobalTableSource":
                globals.put(id, builder.globalTable(step.get("topic").asText(), consumed(step)));
                globalKeys.put(id, names(step.get("key").get("columns").asText()));
                return;
            case "Select":
                select(id, input, step);
                return;
            case "Filter":
                filter(id, input, step.get("condition"));
                return;
            case "SelectKey":
                streams.put(id, rekeyed(streams.get(input), step.get("key"), null, null, null));
                return;
            case "FlatMap":
                streams.put(id, rekeyed(streams.get(input), step.get("key"), step.get("items"), step.get("columns"), step.path("item").asText("item")));
                return;
            case "Merge":
                streams.put(id, merged(step.get("inputs")));
                return;
            case "Branch":
                branch(id, streams.get(input), step.get("branches"));
                return;
            case "ToStream":
                streams.put(id, tables.get(input).toStream());
                return;
            case "ToTable":
                tables.put(id, streams.get(input).toTable(stored()));
                return;
            case "Repartition":
                streams.put(id, streams.get(input).repartition(Repartitioned.with(Rows.KEYS, Rows.VALUES)));
                return;
            case "GroupBy":
                group(id, input, step.get("key"));
                return;
            case "Aggregate":
                aggregate(id, input, step);
                return;
            case "Suppress":
                tables.put(id, tables.get(input).suppress((Suppressed) suppressed(step)));
                return;
            case "StreamStreamJoin":
                streams.put(id, streamStream(step));
                return;
            case "StreamTableJoin":
                streams.put(id, streamTable(step));
                return;
            case "GlobalTableJoin":
                streams.put(id, globalTable(step));
                return;
            case "TableTableJoin":
                tables.put(id, tableTable(step));
                return;
            case "ForeignKeyJoin":
                tables.put(id, foreignKey(step));
                return;
            case "Sink":
                (streams.containsKey(input) ? streams.get(input) : tables.get(input).toStream())
                    .to(step.get("topic").asText(), Produced.with(Rows.KEYS, Rows.VALUES));
                return;
            default:
                throw new UnsupportedOperationException("step " + step.get("node").asText());
        }
    }

    private static List<String> names(String struct) {
        List<String> names = new ArrayList<>();
        for (String field : struct.substring("STRUCT<".length(), struct.length() - 1).split(", ")) {
            names.add(field.substring(0, field.indexOf(' ')));
        }
        return names;
    }

    private static Consumed<Object, Map<String, Object>> consumed(JsonNode step) {
        Consumed<Object, Map<String, Object>> consumed = Consumed.with(Rows.KEYS, Rows.VALUES);
        if (!step.hasNonNull("timestamp")) {
            return consumed;
        }
        return consumed.withTimestampExtractor((record, partitionTime) -> ((Number) Expressions.evaluate(
            step.get("timestamp"), Expressions.Scope.of(Rows.columns(record.key()), (Map<String, Object>) record.value(), record.timestamp()))).longValue());
    }

    private static Materialized stored() {
        return Materialized.with(Rows.KEYS, Rows.VALUES).withCachingDisabled();
    }

    /**
     * A window whose result leaves when it closes is read back from its store then. That shows only windows that begin within its retention (size + grace
     * unless told otherwise) of the newest time: where one record moves time far past a window's end, nothing would leave.
     */
    private static Materialized storedForLong() {
        return stored().withRetention(Duration.ofDays(7));
    }

    private static Expressions.Scope scope(Object key, Map<String, Object> value, long timestamp) {
        Expressions.Scope scope = Expressions.Scope.of(Rows.columns(key), value, timestamp);
        if (key instanceof Windowed) {
            scope.windowStart = ((Windowed<?>) key).window().start();
            scope.windowEnd = ((Windowed<?>) key).window().end();
        }
        return scope;
    }

    private void select(String id, String input, JsonNode step) {
        JsonNode columns = step.get("columns");
        if (streams.containsKey(input)) {
            streams.put(id, streams.get(input).processValues(() -> new ContextualFixedKeyProcessor<Object, Map<String, Object>, Map<String, Object>>() {
                @Override
                public void process(FixedKeyRecord<Object, Map<String, Object>> record) {
                    context().forward(record.withValue(Expressions.row(columns, scope(record.key(), record.value(), record.timestamp()))));
                }
            }));
        } else {
            tables.put(id, tables.get(input).mapValues((key, value) -> value == null ? null : Expressions.row(columns, scope(key, value, 0))));
        }
    }

    private void filter(String id, String input, JsonNode condition) {
        if (streams.containsKey(input)) {
            streams.put(id, streams.get(input).processValues(() -> new ContextualFixedKeyProcessor<Object, Map<String, Object>, Map<String, Object>>() {
                @Override
                public void process(FixedKeyRecord<Object, Map<String, Object>> record) {
                    if (Expressions.holds(condition, scope(record.key(), record.value(), record.timestamp()))) {
                        context().forward(record);
                    }
                }
            }));
        } else {
            tables.put(id, tables.get(input).filter((key, value) -> Expressions.holds(condition, scope(key, value, 0))));
        }
    }

    /** A new key, or with `items` one row for each of them. */
    private static KStream<Object, Map<String, Object>> rekeyed(
        KStream<Object, Map<String, Object>> stream, JsonNode key, JsonNode items, JsonNode columns, String itemName) {
        return stream.process(() -> new ContextualProcessor<Object, Map<String, Object>, Object, Map<String, Object>>() {
            @Override
            public void process(Record<Object, Map<String, Object>> record) {
                Expressions.Scope scope = scope(record.key(), record.value(), record.timestamp());
                if (items == null) {
                    context().forward(record.withKey((Object) Expressions.row(key, scope)));
                    return;
                }
                List<?> all = (List<?>) Expressions.evaluate(items, scope);
                for (Object each : all == null ? List.of() : all) {
                    scope.item = each instanceof Map ? (Map<String, Object>) each : one(itemName, each);
                    Object newKey = key == null || key.isNull() ? record.key() : Expressions.row(key, scope);
                    context().forward(record.withKey(newKey).withValue(Expressions.row(columns, scope)));
                }
            }
        });
    }

    private static Map<String, Object> one(String name, Object value) {
        Map<String, Object> row = new LinkedHashMap<>();
        row.put(name, value);
        return row;
    }

    private KStream<Object, Map<String, Object>> merged(JsonNode inputs) {
        KStream<Object, Map<String, Object>> all = streams.get(inputs.get(0).asText());
        for (int i = 1; i < inputs.size(); i++) {
            all = all.merge(streams.get(inputs.get(i).asText()));
        }
        return all;
    }

    private void branch(String id, KStream<Object, Map<String, Object>> stream, JsonNode branches) {
        var split = stream.split();
        for (JsonNode each : branches) {
            String name = id + "." + each.get("name").asText();
            Branched<Object, Map<String, Object>> taken = Branched.withConsumer(one -> streams.put(name, one));
            if (each.hasNonNull("condition")) {
                split = split.branch((key, value) -> Expressions.holds(each.get("condition"), scope(key, value, 0)), taken);
            } else {
                split.defaultBranch(taken);
                return;
            }
        }
        split.noDefaultBranch();
    }

    private void group(String id, String input, JsonNode key) {
        boolean same = key == null || key.isNull();
        Grouped<Object, Map<String, Object>> grouped = Grouped.with(Rows.KEYS, Rows.VALUES);
        if (streams.containsKey(input)) {
            groupedStreams.put(id, same
                ? streams.get(input).groupByKey(grouped)
                : rekeyed(streams.get(input).filter((k, v) -> v != null), key, null, null, null).groupByKey(grouped));
        } else {
            groupedTables.put(id, tables.get(input).groupBy(
                (k, v) -> KeyValue.pair(same ? k : (Object) Expressions.row(key, scope(k, v, 0)), v), grouped));
        }
    }

    private void aggregate(String id, String input, JsonNode step) {
        JsonNode fold = step.hasNonNull("fold") ? step.get("fold") : null;
        boolean reduces = fold != null && fold.path("first_is_initial").asBoolean(false);
        Aggregates calls = new Aggregates(step.path("aggregates"));
        Initializer initial = () -> fold == null ? calls.initial() : Expressions.row(fold.get("initial"), new Expressions.Scope());
        Aggregator add = (key, value, state) -> {
            if (reduces && (state == null || ((Map<?, ?>) state).isEmpty())) {
                return value;
            }
            return step(calls, fold, "update", key, (Map<String, Object>) value, (Map<String, Object>) state);
        };
        KTable result;
        if (groupedTables.containsKey(input)) {
            Aggregator undo = (key, value, state) -> step(calls, fold, "undo", key, (Map<String, Object>) value, (Map<String, Object>) state);
            result = groupedTables.get(input).aggregate(initial, add, undo, stored());
        } else {
            result = windowed(groupedStreams.get(input), step, fold, calls, initial, add);
        }
        tables.put(id, fold == null ? result.mapValues(state -> calls.result((Map<String, Object>) state)) : result);
    }

    private static Map<String, Object> step(
        Aggregates calls, JsonNode fold, String what, Object key, Map<String, Object> value, Map<String, Object> state) {
        Expressions.Scope scope = scope(key, value, 0).with("state", state);
        if (fold == null) {
            return what.equals("undo") ? calls.subtract(state, scope) : calls.add(state, scope);
        }
        return Expressions.row(fold.get(what), scope);
    }

    private static KTable windowed(
        KGroupedStream grouped, JsonNode step, JsonNode fold, Aggregates calls, Initializer initial, Aggregator add) {
        JsonNode window = step.path("window");
        boolean last = step.path("emit").asText().equals("final");
        Materialized stored = last ? storedForLong() : stored();
        if (!step.hasNonNull("window")) {
            return grouped.aggregate(initial, add, stored);
        }
        Duration grace = Duration.ofMillis(window.path("grace_ms").asLong(24 * 60 * 60 * 1000L));
        switch (window.get("node").asText()) {
            case "Tumbling":
            case "Hopping":
                Duration size = Duration.ofMillis(window.get("size_ms").asLong());
                TimeWindows windows = TimeWindows.ofSizeAndGrace(size, grace);
                if (window.has("advance_ms")) {
                    windows = windows.advanceBy(Duration.ofMillis(window.get("advance_ms").asLong()));
                }
                var timed = grouped.windowedBy(windows);
                return (last ? timed.emitStrategy(EmitStrategy.onWindowClose()) : timed).aggregate(initial, add, stored);
            case "Sliding":
                var sliding = grouped.windowedBy(
                    SlidingWindows.ofTimeDifferenceAndGrace(Duration.ofMillis(window.get("difference_ms").asLong()), grace));
                return (last ? sliding.emitStrategy(EmitStrategy.onWindowClose()) : sliding).aggregate(initial, add, stored);
            case "Session":
                Merger merge = (key, left, right) -> fold == null
                    ? calls.merge((Map<String, Object>) left, (Map<String, Object>) right)
                    : mergedFold(fold, key, (Map<String, Object>) left, (Map<String, Object>) right);
                var sessions = grouped.windowedBy(
                    SessionWindows.ofInactivityGapAndGrace(Duration.ofMillis(window.get("gap_ms").asLong()), grace));
                return (last ? sessions.emitStrategy(EmitStrategy.onWindowClose()) : sessions).aggregate(initial, add, merge, stored);
            default:
                throw new UnsupportedOperationException("window " + window.get("node").asText());
        }
    }

    private static Map<String, Object> mergedFold(JsonNode fold, Object key, Map<String, Object> left, Map<String, Object> right) {
        if (left == null || left.isEmpty() || right == null || right.isEmpty()) {
            return left == null || left.isEmpty() ? right : left;
        }
        return Expressions.row(fold.get("merge"), scope(key, null, 0).with("state", left).with("other", right));
    }

    private static Object suppressed(JsonNode step) {
        if (step.path("until_window_closes").asBoolean(true)) {
            return Suppressed.untilWindowCloses(Suppressed.BufferConfig.unbounded());
        }
        var buffer = step.hasNonNull("max_records")
            ? Suppressed.BufferConfig.maxRecords(step.get("max_records").asLong()).emitEarlyWhenFull()
            : Suppressed.BufferConfig.maxBytes(1L << 40).emitEarlyWhenFull();
        return Suppressed.untilTimeLimit(Duration.ofMillis(step.get("wait_ms").asLong()), buffer);
    }

    private static ValueJoiner<Map<String, Object>, Map<String, Object>, Map<String, Object>> joiner(JsonNode step) {
        return (left, right) -> Expressions.row(step.get("columns"), new Expressions.Scope().with("left", left).with("right", right));
    }

    private static ValueJoiner<Map<String, Object>, Map<String, Object>, Map<String, Object>> reversed(JsonNode step) {
        return (right, left) -> joiner(step).apply(left, right);
    }

    private KStream<Object, Map<String, Object>> streamStream(JsonNode step) {
        var left = streams.get(step.get("left").asText());
        var right = streams.get(step.get("right").asText());
        Duration before = Duration.ofMillis(step.get("before_ms").asLong());
        Duration after = Duration.ofMillis(step.get("after_ms").asLong());
        Duration grace = Duration.ofMillis(step.path("grace_ms").asLong(0));
        StreamJoined joined = StreamJoined.with(Rows.KEYS, Rows.VALUES, Rows.VALUES);
        boolean turned = step.get("kind").asText().equals("right");
        JoinWindows windows = JoinWindows.ofTimeDifferenceAndGrace(Duration.ZERO, grace)
            .before(turned ? after : before).after(turned ? before : after);
        switch (step.get("kind").asText()) {
            case "inner":
                return left.join(right, joiner(step), windows, joined);
            case "left":
                return left.leftJoin(right, joiner(step), windows, joined);
            case "right":
                return right.leftJoin(left, reversed(step), windows, joined);
            default:
                return left.outerJoin(right, joiner(step), windows, joined);
        }
    }

    private KStream<Object, Map<String, Object>> streamTable(JsonNode step) {
        var left = streams.get(step.get("left").asText());
        var right = tables.get(step.get("right").asText());
        Joined<Object, Map<String, Object>, Map<String, Object>> joined = Joined.with(Rows.KEYS, Rows.VALUES, Rows.VALUES);
        return step.get("kind").asText().equals("inner") ? left.join(right, joiner(step), joined) : left.leftJoin(right, joiner(step), joined);
    }

    private KStream<Object, Map<String, Object>> globalTable(JsonNode step) {
        var left = streams.get(step.get("left").asText());
        String right = step.get("right").asText();
        String column = globalKeys.get(right).get(0);
        org.apache.kafka.streams.kstream.KeyValueMapper<Object, Map<String, Object>, Object> keyOf = (key, value) -> {
            Object found = Expressions.evaluate(step.get("key"), scope(key, value, 0));
            return found == null ? null : one(column, found);
        };
        return step.get("kind").asText().equals("inner")
            ? left.join(globals.get(right), keyOf, joiner(step))
            : left.leftJoin(globals.get(right), keyOf, joiner(step));
    }

    private KTable<Object, Map<String, Object>> tableTable(JsonNode step) {
        var left = tables.get(step.get("left").asText());
        var right = tables.get(step.get("right").asText());
        switch (step.get("kind").asText()) {
            case "inner":
                return left.join(right, joiner(step), stored());
            case "left":
                return left.leftJoin(right, joiner(step), stored());
            case "right":
                return right.leftJoin(left, reversed(step), stored());
            default:
                return left.outerJoin(right, joiner(step), stored());
        }
    }

    private KTable<Object, Map<String, Object>> foreignKey(JsonNode step) {
        var left = tables.get(step.get("left").asText());
        KTable<Object, Map<String, Object>> right = tables.get(step.get("right").asText());
        String column = step.get("right_key").asText();
        java.util.function.BiFunction<Object, Map<String, Object>, Object> foreign = (key, value) -> {
            Object found = Expressions.evaluate(step.get("foreign_key"), scope(key, value, 0));
            return found == null ? null : one(column, found);
        };
        return step.get("kind").asText().equals("inner")
            ? left.join(right, foreign, joiner(step), stored())
            : left.leftJoin(right, foreign, joiner(step), stored());
    }
}
