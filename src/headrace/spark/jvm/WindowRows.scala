package headrace

import java.util

import org.apache.spark.sql.catalyst.InternalRow
import org.apache.spark.sql.catalyst.expressions.GenericInternalRow
import org.apache.spark.sql.catalyst.util.GenericArrayData
import org.apache.spark.sql.streaming.MapState
import org.apache.spark.sql.types.{ArrayType, BooleanType, IntegerType, LongType, StructType}

/** A row in a join's window. `waiting`: it found nothing so far, and comes out alone when its window closes. */
final class WindowRow(val ts: Long, var waiting: Boolean, val row: InternalRow) {
  private[headrace] var chunk: WindowChunk = _
}

/** Up to `WindowRows.ChunkRows` rows, read and written together. */
private[headrace] final class WindowChunk(val number: Int) {
  val rows = new util.ArrayList[WindowRow]()
  var changed = false
}

/**
 * The rows of one side of a join and one key, by time: buckets of a fixed length, each a list of chunks in the order in which rows came.
 *
 * A bucket is as long as the window, so a look-up reads two of them. Adding a row reads and writes one chunk and, for a bucket's head, another:
 * its cost does not grow with the rows there are. What was read stays at hand until the key ends.
 */
final class WindowRows(state: MapState[InternalRow, InternalRow], fields: Int, bucketMs: Long) {
  import WindowRows._

  private val buckets = new util.HashMap[java.lang.Long, Bucket]()

  /** Another key: forgets what was read. */
  def begin(): Unit = buckets.clear()

  def isEmpty(bucket: Long): Boolean = at(bucket).isEmpty

  /** The rows within [from, to], by time, those of one time in the order in which they came. */
  def between(from: Long, to: Long): util.ArrayList[WindowRow] = {
    val found = new util.ArrayList[WindowRow]()
    var sorted = true
    var number = Math.floorDiv(from, bucketMs)
    while (number <= Math.floorDiv(to, bucketMs)) {
      at(number).foreach { row =>
        if (row.ts >= from && row.ts <= to) {
          sorted &&= found.isEmpty || found.get(found.size - 1).ts <= row.ts
          found.add(row)
        }
      }
      number += 1
    }
    if (!sorted) found.sort((a, b) => java.lang.Long.compare(a.ts, b.ts))
    found
  }

  def isWaiting(ts: Long): Boolean = {
    var waiting = false
    at(Math.floorDiv(ts, bucketMs)).foreach(row => waiting ||= row.waiting && row.ts == ts)
    waiting
  }

  /** The row found something, or has come out alone. */
  def settle(row: WindowRow): Unit = if (row.waiting) {
    row.waiting = false
    row.chunk.changed = true
  }

  def add(row: WindowRow): Unit = at(Math.floorDiv(row.ts, bucketMs)).add(row)

  def remove(bucket: Long): Unit = {
    at(bucket).remove()
    buckets.remove(bucket)
  }

  def write(): Unit = buckets.values.forEach(_.write())

  private def at(number: Long): Bucket = buckets.computeIfAbsent(number, n => new Bucket(n))

  private final class Bucket(number: Long) {
    private val chunks = new util.ArrayList[WindowChunk]()
    // The head says how many chunks there are, and is read first.
    private val headRow = state.getValue(key(0))
    if (headRow != null) {
      chunks.add(read(headRow, 0))
      (1 until headRow.getInt(0)).foreach(_ => chunks.add(null))
    }

    def isEmpty: Boolean = chunks.isEmpty

    def foreach(use: WindowRow => Unit): Unit = {
      var i = 0
      while (i < chunks.size) {
        chunk(i).rows.forEach(row => use(row))
        i += 1
      }
    }

    def add(row: WindowRow): Unit = {
      if (chunks.isEmpty || chunk(chunks.size - 1).rows.size >= ChunkRows) {
        if (!chunks.isEmpty) chunk(0).changed = true
        chunks.add(new WindowChunk(chunks.size))
      }
      val last = chunk(chunks.size - 1)
      row.chunk = last
      last.rows.add(row)
      last.changed = true
    }

    def remove(): Unit = (0 until chunks.size).foreach(i => state.removeKey(key(i)))

    def write(): Unit = chunks.forEach { chunk =>
      if (chunk != null && chunk.changed) {
        chunk.changed = false
        state.updateValue(key(chunk.number), encoded(chunk))
      }
    }

    private def chunk(i: Int): WindowChunk = {
      if (chunks.get(i) == null) chunks.set(i, read(state.getValue(key(i)), i))
      chunks.get(i)
    }

    private def key(chunk: Int): InternalRow = new GenericInternalRow(Array[Any](number, chunk))

    private def encoded(chunk: WindowChunk): InternalRow = {
      val rows = new Array[Any](chunk.rows.size)
      rows.indices.foreach { i =>
        val row = chunk.rows.get(i)
        rows(i) = new GenericInternalRow(Array[Any](row.ts, row.waiting, row.row))
      }
      new GenericInternalRow(Array[Any](chunks.size, new GenericArrayData(rows)))
    }

    private def read(held: InternalRow, number: Int): WindowChunk = {
      val chunk = new WindowChunk(number)
      val rows = held.getArray(1)
      (0 until rows.numElements()).foreach { i =>
        val kept = rows.getStruct(i, 3)
        val row = new WindowRow(kept.getLong(0), kept.getBoolean(1), kept.getStruct(2, fields))
        row.chunk = chunk
        chunk.rows.add(row)
      }
      chunk
    }
  }
}

object WindowRows {
  private val ChunkRows = 32

  val keySchema: StructType = new StructType().add("bucket", LongType, nullable = false).add("chunk", IntegerType, nullable = false)

  def valueSchema(row: StructType): StructType = new StructType()
    .add("chunks", IntegerType)
    .add("rows", ArrayType(new StructType().add("ts", LongType).add("waiting", BooleanType).add("row", row)))
}
