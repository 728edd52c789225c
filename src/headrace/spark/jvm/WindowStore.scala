package headrace

import java.lang.{Long => JavaLong}
import java.util

import org.apache.spark.sql.catalyst.InternalRow
import org.apache.spark.sql.catalyst.expressions.GenericInternalRow
import org.apache.spark.sql.catalyst.util.GenericArrayData
import org.apache.spark.sql.streaming.MapState
import org.apache.spark.sql.types.{ArrayType, LongType, StructType}

/**
 * The accumulators of a key's windows by their start. Windows whose starts lie in the same stretch of `width` milliseconds are one row of the
 * state store: overlapping windows, which a record touches together, are read and written together, and others stay apart.
 */
final class WindowStore(rows: MapState[InternalRow, InternalRow], width: Long, stateFields: Int, realTime: Boolean) {
  private val cache = new KeyCache[WindowStore.Loaded](realTime)
  private var current: WindowStore.Loaded = _
  private var last: WindowStore.Stretch = _

  def begin(key: InternalRow): Unit = {
    current = cache.get(key)(new WindowStore.Loaded)
    last = null
  }

  def get(start: Long): Accumulator = stretch(start).windows.get(start)

  /** True if this is the first window of its stretch, so that somebody has to see to its end. */
  def put(start: Long, accumulator: Accumulator): Boolean = {
    val at = stretch(start)
    val first = at.windows.isEmpty
    at.windows.put(start, accumulator)
    at.changed = true
    first
  }

  def remove(start: Long): Unit = {
    val at = stretch(start)
    if (at.windows.remove(start) != null) at.changed = true
  }

  /** The windows that start in [from, to], in order. Not a view: the store may be changed while it is walked through. */
  def range(from: Long, to: Long): util.ArrayList[util.Map.Entry[JavaLong, Accumulator]] = {
    val found = new util.ArrayList[util.Map.Entry[JavaLong, Accumulator]]()
    var number = Math.floorDiv(from, width)
    while (number <= Math.floorDiv(to, width)) {
      stretch(number * width).windows.subMap(from, true, to, true).forEach((start, accumulator) => found.add(util.Map.entry(start, accumulator)))
      number += 1
    }
    found
  }

  /** All starts of the key in order; reads everything. */
  def all(): util.TreeMap[JavaLong, Accumulator] = {
    val found = new util.TreeMap[JavaLong, Accumulator]()
    val numbers = rows.keys().map(_.getLong(0)).toArray
    numbers.foreach(number => found.putAll(stretch(number * width).windows))
    found
  }

  /** Writes what has changed since the last time. */
  def flush(): Unit = {
    current.stretches.forEach { (number, stretch) =>
      if (stretch.changed) {
        if (stretch.windows.isEmpty) rows.removeKey(InternalRow(number.longValue)) else rows.updateValue(InternalRow(number.longValue), stored(stretch))
        stretch.changed = false
      }
    }
    // Windows of long ago are rarely asked for again.
    if (realTime && current.stretches.size > WindowStore.KeptStretches) { current.stretches.clear(); last = null }
  }

  private def stretch(start: Long): WindowStore.Stretch = {
    val number = Math.floorDiv(start, width)
    if (last == null || last.number != number) {
      last = current.stretches.get(number)
      if (last == null) {
        last = read(number)
        current.stretches.put(number, last)
      }
    }
    last
  }

  private def read(number: Long): WindowStore.Stretch = {
    val read = new WindowStore.Stretch(number)
    val row = rows.getValue(InternalRow(number))
    if (row != null) {
      val windows = row.getArray(0)
      var i = 0
      while (i < windows.numElements()) {
        val window = windows.getStruct(i, 3)
        read.windows.put(window.getLong(0), new Accumulator(window.getStruct(2, stateFields), window.getLong(1)))
        i += 1
      }
    }
    read
  }

  private def stored(stretch: WindowStore.Stretch): InternalRow = {
    val windows = new Array[Any](stretch.windows.size)
    var i = 0
    stretch.windows.forEach { (start, accumulator) =>
      val window = new GenericInternalRow(3)
      window.setLong(0, start)
      window.setLong(1, accumulator.ts)
      window.update(2, accumulator.state)
      windows(i) = window
      i += 1
    }
    InternalRow(new GenericArrayData(windows))
  }
}

object WindowStore {
  private val KeptStretches = 4
  val key: StructType = new StructType().add("stretch", LongType)

  def value(state: StructType): StructType =
    new StructType().add("windows", ArrayType(new StructType().add("start", LongType).add("ts", LongType).add("state", state)))

  private final class Stretch(val number: Long) {
    val windows = new util.TreeMap[JavaLong, Accumulator]()
    var changed = false
  }

  private final class Loaded {
    val stretches = new util.HashMap[JavaLong, Stretch]()
  }
}
