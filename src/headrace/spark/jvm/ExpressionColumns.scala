package org.apache.spark.sql.headraceaccess

import org.apache.spark.sql.Column
import org.apache.spark.sql.catalyst.expressions.Expression
import org.apache.spark.sql.classic.ExpressionUtils

/**
 * A column made of an expression of ours. Spark offers this to extensions, but the Scala compiler lets only its own packages name the way there,
 * so this one object stands in such a package. Nothing else may.
 */
object ExpressionColumns {
  def column(expression: Expression): Column = ExpressionUtils.column(expression)
}
