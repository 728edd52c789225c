#!/bin/sh
# Called by librdkafka's tests under KAFKA_PATH, with the folder of their own Java classes in CLASSPATH.
exec "$(dirname "$0")/run-class.sh" "$@"
