import java.util.Properties;
import org.apache.kafka.clients.producer.KafkaProducer;
import org.apache.kafka.clients.producer.ProducerRecord;
import org.apache.kafka.common.serialization.ByteArraySerializer;

/**
 * Commits transactions of 100 records of 1 KB, one after the other, and prints how many: BOOTSTRAP TOPIC SECONDS WARM_UP.
 *
 * Java's own load generator ends transactions by time only, not by the number of their records.
 */
public class Transactions {
    static final int RECORDS = 100;

    public static void main(String[] arguments) {
        Properties properties = new Properties();
        properties.put("bootstrap.servers", arguments[0]);
        properties.put("transactional.id", arguments[1] + "-writer");
        String topic = arguments[1];
        byte[] value = new byte[1024];
        ByteArraySerializer bytes = new ByteArraySerializer();
        try (KafkaProducer<byte[], byte[]> producer = new KafkaProducer<>(properties, bytes, bytes)) {
            producer.initTransactions();
            long unmeasured = commitFor(producer, topic, value, Double.parseDouble(arguments[3]));
            long begin = System.nanoTime();
            long measured = commitFor(producer, topic, value, Double.parseDouble(arguments[2]));
            double seconds = (System.nanoTime() - begin) / 1e9;
            System.out.printf(
                java.util.Locale.ROOT,
                "{\"per_second\": %f, \"with_warm_up\": %d}%n", measured / seconds, unmeasured + measured);
        }
    }

    /** How many transactions were committed, at least one. */
    static long commitFor(KafkaProducer<byte[], byte[]> producer, String topic, byte[] value, double seconds) {
        long begin = System.nanoTime();
        long done = 0;
        while (done == 0 || (System.nanoTime() - begin) / 1e9 < seconds) {
            producer.beginTransaction();
            for (int number = 0; number < RECORDS; number++) {
                producer.send(new ProducerRecord<>(topic, number % 4, null, value));
            }
            producer.commitTransaction();
            done++;
        }
        return done;
    }
}
