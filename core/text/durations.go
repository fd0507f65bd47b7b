package text

import (
	"fmt"
	"strings"
	"time"

	"github.com/dustin/go-humanize/english"
)

// Duration is d for people, in its two largest units, without a second one that is too small to matter. Parts of a
// millisecond count as one.
func Duration(d time.Duration) string {
	const day = 24 * time.Hour
	switch {
	case d <= 0:
		return "0s"
	case d < time.Second:
		return fmt.Sprintf("%dms", (d+time.Millisecond-1)/time.Millisecond)
	case d < 10*time.Second:
		return fmt.Sprintf("%.1fs", d.Seconds())
	case d < time.Minute:
		return fmt.Sprintf("%ds", d/time.Second)
	case d < time.Hour:
		return fmt.Sprintf("%dm%02ds", d/time.Minute, d%time.Minute/time.Second)
	case d < day:
		return fmt.Sprintf("%dh%02dm", d/time.Hour, d%time.Hour/time.Minute)
	}
	return fmt.Sprintf("%dd%02dh", d/day, d%day/time.Hour)
}

// Exact is d as Go writes it, less the zero parts: "1h", not "1h0m0s". It can be read back.
func Exact(d time.Duration) string {
	s := d.String()
	if strings.HasSuffix(s, "m0s") {
		s = strings.TrimSuffix(s, "0s")
	}
	if strings.HasSuffix(s, "h0m") {
		s = strings.TrimSuffix(s, "0m")
	}
	return s
}

// Millis is Duration of a number of milliseconds.
func Millis(ms int64) string { return Duration(time.Duration(ms) * time.Millisecond) }

// Ago is Duration of the time since t, empty for no time.
func Ago(t time.Time) string {
	if t.IsZero() {
		return ""
	}
	return Duration(time.Since(t))
}

// Until is Duration of the time to t, empty for no time or one that is over.
func Until(t time.Time) string {
	if t.IsZero() || !t.After(time.Now()) {
		return ""
	}
	return Duration(time.Until(t))
}

// Moment is t on the local clock, empty for no time.
func Moment(t time.Time) string {
	if t.IsZero() {
		return ""
	}
	return t.Local().Format(time.DateTime)
}

// Count is n with its noun: "1 session", "2 sessions", "0 processes".
func Count(n int, noun string) string { return english.Plural(n, noun, "") }
