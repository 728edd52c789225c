"""What a Spark session needs on this machine: Java, PySpark, four connector jars, our compiled Scala. Imports no pyspark.

`installation.prepare` makes sure that all of it is there, over the network if need be; `installation.inspect` only looks.
"""
