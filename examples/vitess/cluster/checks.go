package main

import (
	"context"
	"database/sql"
	"fmt"
	"slices"
	"strings"
	"time"
)

type part struct {
	name  string
	run   func(*cluster) error
	about string
}

// The parts of the test, in the order of their run: later ones use the tables of `schema`.
var parts = []part{
	{"schema", (*cluster).checkSchema, "keyspaces, vindexes, a sequence, tables"},
	{"sharding", (*cluster).checkSharding, "routing, lookup, scatter queries, rollback"},
	{"twopc", (*cluster).checkAtomicCommit, "transactions over two shards"},
	{"foreignkeys", (*cluster).checkForeignKeys, "the three modes of foreign keys"},
	{"onlineddl", (*cluster).checkOnlineDDL, "ALTER TABLE with ddl_strategy=vitess under load"},
	{"movetables", (*cluster).checkMoveTables, "a table from an unsharded keyspace to two shards, under load"},
	{"bank", (*cluster).checkBank, "transfers while servers are killed; KILLS=n"},
	{"reshard", (*cluster).checkReshard, "one shard becomes two under transfers and kills, read by VStream"},
}

func (c *cluster) test(names []string) error {
	for _, name := range names {
		if !slices.ContainsFunc(parts, func(p part) bool { return p.name == name }) {
			for _, part := range parts {
				fmt.Printf("%-12s %s\n", part.name, part.about)
			}
			return fmt.Errorf("%q is no part of the test", name)
		}
	}
	for _, part := range parts {
		if len(names) > 0 && !slices.Contains(names, part.name) {
			continue
		}
		begun := time.Now()
		if err := part.run(c); err != nil {
			return fmt.Errorf("%s: %w", part.name, err)
		}
		fmt.Printf("ok  %-12s %5.1f s\n", part.name, time.Since(begun).Seconds())
	}
	return nil
}

// Connections to vtgate.
func (c *cluster) vtgate(keyspace string) (*sql.DB, error) {
	return sql.Open("mysql", fmt.Sprintf("root@tcp(%s)/%s?interpolateParams=true&timeout=5s&readTimeout=60s",
		address(c.mysqlPort()), keyspace))
}

// Connections to a shard's Duramen, past Vitess.
func (c *cluster) direct(s shard) (*sql.DB, error) {
	return sql.Open("mysql", fmt.Sprintf("root@tcp(%s)/%s?interpolateParams=true", address(c.duramenPort(s)), s.database()))
}

// One session that runs statements; the first error ends it.
type session struct {
	conn *sql.Conn
	db   *sql.DB
	err  error
}

func newSession(db *sql.DB, err error) *session {
	s := &session{db: db, err: err}
	if err == nil {
		s.conn, s.err = db.Conn(context.Background())
	}
	return s
}

func (s *session) close() {
	if s.conn != nil {
		_ = s.conn.Close()
	}
	if s.db != nil {
		_ = s.db.Close()
	}
}

func (s *session) exec(statement string, args ...any) {
	if s.err == nil {
		if _, err := s.conn.ExecContext(context.Background(), statement, args...); err != nil {
			s.err = fmt.Errorf("%s: %w", statement, err)
		}
	}
}

// Demands an error whose text has these words.
func (s *session) refused(words, statement string) {
	if s.err != nil {
		return
	}
	_, err := s.conn.ExecContext(context.Background(), statement)
	if err == nil || !strings.Contains(err.Error(), words) {
		s.err = fmt.Errorf("%s: expected an error with %q, not %v", statement, words, err)
	}
}

// The rows as text: columns by commas, rows by spaces.
func (s *session) query(statement string, args ...any) string {
	if s.err != nil {
		return ""
	}
	rows, err := s.conn.QueryContext(context.Background(), statement, args...)
	if err != nil {
		s.err = fmt.Errorf("%s: %w", statement, err)
		return ""
	}
	defer rows.Close()
	columns, _ := rows.Columns()
	var lines []string
	for rows.Next() {
		values, cells := make([]sql.NullString, len(columns)), make([]any, len(columns))
		for i := range values {
			cells[i] = &values[i]
		}
		if s.err = rows.Scan(cells...); s.err != nil {
			return ""
		}
		texts := make([]string, len(columns))
		for i, value := range values {
			texts[i] = value.String
		}
		lines = append(lines, strings.Join(texts, ","))
	}
	if err := rows.Err(); err != nil {
		s.err = fmt.Errorf("%s: %w", statement, err)
	}
	return strings.Join(lines, " ")
}

// Demands these rows.
func (s *session) expect(expected, statement string, args ...any) {
	if found := s.query(statement, args...); s.err == nil && found != expected {
		s.err = fmt.Errorf("%s: expected %q, found %q", statement, expected, found)
	}
}
