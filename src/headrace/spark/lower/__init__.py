"""One lowering per step of a plan: from steps and expressions to Spark's DataFrames. A stage becomes the rows that one sink writes."""
