// Transactional workers for `headrace verify` on franz-go, which speaks version 2 of transactions.
//
// It prints its part of the history as lines of JSON, and ends soon after its standard input does.
package main

import (
	"context"
	"encoding/json"
	"flag"
	"fmt"
	"hash/fnv"
	"io"
	"math/rand"
	"os"
	"strings"
	"sync"
	"time"

	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/kmsg"
)

const (
	callTimeout        = 12 * time.Second
	transactionTimeout = 15 * time.Second
	takeoverShare      = 0.04
)

type fields map[string]any

// worker is one process of the history.
type worker struct {
	bootstrap, role, name, source, sink, group string
	partitions                                 int
	abortShare                                 float64
	random                                     *rand.Rand
	stopping                                   context.Context
	mu                                         sync.Mutex
	operations, values, sessions               int
}

func main() {
	w := &worker{}
	flag.StringVar(&w.bootstrap, "bootstrap-server", "", "")
	flag.StringVar(&w.role, "role", "", "")
	flag.StringVar(&w.name, "name", "", "")
	flag.StringVar(&w.source, "source", "", "")
	flag.StringVar(&w.sink, "sink", "", "")
	flag.StringVar(&w.group, "group", "", "")
	flag.IntVar(&w.partitions, "partitions", 1, "")
	flag.Float64Var(&w.abortShare, "abort-share", 0.2, "")
	seed := flag.Int64("seed", 0, "")
	flag.Parse()
	hash := fnv.New64()
	fmt.Fprintf(hash, "%d/%s", *seed, w.name)
	w.random = rand.New(rand.NewSource(int64(hash.Sum64())))
	stopping, stop := context.WithCancel(context.Background())
	w.stopping = stopping
	go func() {
		_, _ = io.Copy(io.Discard, os.Stdin)
		stop()
	}()
	if w.role == "writer" {
		w.write()
	} else {
		w.transform()
	}
}

func (w *worker) print(event fields) {
	line, err := json.Marshal(event)
	if err != nil {
		panic(err)
	}
	_, _ = os.Stdout.Write(append(line, '\n'))
}

// invoke notes that an operation begins and returns its id.
func (w *worker) invoke(f string, more fields) string {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.operations++
	id := fmt.Sprintf("%s:%d", w.name, w.operations)
	event := fields{"time": time.Now().UnixNano(), "process": w.name, "id": id, "type": "invoke", "f": f}
	for name, value := range more {
		event[name] = value
	}
	w.print(event)
	return id
}

// end notes how an operation ended: an error means that nobody knows.
func (w *worker) end(id string, err error, more fields) {
	w.mu.Lock()
	defer w.mu.Unlock()
	event := fields{"time": time.Now().UnixNano(), "process": w.name, "id": id, "type": "ok"}
	if err != nil {
		event["type"], event["error"] = "unknown", err.Error()
	}
	for name, value := range more {
		event[name] = value
	}
	w.print(event)
}

func patience() (context.Context, context.CancelFunc) {
	return context.WithTimeout(context.Background(), callTimeout)
}

// session is one life of a transactional producer.
type session struct {
	w            *worker
	client       *kgo.Client
	group        *kgo.GroupTransactSession
	name         string
	usable       bool
	transactions int
}

func (w *worker) options() []kgo.Opt {
	return []kgo.Opt{
		kgo.SeedBrokers(strings.Split(w.bootstrap, ",")...),
		kgo.TransactionalID(w.transactionalID()),
		kgo.TransactionTimeout(transactionTimeout),
		kgo.RecordPartitioner(kgo.ManualPartitioner()),
		kgo.RequestTimeoutOverhead(5 * time.Second),
		kgo.RetryTimeout(callTimeout),
		kgo.MetadataMinAge(100 * time.Millisecond),
	}
}

func (w *worker) transactionalID() string { return w.group + "-" + w.name }

// open takes the transactional id over.
func (w *worker) open(more ...kgo.Opt) *session {
	w.sessions++
	s := &session{w: w, name: fmt.Sprintf("%s/%d", w.name, w.sessions)}
	var err error
	options := append(w.options(), more...)
	if len(more) > 0 {
		s.group, err = kgo.NewGroupTransactSession(options...)
		if err == nil {
			s.client = s.group.Client()
		}
	} else {
		s.client, err = kgo.NewClient(options...)
	}
	if err != nil {
		panic(err)
	}
	ctx, cancel := patience()
	defer cancel()
	version := transactionVersion(ctx, s.client)
	id := w.invoke("init", fields{"producer": w.transactionalID(), "session": s.name, "version": version})
	_, _, err = s.client.ProducerID(ctx)
	w.end(id, err, nil)
	s.usable = err == nil
	if err != nil {
		time.Sleep(200 * time.Millisecond)
	}
	return s
}

// transactionVersion is what the cluster has agreed on, and this client follows; without an answer it is taken to be 2.
func transactionVersion(ctx context.Context, client *kgo.Client) int {
	response, err := kmsg.NewPtrApiVersionsRequest().RequestWith(ctx, client)
	if err != nil {
		return 2
	}
	for _, feature := range response.FinalizedFeatures {
		if feature.Name == "transaction.version" && feature.MaxVersionLevel >= 2 {
			return 2
		}
	}
	return 1
}

func (s *session) owner(txn string, more fields) fields {
	all := fields{"producer": s.w.transactionalID(), "session": s.name, "txn": txn}
	for name, value := range more {
		all[name] = value
	}
	return all
}

func (s *session) begin() (string, error) {
	s.transactions++
	return fmt.Sprintf("%s#%d", s.name, s.transactions), s.client.BeginTransaction()
}

// outcomes of sends that are under way.
type outcomes struct {
	mu     sync.Mutex
	failed int
	open   sync.WaitGroup
}

func (s *session) send(txn, topic string, partition int32, source []any, all *outcomes) {
	w := s.w
	w.values++
	value := fmt.Sprintf("%s.%d", w.name, w.values)
	id := w.invoke("send", s.owner(txn, fields{
		"partition": fmt.Sprintf("%s/%d", topic, partition), "value": value, "source": source,
	}))
	record := &kgo.Record{Topic: topic, Partition: partition, Value: []byte(value)}
	all.open.Add(1)
	s.client.Produce(context.Background(), record, func(record *kgo.Record, err error) {
		defer all.open.Done()
		if err != nil {
			all.mu.Lock()
			all.failed++
			all.mu.Unlock()
			w.end(id, err, nil)
			return
		}
		w.end(id, nil, fields{"offset": record.Offset})
	})
}

// delivered waits for every answer and says whether all are good.
func (s *session) delivered(all *outcomes) bool {
	ctx, cancel := patience()
	defer cancel()
	if s.client.Flush(ctx) != nil {
		return false
	}
	all.open.Wait()
	return all.failed == 0
}

func (s *session) finish(txn string, commit bool) bool {
	ctx, cancel := patience()
	defer cancel()
	id := s.w.invoke("end", s.owner(txn, fields{"commit": commit}))
	var err error
	if !commit {
		err = s.client.AbortBufferedRecords(ctx)
	}
	if err == nil {
		err = s.client.EndTransaction(ctx, kgo.TransactionEndTry(commit))
	}
	s.w.end(id, err, nil)
	if err != nil && commit {
		s.finish(txn, false)
		return false
	}
	s.usable = s.usable && err == nil
	return err == nil
}

func (w *worker) write() {
	var s *session
	for w.stopping.Err() == nil {
		if s == nil || !s.usable {
			if s != nil {
				s.client.Close()
			}
			s = w.open()
		}
		if s.usable {
			s = w.transact(s)
		}
		time.Sleep(time.Duration(w.random.Float64() * float64(20*time.Millisecond)))
	}
	if s != nil {
		s.client.Close()
	}
}

func (w *worker) transact(s *session) *session {
	txn, err := s.begin()
	if err != nil {
		s.usable = false
		return s
	}
	all := &outcomes{}
	w.sendSome(s, txn, all)
	if w.random.Float64() < takeoverShare {
		s.delivered(all)
		successor := w.open()
		if successor.usable {
			if w.random.Float64() < 0.5 {
				w.sendSome(s, txn, all)
			}
			s.finish(txn, s.delivered(all))
		}
		s.client.Close()
		return successor
	}
	wanted := w.random.Float64() >= w.abortShare
	s.finish(txn, s.delivered(all) && wanted)
	return s
}

func (w *worker) sendSome(s *session, txn string, all *outcomes) {
	for range 2 + w.random.Intn(5) {
		s.send(txn, w.source, int32(w.random.Intn(w.partitions)), nil, all)
	}
}
