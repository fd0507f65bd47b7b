package views

import (
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/charmbracelet/x/ansi"

	"gatewaytui/core/ops"
	"gatewaytui/core/term"
)

// maxShown is how much of one untrusted text is looked at, in runes: more than the widest screen has cells.
const maxShown = 600

// shown is untrusted text on its way into a cell.
func shown(s string) string { return term.Clean(s, maxShown) }

// or is s, or what stands for an empty one.
func or(s, instead string) string {
	if s == "" {
		return instead
	}
	return s
}

// wrap breaks text into lines of at most w cells, at spaces where there are any.
func wrap(text string, w int) []string {
	if w < 1 || text == "" {
		return nil
	}
	if len(text) <= w && printable(text) { // as most texts are; it costs far less
		return []string{strings.TrimRight(text, " ")}
	}
	lines := strings.Split(ansi.Wrap(text, w, ""), "\n")
	for i, line := range lines {
		lines[i] = strings.TrimRight(line, " ")
	}
	return lines
}

// tenths is a short duration with one decimal: 10.5s. From 100 s on it is a clock.
func tenths(d time.Duration) string {
	d = max(d, 0)
	if d >= 100*time.Second {
		return clock(d)
	}
	return fmt.Sprintf("%d.%ds", d/time.Second, d%time.Second/(100*time.Millisecond))
}

// budget is a planned duration: 15s, 0.5s, 2:00.
func budget(d time.Duration) string {
	if d = max(d, 0); d%time.Second == 0 && d < 100*time.Second {
		return fmt.Sprintf("%ds", d/time.Second)
	}
	return tenths(d)
}

// count is "1 adapter", "2 adapters"; a name that is a plural already stays.
func count(n int, what string) string {
	if n == 1 || strings.HasSuffix(what, "s") {
		return fmt.Sprintf("%d %s", n, what)
	}
	return fmt.Sprintf("%d %ss", n, what)
}

// names lists a few words: "a", "a and b", "a, b and 3 more".
func names(list []string, most int) string {
	n := len(list)
	if n > most {
		list = append(slices.Clone(list[:most]), fmt.Sprintf("%d more", n-most))
	}
	if len(list) < 2 {
		return strings.Join(list, "")
	}
	last := len(list) - 1
	return strings.Join(list[:last], ", ") + " and " + list[last]
}

// unknown stands for what a row does not tell or tells wrongly.
const unknown = "unknown"

// skew is how far a moment may lie in the future and still be now: Now may be cut to a tick, a row's time is not.
const skew = 10 * time.Second

// ago is how long before now t was; ok is false if that is unknown: t is zero or in the future.
func ago(now time.Time, t ops.Time) (d time.Duration, ok bool) {
	if t.IsZero() {
		return 0, false
	}
	d = now.Sub(t.Time)
	if d < -skew {
		return 0, false
	}
	return max(d, 0), true
}

// sinceText is the age of something that happened, in steps that leave most lines of a list as they were a second ago:
// "now", "<1m", "4m", "3h", "2d 04h"; "-" if it never happened.
func sinceText(now time.Time, t ops.Time) string {
	if t.IsZero() {
		return "-"
	}
	d, ok := ago(now, t)
	switch {
	case !ok:
		return unknown
	case d < 10*time.Second:
		return "now"
	case d < time.Minute:
		return "<1m"
	}
	return coarse(d)
}

// ageText is how long something has lasted: "0:42", "3:12", "1:02:03", "2d 04h".
func ageText(ms int64) string {
	if ms < 0 || ms > math.MaxInt64/int64(time.Millisecond) {
		return unknown
	}
	return span(time.Duration(ms) * time.Millisecond)
}

// span is clock in at most seven cells: from a day on it has days and hours.
func span(d time.Duration) string {
	if d < 24*time.Hour {
		return clock(d)
	}
	return daysHours(d)
}

// daysHours is a duration of at least a day: "2d 04h", and "120d" from a hundred days on.
func daysHours(d time.Duration) string {
	days, hours := strconv.Itoa(int(d/(24*time.Hour))), int(d/time.Hour%24)
	if d >= 100*24*time.Hour {
		return days + "d"
	}
	return days + "d " + string([]byte{'0' + byte(hours/10), '0' + byte(hours%10)}) + "h"
}

func coarse(d time.Duration) string {
	switch {
	case d < time.Hour:
		return strconv.Itoa(int(d/time.Minute)) + "m"
	case d < 24*time.Hour:
		return strconv.Itoa(int(d/time.Hour)) + "h"
	}
	return daysHours(d)
}

// clockSince is clock of the time since t: "-" if t is not set, "unknown" if it lies in the future.
func clockSince(now time.Time, t ops.Time) string {
	if t.IsZero() {
		return "-"
	}
	d, ok := ago(now, t)
	if !ok {
		return unknown
	}
	return clock(d)
}

// short is a count in few cells: "702", "41.2k", "3.4M".
func short(n int64) string {
	switch {
	case n < 0:
		return unknown
	case n < 1000:
		return strconv.FormatInt(n, 10)
	case n < 999_950:
		return strconv.FormatFloat(float64(n)/1e3, 'f', 1, 64) + "k"
	case n < 999_950_000:
		return strconv.FormatFloat(float64(n)/1e6, 'f', 1, 64) + "M"
	}
	return strconv.FormatFloat(float64(n)/1e9, 'f', 1, 64) + "G"
}

// money is an amount with two decimals: "$3.20", "3.20 EUR", "<$0.01".
func money(n float64, currency string) string {
	if !(n >= 0 && n <= 1e12) { // NaN is neither
		return unknown
	}
	text, less := strconv.FormatFloat(n, 'f', 2, 64), ""
	if n > 0 && n < 0.005 {
		text, less = "0.01", "<"
	}
	switch currency = term40(currency); currency {
	case "":
		return less + text
	case "USD":
		return less + "$" + text
	}
	return less + text + " " + currency
}

// briefly is a count without decimals, in at most four cells: "702", "41k", "3M".
func briefly(n int64) string {
	switch {
	case n < 0:
		return unknown
	case n < 1000:
		return strconv.FormatInt(n, 10)
	case n < 999_500:
		return strconv.FormatInt((n+500)/1000, 10) + "k"
	}
	return strconv.FormatInt((n+500_000)/1_000_000, 10) + "M"
}

func number(n int) string {
	if n < 0 {
		return unknown
	}
	return strconv.Itoa(n)
}

var units = []string{" KiB", " MiB", " GiB", " TiB", " PiB", " EiB"}

// size is a number of bytes: "700 B", "3.0 MiB". A frame has one in each row, so it is made without fmt.
func size(n int64) string {
	if n < 0 {
		return unknown
	}
	if n < 1024 {
		return strconv.FormatInt(n, 10) + " B"
	}
	f, unit := float64(n)/1024, 0
	for ; f >= 1023.5 && unit < len(units)-1; unit++ {
		f /= 1024
	}
	digits := 0
	if f < 9.95 {
		digits = 1
	}
	return strconv.FormatFloat(f, 'f', digits, 64) + units[unit]
}

func percent(p float64) string {
	if math.IsNaN(p) || p < 0 || p > 1e6 {
		return unknown
	}
	return strconv.FormatFloat(p, 'f', 0, 64) + "%"
}

// clock is a duration that a person watches.
func clock(d time.Duration) string { return ops.Clock(d) }

// term40 is a short untrusted word: a kind, a name of a phase.
func term40(s string) string { return term.Clean(s, 40) }

// spanSince is span of the time since t: empty if t is not set, "unknown" if it lies in the future.
func spanSince(now time.Time, t ops.Time) string {
	if t.IsZero() {
		return ""
	}
	d, ok := ago(now, t)
	if !ok {
		return unknown
	}
	return span(d)
}
