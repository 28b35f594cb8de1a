// Runs Vitess on Duramen: starts and stops the servers, and tests them.
//
//	cluster up            etcd, vtctld, vtgate, and a Duramen with a vttablet for each shard
//	cluster test [PART..] the parts of checks.go, in their order
//	cluster down [clean]  stops them by their process ids; clean removes their data
//
// Everything is in the folder VITESS_DATA and listens on 127.0.0.1, from VITESS_PORT upwards.
package main

import (
	"fmt"
	"io"
	"log"
	"os"

	"github.com/go-sql-driver/mysql"
	"google.golang.org/grpc/grpclog"
)

func main() {
	if len(os.Args) < 2 {
		fail(fmt.Errorf("say up, test or down"))
	}
	cluster, err := newCluster()
	if err != nil {
		fail(err)
	}
	// The libraries tell each broken connection, of which there are many where servers are killed.
	grpclog.SetLoggerV2(grpclog.NewLoggerV2(io.Discard, io.Discard, io.Discard))
	_ = mysql.SetLogger(log.New(io.Discard, "", 0))
	switch os.Args[1] {
	case "up":
		err = cluster.up()
	case "test":
		err = cluster.test(os.Args[2:])
	case "down":
		err = cluster.down(len(os.Args) > 2 && os.Args[2] == "clean")
	default:
		err = fmt.Errorf("%q is none of up, test, down", os.Args[1])
	}
	if err != nil {
		fail(err)
	}
}

func fail(err error) {
	fmt.Fprintln(os.Stderr, "cluster:", err)
	os.Exit(1)
}
