package headrace

import java.util

import org.apache.spark.sql.catalyst.InternalRow

/**
 * The order of a key's rows within a micro-batch, which a shuffle does not promise: each (topic, partition) is a queue by offset, and the
 * queue whose first record has the smallest timestamp goes next, as in Kafka Streams. On equal timestamps `firstSide` goes first (the
 * table's rows before the stream's), then topic and partition decide, so that a replay gives the same order.
 */
final class RowOrder(layout: FlowLayout, firstSide: Int) {

  def sorted(rows: util.ArrayList[InternalRow]): util.ArrayList[InternalRow] = {
    if (isOneQueueInOrder(rows)) return rows
    val queues = new util.HashMap[(AnyRef, Int), util.ArrayList[InternalRow]]()
    rows.forEach(row => queues.computeIfAbsent((layout.topic(row), layout.partition(row)), _ => new util.ArrayList[InternalRow]()).add(row))
    val merged = new util.ArrayList[InternalRow](rows.size)
    val heads = new util.PriorityQueue[Queue](queues.size, byHead)
    queues.values.forEach { queue =>
      queue.sort(byOffset)
      heads.add(new Queue(queue))
    }
    while (!heads.isEmpty) {
      val next = heads.poll()
      merged.add(next.poll())
      if (!next.isEmpty) heads.add(next)
    }
    merged
  }

  private def isOneQueueInOrder(rows: util.ArrayList[InternalRow]): Boolean = {
    var i = 1
    while (i < rows.size) {
      val before = rows.get(i - 1)
      val row = rows.get(i)
      // Rows of one record (a flat map, an old and a new value) share its offset and keep the order they have.
      if (layout.partition(row) != layout.partition(before) || layout.offset(row) < layout.offset(before) || layout.topic(row) != layout.topic(before)) return false
      i += 1
    }
    true
  }

  // A stable sort, for rows that share an offset.
  private val byOffset: util.Comparator[InternalRow] = (a, b) => java.lang.Long.compare(layout.offset(a), layout.offset(b))

  private def rank(row: InternalRow): Int = if (layout.side(row) == firstSide) 0 else 1

  private val byHead: util.Comparator[Queue] = { (a, b) =>
    val byTime = java.lang.Long.compare(layout.ts(a.head), layout.ts(b.head))
    lazy val bySide = Integer.compare(rank(a.head), rank(b.head))
    lazy val byTopic = layout.topic(a.head).compareTo(layout.topic(b.head))
    if (byTime != 0) byTime
    else if (bySide != 0) bySide
    else if (byTopic != 0) byTopic
    else Integer.compare(layout.partition(a.head), layout.partition(b.head))
  }

  private final class Queue(rows: util.ArrayList[InternalRow]) {
    private var at = 0
    def head: InternalRow = rows.get(at)
    def isEmpty: Boolean = at == rows.size
    def poll(): InternalRow = { at += 1; rows.get(at - 1) }
  }
}
