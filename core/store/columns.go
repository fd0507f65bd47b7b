package store

import (
	"database/sql/driver"
	"encoding/json"
	"fmt"
	"time"
)

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

// object is JSON in a column, null for none.
type object json.RawMessage

// Value is for database/sql.
func (o object) Value() (driver.Value, error) {
	if len(o) == 0 {
		return nil, nil
	}
	return string(o), nil
}

// Scan is for database/sql.
func (o *object) Scan(v any) error {
	switch v := v.(type) {
	case nil:
		*o = nil
	case string:
		*o = object(v)
	default:
		return fmt.Errorf("a JSON column holds %T", v)
	}
	return nil
}
