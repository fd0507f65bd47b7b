package text

import (
	"strings"
	"time"
)

// Plural returns one for n = 1, else more.
func Plural(n int, one, more string) string {
	if n == 1 {
		return one
	}
	return more
}

// Age is the time since t, for people: to the second, and from an hour on to the minute.
func Age(t time.Time) string {
	d := time.Since(t)
	if d < time.Second {
		return "under a second"
	}
	if d >= time.Hour {
		return Exact(d.Round(time.Minute))
	}
	return Exact(d.Round(time.Second))
}

// Words turns a name of the wire into words.
func Words[T ~string](s T) string { return strings.ReplaceAll(string(s), "_", " ") }
