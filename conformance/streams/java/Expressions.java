import com.fasterxml.jackson.databind.JsonNode;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Objects;

/** Evaluates the expressions of a plan on rows of plain Java values: Long, Double, Boolean, String, List, Map, null. */
final class Expressions {

    /** What an expression can see. */
    static final class Scope {
        final Map<String, Map<String, Object>> sides = new LinkedHashMap<>();
        Map<String, Object> key = Map.of();
        Map<String, Object> value = Map.of();
        Map<String, Object> item = Map.of();
        long rowtime;
        Long windowStart;
        Long windowEnd;

        static Scope of(Map<String, Object> key, Map<String, Object> value, long rowtime) {
            Scope scope = new Scope();
            scope.key = key == null ? Map.of() : key;
            scope.value = value == null ? Map.of() : value;
            scope.rowtime = rowtime;
            return scope;
        }

        Scope with(String side, Map<String, Object> row) {
            sides.put(side, row == null ? Map.of() : row);
            return this;
        }

        Object column(String name, String side) {
            if (side != null) {
                return "key".equals(side) ? key.get(name) : sides.get(side).get(name);
            }
            if (item.containsKey(name)) {
                return item.get(name);
            }
            return value.containsKey(name) ? value.get(name) : key.get(name);
        }
    }

    private Expressions() {}

    static Map<String, Object> row(JsonNode named, Scope scope) {
        Map<String, Object> row = new LinkedHashMap<>();
        for (JsonNode each : named) {
            row.put(each.get("name").asText(), evaluate(each.get("expression"), scope));
        }
        return row;
    }

    static boolean holds(JsonNode condition, Scope scope) {
        return Boolean.TRUE.equals(evaluate(condition, scope));
    }

    static Object evaluate(JsonNode node, Scope scope) {
        switch (node.get("node").asText()) {
            case "Column":
                return scope.column(node.get("name").asText(), node.hasNonNull("side") ? node.get("side").asText() : null);
            case "RowMeta":
                return meta(node.get("name").asText(), scope);
            case "Literal":
                return cast(plain(node.get("value")), node.get("type").asText());
            case "Cast":
                return cast(evaluate(node.get("operand"), scope), node.get("type").asText());
            case "Case":
                return chosen(node, scope);
            case "FieldOf":
                Object struct = evaluate(node.get("operand"), scope);
                return struct == null ? null : ((Map<?, ?>) struct).get(node.get("name").asText());
            case "StructOf":
                return row(node.get("fields"), scope);
            case "Call":
                return call(node, scope);
            default:
                throw new UnsupportedOperationException("expression " + node.get("node").asText());
        }
    }

    private static Object meta(String name, Scope scope) {
        switch (name) {
            case "rowtime":
                return scope.rowtime;
            case "windowstart":
                return scope.windowStart;
            case "windowend":
                return scope.windowEnd;
            default:
                throw new UnsupportedOperationException("meta " + name);
        }
    }

    private static Object chosen(JsonNode node, Scope scope) {
        for (JsonNode branch : node.get("branches")) {
            if (holds(branch.get("condition"), scope)) {
                return evaluate(branch.get("result"), scope);
            }
        }
        return node.hasNonNull("default") ? evaluate(node.get("default"), scope) : null;
    }

    static Object plain(JsonNode node) {
        if (node == null || node.isNull()) {
            return null;
        }
        if (node.isBoolean()) {
            return node.asBoolean();
        }
        if (node.isIntegralNumber()) {
            return node.asLong();
        }
        if (node.isNumber()) {
            return node.asDouble();
        }
        if (node.isArray()) {
            List<Object> items = new ArrayList<>();
            node.forEach(each -> items.add(plain(each)));
            return items;
        }
        if (node.isObject()) {
            Map<String, Object> fields = new LinkedHashMap<>();
            node.fields().forEachRemaining(each -> fields.put(each.getKey(), plain(each.getValue())));
            return fields;
        }
        return node.asText();
    }

    private static Object cast(Object value, String type) {
        if (value == null) {
            return null;
        }
        switch (type) {
            case "INTEGER":
            case "BIGINT":
                return value instanceof Number ? (Object) ((Number) value).longValue() : Long.valueOf(value.toString().trim());
            case "DOUBLE":
                return value instanceof Number ? (Object) ((Number) value).doubleValue() : Double.valueOf(value.toString().trim());
            case "STRING":
                return value.toString();
            default:
                return value;
        }
    }

    private static Object call(JsonNode node, Scope scope) {
        String name = node.get("function").asText();
        List<Object> arguments = new ArrayList<>();
        node.get("arguments").forEach(each -> arguments.add(evaluate(each, scope)));
        switch (name) {
            case "and":
                return arguments.contains(Boolean.FALSE) ? Boolean.FALSE : arguments.contains(null) ? null : Boolean.TRUE;
            case "or":
                return arguments.contains(Boolean.TRUE) ? Boolean.TRUE : arguments.contains(null) ? null : Boolean.FALSE;
            case "is_null":
                return arguments.get(0) == null;
            case "is_not_null":
                return arguments.get(0) != null;
            case "is_distinct":
                return !Objects.equals(arguments.get(0), arguments.get(1));
            case "is_not_distinct":
                return Objects.equals(arguments.get(0), arguments.get(1));
            case "coalesce":
            case "if_null":
                return arguments.stream().filter(Objects::nonNull).findFirst().orElse(null);
            case "if":
                return Boolean.TRUE.equals(arguments.get(0)) ? arguments.get(1) : arguments.get(2);
            case "array":
                return arguments;
            case "greatest":
            case "least":
                return extreme(arguments, name.equals("greatest"));
            case "array_append":
                if (arguments.get(0) == null) {
                    return null;
                }
                List<Object> longer = new ArrayList<>((List<?>) arguments.get(0));
                longer.add(arguments.get(1));
                return longer;
            default:
                return arguments.contains(null) ? null : strict(name, arguments);
        }
    }

    private static Object extreme(List<Object> values, boolean greatest) {
        Object best = null;
        for (Object value : values) {
            if (value != null && (best == null || (compare(value, best) > 0) == greatest && compare(value, best) != 0)) {
                best = value;
            }
        }
        return best;
    }

    @SuppressWarnings("unchecked")
    static int compare(Object left, Object right) {
        if (left instanceof Number && right instanceof Number) {
            return left instanceof Long && right instanceof Long
                ? Long.compare((Long) left, (Long) right)
                : Double.compare(((Number) left).doubleValue(), ((Number) right).doubleValue());
        }
        return ((Comparable<Object>) left).compareTo(right);
    }

    private static Object strict(String name, List<Object> a) {
        switch (name) {
            case "equal":
                return same(a.get(0), a.get(1));
            case "not_equal":
                return !same(a.get(0), a.get(1));
            case "less":
                return compare(a.get(0), a.get(1)) < 0;
            case "less_equal":
                return compare(a.get(0), a.get(1)) <= 0;
            case "greater":
                return compare(a.get(0), a.get(1)) > 0;
            case "greater_equal":
                return compare(a.get(0), a.get(1)) >= 0;
            case "between":
                return compare(a.get(0), a.get(1)) >= 0 && compare(a.get(0), a.get(2)) <= 0;
            case "in":
                return a.subList(1, a.size()).stream().anyMatch(each -> same(a.get(0), each));
            case "not":
                return !(Boolean) a.get(0);
            case "add":
            case "subtract":
            case "multiply":
            case "divide":
            case "true_divide":
            case "modulo":
            case "floor_modulo":
                return arithmetic(name, (Number) a.get(0), (Number) a.get(1));
            case "negate":
                return a.get(0) instanceof Long ? (Object) (-(Long) a.get(0)) : (Object) (-(Double) a.get(0));
            case "abs":
                return a.get(0) instanceof Long ? (Object) Math.abs((Long) a.get(0)) : (Object) Math.abs((Double) a.get(0));
            default:
                return text(name, a);
        }
    }

    private static boolean same(Object left, Object right) {
        return left instanceof Number && right instanceof Number ? compare(left, right) == 0 : left.equals(right);
    }

    private static Object arithmetic(String name, Number left, Number right) {
        if (left instanceof Long && right instanceof Long && !name.equals("true_divide")) {
            long x = left.longValue();
            long y = right.longValue();
            switch (name) {
                case "add":
                    return x + y;
                case "subtract":
                    return x - y;
                case "multiply":
                    return x * y;
                case "divide":
                    return y == 0 ? null : (Object) (x / y);
                case "floor_modulo":
                    return y == 0 ? null : (Object) Math.floorMod(x, y);
                default:
                    return y == 0 ? null : (Object) (x % y);
            }
        }
        double x = left.doubleValue();
        double y = right.doubleValue();
        switch (name) {
            case "add":
                return x + y;
            case "subtract":
                return x - y;
            case "multiply":
                return x * y;
            case "divide":
            case "true_divide":
                return y == 0 ? null : (Object) (x / y);
            default:
                return y == 0 ? null : (Object) (x % y);
        }
    }

    private static Object text(String name, List<Object> a) {
        switch (name) {
            case "concat":
                StringBuilder joined = new StringBuilder();
                a.forEach(joined::append);
                return joined.toString();
            case "upper":
                return ((String) a.get(0)).toUpperCase();
            case "lower":
                return ((String) a.get(0)).toLowerCase();
            case "trim":
                return ((String) a.get(0)).trim();
            case "length":
                return (long) ((String) a.get(0)).length();
            case "size":
                return (long) ((List<?>) a.get(0)).size();
            case "starts_with":
                return ((String) a.get(0)).startsWith((String) a.get(1));
            case "ends_with":
                return ((String) a.get(0)).endsWith((String) a.get(1));
            case "contains":
                return a.get(0) instanceof List ? ((List<?>) a.get(0)).contains(a.get(1)) : ((String) a.get(0)).contains((String) a.get(1));
            case "replace":
                return ((String) a.get(0)).replace((String) a.get(1), (String) a.get(2));
            case "split":
                return new ArrayList<Object>(Arrays.asList(((String) a.get(0)).split(java.util.regex.Pattern.quote((String) a.get(1)), -1)));
            case "slice":
                int from = ((Number) a.get(1)).intValue() - 1;
                return new ArrayList<Object>(((List<?>) a.get(0)).subList(from, from + ((Number) a.get(2)).intValue()));
            default:
                throw new UnsupportedOperationException("function " + name);
        }
    }
}
