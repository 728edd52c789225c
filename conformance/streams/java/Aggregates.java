import com.fasterxml.jackson.databind.JsonNode;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;

/** The aggregate functions of a plan as initialiser, adder, subtractor and merger over an accumulator of plain values. */
final class Aggregates {

    private final JsonNode calls;

    Aggregates(JsonNode calls) {
        this.calls = calls;
    }

    Map<String, Object> initial() {
        Map<String, Object> state = new LinkedHashMap<>();
        for (JsonNode call : calls) {
            state.put(name(call), initial(function(call)));
        }
        return state;
    }

    Map<String, Object> add(Map<String, Object> state, Expressions.Scope scope) {
        Map<String, Object> next = new LinkedHashMap<>(state);
        for (JsonNode call : calls) {
            next.put(name(call), add(function(call), state.get(name(call)), argument(call, scope), hasArgument(call)));
        }
        return next;
    }

    Map<String, Object> subtract(Map<String, Object> state, Expressions.Scope scope) {
        Map<String, Object> next = new LinkedHashMap<>(state);
        for (JsonNode call : calls) {
            next.put(name(call), subtract(function(call), state.get(name(call)), argument(call, scope), hasArgument(call)));
        }
        return next;
    }

    Map<String, Object> merge(Map<String, Object> left, Map<String, Object> right) {
        Map<String, Object> merged = new LinkedHashMap<>();
        for (JsonNode call : calls) {
            merged.put(name(call), merge(function(call), left.get(name(call)), right.get(name(call))));
        }
        return merged;
    }

    Map<String, Object> result(Map<String, Object> state) {
        if (state == null) {
            return null;
        }
        Map<String, Object> row = new LinkedHashMap<>();
        for (JsonNode call : calls) {
            Object held = state.get(name(call));
            if (function(call).equals("avg")) {
                List<?> pair = (List<?>) held;
                long count = ((Number) pair.get(1)).longValue();
                held = count == 0 ? null : (Object) (((Number) pair.get(0)).doubleValue() / count);
            }
            row.put(name(call), held);
        }
        return row;
    }

    private static String name(JsonNode call) {
        return call.get("name").asText();
    }

    private static String function(JsonNode call) {
        return call.get("function").asText();
    }

    private static boolean hasArgument(JsonNode call) {
        return call.has("arguments") && call.get("arguments").size() > 0;
    }

    private static Object argument(JsonNode call, Expressions.Scope scope) {
        return hasArgument(call) ? Expressions.evaluate(call.get("arguments").get(0), scope) : null;
    }

    private static Object initial(String function) {
        switch (function) {
            case "count":
                return 0L;
            case "collect_list":
            case "collect_set":
                return new ArrayList<>();
            case "avg":
                return new ArrayList<Object>(List.of(0.0, 0L));
            default:
                return null;
        }
    }

    private static Object add(String function, Object state, Object value, boolean hasArgument) {
        switch (function) {
            case "count":
                return hasArgument && value == null ? state : (Object) ((Long) state + 1);
            case "sum":
                return value == null ? state : state == null ? value : plus(state, value, 1);
            case "min":
            case "max":
                return value == null || state != null && (Expressions.compare(value, state) < 0) != function.equals("min") ? state : value;
            case "avg":
                return value == null ? state : List.of(plus(((List<?>) state).get(0), ((Number) value).doubleValue(), 1), (Long) ((List<?>) state).get(1) + 1);
            case "collect_list":
            case "collect_set":
                List<Object> longer = new ArrayList<>((List<?>) state);
                if (value != null && (function.equals("collect_list") || !longer.contains(value))) {
                    longer.add(value);
                }
                return longer;
            case "earliest_by_offset":
                return state == null ? value : state;
            case "latest_by_offset":
                return value == null ? state : value;
            default:
                throw new UnsupportedOperationException("aggregate " + function);
        }
    }

    private static Object subtract(String function, Object state, Object value, boolean hasArgument) {
        switch (function) {
            case "count":
                return hasArgument && value == null ? state : (Object) ((Long) state - 1);
            case "sum":
                return value == null ? state : plus(state, value, -1);
            case "avg":
                return value == null ? state : List.of(plus(((List<?>) state).get(0), ((Number) value).doubleValue(), -1), (Long) ((List<?>) state).get(1) - 1);
            case "collect_list":
                List<Object> shorter = new ArrayList<>((List<?>) state);
                shorter.remove(value);
                return shorter;
            default:
                throw new UnsupportedOperationException("taking a row out of " + function);
        }
    }

    private static Object merge(String function, Object left, Object right) {
        switch (function) {
            case "count":
                return (Long) left + (Long) right;
            case "sum":
                return left == null ? right : right == null ? left : plus(left, right, 1);
            case "avg":
                List<?> x = (List<?>) left;
                List<?> y = (List<?>) right;
                return List.of(plus(x.get(0), y.get(0), 1), (Long) x.get(1) + (Long) y.get(1));
            case "collect_list":
                List<Object> both = new ArrayList<>((List<?>) left);
                both.addAll((List<?>) right);
                return both;
            case "latest_by_offset":
                return right == null ? left : right;
            default:
                return add(function, left, right, true);
        }
    }

    private static Object plus(Object left, Object right, int sign) {
        if (left instanceof Long && right instanceof Long) {
            return (Long) left + sign * (Long) right;
        }
        return ((Number) left).doubleValue() + sign * ((Number) right).doubleValue();
    }
}
