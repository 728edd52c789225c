package headrace

import org.apache.spark.sql.DataFrame
import org.apache.spark.sql.catalyst.InternalRow
import org.apache.spark.sql.catalyst.expressions.{GenericInternalRow, UnsafeRow, XXH64}
import org.apache.spark.sql.streaming.{MapState, ValueState}
import org.apache.spark.sql.types.{BooleanType, IntegerType, LongType, StructType}

/**
 * A join of a table with another by a foreign key needs two processors, because left and right rows have different keys: `ForeignKeyLeft` is keyed
 * by the left key, `ForeignKeyRight` by the foreign key, and two topics connect them.
 *
 *   left table ─► ForeignKeyLeft ─ subscriptions ─► ForeignKeyRight ◄─ right table
 *                  ▲        └─► results                    │
 *                  └───────────── responses ◄──────────────┘
 *
 * A response carries the hash of the left row that asked for it. If the left row has changed since, the response is stale and dropped (a newer
 * one is on its way). The instructions and their effects are Kafka Streams 4.3's, but for one: a left row of which a result is out always asks for an answer, also for
 * the one that there is nothing any more. By those rules a right row that is deleted while the left one changes would leave the old result behind.
 */
object ForeignKeyJoin {
  // What a subscription asks of the right side.
  val Unsubscribe = 0
  val UnsubscribeAndDelete = 1
  val SubscribeAndAnswer = 2
  val SubscribeAndAnswerIfFound = 3

  private val hashes = new StructType().add("hash_high", LongType).add("hash_low", LongType)

  def subscription(leftKey: StructType): StructType = StructType(new StructType().add("left_key", leftKey).add("instruction", IntegerType).fields ++ hashes.fields)
  def routedSubscription(foreignKey: StructType, leftKey: StructType): StructType =
    StructType(new StructType().add("foreign_key", foreignKey).fields ++ subscription(leftKey).fields)
  def response(right: StructType): StructType = StructType(new StructType().add("right", right).fields ++ hashes.fields)

  /** Two hashes of one row with different seeds: 128 bits, so that a stale response is not taken for a fresh one by chance. */
  private[headrace] def hash(row: InternalRow, seed: Long): Long = {
    val bytes = row.asInstanceOf[UnsafeRow]
    XXH64.hashUnsafeBytes(bytes.getBaseObject, bytes.getBaseOffset, bytes.getSizeInBytes, seed)
  }
}

/**
 * Side 0: the left table's rows. Side 1: responses. Gives results (`output` 0) and subscriptions (`output` 1).
 *
 * State: the current left row with its hash and whether a result is out, and the last result if `old` is wanted. Where Kafka Streams sends a subscription with a null foreign key around
 * only to get back that there is no right row, the result comes out at once.
 */
final class ForeignKeyLeft(
    layout: FlowLayout, settings: ProcessorSettings, columns: JoinColumns, foreignKey: CompiledStruct, leftJoin: Boolean, withOld: Boolean)
    extends JoinProcessor(layout, settings) {
  import ForeignKeyJoin._

  @transient private var state: ValueState[InternalRow] = _
  @transient private var results: ValueState[InternalRow] = _
  @transient private lazy val scope = new GenericInternalRow(3)
  private var current: Held = _
  private var changed = false
  /** Whether the last result was a row. Kept without a left row too, until that result is taken back. */
  private var joined = false

  private final class Held(val row: InternalRow, val ts: Long, val hashHigh: Long, val hashLow: Long)

  override def valueSchema: StructType = columns.schema
  override def outputSchema: StructType =
    Rows.output(layout.key, valueSchema).add("output", IntegerType).add("subscription", routedSubscription(foreignKey.schema, layout.key))

  override protected def openStates(): Unit = {
    state = valueState("left", TimedRow.schema(layout.left).add("hash_high", LongType).add("hash_low", LongType).add("joined", BooleanType))
    if (withOld) results = valueState("result", new StructType().add("row", columns.schema))
  }

  override protected def beginKey(key: InternalRow): Unit = {
    val held = state.get()
    joined = held != null && held.getBoolean(4)
    current = if (held == null || held.isNullAt(0)) null else new Held(held.getStruct(0, layout.left.length), held.getLong(1), held.getLong(2), held.getLong(3))
    changed = false
  }

  override protected def onRow(key: InternalRow, row: InternalRow, out: Outputs): Unit =
    if (NullKey.is(key)) unusable(row, "a table's row needs a key")
    else if (layout.side(row) == 0) onLeft(key, row, out)
    else onResponse(key, row, out)

  private def onLeft(key: InternalRow, row: InternalRow, out: Outputs): Unit = {
    val value = layout.left(row)
    val ts = layout.ts(row)
    val before = current
    current = if (value == null) null else { val kept = value.copy(); new Held(kept, ts, hash(kept, 0L), hash(kept, 42L)) }
    changed = true
    if (before != null || current != null) {
      val oldKey = foreignKeyOf(key, before)
      val newKey = foreignKeyOf(key, current)
      if (leftJoin) subscribeLeft(key, oldKey, newKey, ts, out) else subscribeInner(key, row, oldKey, newKey, ts, out)
    }
  }

  private def subscribeLeft(key: InternalRow, oldKey: InternalRow, newKey: InternalRow, ts: Long, out: Outputs): Unit = {
    if (oldKey != null && oldKey != newKey) subscribe(key, oldKey, Unsubscribe, ts, out)
    if (newKey == null) result(key, null, ts, 0L, out) else subscribe(key, newKey, SubscribeAndAnswer, ts, out)
  }

  private def subscribeInner(key: InternalRow, row: InternalRow, oldKey: InternalRow, newKey: InternalRow, ts: Long, out: Outputs): Unit = {
    if (current != null && newKey == null) unusable(row, "its foreign key is null")
    if (newKey == null) { if (oldKey != null) subscribe(key, oldKey, UnsubscribeAndDelete, ts, out) }
    else if (oldKey == null || oldKey == newKey) subscribe(key, newKey, if (joined) SubscribeAndAnswer else SubscribeAndAnswerIfFound, ts, out)
    else {
      subscribe(key, oldKey, Unsubscribe, ts, out)
      subscribe(key, newKey, SubscribeAndAnswer, ts, out)
    }
  }

  /** Null when the row has none. */
  private def foreignKeyOf(key: InternalRow, held: Held): InternalRow =
    if (held == null) null
    else {
      scope.update(0, key)
      scope.update(1, held.row)
      scope.setLong(2, held.ts)
      val found = foreignKey(scope)
      if (found == null || NullKey.is(found)) null else found.copy()
    }

  private def onResponse(key: InternalRow, row: InternalRow, out: Outputs): Unit = {
    val response = layout.right(row)
    if (response != null && isFresh(response)) {
      val fields = layout.right("right").dataType.asInstanceOf[StructType].length
      val ts = layout.ts(row)
      result(key, if (response.isNullAt(0)) null else response.getStruct(0, fields), ts, ts, out)
    }
  }

  private def isFresh(response: InternalRow): Boolean =
    if (current == null) response.isNullAt(1)
    else !response.isNullAt(1) && response.getLong(1) == current.hashHigh && response.getLong(2) == current.hashLow

  private def result(key: InternalRow, right: InternalRow, ts: Long, rightTs: Long, out: Outputs): Unit = {
    val value = if (current == null || (right == null && !leftJoin)) null else columns(key, current.row, current.ts, right, rightTs).copy()
    if (joined != (value != null)) {
      joined = value != null
      changed = true
    }
    val row = output(key, ts, 0)
    row.update(1, value)
    if (withOld) {
      val held = results.get()
      row.update(2, if (held == null) null else held.getStruct(0, columns.schema.length))
      if (value == null) results.clear() else results.update(new GenericInternalRow(Array[Any](value)))
    }
    out.add(row)
  }

  private def subscribe(key: InternalRow, foreignKey: InternalRow, instruction: Int, ts: Long, out: Outputs): Unit = {
    val hashHigh = if (current == null) null else current.hashHigh
    val hashLow = if (current == null) null else current.hashLow
    val row = output(key, ts, 1)
    row.update(7, new GenericInternalRow(Array[Any](foreignKey, key, instruction, hashHigh, hashLow)))
    out.add(row)
  }

  private def output(key: InternalRow, ts: Long, number: Int): GenericInternalRow = {
    val row = new GenericInternalRow(8)
    row.update(0, key)
    row.setLong(3, ts * 1000L)
    row.setInt(6, number)
    row
  }

  override protected def endKey(key: InternalRow, out: Outputs): Unit =
    if (changed) {
      if (current != null) state.update(new GenericInternalRow(Array[Any](current.row, current.ts, current.hashHigh, current.hashLow, joined)))
      else if (joined) state.update(new GenericInternalRow(Array[Any](null, 0L, 0L, 0L, true)))
      else state.clear()
    }
}

object ForeignKeyLeft {
  def apply(flow: DataFrame, json: String): DataFrame = {
    val spec = Spec(json)
    val layout = Rows.layout(flow)
    val right = layout.right("right").dataType.asInstanceOf[StructType]
    val columns = JoinColumns.of(flow.sparkSession, layout.key, layout.left, right, spec.text("columns"))
    val scope = new Scope(flow.sparkSession, Seq("key" -> layout.key, "left" -> layout.left, "left_ts" -> LongType))
    val foreignKey = scope.struct(spec.text("foreign_key"), Some(spec.schema("foreign_key_type")))
    Rows.through(flow, new ForeignKeyLeft(layout, Rows.settings(flow, spec), columns, foreignKey, spec.text("kind") == "left", spec.flag("old")))
  }
}

/**
 * Side 0: subscriptions. Side 1: the right table's rows. Gives responses, keyed by the left key.
 *
 * State: the right row, and the left keys that refer to it with the hash of the row each had when it subscribed.
 */
final class ForeignKeyRight(layout: FlowLayout, settings: ProcessorSettings) extends JoinProcessor(layout, settings) {
  import ForeignKeyJoin._

  private val leftKey = layout.left("left_key").dataType.asInstanceOf[StructType]
  @transient private var state: ValueState[InternalRow] = _
  @transient private var subscribers: MapState[InternalRow, InternalRow] = _
  private var right: TimedRow = _
  private var changed = false

  override def valueSchema: StructType = response(layout.right)
  override def outputSchema: StructType = Rows.output(leftKey, valueSchema)

  override protected def openStates(): Unit = {
    state = valueState("right", TimedRow.schema(layout.right))
    subscribers = mapState("subscribers", leftKey, new StructType().add("hash_high", LongType).add("hash_low", LongType))
  }

  override protected def beginKey(key: InternalRow): Unit = {
    right = TimedRow.read(state.get(), 0, layout.right.length)
    changed = false
  }

  override protected def onRow(key: InternalRow, row: InternalRow, out: Outputs): Unit =
    if (NullKey.is(key)) unusable(row, "a table's row needs a key")
    else if (layout.side(row) == 0) onSubscription(layout.left(row), layout.ts(row), out)
    else onRight(row, out)

  private def onSubscription(asked: InternalRow, ts: Long, out: Outputs): Unit = if (asked != null) {
    val subscriber = asked.getStruct(0, leftKey.length)
    val hash = hashOf(asked, 2)
    val instruction = asked.getInt(1)
    if (instruction == Unsubscribe || instruction == UnsubscribeAndDelete) subscribers.removeKey(subscriber)
    else subscribers.updateValue(subscriber, hash)
    val time = if (right == null) ts else Math.max(ts, right.ts)
    instruction match {
      case Unsubscribe => ()
      case UnsubscribeAndDelete => respond(subscriber.copy(), null, hash, time, out)
      case SubscribeAndAnswer => respond(subscriber.copy(), if (right == null) null else right.row, hash, time, out)
      case SubscribeAndAnswerIfFound => if (right != null) respond(subscriber.copy(), right.row, hash, time, out)
      case other => throw new IllegalArgumentException(s"step '${settings.step}': a subscription with instruction $other, which this version does not know")
    }
  }

  private def onRight(row: InternalRow, out: Outputs): Unit = {
    val value = layout.right(row)
    val ts = layout.ts(row)
    right = if (value == null) null else new TimedRow(value.copy(), ts)
    changed = true
    val told = if (right == null) null else right.row
    subscribers.iterator().foreach { case (subscriber, hash) => respond(subscriber.copy(), told, hashOf(hash, 0), ts, out) }
  }

  /** A copy, because the row that it is read from is reused. */
  private def hashOf(row: InternalRow, at: Int): InternalRow =
    new GenericInternalRow(Array[Any](if (row.isNullAt(at)) null else row.getLong(at), if (row.isNullAt(at)) null else row.getLong(at + 1)))

  private def respond(subscriber: InternalRow, right: InternalRow, hash: InternalRow, ts: Long, out: Outputs): Unit =
    out.emit(subscriber, new GenericInternalRow(Array[Any](right, hash.get(0, LongType), hash.get(1, LongType))), null, ts)

  override protected def endKey(key: InternalRow, out: Outputs): Unit =
    if (changed) { if (right == null) state.clear() else state.update(new GenericInternalRow(Array[Any](right.row, right.ts))) }
}

object ForeignKeyRight {
  def apply(flow: DataFrame, json: String): DataFrame = Rows.through(flow, new ForeignKeyRight(Rows.layout(flow), Rows.settings(flow, Spec(json))))
}
