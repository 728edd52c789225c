package headrace

import java.lang.{Long => JavaLong}
import java.util

import org.apache.spark.sql.catalyst.InternalRow
import org.apache.spark.sql.catalyst.expressions.GenericInternalRow
import org.apache.spark.sql.catalyst.util.GenericArrayData
import org.apache.spark.sql.streaming.{MapState, TimeMode, ValueState}
import org.apache.spark.sql.types.{ArrayType, LongType, StructType}

/**
 * Sessions: records no more than `gap` apart; from the first record's time to the last one's, both inclusive. A record that joins sessions
 * deletes them (a null value each, the oldest first) and makes one of them all.
 *
 * A key's sessions are listed in one row of bounds; their accumulators are rows of their own, read when a record joins them.
 */
final class SessionFold(layout: FlowLayout, settings: ProcessorSettings, fold: FoldFunctions, emission: Emission, gap: Long, grace: Long)
    extends RowProcessor(layout, settings) {
  override def valueSchema: StructType = fold.valueSchema
  override def timeMode: TimeMode = TimeMode.EventTime()
  @transient private var bounds: ValueState[InternalRow] = _
  @transient private var states: MapState[InternalRow, InternalRow] = _
  @transient private var timer: KeyTimer = _
  @transient private var cache: KeyCache[Sessions] = _
  @transient private var current: Sessions = _
  @transient private var pending: util.LinkedHashMap[(Long, Long), Change] = _

  /** A session takes records until the watermark is past its end, the gap and the grace; an end that is inclusive takes one millisecond more. */
  private def closesAt(end: Long): Long = end + gap + grace + 1

  override protected def open(): Unit = {
    bounds = valueState("bounds", Sessions.bounds)
    states = mapState("sessions", Sessions.key, new StructType().add("state", fold.stateSchema))
    timer = new KeyTimer(getHandle, valueState("timer", KeyTimer.schema))
    cache = new KeyCache[Sessions](settings.realTime)
    pending = new util.LinkedHashMap[(Long, Long), Change]()
  }

  override protected def beginKey(key: InternalRow): Unit = current = cache.get(key)(Sessions.read(bounds.get()))

  override protected def onRow(key: InternalRow, row: InternalRow, out: Outputs): Unit = {
    val ts = layout.ts(row)
    val joined = current.within(ts - gap, ts + gap)
    var start = ts
    var end = ts
    joined.forEach { session => start = Math.min(start, session.start); end = Math.max(end, session.end) }
    if (closesAt(end) <= watermark) late(row)
    else {
      var state = if (joined.isEmpty || fold.firstIsInitial) null else fold.initial(key)
      joined.forEach(session => state = fold.merge(key, state, stateOf(session)))
      // A session of one moment that stays one is not deleted first.
      val same = if (start == ts && end == ts && !joined.isEmpty) joined.get(0) else null
      joined.forEach { session =>
        current.remove(session)
        if (same == null) change(key, session, null, session, out)
      }
      val session = new Session(start, end)
      session.state = fold.add(key, state, layout.left(row))
      if (session.state != null) {
        current.add(session)
        if (emission.isFinal) timer.bring(closesAt(end)) else timer.ensure(closesAt(end))
      }
      change(key, session, session.state, same, out)
    }
  }

  override protected def endKey(key: InternalRow, out: Outputs): Unit = {
    if (!pending.isEmpty) {
      // What came and went within the batch was never told to anyone.
      pending.forEach((bounds, change) =>
        if (change.state != null || change.existed) out.emit(key, fold.result(key, change.state), change.old, bounds._2, bounds._1, bounds._2))
      pending.clear()
    }
    write()
  }

  override protected def onTimer(key: InternalRow, expiryMs: Long, out: Outputs): Unit = {
    beginKey(key)
    current.all.forEach { session =>
      if (closesAt(session.end) <= watermark) {
        if (emission.isFinal) out.emit(key, fold.result(key, stateOf(session)), null, session.end, session.start, session.end)
        current.remove(session)
      }
    }
    write()
    timer.next(if (current.isEmpty) None else Some(closesAt(current.firstEnd)))
  }

  /** `before` is what had these bounds until now; null: nothing. */
  private def change(key: InternalRow, session: Session, state: InternalRow, before: Session, out: Outputs): Unit = if (!emission.isFinal) {
    def old = if (emission.sendOld && before != null) fold.result(key, stateOf(before)) else null
    if (emission.isEveryUpdate) out.emit(key, fold.result(key, state), old, session.end, session.start, session.end)
    else {
      val first = pending.get((session.start, session.end))
      val change = if (first == null) new Change(before != null, old) else first
      change.state = state
      pending.put((session.start, session.end), change)
    }
  }

  private def stateOf(session: Session): InternalRow = {
    if (session.state == null) session.state = states.getValue(InternalRow(session.start)).getStruct(0, fold.stateSchema.length)
    session.state
  }

  private def write(): Unit = if (current.changed) {
    current.removed.forEach(start => if (!current.has(start)) states.removeKey(InternalRow(start.longValue)))
    current.added.forEach(session => if (current.holds(session)) states.updateValue(InternalRow(session.start), InternalRow(session.state)))
    if (current.isEmpty) bounds.clear() else bounds.update(current.stored)
    current.written()
  }

  /** What a batch has made of certain bounds: whether they `existed` before it, with the value `old`. */
  private final class Change(val existed: Boolean, val old: InternalRow) {
    var state: InternalRow = _
  }
}

final class Session(val start: Long, val end: Long) {
  /** Null: not read yet. */
  var state: InternalRow = _
}

/** The sessions of a key by start; they never overlap, so their ends are in the same order. */
final class Sessions {
  private val sessions = new util.TreeMap[JavaLong, Session]()
  val removed = new util.HashSet[JavaLong]()
  val added = new util.ArrayList[Session]()

  def isEmpty: Boolean = sessions.isEmpty
  def changed: Boolean = !added.isEmpty || !removed.isEmpty
  def has(start: JavaLong): Boolean = sessions.containsKey(start)
  def holds(session: Session): Boolean = sessions.get(session.start) eq session
  def firstEnd: Long = sessions.firstEntry.getValue.end
  def all: util.ArrayList[Session] = new util.ArrayList(sessions.values)

  def add(session: Session): Unit = {
    sessions.put(session.start, session)
    added.add(session)
  }

  def remove(session: Session): Unit = {
    sessions.remove(session.start)
    removed.add(session.start)
  }

  /** Those that end at `from` or later and start at `to` or earlier, the oldest first. */
  def within(from: Long, to: Long): util.ArrayList[Session] = {
    val found = new util.ArrayList[Session]()
    var entry = sessions.floorEntry(to)
    while (entry != null && entry.getValue.end >= from) {
      found.add(0, entry.getValue)
      entry = sessions.lowerEntry(entry.getKey)
    }
    found
  }

  def written(): Unit = {
    removed.clear()
    added.clear()
  }

  def stored: InternalRow = {
    val starts = new Array[Long](sessions.size)
    val ends = new Array[Long](sessions.size)
    var i = 0
    sessions.forEach { (start, session) => starts(i) = start; ends(i) = session.end; i += 1 }
    val row = new GenericInternalRow(2)
    row.update(0, new GenericArrayData(starts))
    row.update(1, new GenericArrayData(ends))
    row
  }
}

object Sessions {
  val key: StructType = new StructType().add("start", LongType)
  val bounds: StructType = new StructType().add("starts", ArrayType(LongType)).add("ends", ArrayType(LongType))

  def read(row: InternalRow): Sessions = {
    val read = new Sessions
    if (row != null) {
      val starts = row.getArray(0).toLongArray()
      val ends = row.getArray(1).toLongArray()
      starts.indices.foreach(i => read.sessions.put(starts(i), new Session(starts(i), ends(i))))
    }
    read
  }
}
