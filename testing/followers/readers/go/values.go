package main

import (
	"encoding/hex"
	"fmt"
	"strconv"
	"strings"

	"github.com/shopspring/decimal"
)

// Column is what the words for a value depend on.
type Column struct {
	Kind     Kind
	Unsigned bool
	Medium   bool
	Latin1   bool
	Scale    int32
	Members  []string
}

// Kind tells apart the types whose Go values look alike.
type Kind int

const (
	Plain Kind = iota
	Text
	Bytes
	Bit
	Enum
	Set
)

// text says a value in the words that all readers' programs agree on.
func (c Column) text(value any) string {
	switch v := value.(type) {
	case nil:
		return "NULL"
	case decimal.Decimal:
		return v.StringFixed(c.Scale)
	case float32:
		return strconv.FormatFloat(float64(v), 'g', -1, 64)
	case float64:
		return strconv.FormatFloat(v, 'g', -1, 64)
	case []byte:
		return c.bytes(v)
	case string:
		if c.Kind == Plain {
			return v
		}
		return c.bytes([]byte(v))
	case int8:
		if c.Unsigned {
			return fmt.Sprint(uint8(v))
		}
	case int16:
		if c.Unsigned {
			return fmt.Sprint(uint16(v))
		}
	case int32:
		if c.Unsigned && c.Medium {
			return fmt.Sprint(uint32(v) & 0xFFFFFF)
		}
		if c.Unsigned {
			return fmt.Sprint(uint32(v))
		}
	case int64:
		return c.number(v)
	}
	return fmt.Sprint(value)
}

func (c Column) bytes(v []byte) string {
	if !c.Latin1 {
		return hex.EncodeToString(v)
	}
	// The events have a column's text in the column's character set, and so has the reader.
	var utf8 strings.Builder
	for _, b := range v {
		utf8.WriteRune(rune(b))
	}
	return hex.EncodeToString([]byte(utf8.String()))
}

func (c Column) number(v int64) string {
	switch c.Kind {
	case Bit:
		return strconv.FormatUint(uint64(v), 10)
	case Enum:
		if v < 1 || int(v) > len(c.Members) {
			return ""
		}
		return hex.EncodeToString([]byte(c.Members[v-1]))
	case Set:
		var members []string
		for i, member := range c.Members {
			if v&(1<<i) != 0 {
				members = append(members, member)
			}
		}
		return hex.EncodeToString([]byte(strings.Join(members, ",")))
	}
	if c.Unsigned {
		return strconv.FormatUint(uint64(v), 10)
	}
	return strconv.FormatInt(v, 10)
}
