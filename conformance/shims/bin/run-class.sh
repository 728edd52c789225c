#!/bin/sh
# Runs one of Apache Kafka's classes on the jars that conformance/apache_kafka.py installed.
kafka="$(cd "$(dirname "$0")/../../.." && pwd)/.cache/kafka-4.3.0"
exec java -Xmx256m -XX:TieredStopAtLevel=1 -XX:+UseSerialGC -Dlog4j.configuration="file:$kafka/log4j.properties" -cp "${CLASSPATH:+$CLASSPATH:}$kafka/libs/*" "$@"
