package views

import (
	"math"
	"testing"
	"time"

	"gatewaytui/core/ops"
)

func TestAgesAndNumbersFitTheirCells(t *testing.T) {
	in := func(d time.Duration) ops.Time { return ops.At(noon.Add(d)) }
	for _, tc := range []struct{ name, got, want string }{
		{"nothing yet", sinceText(noon, ops.Time{}), "-"},
		{"just now", sinceText(noon, before(9*time.Second)), "now"},
		{"a clock that is a tick ahead", sinceText(noon, in(time.Second)), "now"},
		{"the future", sinceText(noon, in(time.Minute)), unknown},
		{"under a minute", sinceText(noon, before(59*time.Second)), "<1m"},
		{"minutes", sinceText(noon, before(59*time.Minute)), "59m"},
		{"hours", sinceText(noon, before(23*time.Hour+59*time.Minute)), "23h"},
		{"days", sinceText(noon, before(52*time.Hour)), "2d 04h"},
		{"many days", sinceText(noon, before(120*24*time.Hour)), "120d"},
		{"seconds of age", ageText(42_900), "0:42"},
		{"days of age", ageText((52 * time.Hour).Milliseconds()), "2d 04h"},
		{"few tokens of a context", briefly(702), "702"},
		{"thousands of them", briefly(15_400), "15k"},
		{"almost a million of them", briefly(999_500), "1M"},

		{"a negative age", ageText(-1), unknown},
		{"an age beyond every clock", ageText(math.MaxInt64), unknown},
		{"a watch under a minute", clock(9 * time.Second), "0:09"},
		{"a watch of hours", clock(time.Hour + 2*time.Minute + 3*time.Second), "1:02:03"},
		{"a watch of days", clock(76*time.Hour + 12*time.Minute), "3d 04:12"},
		{"a watch below zero", clock(-time.Hour), "0:00"},
		{"a watch that was not started", clockSince(noon, ops.Time{}), "-"},
		{"a watch started in the future", clockSince(noon, in(time.Hour)), unknown},
		{"few", short(999), "999"},
		{"thousands", short(41_234), "41.2k"},
		{"almost a million", short(999_949), "999.9k"},
		{"a million", short(999_950), "1.0M"},
		{"as many as there are", short(math.MaxInt64), "9223372036.9G"},
		{"less than none", short(-1), unknown},
		{"no bytes", size(0), "0 B"},
		{"some bytes", size(1023), "1023 B"},
		{"kibibytes", size(1024), "1.0 KiB"},
		{"ten kibibytes", size(10 << 10), "10 KiB"},
		{"almost a mebibyte", size(1<<20 - 1), "1.0 MiB"},
		{"all bytes", size(math.MaxInt64), "8.0 EiB"},
		{"fewer bytes than none", size(-1), unknown},
		{"no number", percent(math.NaN()), unknown},
		{"an endless number", percent(math.Inf(1)), unknown},
		{"less than nothing", percent(-1), unknown},
		{"four cores", percent(398.7), "399%"},
	} {
		if tc.got != tc.want {
			t.Errorf("%s: %q, not %q", tc.name, tc.got, tc.want)
		}
	}
}
