#!/bin/sh
# Called by librdkafka's tests under KAFKA_PATH.
exec "$(dirname "$0")/run-class.sh" org.apache.kafka.tools.TopicCommand "$@"
