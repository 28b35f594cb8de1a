package main

import (
	"context"
	"database/sql"
	"fmt"
	"math/rand/v2"
	"sync"
	"sync/atomic"
	"time"
)

// Transfers between accounts, from several sessions, until stopped. Each is one transaction in two
// phases, and leaves a row in the ledger for either account. Errors are expected while servers are
// killed: such a transfer may have happened or not, but not by half.
type transfers struct {
	cluster *cluster
	stop    context.CancelFunc
	done    sync.WaitGroup
	next    atomic.Int64
	failed  atomic.Int64
	latch   sync.Mutex
	acked   map[int64]bool // guarded by latch
	last    error          // guarded by latch
}

func (c *cluster) startTransfers(workers int) (*transfers, error) {
	db, err := c.vtgate("shop")
	if err != nil {
		return nil, err
	}
	context, stop := context.WithCancel(context.Background())
	t := &transfers{cluster: c, stop: stop, acked: map[int64]bool{}}
	t.next.Store(time.Now().UnixNano())
	for range workers {
		t.done.Add(1)
		go func() {
			defer t.done.Done()
			for context.Err() == nil {
				number := t.next.Add(1)
				if err := transfer(db, number); err != nil {
					t.failed.Add(1)
					t.latch.Lock()
					t.last = err
					t.latch.Unlock()
					time.Sleep(100 * time.Millisecond)
					continue
				}
				t.latch.Lock()
				t.acked[number] = true
				t.latch.Unlock()
			}
		}()
	}
	return t, nil
}

func transfer(db *sql.DB, number int64) error {
	limit, cancel := context.WithTimeout(context.Background(), 20*time.Second)
	defer cancel()
	conn, err := db.Conn(limit)
	if err != nil {
		return err
	}
	defer conn.Close()
	from, to, amount := rand.IntN(accounts)+1, rand.IntN(accounts-1)+1, rand.IntN(20)+1
	if to >= from {
		to++
	}
	// Always the smaller number first: two transfers do not wait for each other in a cycle, which no
	// shard alone could see.
	if from > to {
		from, to, amount = to, from, -amount
	}
	steps := []string{
		"SET transaction_mode = 'twopc'", "BEGIN",
		fmt.Sprintf("UPDATE account SET balance = balance - %d WHERE id = %d", amount, from),
		fmt.Sprintf("UPDATE account SET balance = balance + %d WHERE id = %d", amount, to),
		fmt.Sprintf("INSERT INTO ledger (transfer, account, amount) VALUES (%d, %d, %d), (%d, %d, %d)",
			number, from, -amount, number, to, amount),
		"COMMIT",
	}
	for _, step := range steps {
		if _, err := conn.ExecContext(limit, step); err != nil {
			_, _ = conn.ExecContext(limit, "ROLLBACK")
			return fmt.Errorf("%s: %w", step, err)
		}
	}
	return nil
}

// Stops them; the number of those that were acknowledged.
func (t *transfers) end() int {
	t.stop()
	t.done.Wait()
	return t.count()
}

func (t *transfers) count() int {
	t.latch.Lock()
	defer t.latch.Unlock()
	return len(t.acked)
}

// The number of the newest transfer that was begun.
func (t *transfers) newest() int64 { return t.next.Load() }

// Some of the transfers after that one which were acknowledged.
func (t *transfers) since(number int64) []int64 {
	t.latch.Lock()
	defer t.latch.Unlock()
	var found []int64
	for acked := range t.acked {
		if acked > number && len(found) < 40 {
			found = append(found, acked)
		}
	}
	return found
}

// Waits until so many more are acknowledged.
func (t *transfers) more(n int) error {
	goal := t.count() + n
	return eventually(60*time.Second, func() error {
		if t.count() < goal {
			t.latch.Lock()
			defer t.latch.Unlock()
			return fmt.Errorf("transfers do not go on: %w", t.last)
		}
		return nil
	})
}

// The bank's books, when no transfer is under way: the money is what it was, each account has what
// the ledger says, each transfer is whole, and none that was acknowledged is missing.
func (t *transfers) audit() error {
	return eventually(60*time.Second, func() error {
		if err := t.cluster.allResolved(); err != nil {
			return err
		}
		return t.auditOnce()
	})
}

func (c *cluster) allResolved() error {
	s := newSession(c.vtgate("shop"))
	defer s.close()
	s.expect("", "SHOW UNRESOLVED TRANSACTIONS FOR shop")
	return s.err
}

func (t *transfers) auditOnce() error {
	db, err := t.cluster.vtgate("shop")
	if err != nil {
		return err
	}
	defer db.Close()
	balances, sums := map[int64]int64{}, map[int64]int64{}
	halves, sides := map[int64]int64{}, map[int64]int{}
	err = eachRow(db, "SELECT id, balance, 0 FROM account WHERE id <= 200", func(id, balance, _ int64) { balances[id] = balance })
	if err != nil {
		return err
	}
	err = eachRow(db, "SELECT transfer, account, amount FROM ledger", func(transfer, account, amount int64) {
		sums[account] += amount
		halves[transfer] += amount
		sides[transfer]++
	})
	if err != nil {
		return err
	}
	total := int64(0)
	for id, balance := range balances {
		total += balance
		if balance != money+sums[id] {
			return fmt.Errorf("account %d has %d, by the ledger %d", id, balance, money+sums[id])
		}
	}
	if len(balances) != accounts || total != accounts*money {
		return fmt.Errorf("%d accounts have %d together, not %d", len(balances), total, accounts*money)
	}
	for transfer, sum := range halves {
		if sum != 0 || sides[transfer] != 2 {
			return fmt.Errorf("transfer %d has %d sides, with the sum %d", transfer, sides[transfer], sum)
		}
	}
	t.latch.Lock()
	defer t.latch.Unlock()
	for transfer := range t.acked {
		if sides[transfer] == 0 {
			return fmt.Errorf("transfer %d was acknowledged and is missing", transfer)
		}
	}
	return nil
}

func eachRow(db *sql.DB, query string, each func(a, b, c int64)) error {
	// The ledger is longer than what vtgate lets one query return at once.
	conn, err := db.Conn(context.Background())
	if err != nil {
		return err
	}
	defer conn.Close()
	if _, err := conn.ExecContext(context.Background(), "SET workload = 'olap'"); err != nil {
		return err
	}
	rows, err := conn.QueryContext(context.Background(), query)
	if err != nil {
		return fmt.Errorf("%s: %w", query, err)
	}
	defer rows.Close()
	for rows.Next() {
		var a, b, c int64
		if err := rows.Scan(&a, &b, &c); err != nil {
			return err
		}
		each(a, b, c)
	}
	return rows.Err()
}
