package headrace

import java.util

import org.apache.spark.sql.catalyst.InternalRow

/**
 * What a task has read of the states of its keys.
 *
 * A micro-batch brings all rows of a key at once, so nothing is kept beyond the key. In real-time mode rows come one by one for a minute and
 * more; there the last `limit` keys are kept, so that most rows cost no read. That is sound because a task is the only one to write its part
 * of the store, and every change is written to the store before the next row is taken.
 */
final class KeyCache[T <: AnyRef](realTime: Boolean, limit: Int = 2000) {
  private val kept = new util.LinkedHashMap[InternalRow, T](64, 0.75f, true) {
    override def removeEldestEntry(eldest: util.Map.Entry[InternalRow, T]): Boolean = size > limit
  }

  def get(key: InternalRow)(read: => T): T =
    if (!realTime) read
    else {
      val known = kept.get(key)
      if (known != null) known
      else {
        val fresh = read
        kept.put(key.copy(), fresh)
        fresh
      }
    }

  def forget(key: InternalRow): Unit = kept.remove(key)
}
