package main

import (
	"encoding/json"
	"fmt"
	"strings"
	"sync/atomic"
	"time"
)

// ALTER TABLE under transfers, in the three ways that Vitess has: at once where the server can, by
// a copy that VReplication fills, and back again.
func (c *cluster) checkOnlineDDL() error {
	load, err := c.startTransfers(4)
	if err != nil {
		return err
	}
	defer load.stop()
	if err := load.more(100); err != nil {
		return err
	}
	copied, err := c.migrate("ALTER TABLE ledger MODIFY amount DECIMAL(20,0) NOT NULL, ADD KEY by_account (account)")
	if err != nil {
		return err
	}
	instant, err := c.migrate("ALTER TABLE account ADD COLUMN note VARCHAR(30) NOT NULL DEFAULT 'none'")
	if err != nil {
		return err
	}
	reverted, err := c.migrate(fmt.Sprintf("REVERT VITESS_MIGRATION '%s'", copied))
	if err != nil {
		return err
	}
	if err := load.more(100); err != nil {
		return err
	}
	load.end()
	if err := c.cleanUp(copied, instant, reverted); err != nil {
		return err
	}
	for _, shard := range []shard{shopLow, shopHigh} {
		s := newSession(c.direct(shard))
		s.expect("bigint", "SELECT data_type FROM information_schema.columns WHERE table_schema = DATABASE() AND table_name = 'ledger' AND column_name = 'amount'")
		s.expect("note", "SELECT column_name FROM information_schema.columns WHERE table_schema = DATABASE() AND table_name = 'account' AND column_name = 'note'")
		s.close()
		if s.err != nil {
			return s.err
		}
	}
	return load.audit()
}

// Removes what migrations keep for a day so that they can be reverted: a shard that has streams of
// theirs can't be resharded.
func (c *cluster) cleanUp(uuids ...string) error {
	s := newSession(c.vtgate("shop"))
	for _, uuid := range uuids {
		s.exec("ALTER VITESS_MIGRATION '" + uuid + "' CLEANUP")
	}
	s.close()
	if s.err != nil {
		return s.err
	}
	return eventually(120*time.Second, func() error {
		for _, shard := range []shard{shopLow, shopHigh} {
			s := newSession(c.direct(shard))
			s.expect("0", "SELECT COUNT(*) FROM _vt.vreplication")
			s.close()
			if s.err != nil {
				return s.err
			}
		}
		return nil
	})
}

// Runs an online migration on all shards, and waits until it is complete. Returns its UUID.
func (c *cluster) migrate(statement string) (string, error) {
	s := newSession(c.vtgate("shop"))
	defer s.close()
	s.exec("SET ddl_strategy = 'vitess'")
	uuid := s.query(statement)
	if s.err != nil {
		return "", s.err
	}
	return uuid, eventually(120*time.Second, func() error {
		states := s.query("SHOW VITESS_MIGRATIONS LIKE '" + uuid + "'")
		if s.err != nil {
			return s.err
		}
		if strings.Count(states, ",complete,") == 2 {
			return nil
		}
		return fmt.Errorf("%s is not complete on both shards: %s", statement, states)
	})
}

const customers = 3000

// A table moves from the unsharded keyspace to the two shards while it is written. Statements that
// name it in the old place go to the new one once the traffic is switched.
func (c *cluster) checkMoveTables() error {
	s := newSession(c.vtgate("commerce"))
	defer s.close()
	for first := 1; first <= customers; first += 500 {
		var values []string
		for id := first; id < first+500; id++ {
			values = append(values, fmt.Sprintf(`(%d, 'näme %d', '%s', '{"n": %d}', %d.125)`, id, id, strings.Repeat("x", id%300), id, id))
		}
		s.exec("INSERT INTO customer (id, name, note, tags, price) VALUES " + strings.Join(values, ", "))
	}
	if s.err != nil {
		return s.err
	}
	visits := c.startVisits()
	defer visits.stop()
	workflow := workflow{c, "MoveTables", "move"}
	if _, err := workflow.run("create", "--source-keyspace=commerce", "--tables=customer", "--tablet-types=PRIMARY"); err != nil {
		return err
	}
	if err := workflow.moveOver(); err != nil {
		return err
	}
	before := visits.count.Load()
	if err := eventually(30*time.Second, func() error { return visits.after(before + 50) }); err != nil {
		return err
	}
	// With the workflow the way from the old name to the new place goes, too.
	visits.stop()
	if _, err := workflow.run("complete"); err != nil {
		return err
	}
	s.exec("USE shop")
	s.expect(fmt.Sprint(customers+visits.inserted), "SELECT COUNT(*) FROM customer")
	s.expect(fmt.Sprint(visits.count.Load()), "SELECT SUM(visits) FROM customer")
	return s.err
}

// Updates and inserts of customers; every one is counted once, whatever happened to it: a write that
// fails while the traffic is switched is tried again, and its row tells whether it is needed.
type visits struct {
	count    atomic.Int64
	inserted int
	ended    chan struct{}
	stopped  atomic.Bool
	latest   atomic.Value // error
}

func (c *cluster) startVisits() *visits {
	v := &visits{ended: make(chan struct{})}
	go func() {
		defer close(v.ended)
		for number := 0; !v.stopped.Load(); number++ {
			// A visit that is under way is brought to its end, so that its outcome is known.
			if eventually(30*time.Second, func() error { return c.visit(v, number) }) != nil {
				return
			}
			v.count.Add(1)
			time.Sleep(5 * time.Millisecond)
		}
	}()
	return v
}

func (c *cluster) visit(v *visits, number int) error {
	s := newSession(c.vtgate("commerce"))
	defer s.close()
	if number%10 == 0 {
		// Alone it is safe to repeat.
		id := 10_000 + number
		if s.query("SELECT id FROM commerce.customer WHERE id = ?", id) == "" {
			s.exec("INSERT INTO commerce.customer (id, name, visits) VALUES (?, 'late', 1)", id)
		}
		if s.err == nil {
			v.inserted++
		}
	} else {
		// The number of the visit is in the note: a repetition changes nothing.
		id, note := number*7%customers+1, fmt.Sprint("visit ", number)
		s.exec("UPDATE commerce.customer SET visits = visits + IF(note = ?, 0, 1), note = ? WHERE id = ?", note, note, id)
	}
	if s.err != nil {
		v.latest.Store(s.err)
	}
	return s.err
}

func (v *visits) after(count int64) error {
	if v.count.Load() < count {
		return fmt.Errorf("the writes do not go on: %v", v.latest.Load())
	}
	return nil
}

func (v *visits) stop() {
	if v.stopped.CompareAndSwap(false, true) {
		<-v.ended
	}
}

// A workflow of VReplication to the keyspace shop.
type workflow struct {
	cluster    *cluster
	kind, name string
}

func (w workflow) run(action string, args ...string) (string, error) {
	return w.cluster.vtctld(append([]string{w.kind, "--workflow=" + w.name, "--target-keyspace=shop", action}, args...)...)
}

// Waits for the copy, compares both sides, and switches the traffic.
func (w workflow) moveOver() error {
	if err := w.waitForCopy(); err != nil {
		return err
	}
	if err := w.compare(); err != nil {
		return err
	}
	_, err := w.run("switchtraffic", "--timeout=60s")
	return err
}

func (w workflow) waitForCopy() error {
	return eventually(180*time.Second, func() error {
		output, err := w.run("show")
		if err != nil {
			return err
		}
		var found struct {
			Workflows []struct {
				Shards map[string]struct {
					Streams []struct{ State, Message string }
				} `json:"shard_streams"`
			}
		}
		if err := json.Unmarshal([]byte(output), &found); err != nil || len(found.Workflows) == 0 {
			return fmt.Errorf("%s show: %v: %s", w.kind, err, output)
		}
		for shard, streams := range found.Workflows[0].Shards {
			for _, stream := range streams.Streams {
				if stream.State != "Running" {
					return fmt.Errorf("%s to %s is %s: %s", w.kind, shard, stream.State, stream.Message)
				}
			}
		}
		return nil
	})
}

// VDiff: every row of both sides, in a snapshot.
func (w workflow) compare() error {
	vdiff := func(args ...string) (string, error) {
		return w.cluster.vtctld(append([]string{"VDiff", "--workflow=" + w.name, "--target-keyspace=shop", "--format=json"}, args...)...)
	}
	output, err := vdiff("create", "--tablet-types=PRIMARY")
	if err != nil {
		return err
	}
	var made struct{ UUID string }
	if err := json.Unmarshal([]byte(output), &made); err != nil {
		return fmt.Errorf("VDiff create: %w: %s", err, output)
	}
	return eventually(120*time.Second, func() error {
		output, err := vdiff("show", made.UUID)
		if err != nil {
			return err
		}
		var report struct {
			State        string
			RowsCompared int64
			HasMismatch  bool
		}
		if err := json.Unmarshal([]byte(output), &report); err != nil {
			return fmt.Errorf("VDiff show: %w: %s", err, output)
		}
		if report.State != "completed" || report.HasMismatch || report.RowsCompared == 0 {
			return fmt.Errorf("VDiff: %s", output)
		}
		fmt.Printf("    VDiff of %s: %d rows, no difference\n", w.kind, report.RowsCompared)
		return nil
	})
}
