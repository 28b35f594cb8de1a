package main

import (
	"context"
	"os"
	"strconv"
	"time"

	"github.com/go-mysql-org/go-mysql/mysql"
	"github.com/go-mysql-org/go-mysql/replication"
)

// Collations of latin1; what follows in the events is in that character set.
var latin1 = map[uint64]bool{5: true, 8: true, 15: true, 31: true, 47: true, 48: true, 49: true, 94: true}

// binary is the collation of what has none.
const binary = 63

type syncer struct {
	state  *State
	mark   string
	marked bool
	done   bool
	gtids  mysql.GTIDSet
	gtid   string
}

func (s *syncer) rows(kind replication.EventType, e *replication.RowsEvent) error {
	table := string(e.Table.Schema) + "." + string(e.Table.Table)
	columns := syncerColumns(e.Table)
	names := e.Table.ColumnNameString()
	byID := len(names) > 0 && names[0] == "id"
	update := kind == replication.UPDATE_ROWS_EVENTv2
	for i, row := range e.Rows {
		cells := make([]string, len(row))
		for n, value := range row {
			cells[n] = columns[n].text(value)
		}
		var err error
		if kind == replication.DELETE_ROWS_EVENTv2 || (update && i%2 == 0) {
			err = s.state.Tables.remove(table, cells, byID)
		} else {
			err = s.state.Tables.insert(table, cells, byID)
		}
		if err != nil {
			return err
		}
		s.marked = s.marked || (table == "cdc.marks" && cells[0] == s.mark)
	}
	return nil
}

func syncerColumns(table *replication.TableMapEvent) []Column {
	columns := make([]Column, table.ColumnCount)
	signs, charsets := table.UnsignedMap(), table.CollationMap()
	members, choices := table.SetStrValueMap(), table.EnumStrValueMap()
	for n := range columns {
		c := &columns[n]
		c.Unsigned = signs[n]
		c.Medium = table.ColumnType[n] == mysql.MYSQL_TYPE_INT24
		switch charset, is := charsets[n]; {
		case is && charset == binary:
			c.Kind = Bytes
		case is:
			c.Kind, c.Latin1 = Text, latin1[charset]
		case choices[n] != nil:
			c.Kind, c.Members = Enum, choices[n]
		case members[n] != nil:
			c.Kind, c.Members = Set, members[n]
		case table.ColumnType[n] == mysql.MYSQL_TYPE_BIT:
			c.Kind = Bit
		case table.ColumnType[n] == mysql.MYSQL_TYPE_NEWDECIMAL:
			c.Scale = int32(table.ColumnMeta[n] & 0xFF)
		case table.ColumnType[n] == mysql.MYSQL_TYPE_JSON:
			c.Kind = Text
		}
	}
	return columns
}

func (s *syncer) event(e *replication.BinlogEvent) error {
	switch body := e.Event.(type) {
	case *replication.RotateEvent:
		s.state.Position = mysql.Position{Name: string(body.NextLogName), Pos: uint32(body.Position)}
		return nil
	case *replication.GTIDEvent:
		next, err := body.GTIDNext()
		if err != nil {
			return err
		}
		s.gtid = next.String()
	case *replication.RowsEvent:
		return s.rows(e.Header.EventType, body)
	case *replication.TransactionPayloadEvent:
		for _, inner := range body.Events {
			if err := s.event(inner); err != nil {
				return err
			}
		}
		// The events in it know no place of their own.
		s.state.Position.Pos = e.Header.LogPos
	case *replication.QueryEvent:
		if string(body.Query) == "BEGIN" {
			return nil
		}
		s.state.Tables.definition(string(body.Schema), string(body.Query))
		return s.committed(e.Header)
	case *replication.XIDEvent:
		return s.committed(e.Header)
	}
	return nil
}

// committed keeps the place behind a transaction.
func (s *syncer) committed(header *replication.EventHeader) error {
	if header.LogPos > 0 {
		s.state.Position.Pos = header.LogPos
	}
	s.done = s.marked
	if err := s.gtids.Update(s.gtid); err != nil {
		return err
	}
	s.state.GTIDs = s.gtids.String()
	return nil
}

func followWithSyncer(state *State, mark string, byGTID bool) error {
	port, err := strconv.ParseUint(os.Getenv("READER_PORT"), 10, 16)
	if err != nil {
		return err
	}
	reader := replication.NewBinlogSyncer(replication.BinlogSyncerConfig{
		ServerID:        serverID(),
		Flavor:          mysql.MySQLFlavor,
		Host:            "127.0.0.1",
		Port:            uint16(port),
		User:            os.Getenv("READER_USER"),
		Password:        os.Getenv("READER_PASSWORD"),
		UseDecimal:      true,
		VerifyChecksum:  true,
		HeartbeatPeriod: time.Second,
		TLSConfig:       tlsConfig(),
		Logger:          quiet,
		// As canal's: a TIMESTAMP is said in UTC.
		TimestampStringLocation: time.UTC,
	})
	defer reader.Close()
	s := &syncer{state: state, mark: mark}
	if s.gtids, err = mysql.ParseGTIDSet(mysql.MySQLFlavor, state.GTIDs); err != nil {
		return err
	}
	var stream *replication.BinlogStreamer
	if byGTID {
		stream, err = reader.StartSyncGTID(s.gtids.Clone())
	} else {
		stream, err = reader.StartSync(state.Position)
	}
	for err == nil && !s.done {
		err = s.next(stream)
	}
	return err
}

func (s *syncer) next(stream *replication.BinlogStreamer) error {
	e, err := stream.GetEvent(context.Background())
	if err != nil {
		return err
	}
	return s.event(e)
}
