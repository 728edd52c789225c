/* Preloaded into librdkafka's test runner: its tests of transactions ask for topics of three replicas, as its own test
 * cluster of three brokers offers them. Here is one broker, on both sides of the comparison, so one replica it is. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <stddef.h>

typedef void *new_topic_fn(const char *topic, int partitions, int replicas, char *error, size_t error_size);

void *rd_kafka_NewTopic_new(const char *topic, int partitions, int replicas, char *error, size_t error_size) {
    new_topic_fn *original = (new_topic_fn *)dlsym(RTLD_NEXT, "rd_kafka_NewTopic_new");
    return original(topic, partitions, replicas > 1 ? 1 : replicas, error, error_size);
}
