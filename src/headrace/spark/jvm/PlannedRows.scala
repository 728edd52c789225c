// Spark keeps the step from a logical plan to a DataFrame to its own package; this is the only thing of ours that lives there.
package org.apache.spark.sql

import org.apache.spark.sql.catalyst.plans.logical.LogicalPlan

object PlannedRows {
  def apply(session: SparkSession, plan: LogicalPlan): DataFrame = classic.Dataset.ofRows(session.asInstanceOf[classic.SparkSession], plan)
}
