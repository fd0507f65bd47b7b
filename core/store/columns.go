package store

import (
	"database/sql/driver"
	"fmt"
	"math"
	"strings"
	"time"
)

// record is a row as a struct. fields are where its columns are read into and written from, in the order of the query.
type record[T any] interface {
	*T
	fields() []any
}

// insertion is a statement that inserts a row with these columns. into names the table, and conflict follows the values.
func insertion(into, columns, conflict string) string {
	return into + " (" + columns + ") VALUES (?" + strings.Repeat(", ?", strings.Count(columns, ",")) + ") " + conflict
}

// ticks is an unsigned number in a column, which has signed ones alone.
type ticks uint64

// Value is for database/sql.
func (n ticks) Value() (driver.Value, error) { return int64(n), nil }

// Scan is for database/sql.
func (n *ticks) Scan(v any) error {
	signed, is := v.(int64)
	if !is {
		return fmt.Errorf("a column of numbers holds %T", v)
	}
	*n = ticks(signed)
	return nil
}

// stamp is a time in a column: microseconds since 1970, null for the zero time. It is read back in UTC.
type stamp time.Time

// Value is for database/sql.
func (s stamp) Value() (driver.Value, error) {
	t := time.Time(s)
	if t.IsZero() {
		return nil, nil
	}
	return t.UnixMicro(), nil
}

// Scan is for database/sql.
func (s *stamp) Scan(v any) error {
	switch v := v.(type) {
	case nil:
		*s = stamp{}
	case int64:
		*s = stamp(time.UnixMicro(v).UTC())
	default:
		return fmt.Errorf("a time column holds %T", v)
	}
	return nil
}

// money is an amount in a column: billionths, null where known is false.
type money struct {
	amount *float64
	known  *bool
}

const billion = 1e9

// Value is for database/sql.
func (m money) Value() (driver.Value, error) {
	if !*m.known {
		return nil, nil
	}
	return int64(math.Round(min(*m.amount*billion, math.MaxInt64/2))), nil
}

// Scan is for database/sql.
func (m money) Scan(v any) error {
	billionths, is := v.(int64)
	if v != nil && !is {
		return fmt.Errorf("a column of money holds %T", v)
	}
	*m.amount, *m.known = float64(billionths)/billion, is
	return nil
}

// optional is text in a column, null where it is empty.
type optional string

// Value is for database/sql.
func (o optional) Value() (driver.Value, error) {
	if o == "" {
		return nil, nil
	}
	return string(o), nil
}

// Scan is for database/sql.
func (o *optional) Scan(v any) error {
	text, is := v.(string)
	if v != nil && !is {
		return fmt.Errorf("a text column holds %T", v)
	}
	*o = optional(text)
	return nil
}
