package main

import (
	"context"
	"fmt"
	"sync"
	"time"

	"vitess.io/vitess/go/sqltypes"
	binlogdatapb "vitess.io/vitess/go/vt/proto/binlogdata"
	querypb "vitess.io/vitess/go/vt/proto/query"
	topodatapb "vitess.io/vitess/go/vt/proto/topodata"
	vtgatepb "vitess.io/vitess/go/vt/proto/vtgate"
	_ "vitess.io/vitess/go/vt/vtgate/grpcvtgateconn"
	"vitess.io/vitess/go/vt/vtgate/vtgateconn"
)

// A reader of vtgate's stream of changes: it copies the ledger, follows its log, and keeps all rows.
// Where the stream breaks it goes on at the last position; rows that come again are the same rows.
type reader struct {
	cluster *cluster
	cancel  context.CancelFunc
	done    chan struct{}
	latch   sync.Mutex
	// Guarded by latch:
	ledger   map[[2]int64]int64 // by transfer and account
	position *binlogdatapb.VGtid
	last     error
}

func (c *cluster) startReader(shards ...shard) *reader {
	ctx, cancel := context.WithCancel(context.Background())
	r := &reader{cluster: c, cancel: cancel, done: make(chan struct{}), ledger: map[[2]int64]int64{}}
	r.position = &binlogdatapb.VGtid{}
	for _, s := range shards {
		r.position.ShardGtids = append(r.position.ShardGtids, &binlogdatapb.ShardGtid{Keyspace: s.keyspace, Shard: s.name})
	}
	go func() {
		defer close(r.done)
		for ctx.Err() == nil {
			err := r.follow(ctx)
			r.latch.Lock()
			r.last = err
			r.latch.Unlock()
			time.Sleep(200 * time.Millisecond)
		}
	}()
	return r
}

func (r *reader) stop() {
	r.cancel()
	<-r.done
}

func (r *reader) follow(ctx context.Context) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	conn, err := vtgateconn.DialProtocol(ctx, "grpc", address(r.cluster.vtgateGrpcPort()))
	if err != nil {
		return err
	}
	defer conn.Close()
	filter := &binlogdatapb.Filter{Rules: []*binlogdatapb.Rule{{Match: "ledger", Filter: "select * from ledger"}}}
	stream, err := conn.VStream(ctx, topodatapb.TabletType_PRIMARY, r.position, filter, &vtgatepb.VStreamFlags{})
	if err != nil {
		return err
	}
	var fields []*querypb.Field
	for {
		events, err := stream.Recv()
		if err != nil {
			return err
		}
		for _, event := range events {
			switch event.Type {
			case binlogdatapb.VEventType_FIELD:
				fields = event.FieldEvent.Fields
			case binlogdatapb.VEventType_ROW:
				if err := r.apply(fields, event.RowEvent.RowChanges); err != nil {
					return err
				}
			case binlogdatapb.VEventType_VGTID:
				r.latch.Lock()
				r.position = event.Vgtid
				r.latch.Unlock()
			}
		}
	}
}

func (r *reader) apply(fields []*querypb.Field, changes []*binlogdatapb.RowChange) error {
	r.latch.Lock()
	defer r.latch.Unlock()
	for _, change := range changes {
		if change.Before != nil {
			key, _, err := ledgerRow(fields, change.Before)
			if err != nil {
				return err
			}
			delete(r.ledger, key)
		}
		if change.After != nil {
			key, amount, err := ledgerRow(fields, change.After)
			if err != nil {
				return err
			}
			r.ledger[key] = amount
		}
	}
	return nil
}

func ledgerRow(fields []*querypb.Field, row *querypb.Row) (key [2]int64, amount int64, err error) {
	values := sqltypes.MakeRowTrusted(fields, row)
	for i, field := range fields {
		number, err := values[i].ToCastInt64()
		if err != nil {
			return key, 0, fmt.Errorf("column %s: %w", field.Name, err)
		}
		switch field.Name {
		case "transfer":
			key[0] = number
		case "account":
			key[1] = number
		case "amount":
			amount = number
		}
	}
	return key, amount, nil
}

// It has both sides of transfers that came after that one: it reads the shards that are served now.
func (r *reader) hasSince(load *transfers, number int64) error {
	numbers := load.since(number)
	r.latch.Lock()
	defer r.latch.Unlock()
	sides := map[int64]int{}
	for key := range r.ledger {
		sides[key[0]]++
	}
	for _, number := range numbers {
		if sides[number] != 2 {
			return fmt.Errorf("the reader of VStream has %d sides of transfer %d, at %v (%v)", sides[number], number, r.position, r.last)
		}
	}
	return nil
}

// The reader's rows are the table's.
func (r *reader) compare() error {
	db, err := r.cluster.vtgate("shop")
	if err != nil {
		return err
	}
	defer db.Close()
	r.latch.Lock()
	defer r.latch.Unlock()
	rows, different := 0, 0
	err = eachRow(db, "SELECT transfer, account, amount FROM ledger", func(transfer, account, amount int64) {
		rows++
		if found, there := r.ledger[[2]int64{transfer, account}]; !there || found != amount {
			different++
		}
	})
	if err != nil {
		return err
	}
	if different > 0 || rows != len(r.ledger) {
		return fmt.Errorf("the reader of VStream has %d rows, the table %d, of which %d are not the same (%v)",
			len(r.ledger), rows, different, r.last)
	}
	fmt.Printf("    VStream: %d rows, no difference\n", rows)
	return nil
}
