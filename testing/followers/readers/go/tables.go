package main

import (
	"fmt"
	"os"
	"regexp"
	"strings"
)

// Tables as a follower has them: by `id` where the first column is called so, else how often each row is there.
type Tables struct {
	Rows map[string]map[string][]string
}

func newTables() Tables {
	return Tables{Rows: map[string]map[string][]string{}}
}

func key(cells []string, byID bool) string {
	if byID {
		return cells[0]
	}
	return strings.Join(cells, "\t")
}

func (t Tables) insert(table string, cells []string, byID bool) error {
	rows := t.Rows[table]
	if rows == nil {
		rows = map[string][]string{}
		t.Rows[table] = rows
	}
	k := key(cells, byID)
	if byID && len(rows[k]) > 0 {
		return fmt.Errorf("%s: row %s was there before it was inserted", table, k)
	}
	rows[k] = append(rows[k], strings.Join(cells, "\t"))
	return nil
}

func (t Tables) remove(table string, cells []string, byID bool) error {
	k := key(cells, byID)
	same := t.Rows[table][k]
	if len(same) == 0 {
		return fmt.Errorf("%s: row %v is not there", table, cells)
	}
	if len(same) == 1 {
		delete(t.Rows[table], k)
	} else {
		t.Rows[table][k] = same[1:]
	}
	return nil
}

const name = "((?:`(?:[^`]|``)+`|\\w+)(?:\\.(?:`(?:[^`]|``)+`|\\w+))?)"

var (
	part       = regexp.MustCompile("`(?:[^`]|``)+`|\\w+")
	drop       = regexp.MustCompile(`(?i)^\s*DROP\s+TABLE\s+(?:IF\s+EXISTS\s+)?` + name)
	truncate   = regexp.MustCompile(`(?i)^\s*TRUNCATE\s+(?:TABLE\s+)?` + name)
	rename     = regexp.MustCompile(`(?i)^\s*RENAME\s+TABLE\s+` + name + `\s+TO\s+` + name)
	dropSchema = regexp.MustCompile(`(?i)^\s*DROP\s+(?:DATABASE|SCHEMA)\s+(?:IF\s+EXISTS\s+)?` + name)
)

func full(found, schema string) string {
	parts := part.FindAllString(found, 2)
	for i, p := range parts {
		if p[0] == '`' {
			parts[i] = strings.ReplaceAll(p[1:len(p)-1], "``", "`")
		}
	}
	if len(parts) == 2 {
		return parts[0] + "." + parts[1]
	}
	return schema + "." + parts[0]
}

// definition does what a statement does to whole tables.
func (t Tables) definition(schema, query string) {
	if found := rename.FindStringSubmatch(query); found != nil {
		old, renamed := full(found[1], schema), full(found[2], schema)
		if rows, is := t.Rows[old]; is {
			t.Rows[renamed] = rows
			delete(t.Rows, old)
		}
	} else if found := drop.FindStringSubmatch(query); found != nil {
		delete(t.Rows, full(found[1], schema))
	} else if found := truncate.FindStringSubmatch(query); found != nil {
		delete(t.Rows, full(found[1], schema))
	} else if found := dropSchema.FindStringSubmatch(query); found != nil {
		gone := strings.TrimPrefix(full(found[1], ""), ".") + "."
		for table := range t.Rows {
			if strings.HasPrefix(table, gone) {
				delete(t.Rows, table)
			}
		}
	}
}

func (t Tables) write(path string) error {
	var out strings.Builder
	for table, rows := range t.Rows {
		for _, same := range rows {
			for _, row := range same {
				out.WriteString(table + "\t" + row + "\n")
			}
		}
	}
	return os.WriteFile(path, []byte(out.String()), 0o600)
}
