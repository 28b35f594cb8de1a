package main

import (
	"fmt"
	"os"
	"strconv"
	"strings"

	"github.com/go-mysql-org/go-mysql/canal"
	"github.com/go-mysql-org/go-mysql/mysql"
	"github.com/go-mysql-org/go-mysql/replication"
	"github.com/go-mysql-org/go-mysql/schema"
	"github.com/pingcap/errors"
)

// handler is what canal calls.
type handler struct {
	canal.DummyEventHandler
	state  *State
	mark   string
	marked bool
	// Started from a position, canal keeps no GTID set of its own.
	gtids mysql.GTIDSet
	gtid  string
}

func (h *handler) String() string { return "reader" }

func (h *handler) OnRow(e *canal.RowsEvent) error {
	table := e.Table.Schema + "." + e.Table.Name
	byID := e.Table.Columns[0].Name == "id"
	for i, row := range e.Rows {
		cells := make([]string, len(row))
		for n, value := range row {
			cells[n] = canalColumn(e.Table, n).text(value)
		}
		var err error
		if e.Action == canal.DeleteAction || (e.Action == canal.UpdateAction && i%2 == 0) {
			err = h.state.Tables.remove(table, cells, byID)
		} else {
			err = h.state.Tables.insert(table, cells, byID)
		}
		if err != nil {
			return err
		}
		h.marked = h.marked || (table == "cdc.marks" && cells[0] == h.mark)
	}
	return nil
}

func (h *handler) OnGTID(_ *replication.EventHeader, e mysql.BinlogGTIDEvent) error {
	// An event group ends where the next begins.
	if err := h.ended(); err != nil {
		return err
	}
	next, err := e.GTIDNext()
	if err == nil {
		h.gtid = next.String()
	}
	return err
}

func (h *handler) ended() error {
	if h.gtid == "" {
		return nil
	}
	return h.gtids.Update(h.gtid)
}

func (h *handler) OnDDL(_ *replication.EventHeader, _ mysql.Position, e *replication.QueryEvent) error {
	h.state.Tables.definition(string(e.Schema), string(e.Query))
	return nil
}

// OnXID is told where a run may go on: behind a transaction.
func (h *handler) OnXID(_ *replication.EventHeader, behind mysql.Position) error {
	if !h.marked {
		return nil
	}
	if err := h.ended(); err != nil {
		return err
	}
	h.state.Position, h.state.GTIDs = behind, h.gtids.String()
	return errMarked
}

// errMarked ends canal where the run ends.
var errMarked = errors.New("the mark is reached")

func canalColumn(table *schema.Table, n int) Column {
	// A row may be older than the definition, which canal asks the server for when it needs it.
	if n >= len(table.Columns) {
		return Column{}
	}
	c := table.Columns[n]
	column := Column{Unsigned: c.IsUnsigned, Latin1: strings.HasPrefix(c.Collation, "latin1")}
	raw := strings.ToLower(c.RawType)
	switch {
	case c.Type == schema.TYPE_BIT:
		column.Kind = Bit
	case c.Type == schema.TYPE_ENUM:
		column.Kind, column.Members, column.Latin1 = Enum, c.EnumValues, false
	case c.Type == schema.TYPE_SET:
		column.Kind, column.Members, column.Latin1 = Set, c.SetValues, false
	case c.Type == schema.TYPE_DECIMAL:
		if _, scale, found := strings.Cut(raw, ","); found {
			digits, _ := strconv.ParseInt(strings.Split(scale, ")")[0], 10, 32)
			column.Scale = int32(digits)
		}
	case c.Type == schema.TYPE_STRING, c.Type == schema.TYPE_JSON:
		column.Kind = Text
	case strings.Contains(raw, "blob") || strings.Contains(raw, "binary"):
		column.Kind = Bytes
	}
	return column
}

func followWithCanal(state *State, mark string, byGTID bool) error {
	config := canal.NewDefaultConfig()
	config.Addr = "127.0.0.1:" + os.Getenv("READER_PORT")
	config.User = os.Getenv("READER_USER")
	config.Password = os.Getenv("READER_PASSWORD")
	config.ServerID = serverID()
	config.UseDecimal = true
	config.Dump.ExecutionPath = ""
	config.TLSConfig = tlsConfig()
	config.Logger = quiet
	c, err := canal.NewCanal(config)
	if err != nil {
		return err
	}
	defer c.Close()
	gtids, err := mysql.ParseGTIDSet(mysql.MySQLFlavor, state.GTIDs)
	if err != nil {
		return err
	}
	c.SetEventHandler(&handler{state: state, mark: mark, gtids: gtids})
	if byGTID {
		err = c.StartFromGTID(gtids.Clone())
	} else {
		err = c.RunFrom(state.Position)
	}
	if errors.Cause(err) != errMarked {
		return fmt.Errorf("canal: %w", err)
	}
	return nil
}
