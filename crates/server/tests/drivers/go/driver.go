// go-sql-driver/mysql: text protocol and prepared statements, TLS.
package main

import (
	"bytes"
	"context"
	"crypto/tls"
	"crypto/x509"
	"database/sql"
	"errors"
	"fmt"
	"os"
	"strings"
	"sync"

	"github.com/go-sql-driver/mysql"
)

var types = []struct {
	name      string
	high, low string
}{
	{"TINYINT", "127", "-128"},
	{"TINYINT UNSIGNED", "255", "0"},
	{"SMALLINT", "32767", "-32768"},
	{"MEDIUMINT", "8388607", "-8388608"},
	{"INT", "2147483647", "-2147483648"},
	{"INT UNSIGNED", "4294967295", "0"},
	{"BIGINT", "9223372036854775807", "-9223372036854775808"},
	{"BIGINT UNSIGNED", "18446744073709551615", "0"},
	{"DECIMAL(30,10)", "12345678901234567890.0123456789", "-0.0000000001"},
	{"FLOAT", "1.5", "-0.25"},
	{"DOUBLE", "2.5", "-0.125"},
	{"CHAR(10)", "ten chars!", ""},
	{"VARCHAR(100)", "größer als ascii: 語", "quote ' and \\"},
	{"VARBINARY(100)", "\x00\x01\xfe\xff", ""},
	{"TEXT", "text\nwith lines", ""},
	{"BLOB", strings.Repeat("\xfe\x00", 300), ""},
	{"DATE", "9999-12-31", "1000-01-01"},
	{"TIME(6)", "838:59:58.999999", "-01:02:03.000001"},
	{"DATETIME(6)", "9999-12-31 23:59:59.999999", "1000-01-01 00:00:00.000000"},
	{"TIMESTAMP NULL", "2037-01-19 03:14:07", "1970-01-02 00:00:00"},
	{"YEAR", "2155", "1901"},
	{"YEAR", "0000", "1970"},
	{"DECIMAL(65,30)", strings.Repeat("9", 35) + "." + strings.Repeat("9", 30), "-" + strings.Repeat("9", 35) + "." + strings.Repeat("9", 30)},
	{"DECIMAL(65,0)", strings.Repeat("9", 65), "-" + strings.Repeat("9", 65)},
	{"BIT(1)", "\x01", "\x00"},
	{"BIT(64)", "\xff\xfe\xfd\xfc\xfb\xfa\xf9\x80", "\x00\x00\x00\x00\x00\x00\x00\x01"},
	{"ENUM('a','größer','c d')", "größer", "a"},
	{"SET('x','y','z')", "x,z", ""},
	{"JSON", `{"a": [1, 2.5, null], "ö": "\"quoted\""}`, `-9223372036854775808`},
	{"TIME", "-838:59:59", "00:00:00"},
	{"DATE", "0000-00-00", "2024-00-00"},
	{"DATETIME(3)", "0000-00-00 00:00:00.000", "2024-02-00 01:02:03.450"},
	{"TIMESTAMP(2) NULL", "0000-00-00 00:00:00.00", "2037-12-31 23:59:59.99"},
}

// Zero dates are for sessions that allow them.
const zeroDates = "'ONLY_FULL_GROUP_BY,STRICT_TRANS_TABLES'"

func check(err error) {
	if err != nil {
		panic(err)
	}
}

func equal(found, expected any, what string) {
	if found != expected {
		panic(fmt.Sprintf("%s: found %#v, expected %#v", what, found, expected))
	}
}

func fails(number uint16, err error) {
	var refused *mysql.MySQLError
	if !errors.As(err, &refused) || refused.Number != number {
		panic(fmt.Sprintf("%v instead of error %d", err, number))
	}
}

func config(change func(*mysql.Config)) *sql.DB {
	c := mysql.NewConfig()
	c.Net, c.Addr = "tcp", "127.0.0.1:"+os.Getenv("DRIVER_PORT")
	c.Params = map[string]string{"sql_mode": zeroDates}
	c.User, c.Passwd, c.DBName = os.Getenv("DRIVER_USER"), os.Getenv("DRIVER_PASSWORD"), os.Getenv("DRIVER_SCHEMA")
	if change != nil {
		change(c)
	}
	connector, err := mysql.NewConnector(c)
	check(err)
	return sql.OpenDB(connector)
}

// Values both ways: with parameters the driver prepares, unless it writes them into the text itself.
func allTypes(db *sql.DB, what string) {
	_, err := db.Exec("DROP TABLE IF EXISTS go_types")
	check(err)
	var columns, names, marks []string
	var high, low, null []any
	for i, t := range types {
		names = append(names, fmt.Sprintf("c%d", i))
		columns = append(columns, fmt.Sprintf("c%d %s", i, t.name))
		marks = append(marks, "?")
		high, low, null = append(high, t.high), append(low, t.low), append(null, nil)
	}
	_, err = db.Exec("CREATE TABLE go_types (id INT AUTO_INCREMENT PRIMARY KEY, " + strings.Join(columns, ", ") + ")")
	check(err)
	list := strings.Join(names, ", ")
	for _, row := range [][]any{high, low, null} {
		done, err := db.Exec("INSERT INTO go_types ("+list+") VALUES ("+strings.Join(marks, ", ")+")", row...)
		check(err)
		affected, _ := done.RowsAffected()
		equal(affected, int64(1), "affected")
	}
	for n, expected := range [][]any{high, low, null} {
		found := make([]sql.NullString, len(types))
		places := make([]any, len(types))
		for i := range found {
			places[i] = &found[i]
		}
		check(db.QueryRow("SELECT "+list+" FROM go_types WHERE id = ?", n+1).Scan(places...))
		for i, value := range found {
			if expected[i] == nil {
				equal(value.Valid, false, what+" "+types[i].name)
			} else {
				if types[i].name == "YEAR" && value.String == "0" {
					value.String = "0000" // in the binary protocol it is a number
				}
				equal(value.String, expected[i].(string), what+" "+types[i].name)
			}
		}
	}
}

func numbers(db *sql.DB) {
	statement, err := db.Prepare("SELECT ?, ?, ?, ?, ?")
	check(err)
	defer statement.Close()
	for i := int64(0); i < 50; i++ {
		var a int64
		var b uint64
		var c float64
		var d string
		var e sql.NullString
		check(statement.QueryRow(-i, uint64(1<<63)+uint64(i), float64(i)/4, fmt.Sprint("text ", i), nil).Scan(&a, &b, &c, &d, &e))
		equal(a, -i, "int")
		equal(b, uint64(1<<63)+uint64(i), "uint")
		equal(c, float64(i)/4, "double")
		equal(d, fmt.Sprint("text ", i), "string")
		equal(e.Valid, false, "null")
	}
}

func big(db *sql.DB) {
	blob := bytes.Repeat([]byte("some bytes \x00\xff!"), 17<<20/14)
	_, err := db.Exec("DROP TABLE IF EXISTS go_big")
	check(err)
	_, err = db.Exec("CREATE TABLE go_big (id INT PRIMARY KEY, b LONGBLOB)")
	check(err)
	_, err = db.Exec("INSERT INTO go_big VALUES (1, ?)", blob)
	check(err)
	var found []byte
	check(db.QueryRow("SELECT b FROM go_big WHERE id = ?", 1).Scan(&found))
	if !bytes.Equal(found, blob) {
		panic("a packet of 17 MiB came back changed")
	}
}

func transactions(db *sql.DB) {
	for _, text := range []string{"DROP TABLE IF EXISTS go_t", "CREATE TABLE go_t (id INT PRIMARY KEY)"} {
		_, err := db.Exec(text)
		check(err)
	}
	for id, end := range []func(*sql.Tx) error{(*sql.Tx).Rollback, (*sql.Tx).Commit} {
		tx, err := db.BeginTx(context.Background(), &sql.TxOptions{Isolation: sql.LevelRepeatableRead})
		check(err)
		_, err = tx.Exec("INSERT INTO go_t VALUES (?)", id)
		check(err)
		check(end(tx))
	}
	var count, id int
	check(db.QueryRow("SELECT COUNT(*), MAX(id) FROM go_t").Scan(&count, &id))
	equal(count, 1, "rows")
	equal(id, 1, "id")
	_, err := db.Exec("INSERT INTO go_t VALUES (?)", 1)
	fails(1062, err)
	_, err = db.Exec("SELECT * FROM missing")
	fails(1146, err)
	_, err = db.Prepare("SELECT * FROM missing")
	fails(1146, err)
	_, err = db.Exec("SELEKT 1")
	fails(1064, err)
}

func many(db *sql.DB) {
	db.SetMaxOpenConns(100)
	var all sync.WaitGroup
	var ids sync.Map
	var arrived sync.WaitGroup
	arrived.Add(100)
	for i := 0; i < 100; i++ {
		all.Add(1)
		go func() {
			defer all.Done()
			connection, err := db.Conn(context.Background())
			check(err)
			defer connection.Close()
			var id int
			check(connection.QueryRowContext(context.Background(), "SELECT CONNECTION_ID()").Scan(&id))
			ids.Store(id, true)
			arrived.Done()
			arrived.Wait()
		}()
	}
	all.Wait()
	count := 0
	ids.Range(func(any, any) bool { count++; return true })
	equal(count, 100, "connections")
}

func main() {
	db := config(nil)
	allTypes(db, "prepared")
	numbers(db)
	big(db)
	transactions(db)
	many(db)
	text := config(func(c *mysql.Config) { c.InterpolateParams = true; c.MaxAllowedPacket = 64 << 20 })
	allTypes(text, "text")
	big(text)

	pem, err := os.ReadFile(os.Getenv("DRIVER_CA"))
	check(err)
	roots := x509.NewCertPool()
	equal(roots.AppendCertsFromPEM(pem), true, "the certificate")
	check(mysql.RegisterTLSConfig("ours", &tls.Config{RootCAs: roots, ServerName: "localhost"}))
	secure := config(func(c *mysql.Config) { c.TLSConfig = "ours" })
	var user string
	check(secure.QueryRow("SELECT CURRENT_USER()").Scan(&user))
	equal(user, os.Getenv("DRIVER_USER")+"@localhost", "user")

	several := config(func(c *mysql.Config) { c.MultiStatements = true })
	rows, err := several.Query("SELECT 1; SELECT 'two'")
	check(err)
	var found []string
	for {
		for rows.Next() {
			var value string
			check(rows.Scan(&value))
			found = append(found, value)
		}
		if !rows.NextResultSet() {
			break
		}
	}
	equal(strings.Join(found, " "), "1 two", "results")
	check(rows.Close())

	fails(1045, config(func(c *mysql.Config) { c.Passwd = "wrong" }).Ping())
	fmt.Println("ok go-sql-driver/mysql")
}
