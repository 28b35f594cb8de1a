// go-mysql follows the log, rebuilds every table from the rows it is shown, and keeps its place for the next run: `canal`
// reads definitions from the server, `syncer` takes what the events say themselves.
//
// What to follow and where comes from the environment; `testing/followers/tests/readers.rs` says what each variable means.
package main

import (
	"crypto/tls"
	"encoding/gob"
	"fmt"
	"io"
	"log/slog"
	"os"
	"strconv"
	"strings"

	"github.com/go-mysql-org/go-mysql/mysql"
)

// State is what a run leaves for the next.
type State struct {
	Position mysql.Position
	GTIDs    string
	Tables   Tables
}

func stored(path string) (*State, error) {
	if file, err := os.Open(path); err == nil {
		defer file.Close()
		state := &State{}
		return state, gob.NewDecoder(file).Decode(state)
	}
	start := strings.SplitN(os.Getenv("READER_START"), " ", 3)
	offset, err := strconv.ParseUint(start[1], 10, 32)
	state := &State{Position: mysql.Position{Name: start[0], Pos: uint32(offset)}, GTIDs: start[2], Tables: newTables()}
	return state, err
}

func (s *State) store(path string) error {
	file, err := os.Create(path)
	if err != nil {
		return err
	}
	defer file.Close()
	return gob.NewEncoder(file).Encode(s)
}

func serverID() uint32 {
	id, _ := strconv.ParseUint(os.Getenv("READER_SERVER_ID"), 10, 32)
	return uint32(id)
}

func tlsConfig() *tls.Config {
	if os.Getenv("READER_TLS") == "" {
		return nil
	}
	return &tls.Config{InsecureSkipVerify: true}
}

// Canal and the syncer say much of every step; an error ends the program and is shown then.
var quiet = slog.New(slog.NewTextHandler(io.Discard, nil))

func run() error {
	state, err := stored(os.Getenv("READER_STATE"))
	if err != nil {
		return err
	}
	mark, err := strconv.ParseInt(os.Getenv("READER_MARK"), 10, 32)
	if err != nil {
		return err
	}
	byGTID := os.Getenv("READER_BY") == "gtid"
	follow := followWithCanal
	if os.Args[1] == "syncer" {
		follow = followWithSyncer
	}
	if err := follow(state, fmt.Sprint(mark), byGTID); err != nil {
		return err
	}
	if err := state.store(os.Getenv("READER_STATE")); err != nil {
		return err
	}
	fmt.Println("ok", state.Position, state.GTIDs)
	return state.Tables.write(os.Getenv("READER_OUT"))
}

func main() {
	if err := run(); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}
