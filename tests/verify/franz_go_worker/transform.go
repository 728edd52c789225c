package main

import (
	"context"
	"errors"
	"fmt"
	"sync/atomic"
	"time"

	"github.com/twmb/franz-go/pkg/kgo"
)

const (
	batch = 10
	// End waits for a heartbeat, and after a lost connection none comes before the rebalance that is held off until End returns.
	endTimeout = 8 * time.Second
)

var errNotCommitted = errors.New("aborted instead")

// transform consumes the source in a group and produces one output per input, with the offsets in the same transaction.
func (w *worker) transform() {
	// A number of its own for every assignment and every step back: within one, offsets only grow.
	var reads atomic.Int64
	moved := func(context.Context, *kgo.Client, map[string][]int32) { reads.Add(1) }
	open := func() *session {
		reads.Add(1)
		return w.open(
			kgo.ConsumerGroup(w.group),
			kgo.ConsumeTopics(w.source),
			kgo.FetchIsolationLevel(kgo.ReadCommitted()),
			kgo.ConsumeResetOffset(kgo.NewOffset().AtStart()),
			kgo.RequireStableFetchOffsets(),
			kgo.SessionTimeout(6*time.Second),
			kgo.HeartbeatInterval(500*time.Millisecond),
			kgo.FetchMaxWait(100*time.Millisecond),
			kgo.BlockRebalanceOnPoll(),
			kgo.OnPartitionsAssigned(moved),
			kgo.OnPartitionsRevoked(moved),
			kgo.OnPartitionsLost(moved),
		)
	}
	s := open()
	for w.stopping.Err() == nil {
		if !s.usable {
			s.group.CloseAllowingRebalance()
			s = open()
			continue
		}
		records := w.poll(s, &reads)
		if len(records) > 0 && !w.transactBatch(s, records) {
			reads.Add(1)
		}
		s.group.AllowRebalance()
	}
	s.group.CloseAllowingRebalance()
}

func (w *worker) poll(s *session, reads *atomic.Int64) []*kgo.Record {
	began := time.Now().UnixNano()
	ctx, cancel := context.WithTimeout(context.Background(), 300*time.Millisecond)
	defer cancel()
	records := s.group.PollRecords(ctx, batch).Records()
	if len(records) == 0 {
		return nil
	}
	// Which assignment it was is known only now; the time of asking is kept.
	seen := make([][]any, 0, len(records))
	for _, record := range records {
		seen = append(seen, []any{where(record), record.Offset, string(record.Value)})
	}
	name := fmt.Sprintf("%s/%d", w.name, reads.Load())
	id := w.invoke("poll", fields{"isolation": "read_committed", "session": name, "asked": began})
	w.end(id, nil, fields{"records": seen})
	return records
}

func where(record *kgo.Record) string { return fmt.Sprintf("%s/%d", record.Topic, record.Partition) }

// transactBatch says whether the batch is known to be committed; otherwise the group goes back to what is.
func (w *worker) transactBatch(s *session, records []*kgo.Record) bool {
	s.transactions++
	txn := fmt.Sprintf("%s#%d", s.name, s.transactions)
	if s.group.Begin() != nil {
		s.usable = false
		return false
	}
	all := &outcomes{}
	offsets := fields{}
	for _, record := range records {
		s.send(txn, w.sink, record.Partition, []any{where(record), record.Offset}, all)
		offsets[where(record)] = record.Offset + 1
	}
	commit := s.delivered(all) && w.random.Float64() >= w.abortShare
	return w.finishBatch(s, txn, offsets, commit)
}

func (w *worker) finishBatch(s *session, txn string, offsets fields, commit bool) bool {
	ctx, cancel := context.WithTimeout(context.Background(), endTimeout)
	defer cancel()
	var offsetsID string
	if commit {
		offsetsID = w.invoke("offsets", s.owner(txn, fields{"group": w.group, "offsets": offsets}))
	}
	id := w.invoke("end", s.owner(txn, fields{"commit": commit}))
	committed, err := s.group.End(ctx, kgo.TransactionEndTry(commit))
	if err != nil {
		s.usable = false
	}
	if err == nil && commit && !committed {
		err = errNotCommitted
	}
	if commit {
		w.end(offsetsID, err, nil)
	}
	w.end(id, err, nil)
	return committed
}
