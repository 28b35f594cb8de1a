package main

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"time"
)

const vschemaOfCommerce = `{"foreignKeyMode": "%s", "tables": {
  "account_seq": {"type": "sequence"}, "customer_seq": {"type": "sequence"},
  "customer": {}, "parent": {}, "child": {}}}`

// Accounts are found by their number, whose hash is the shard, and by their owner, whose shards a
// lookup table knows.
const vschemaOfShop = `{"sharded": true,
  "vindexes": {
    "xxhash": {"type": "xxhash"},
    "hash": {"type": "hash"},
    "text": {"type": "unicode_loose_xxhash"},
    "account_by_owner": {"type": "consistent_lookup", "owner": "account",
      "params": {"table": "account_owner", "from": "owner,id", "to": "keyspace_id"}}},
  "tables": {
    "account": {
      "column_vindexes": [{"column": "id", "name": "xxhash"}, {"columns": ["owner", "id"], "name": "account_by_owner"}],
      "auto_increment": {"column": "id", "sequence": "commerce.account_seq"}},
    "account_owner": {"column_vindexes": [{"column": "owner", "name": "text"}]},
    "ledger": {"column_vindexes": [{"column": "account", "name": "xxhash"}]},
    "customer": {
      "column_vindexes": [{"column": "id", "name": "hash"}],
      "auto_increment": {"column": "id", "sequence": "commerce.customer_seq"}}}}`

func (c *cluster) applyVSchema(keyspace, vschema string) error {
	file := filepath.Join(c.root, "data", "vschema.json")
	if err := os.WriteFile(file, []byte(vschema), 0o644); err != nil {
		return err
	}
	_, err := c.vtctld("ApplyVSchema", "--vschema-file="+file, keyspace)
	return err
}

func (c *cluster) checkSchema() error {
	s := newSession(c.vtgate("commerce"))
	defer s.close()
	for _, table := range []string{"account_seq", "customer_seq"} {
		s.exec("CREATE TABLE " + table + " (id INT PRIMARY KEY, next_id BIGINT, cache BIGINT) COMMENT 'vitess_sequence'")
		s.exec("INSERT INTO "+table+" (id, next_id, cache) VALUES (0, ?, 1000)", 100_000)
	}
	s.exec(`CREATE TABLE customer (id BIGINT PRIMARY KEY, name VARCHAR(50) NOT NULL, visits INT NOT NULL DEFAULT 0,
		note TEXT, made DATETIME(3) DEFAULT CURRENT_TIMESTAMP(3), tags JSON, kind ENUM('new', 'old') DEFAULT 'new',
		price DECIMAL(12,3), KEY (name))`)
	s.exec("CREATE TABLE parent (id INT PRIMARY KEY, name VARCHAR(20))")
	s.exec(`CREATE TABLE child (id INT PRIMARY KEY, parent INT, KEY (parent),
		FOREIGN KEY (parent) REFERENCES parent (id) ON DELETE CASCADE)`)
	if s.err != nil {
		return s.err
	}
	if err := c.applyVSchema("commerce", fmt.Sprintf(vschemaOfCommerce, "unmanaged")); err != nil {
		return err
	}
	// What is sharded has to be known before its tables are made.
	if err := c.applyVSchema("shop", vschemaOfShop); err != nil {
		return err
	}
	s.exec("USE shop")
	s.exec(`CREATE TABLE account (id BIGINT PRIMARY KEY, owner VARCHAR(40) NOT NULL, balance BIGINT NOT NULL)`)
	s.exec(`CREATE TABLE account_owner (owner VARCHAR(40), id BIGINT, keyspace_id VARBINARY(20), PRIMARY KEY (owner, id))`)
	s.exec(`CREATE TABLE ledger (transfer BIGINT, account BIGINT, amount BIGINT NOT NULL, PRIMARY KEY (transfer, account))`)
	if s.err != nil {
		return s.err
	}
	return eventually(20*time.Second, func() error { return c.fillAccounts() })
}

const (
	accounts = 200
	money    = 1000 // of each account at first
)

func (c *cluster) fillAccounts() error {
	s := newSession(c.vtgate("shop"))
	defer s.close()
	var values []string
	for id := 1; id <= accounts; id++ {
		values = append(values, fmt.Sprintf("(%d, 'owner %d', %d)", id, id%50, money))
	}
	s.exec("INSERT INTO account (id, owner, balance) VALUES " + strings.Join(values, ", "))
	return s.err
}

func (c *cluster) checkSharding() error {
	s := newSession(c.vtgate("shop"))
	defer s.close()
	s.expect(fmt.Sprintf("%d,%d", accounts, accounts*money), "SELECT COUNT(*), SUM(balance) FROM account")
	s.expect("3,owner 3 53,owner 3 103,owner 3 153,owner 3", "SELECT id, owner FROM account WHERE owner = 'owner 3' ORDER BY id")
	s.expect("50,4,4", "SELECT COUNT(*), MIN(n), MAX(n) FROM (SELECT owner, COUNT(*) AS n FROM account GROUP BY owner) AS t")
	s.expect("200 199 198", "SELECT id FROM account ORDER BY id DESC LIMIT 3")
	s.expect("200", "SELECT COUNT(*) FROM account a JOIN account_owner o ON a.owner = o.owner AND a.id = o.id")

	// The sequence numbers a row; the lookup table follows what happens to the owner.
	s.exec("INSERT INTO account (owner, balance) VALUES ('guest', 5)")
	s.expect("1,1", "SELECT COUNT(*), MIN(id) >= 100000 FROM account WHERE owner = 'guest'")
	s.exec("UPDATE account SET owner = 'friend' WHERE owner = 'guest'")
	s.expect("0", "SELECT COUNT(*) FROM account WHERE owner = 'guest'")
	s.expect("5", "SELECT balance FROM account WHERE owner = 'friend'")
	s.exec("DELETE FROM account WHERE owner = 'friend'")
	s.expect("0", "SELECT COUNT(*) FROM account_owner WHERE owner = 'friend'")

	s.exec("BEGIN")
	s.exec("UPDATE account SET balance = 0")
	s.expect("0", "SELECT SUM(balance) FROM account")
	s.exec("ROLLBACK")
	s.expect(fmt.Sprint(accounts*money), "SELECT SUM(balance) FROM account")
	if s.err != nil {
		return s.err
	}
	return c.checkShards(shopLow, shopHigh)
}

// The shards' own rows, asked past Vitess: each has some, and together they are all.
func (c *cluster) checkShards(shards ...shard) error {
	total := 0
	for _, shard := range shards {
		s := newSession(c.direct(shard))
		var rows int
		_, err := fmt.Sscan(s.query("SELECT COUNT(*) FROM account"), &rows)
		s.close()
		if s.err != nil {
			return s.err
		}
		if err != nil || rows == 0 {
			return fmt.Errorf("%s has %d accounts", shard.path(), rows)
		}
		total += rows
	}
	if total != accounts {
		return fmt.Errorf("the shards have %d accounts, not %d", total, accounts)
	}
	return nil
}

// A transaction over two shards that Vitess commits in two phases; so are those of the bank.
func (c *cluster) checkAtomicCommit() error {
	s := newSession(c.vtgate("shop"))
	defer s.close()
	s.exec("SET transaction_mode = 'twopc'")
	s.exec("BEGIN")
	s.exec("UPDATE account SET balance = balance - 1 WHERE id <= 100")
	s.exec("UPDATE account SET balance = balance + 1 WHERE id > 100")
	s.exec("COMMIT")
	s.exec("BEGIN")
	s.exec("UPDATE account SET balance = balance + 1 WHERE id <= 100")
	s.exec("UPDATE account SET balance = balance - 1 WHERE id > 100")
	s.exec("COMMIT")
	s.expect(fmt.Sprintf("%d,%d", money, money), "SELECT MIN(balance), MAX(balance) FROM account")
	return s.err
}

// In unmanaged mode a shard's Duramen checks and cascades, in managed mode vtgate does, and where
// they are disallowed there are none.
func (c *cluster) checkForeignKeys() error {
	for _, mode := range []string{"unmanaged", "managed"} {
		if err := c.applyVSchema("commerce", fmt.Sprintf(vschemaOfCommerce, mode)); err != nil {
			return err
		}
		err := eventually(20*time.Second, func() error {
			s := newSession(c.vtgate("commerce"))
			defer s.close()
			if plan := s.query("VEXPLAIN PLAN DELETE FROM parent WHERE id = 1"); strings.Contains(plan, "Cascade") != (mode == "managed") {
				return fmt.Errorf("unexpected plan: %s", plan)
			}
			s.exec("DELETE FROM child")
			s.exec("DELETE FROM parent")
			s.exec("INSERT INTO parent (id) VALUES (1), (2)")
			s.exec("INSERT INTO child (id, parent) VALUES (10, 1), (11, 1), (12, 2)")
			s.refused("1452", "INSERT INTO child (id, parent) VALUES (13, 3)")
			s.exec("DELETE FROM parent WHERE id = 1")
			s.expect("12", "SELECT id FROM child")
			return s.err
		})
		if err != nil {
			return fmt.Errorf("%s: %w", mode, err)
		}
	}
	if err := c.applyVSchema("commerce", fmt.Sprintf(vschemaOfCommerce, "disallow")); err != nil {
		return err
	}
	s := newSession(c.vtgate("commerce"))
	defer s.close()
	err := eventually(20*time.Second, func() error {
		s.err = nil
		s.refused("oreign key", "CREATE TABLE other (id INT PRIMARY KEY, parent INT, FOREIGN KEY (parent) REFERENCES parent (id))")
		return s.err
	})
	if err != nil {
		return err
	}
	return c.applyVSchema("commerce", fmt.Sprintf(vschemaOfCommerce, "unmanaged"))
}
