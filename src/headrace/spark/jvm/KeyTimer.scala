package headrace

import org.apache.spark.sql.catalyst.InternalRow
import org.apache.spark.sql.streaming.{StatefulProcessorHandle, ValueState}
import org.apache.spark.sql.types.{LongType, StructType}

/** One timer for each key, however many things of it wait for their end: a timer costs several writes, and Spark warns when one is set twice. */
final class KeyTimer(handle: StatefulProcessorHandle, at: ValueState[InternalRow]) {

  /** Sees to it that a timer is set; one that is there already stays as it is. */
  def ensure(timeMs: Long): Unit = if (at.get() == null) set(timeMs)

  /** As `ensure`, and an earlier time takes the place of a later one. */
  def bring(timeMs: Long): Unit = {
    val set = at.get()
    if (set == null) this.set(timeMs)
    else if (set.getLong(0) > timeMs) {
      handle.deleteTimer(set.getLong(0))
      this.set(timeMs)
    }
  }

  /** In the timer's own call: the next one, or none. `timeMs` must lie after the one that expired. */
  def next(timeMs: Option[Long]): Unit = timeMs match {
    case Some(time) => set(time)
    case None => at.clear()
  }

  private def set(timeMs: Long): Unit = {
    handle.registerTimer(timeMs)
    at.update(InternalRow(timeMs))
  }
}

object KeyTimer {
  val schema: StructType = new StructType().add("at", LongType)
}
