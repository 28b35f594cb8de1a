package main

import (
	"fmt"
	"os"
	"path/filepath"
	"strconv"
)

// A Duramen and the vttablet in front of it: the only tablet of its shard.
type shard struct {
	keyspace, name string
	number         int // also orders the ports
}

// commerce is not sharded: sequences, and the table that MoveTables moves.
// shop is sharded; Reshard splits 80- in two, for which the last two are.
var (
	commerce    = shard{"commerce", "0", 0}
	shopLow     = shard{"shop", "-80", 1}
	shopHigh    = shard{"shop", "80-", 2}
	shopMiddle  = shard{"shop", "80-c0", 3}
	shopHighest = shard{"shop", "c0-", 4}
	atFirst     = []shard{commerce, shopLow, shopHigh}
	resharded   = []shard{shopMiddle, shopHighest}
)

// What all that runs has in common.
type cluster struct {
	root, bin string
	port      int // the first of 30
	asNobody  bool
}

const (
	cell     = "zone1"
	account  = "vt"
	password = "vt-secret"
)

func newCluster() (*cluster, error) {
	root := os.Getenv("VITESS_DATA")
	if root == "" {
		return nil, fmt.Errorf("VITESS_DATA is not set: run the scripts up, test and down")
	}
	port := 16300
	if text := os.Getenv("VITESS_PORT"); text != "" {
		number, err := strconv.Atoi(text)
		if err != nil || number < 1024 || number > 65000 {
			return nil, fmt.Errorf("VITESS_PORT is %q: say a number from 1024 to 65000", text)
		}
		port = number
	}
	// Vitess's programs refuse to run as root.
	return &cluster{root: root, bin: filepath.Join(root, "bin"), port: port, asNobody: os.Getuid() == 0}, nil
}

func (c *cluster) etcdPort() int       { return c.port }
func (c *cluster) etcdPeerPort() int   { return c.port + 1 }
func (c *cluster) vtctldPort() int     { return c.port + 2 }
func (c *cluster) vtctldGrpcPort() int { return c.port + 3 }
func (c *cluster) vtgatePort() int     { return c.port + 4 }
func (c *cluster) vtgateGrpcPort() int { return c.port + 5 }

// Where clients connect.
func (c *cluster) mysqlPort() int { return c.port + 6 }

func (c *cluster) duramenPort(s shard) int    { return c.port + 10 + 3*s.number }
func (c *cluster) tabletPort(s shard) int     { return c.port + 11 + 3*s.number }
func (c *cluster) tabletGrpcPort(s shard) int { return c.port + 12 + 3*s.number }

func (s shard) alias() string    { return fmt.Sprintf("%s-%010d", cell, 100*(s.number+1)) }
func (s shard) database() string { return "vt_" + s.keyspace }
func (s shard) path() string     { return s.keyspace + "/" + s.name }
func (s shard) duramen() string  { return fmt.Sprintf("duramen-%d", s.number) }
func (s shard) tablet() string   { return fmt.Sprintf("vttablet-%d", s.number) }
func (c *cluster) logs() string  { return filepath.Join(c.root, "log") }
func (c *cluster) pids() string  { return filepath.Join(c.root, "pid") }
func (c *cluster) data() string  { return filepath.Join(c.root, "data") }
func (c *cluster) socket(s shard) string {
	return filepath.Join(c.data(), s.duramen()+".sock")
}
func address(port int) string            { return fmt.Sprintf("127.0.0.1:%d", port) }
func url(port int) string                { return "http://" + address(port) }
func flag(name string, value any) string { return fmt.Sprintf("--%s=%v", name, value) }
