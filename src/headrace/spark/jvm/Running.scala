package headrace

import org.apache.spark.sql.catalyst.InternalRow

/** The value of the ended panes that are in the window of the open one, kept while panes come in at one end and go out at the other. */
abstract class Running(fold: FoldFunctions, panes: WindowStore) {
  protected var at: PaneState = _

  def begin(key: InternalRow, state: PaneState): Unit = at = state

  /** Of the panes from `oldest` to the one before the open pane; null if none is filled. */
  def value(key: InternalRow, oldest: Long): InternalRow

  /** The pane `ended` (null: empty) comes in, the pane `gone` goes out, and `open` is the next open one. */
  final def move(key: InternalRow, ended: Accumulator, gone: Long, open: Long): Unit = {
    if (ended != null) {
      at.filled += 1
      at.value = fold.merge(key, at.value, ended.state)
    }
    val left = panes.get(gone)
    if (left != null) at.filled -= 1
    if (at.filled > 0) takeOut(key, left, gone, open)
    else {
      at.value = null
      at.flip = open
    }
  }

  /** `left` (null: it was empty) has gone out at `gone`; others that are filled stay. */
  protected def takeOut(key: InternalRow, left: Accumulator, gone: Long, open: Long): Unit

  /** A row has come into the pane `start`, which is in the window; `isNew`: it was empty before. */
  final def correct(key: InternalRow, start: Long, isNew: Boolean, row: InternalRow): Unit = {
    if (isNew) at.filled += 1
    addTo(key, start, row)
  }

  protected def addTo(key: InternalRow, start: Long, row: InternalRow): Unit

  /** Anew, of the panes from `oldest` to the one before `open`. */
  def rebuild(key: InternalRow, oldest: Long, open: Long): Unit = {
    val held = panes.range(oldest, open - 1)
    at.filled = held.size
    at.value = null
    at.flip = oldest
    held.forEach { entry =>
      at.value = fold.merge(key, at.value, entry.getValue.state)
      at.ts = entry.getValue.ts
    }
  }

  def flush(): Unit = ()
}

/** With an inverse: the new pane is merged in and the oldest taken out again. */
final class RunningInverse(fold: FoldFunctions, panes: WindowStore) extends Running(fold, panes) {
  override def value(key: InternalRow, oldest: Long): InternalRow = at.value

  override protected def takeOut(key: InternalRow, left: Accumulator, gone: Long, open: Long): Unit =
    if (left != null) at.value = fold.unmerge(key, at.value, left.state)

  override protected def addTo(key: InternalRow, start: Long, row: InternalRow): Unit = at.value = fold.add(key, at.value, row)
}

/**
 * Without an inverse: two stacks. For each pane before `flip` the store `sums` has the value from it up to `flip`; the panes from `flip` on are
 * merged as they come (`span` is the time that all of them take). When the first stack is used up, the second is turned into it: each pane is merged twice, however many there are.
 */
final class RunningStacks(fold: FoldFunctions, panes: WindowStore, sums: WindowStore, pane: Long, span: Long) extends Running(fold, panes) {
  override def begin(key: InternalRow, state: PaneState): Unit = {
    super.begin(key, state)
    sums.begin(key)
  }

  override def value(key: InternalRow, oldest: Long): InternalRow = {
    val front = if (oldest < at.flip) sums.get(oldest) else null
    fold.merge(key, if (front == null) null else front.state, at.value)
  }

  override protected def takeOut(key: InternalRow, left: Accumulator, gone: Long, open: Long): Unit =
    if (gone < at.flip) sums.remove(gone) else turn(key, gone + pane, open)

  override protected def addTo(key: InternalRow, start: Long, row: InternalRow): Unit =
    if (start >= at.flip) at.value = fold.add(key, at.value, row)
    else {
      // The row is in the value of its pane and of all before it.
      val until = at.flip
      val back = at.value
      turn(key, at.open - span, until)
      at.value = back
    }

  override def rebuild(key: InternalRow, oldest: Long, open: Long): Unit = {
    super.rebuild(key, oldest, open)
    turn(key, oldest, open)
  }

  override def flush(): Unit = sums.flush()

  private def turn(key: InternalRow, oldest: Long, open: Long): Unit = {
    val held = panes.range(oldest, open - 1)
    var next = held.size - 1
    var start = open - pane
    var sum: InternalRow = null
    while (start >= oldest) {
      if (next >= 0 && held.get(next).getKey == start) {
        sum = fold.merge(key, held.get(next).getValue.state, sum)
        next -= 1
      }
      if (sum != null) sums.put(start, new Accumulator(sum, 0L))
      start -= pane
    }
    at.value = null
    at.flip = open
  }
}
