package main

import (
	"fmt"
	"math/rand/v2"
	"os"
	"strconv"
	"syscall"
	"time"
)

// Kills of a shard's Duramen and vttablet, of the vttablet alone, or of vtgate, while money is transferred; after each
// the books are audited.
func (c *cluster) checkBank() error {
	kills := 10
	if text := os.Getenv("KILLS"); text != "" {
		number, err := strconv.Atoi(text)
		if err != nil {
			return fmt.Errorf("KILLS is %q: say a number", text)
		}
		kills = number
	}
	acked, failed, victims := 0, int64(0), map[string]int{}
	for range kills {
		load, err := c.startTransfers(4)
		if err != nil {
			return err
		}
		if err := load.more(30); err != nil {
			load.stop()
			return err
		}
		victim, err := c.killOne(shopLow, shopHigh)
		victims[victim]++
		if err == nil {
			err = load.more(30)
		}
		acked, failed = acked+load.end(), failed+load.failed.Load()
		if err == nil {
			err = load.audit()
		}
		if err != nil {
			return fmt.Errorf("after a kill of %s: %w", victim, err)
		}
	}
	fmt.Printf("    %d kills, %d transfers acknowledged, %d failed; the books are right: %v\n", kills, acked, failed, victims)
	return nil
}

// Kills one server, or a shard's both, and starts it again a moment later. A vttablet does not outlive
// its Duramen: Vitess 21 keeps a transaction that was at its second phase when the server went as
// "committing", and does not commit it (VT09025, duplicate DTID in Prepare) before it is started anew.
func (c *cluster) killOne(shards ...shard) (string, error) {
	s := shards[rand.IntN(len(shards))]
	both := s.duramen() + " and " + s.tablet()
	switch rand.IntN(4) {
	case 0:
		if err := c.end("vtgate", syscall.SIGKILL); err != nil {
			return "vtgate", err
		}
		return "vtgate", c.startVtgate()
	case 1:
		if err := c.end(s.tablet(), syscall.SIGKILL); err != nil {
			return s.tablet(), err
		}
		return s.tablet(), c.startTablet(s)
	case 2:
		if err := c.killDuramen(s); err != nil {
			return both, err
		}
		if err := c.end(s.tablet(), syscall.SIGKILL); err != nil {
			return both, err
		}
		return both, c.startTablet(s)
	default:
		if err := c.end(s.tablet(), syscall.SIGKILL); err != nil {
			return both, err
		}
		if err := c.killDuramen(s); err != nil {
			return both, err
		}
		return both, c.startTablet(s)
	}
}

func (c *cluster) killDuramen(s shard) error {
	if err := c.end(s.duramen(), syscall.SIGKILL); err != nil {
		return err
	}
	time.Sleep(time.Duration(rand.IntN(1500)) * time.Millisecond)
	return c.startDuramen(s)
}
