#!/bin/sh
# Called by librdkafka's tests under KAFKA_PATH. The tests answer no questions, so neither may the tool ask.
exec "$(dirname "$0")/run-class.sh" org.apache.kafka.tools.AclCommand --force "$@"
