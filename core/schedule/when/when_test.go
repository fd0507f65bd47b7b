package when

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	"gatewaytui/fixtures/soak"
)

// zones have clocks that go forward and back by an hour, at midnight, by half an hour and in the other half of the year, and never.
var zones = []string{"Europe/Vienna", "Africa/Cairo", "Australia/Lord_Howe", "America/New_York", "America/Havana", "Asia/Kolkata", "UTC"}

func zone(t *testing.T, name string) *time.Location {
	t.Helper()
	z, err := Zone(name)
	if err != nil {
		t.Fatal(err)
	}
	return z
}

func parse(t *testing.T, text, zoneName string) Schedule {
	t.Helper()
	s, err := Parse(text, zone(t, zoneName))
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// year is the year that the tests go through, with a change of the clocks in each direction.
func year() (from, to time.Time) {
	return time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC), time.Date(2027, 1, 1, 0, 0, 0, 0, time.UTC)
}

// clock is what the clocks of a zone showed, minute by minute from a time on.
type clock struct {
	from  time.Time
	faces []time.Time
	// first has, for each local minute from faces[0] on, the number of the first minute that shows it; -1: none does.
	first []int
}

func between(z *time.Location, from, to time.Time) clock {
	const edge = 48 * time.Hour
	c := clock{from: from.Add(-edge)}
	for at := c.from; at.Before(to.Add(edge)); at = at.Add(time.Minute) {
		c.faces = append(c.faces, face(at.In(z)))
	}
	c.first = slices.Repeat([]int{-1}, len(c.faces)+2*24*60)
	for i, local := range c.faces {
		if n := c.number(local); c.first[n] < 0 {
			c.first[n] = i
		}
	}
	return c
}

// number is the number of a local minute.
func (c clock) number(local time.Time) int { return int(local.Sub(c.faces[0]) / time.Minute) }

// at is the first minute at which clocks show a local time, or the one after the gap that it is in.
func (c clock) at(local time.Time) time.Time {
	i := c.first[c.number(local)]
	if i < 0 {
		i = slices.IndexFunc(c.faces, func(f time.Time) bool { return f.After(local) })
	}
	return c.minute(i)
}

func (c clock) minute(i int) time.Time { return c.from.Add(time.Duration(i) * time.Minute) }

// due is when an expression is due by the promise of the package, read off the clocks.
func (c clock) due(s Schedule, from, to time.Time) (due []time.Time) {
	within := func(at time.Time) bool { return at.After(from) && at.Before(to) }
	if s.hourly {
		for i, local := range c.faces {
			if at := c.minute(i); within(at) && named(s, local) {
				due = append(due, at)
			}
		}
		return due
	}
	for local := s.spec.Next(c.faces[0]); local.Before(c.faces[len(c.faces)-1]); local = s.spec.Next(local) {
		at := c.at(local)
		if within(at) && (len(due) == 0 || !due[len(due)-1].Equal(at)) {
			due = append(due, at)
		}
	}
	return due
}

// named reports whether an expression names a local time, read off its fields.
func named(s Schedule, local time.Time) bool {
	const star = 1 << 63
	has := func(field uint64, n int) bool { return field&(1<<n) != 0 }
	day, weekday := has(s.spec.Dom, local.Day()), has(s.spec.Dow, int(local.Weekday()))
	if (s.spec.Dom|s.spec.Dow)&star == 0 {
		day = day || weekday
	} else {
		day = day && weekday
	}
	return day && has(s.spec.Minute, local.Minute()) && has(s.spec.Hour, local.Hour()) && has(s.spec.Month, int(local.Month()))
}

func TestHR8_InAYearWithTwoChangesOfTheClocksEachTimeIsDueOnce(t *testing.T) {
	expressions := []string{"30 2 * * *", "0 0 * * *", "15 1,2,3 * * mon-fri", "*/20 2 * * *", "0 * * * *", "*/7 * * * *", "0 */6 * * *", "0 8 * * 7", "45 23 28-31 * *", "@daily", "@hourly", "59 0-4 * 3,4,10,11 *"}
	for _, name := range zones[:soak.Count(t, 3, len(zones))] {
		z := zone(t, name)
		from, to := year()
		c := between(z, from, to)
		for _, text := range expressions {
			t.Run(name+" "+text, func(t *testing.T) {
				s := parse(t, text, name)
				want := c.due(s, from, to)
				var got []time.Time
				for at := s.Next(from, time.Time{}); at.Before(to); at = s.Next(at, time.Time{}) {
					got = append(got, at.UTC())
				}
				if len(want) < 20 || !slices.EqualFunc(got, want, time.Time.Equal) {
					t.Errorf("it is due %d times; by the clocks, %d times", len(got), len(want))
					for i := range min(len(got), len(want)) {
						if !got[i].Equal(want[i]) {
							t.Fatalf("time %d is %v, which is %v there; want %v", i, got[i], got[i].In(z), want[i].In(z))
						}
					}
				}
			})
		}
	}
}

// A scheduler asks at any moment, not only when a job was due.
func TestHR8_TheNextTimeIsTheFirstOneAfterAnyMoment(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		name := rapid.SampledFrom(zones).Draw(t, "zone")
		minute, hour := rapid.SampledFrom([]string{"0", "30", "*/20", "5-55/10", "*"}).Draw(t, "minute"), rapid.SampledFrom([]string{"*", "0", "1", "2", "3", "0-5", "*/3", "23"}).Draw(t, "hour")
		day, weekday := rapid.SampledFrom([]string{"*", "1", "25-31", "*/5"}).Draw(t, "day"), rapid.SampledFrom([]string{"*", "0", "sun", "1-5", "5-7"}).Draw(t, "weekday")
		z, err := Zone(name)
		if err != nil {
			t.Fatal(err)
		}
		s, err := Parse(strings.Join([]string{minute, hour, day, "*", weekday}, " "), z)
		if err != nil {
			t.Fatal(err)
		}
		from, _ := year()
		after := from.Add(time.Duration(rapid.IntRange(0, 360*24*3600).Draw(t, "after")) * time.Second)
		if rapid.Bool().Draw(t, "near a change of the clocks") {
			_, change := from.In(z).ZoneBounds()
			if !change.IsZero() {
				after = change.Add(time.Duration(rapid.IntRange(-4*3600, 4*3600).Draw(t, "seconds from it")) * time.Second)
			}
		}
		begin := after.Truncate(time.Minute)
		due := between(z, begin, begin.Add(3*24*time.Hour)).due(s, after, begin.Add(3*24*time.Hour))
		got := s.Next(after, time.Time{})
		switch {
		case len(due) == 0 && got.Before(begin.Add(3*24*time.Hour)):
			t.Errorf("%s in %s after %v is due at %v, and by the clocks not within three days", s, name, after.In(z), got)
		case len(due) > 0 && !got.Equal(due[0]):
			t.Errorf("%s in %s after %v is due at %v, want %v", s, name, after.In(z), got, due[0].In(z))
		}
	})
}

func TestHR8_AnIntervalDoesNotDriftAndKnowsNoClocks(t *testing.T) {
	anchor := time.Date(2026, 3, 29, 0, 10, 0, 0, time.UTC) // 50 minutes before the clocks of Vienna go forward
	s := parse(t, "every 90m", "Europe/Vienna")
	for i, after := range []time.Duration{0, 89*time.Minute + 59*time.Second, 90 * time.Minute, 24 * time.Hour} {
		want := anchor.Add([]time.Duration{90 * time.Minute, 90 * time.Minute, 180 * time.Minute, 24*time.Hour + 90*time.Minute}[i])
		if got := s.Next(anchor.Add(after), anchor); !got.Equal(want) {
			t.Errorf("after %v it is due at %v, want %v", after, got, want)
		}
	}
	if got := s.Next(anchor.Add(-time.Hour), anchor); !got.Equal(anchor.Add(90 * time.Minute)) {
		t.Errorf("with a clock that went back it is due at %v", got)
	}
}

func TestHR8_ASingleTimeIsDueOnce(t *testing.T) {
	now := time.Date(2026, 3, 28, 12, 0, 0, 0, time.UTC)
	for name, c := range map[string]struct{ text, want string }{
		"a local time":                    {"at 2026-12-01T08:00", "2026-12-01T07:00:00Z"},
		"a local time with a space":       {"at 2026-12-01 08:00:30", "2026-12-01T07:00:30Z"},
		"a time with an offset":           {"at 2026-12-01T08:00:00-05:00", "2026-12-01T13:00:00Z"},
		"a time that clocks skip":         {"at 2026-03-29T02:30", "2026-03-29T01:00:00Z"},
		"a time that clocks show twice":   {"at 2026-10-25T02:30", "2026-10-25T00:30:00Z"},
		"a time that is some minutes off": {"in 20m", "2026-03-28T12:20:00Z"},
		"a time that is some days off":    {"in 2d", "2026-03-30T12:00:00Z"},
	} {
		t.Run(name, func(t *testing.T) {
			s, err := ParseNow(c.text, zone(t, "Europe/Vienna"), now)
			if err != nil {
				t.Fatal(err)
			}
			due := s.Next(now, now)
			if got := due.UTC().Format(time.RFC3339); got != c.want || !s.Once() {
				t.Errorf("it is due at %s, want %s", got, c.want)
			}
			if again := s.Next(due, now); !again.IsZero() {
				t.Errorf("it is due again at %v", again)
			}
			if same, err := Parse(s.String(), zone(t, "UTC")); err != nil && strings.Contains(s.String(), "+") {
				t.Errorf("the row of the schedule %q cannot be read: %v", s, err)
			} else if err == nil && c.text[:2] == "in" && !same.Next(now, now).Equal(due) {
				t.Errorf("the schedule %q is due at another time when it is read again", s)
			}
		})
	}
}

func TestHR8_AScheduleThatCannotBeReadSaysWhatToWrite(t *testing.T) {
	now := time.Date(2026, 3, 28, 12, 0, 0, 0, time.UTC)
	for text, want := range map[string]string{
		"":                       "empty",
		"tomorrow":               "expected",
		"60 8 * * *":             "maximum",
		"0 8 * *":                "expected",
		"0 8 * * mon-foo":        "foo",
		"0 0 30 2 *":             "no day that exists",
		"TZ=Europe/Vienna":       "zone",
		"TZ=UTC 0 8 * * *":       "zone",
		"every 30s":              "one minute",
		"every 2000d":            "366 days",
		"every":                  "duration",
		"every -5m":              "duration",
		"@reboot":                "reboot",
		"at 8 o'clock":           "not a time",
		"at 2026-03-28T11:00":    "is over",
		"in -5m":                 "duration",
		strings.Repeat("*", 300): "more than",
	} {
		if _, err := ParseNow(text, time.UTC, now); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%.40q: the error is %v, want one with %q", text, err, want)
		}
	}
	if _, err := Parse("in 20m", time.UTC); err == nil {
		t.Error("a file has a schedule that counts from now")
	}
	if _, err := Zone("Europe/Wien"); err == nil {
		t.Error("a zone that does not exist is taken")
	}
}

func FuzzAScheduleIsReadOrRefused(f *testing.F) {
	for _, text := range []string{"0 8 * * mon-fri", "every 30m", "at 2026-12-01T08:00", "*/5 0-3,7 1-7 */2 5-7", "@daily", "TZ=", "at 9999-12-31T23:59", "1-5/0 * * * *"} {
		f.Add(text)
	}
	vienna, err := Zone("Europe/Vienna")
	if err != nil {
		f.Fatal(err)
	}
	from, _ := year()
	f.Fuzz(func(t *testing.T, text string) {
		s, err := Parse(text, vienna)
		if err != nil {
			return
		}
		next := s.Next(from, from)
		if !next.IsZero() && !next.After(from) {
			t.Errorf("%q is due at %v, which is not after %v", text, next, from)
		}
		if again, err := Parse(s.String(), vienna); err != nil || fmt.Sprint(again.Next(from, from)) != fmt.Sprint(next) {
			t.Errorf("%q is shown as %q, which is another schedule: %v", text, s, err)
		}
	})
}
