package main

import (
	"fmt"
	"math/rand/v2"
	"os"
	"strconv"
	"syscall"
	"time"
)

// Kills of a shard's Duramen, its vttablet, both, or vtgate, while money is transferred; after each
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
	acked, failed := 0, int64(0)
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
	fmt.Printf("    %d kills, %d transfers acknowledged, %d failed; the sum is unchanged\n", kills, acked, failed)
	return nil
}

// Kills one server, or a shard's both, and starts it again a moment later.
func (c *cluster) killOne(shards ...shard) (string, error) {
	s := shards[rand.IntN(len(shards))]
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
		return s.duramen(), c.killDuramen(s)
	default:
		both := s.tablet() + " and " + s.duramen()
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
