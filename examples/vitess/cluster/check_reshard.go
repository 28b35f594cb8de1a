package main

import (
	"fmt"
	"os"
	"strconv"
	"syscall"
	"time"
)

// Reshard splits 80- into 80-c0 and c0-, two Duramens more, while money is transferred and servers
// are killed; a reader of the stream of changes follows across it, and has every row in the end.
func (c *cluster) checkReshard() error {
	for _, s := range resharded {
		if _, alive := c.running(s.tablet()); alive {
			continue // an earlier run of this part
		}
		if err := c.startShard(s); err != nil {
			return err
		}
	}
	reader := c.startReader(shopLow, shopHigh)
	defer reader.stop()
	load, err := c.startTransfers(4)
	if err != nil {
		return err
	}
	defer load.stop()
	if err := load.more(50); err != nil {
		return err
	}
	if err := c.reshardUnderKills(load, reader); err != nil {
		return err
	}
	if err := load.more(100); err != nil {
		return err
	}
	acked := load.end()
	if err := load.audit(); err != nil {
		return err
	}
	fmt.Printf("    %d transfers acknowledged, %d failed\n", acked, load.failed.Load())
	if err := c.checkShards(shopLow, shopMiddle, shopHighest); err != nil {
		return err
	}
	return eventually(60*time.Second, func() error { return reader.compare() })
}

func (c *cluster) reshardUnderKills(load *transfers, reader *reader) error {
	kills := 4
	if text := os.Getenv("KILLS"); text != "" {
		kills, _ = strconv.Atoi(text)
	}
	split := workflow{c, "Reshard", "split"}
	// The new tablets' engines of VReplication come up some time after the tablets.
	err := eventually(60*time.Second, func() error {
		_, err := split.run("create", "--source-shards=80-", "--target-shards=80-c0,c0-", "--tablet-types=PRIMARY")
		return err
	})
	if err != nil {
		return err
	}
	for range kills {
		victim, err := c.killOne(shopLow, shopHigh, shopMiddle, shopHighest)
		if err == nil {
			err = load.more(30)
		}
		if err != nil {
			return fmt.Errorf("after a kill of %s: %w", victim, err)
		}
	}
	if err := split.moveOver(); err != nil {
		return err
	}
	switched := load.newest()
	if err := load.more(50); err != nil {
		return err
	}
	// A reader goes over to the new shards where the old one's log tells it to: it needs that log.
	if err := eventually(60*time.Second, func() error { return reader.hasSince(load, switched) }); err != nil {
		return err
	}
	if _, err := split.run("complete"); err != nil {
		return err
	}
	for _, name := range []string{shopHigh.tablet(), shopHigh.duramen()} {
		if err := c.end(name, syscall.SIGTERM); err != nil {
			return err
		}
	}
	_, err = c.vtctld("DeleteShards", "--recursive", "--even-if-serving", "--force", shopHigh.path())
	return err
}
