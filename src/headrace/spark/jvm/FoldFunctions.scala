package headrace

import org.apache.spark.sql.SparkSession
import org.apache.spark.sql.catalyst.InternalRow
import org.apache.spark.sql.catalyst.expressions.GenericInternalRow
import org.apache.spark.sql.types.StructType

/**
 * An aggregate as functions of an accumulator: texts over `key`, `state`, `row` and, to join and part two accumulators, `other`.
 *
 * A null accumulator deletes. `first_is_initial`: the accumulator of the first row is `initial` over that row (a reduce); else `initial` is
 * over the key alone, and the first row is added to it like any other.
 */
final class FoldFunctions private (
    val stateSchema: StructType,
    initialOf: CompiledStruct,
    updateOf: CompiledStruct,
    undoOf: Option[CompiledStruct],
    mergeOf: Option[CompiledStruct],
    unmergeOf: Option[CompiledStruct],
    resultOf: CompiledStruct,
    val firstIsInitial: Boolean
) extends Serializable {
  val valueSchema: StructType = RowEncoding.nullable(resultOf.schema)
  val canUndo: Boolean = undoOf.isDefined
  val canMerge: Boolean = mergeOf.isDefined
  val canUnmerge: Boolean = unmergeOf.isDefined
  @transient private lazy val names = new GenericInternalRow(4)

  /** The accumulator with `row` in it; `state` null: there is none yet. What is returned is the caller's own. */
  def add(key: InternalRow, state: InternalRow, row: InternalRow): InternalRow =
    if (state != null) own(updateOf(over(key, state, row, null)))
    else if (firstIsInitial) own(initialOf(over(key, null, row, null)))
    else own(updateOf(over(key, initial(key), row, null)))

  def remove(key: InternalRow, state: InternalRow, row: InternalRow): InternalRow = own(undoOf.get(over(key, state, row, null)))

  /** Both accumulators in one; either may be null. */
  def merge(key: InternalRow, state: InternalRow, other: InternalRow): InternalRow =
    if (state == null) other
    else if (other == null) state
    else own(mergeOf.get(over(key, state, null, other)))

  /** `state` without what `other` had brought into it. */
  def unmerge(key: InternalRow, state: InternalRow, other: InternalRow): InternalRow = own(unmergeOf.get(over(key, state, null, other)))

  def initial(key: InternalRow): InternalRow = own(initialOf(over(key, null, null, null)))

  /** Null for a null accumulator. */
  def result(key: InternalRow, state: InternalRow): InternalRow = if (state == null) null else own(resultOf(over(key, state, null, null)))

  private def over(key: InternalRow, state: InternalRow, row: InternalRow, other: InternalRow): InternalRow = {
    names.update(0, key)
    names.update(1, state)
    names.update(2, row)
    names.update(3, other)
    names
  }

  private def own(result: InternalRow): InternalRow = if (result == null) null else result.copy()
}

object FoldFunctions {
  def apply(session: SparkSession, layout: FlowLayout, spec: Spec): FoldFunctions = {
    val state = spec.schema("state")
    val scope = new Scope(session, Seq("key" -> layout.key, "state" -> state, "row" -> layout.left, "other" -> state))
    // The same names at other places: what is called `row` is the accumulator to take out.
    lazy val undoScope = new Scope(session, Seq("key" -> layout.key, "state" -> state, "absent" -> layout.left, "row" -> state))
    def accumulator(text: String) = scope.struct(text, Some(state))
    val first = spec.flag("first_is_initial")
    // A reduce whose accumulator is of the rows' own type takes out an accumulator as it takes out a row.
    val unmerge = spec.optionalText("unmerge").map(accumulator).orElse(
      if (first && RowEncoding.nullable(layout.left) == state) spec.optionalText("undo").map(text => undoScope.struct(text, Some(state))) else None)
    new FoldFunctions(
      state,
      accumulator(spec.text("initial")),
      accumulator(spec.text("update")),
      spec.optionalText("undo").map(accumulator),
      spec.optionalText("merge").map(accumulator),
      unmerge,
      scope.struct(spec.optionalText("result").getOrElse("state")),
      first
    )
  }
}
