// A round trip with franz-go: produce, consume as a group, commit, and say what was seen as one line of JSON.
//
// usage: franz-go-client BOOTSTRAP TOPIC GROUP COUNT
package main

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"strconv"
	"time"

	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/kmsg"
)

type report struct {
	Produced   int      `json:"produced"`
	Values     []string `json:"values"`
	Headers    int      `json:"headers"`
	Committed  int64    `json:"committed"`
	Partitions int      `json:"partitions"`
}

func main() {
	if err := run(os.Args[1], os.Args[2], os.Args[3], os.Args[4]); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

func run(bootstrap, topic, group, countText string) error {
	count, err := strconv.Atoi(countText)
	if err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(context.Background(), 60*time.Second)
	defer cancel()
	var seen report
	if err := produce(ctx, bootstrap, topic, count, &seen); err != nil {
		return err
	}
	if err := consume(ctx, bootstrap, topic, group, count, &seen); err != nil {
		return err
	}
	return json.NewEncoder(os.Stdout).Encode(seen)
}

func produce(ctx context.Context, bootstrap, topic string, count int, seen *report) error {
	client, err := kgo.NewClient(
		kgo.SeedBrokers(bootstrap),
		kgo.DefaultProduceTopic(topic),
		kgo.ProducerBatchCompression(kgo.ZstdCompression()),
	)
	if err != nil {
		return err
	}
	defer client.Close()
	records := make([]*kgo.Record, count)
	for i := range records {
		records[i] = &kgo.Record{
			Key:     []byte(strconv.Itoa(i % 7)),
			Value:   []byte("franz-" + strconv.Itoa(i)),
			Headers: []kgo.RecordHeader{{Key: "n", Value: []byte(strconv.Itoa(i))}},
		}
	}
	if err := client.ProduceSync(ctx, records...).FirstErr(); err != nil {
		return err
	}
	seen.Produced = count
	return describe(ctx, client, topic, seen)
}

// describe asks for the topic with the newest Metadata that both sides know.
func describe(ctx context.Context, client *kgo.Client, topic string, seen *report) error {
	request := kmsg.NewPtrMetadataRequest()
	wanted := kmsg.NewMetadataRequestTopic()
	wanted.Topic = kmsg.StringPtr(topic)
	request.Topics = append(request.Topics, wanted)
	response, err := request.RequestWith(ctx, client)
	if err != nil {
		return err
	}
	seen.Partitions = len(response.Topics[0].Partitions)
	return nil
}

func consume(ctx context.Context, bootstrap, topic, group string, count int, seen *report) error {
	client, err := kgo.NewClient(
		kgo.SeedBrokers(bootstrap),
		kgo.ConsumerGroup(group),
		kgo.ConsumeTopics(topic),
		kgo.ConsumeResetOffset(kgo.NewOffset().AtStart()),
		kgo.DisableAutoCommit(),
	)
	if err != nil {
		return err
	}
	defer client.Close()
	for len(seen.Values) < count {
		fetches := client.PollFetches(ctx)
		if errs := fetches.Errors(); len(errs) > 0 {
			return errs[0].Err
		}
		fetches.EachRecord(func(record *kgo.Record) {
			seen.Values = append(seen.Values, string(record.Value))
			seen.Headers += len(record.Headers)
		})
	}
	if err := client.CommitUncommittedOffsets(ctx); err != nil {
		return err
	}
	for _, partitions := range client.CommittedOffsets() {
		for _, offset := range partitions {
			seen.Committed += offset.Offset
		}
	}
	return nil
}
