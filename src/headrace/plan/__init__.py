"""Steps of a pipeline as plain data: what the front ends write and Spark runs. Imports nothing of Headrace."""
