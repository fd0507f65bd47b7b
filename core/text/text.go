// Package text has what several rooms do with words.
package text

import (
	"fmt"
	"net/netip"
	"strings"
	"time"

	"github.com/dustin/go-humanize/english"
)

// maxCompared bounds how much of each word Nearest compares, in bytes.
const maxCompared = 64

// Nearest returns the word of known that takes the fewest edits to make of name; the first of several, empty if known is
// empty. It compares the first maxCompared bytes of each.
func Nearest(name string, known []string) string {
	best, least := "", -1
	name = name[:min(len(name), maxCompared)]
	for _, k := range known {
		if d := Distance(name, k[:min(len(k), maxCompared)]); least < 0 || d < least {
			best, least = k, d
		}
	}
	return best
}

// Distance is the Levenshtein distance of a and b, in bytes. It costs the product of their lengths: callers bound them.
func Distance(a, b string) int {
	row := make([]int, len(b)+1)
	for j := range row {
		row[j] = j
	}
	for i := range len(a) {
		diagonal := row[0]
		row[0] = i + 1
		for j := range len(b) {
			change := diagonal
			if a[i] != b[j] {
				change++
			}
			diagonal = row[j+1]
			row[j+1] = min(change, row[j]+1, row[j+1]+1)
		}
	}
	return row[len(b)]
}

// maxEdits is how many edits away a word is still what was meant.
const maxEdits = 2

// Suggest is the word of known that was probably meant by name: one that name begins, or that is at most two edits away; empty if
// none is. Upper and lower case are alike.
func Suggest(name string, known []string) string {
	if len(name) < 2 {
		return ""
	}
	typed := strings.ToLower(name[:min(len(name), maxCompared)])
	for edits := 1; edits <= maxEdits; edits++ {
		for _, k := range known {
			word := strings.ToLower(k[:min(len(k), maxCompared)])
			if strings.HasPrefix(word, typed) || Distance(typed, word) <= edits {
				return k
			}
		}
	}
	return ""
}

// ListenNetwork is the network to listen on for an address, host:port. An IPv4 address, 0.0.0.0 included, is IPv4 alone:
// net.Listen would take 0.0.0.0 for every address, IPv6 ones too (HF33).
func ListenNetwork(address string) string {
	if at, err := netip.ParseAddrPort(address); err == nil && at.Addr().Is4() {
		return "tcp4"
	}
	return "tcp"
}

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

// Plural returns one for n = 1, else more.
func Plural(n int, one, more string) string { return english.PluralWord(n, one, more) }

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
