package ops

import (
	"fmt"
	"time"
)

// Time is a moment on the wire: RFC 3339 in UTC with milliseconds, null for the zero time.
type Time struct{ time.Time }

const timeLayout = "2006-01-02T15:04:05.000Z07:00"

// At wraps t.
func At(t time.Time) Time { return Time{t} }

// MarshalJSON writes t as RFC 3339 with milliseconds.
func (t Time) MarshalJSON() ([]byte, error) {
	if t.IsZero() {
		return []byte("null"), nil
	}
	b := make([]byte, 0, len(timeLayout)+2)
	b = append(b, '"')
	b = t.UTC().AppendFormat(b, timeLayout)
	return append(b, '"'), nil
}

// UnmarshalJSON reads any RFC 3339 time, and null.
func (t *Time) UnmarshalJSON(b []byte) error {
	s := string(b)
	if s == "null" || s == `""` {
		t.Time = time.Time{}
		return nil
	}
	if len(s) < 2 || s[0] != '"' || s[len(s)-1] != '"' {
		return fmt.Errorf("time %.40q: not a string", s)
	}
	p, err := time.Parse(time.RFC3339Nano, s[1:len(s)-1])
	if err != nil {
		return fmt.Errorf("time %.40q: not RFC 3339", s)
	}
	t.Time = p
	return nil
}

// Millis is d in whole milliseconds, rounded up so that something that took time never reads as nothing.
func Millis(d time.Duration) int64 {
	if d <= 0 {
		return 0
	}
	return int64((d + time.Millisecond - 1) / time.Millisecond)
}
