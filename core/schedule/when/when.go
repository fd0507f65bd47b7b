// Package when reads the schedules of jobs, and says when a job is due (HR8).
//
// What it promises: a time that a cron expression names is due once, even if the clocks of its zone change. A local time that does not
// exist, because clocks go forward, is due when they have. One that there is twice is due the first time. Expressions for every hour
// go by elapsed time: they are due in each hour that passes. Intervals and one-shots do not depend on clocks.
//
// The package has no state and does no I/O, but for the zones that the system or the program has.
package when

import (
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/robfig/cron/v3"
)

// MinEvery is the shortest interval. Cron expressions cannot name a shorter one.
const MinEvery = time.Minute

const (
	// maxEvery is the longest interval, maxText the longest schedule in bytes.
	maxEvery = 366 * 24 * time.Hour
	maxText  = 200
)

// Schedule says when a job is due. The zero value is never due.
type Schedule struct {
	text string
	zone *time.Location
	// One of the three is set: a cron expression, an interval, a single time.
	spec  *cron.SpecSchedule
	every time.Duration
	at    time.Time
	// hourly means that the expression is for every hour.
	hourly bool
}

// usage ends the errors of Parse.
const usage = `write a cron expression such as "0 8 * * mon-fri", "every 30m" or "at 2026-12-01T08:00"`

// expression reads the five fields of cron, and names such as @daily.
var expression = cron.NewParser(cron.Minute | cron.Hour | cron.Dom | cron.Month | cron.Dow | cron.Descriptor)

// Parse reads a schedule: five fields of cron, a name such as @daily, "every 30m", or "at 2026-12-01T08:00". Times without an offset
// are those of the zone. The error is for the person who wrote the schedule.
func Parse(text string, zone *time.Location) (Schedule, error) {
	text = strings.Join(strings.Fields(text), " ")
	s := Schedule{text: text, zone: zone}
	var err error
	word, rest, _ := strings.Cut(text, " ")
	switch {
	case text == "":
		err = errors.New("the schedule is empty")
	case len(text) > maxText:
		return Schedule{}, fmt.Errorf("the schedule has more than %d bytes; %s", maxText, usage)
	case word == "every", word == "@every":
		s.text = "every " + rest
		s.every, err = interval(rest)
	case word == "at":
		s.at, err = moment(rest, zone)
	case word == "in":
		err = errors.New(`"in" counts from now, so that it is for jobs that a chat or a tool makes`)
	default:
		s.spec, s.hourly, err = fields(text)
	}
	if err != nil {
		return Schedule{}, fmt.Errorf("schedule %q: %w; %s", text, err, usage)
	}
	return s, nil
}

// ParseNow is Parse of a schedule that is written now: "in 20m" is the time that is 20 minutes away. A single time that is over is an
// error.
func ParseNow(text string, zone *time.Location, now time.Time) (Schedule, error) {
	if word, rest, _ := strings.Cut(strings.Join(strings.Fields(text), " "), " "); word == "in" {
		wait, err := duration(rest)
		if err != nil {
			return Schedule{}, fmt.Errorf("schedule %.200q: %w; write for example in 20m", text, err)
		}
		text = "at " + now.Add(wait).In(zone).Format(time.RFC3339)
	}
	s, err := Parse(text, zone)
	if err == nil && s.Once() && !s.at.After(now) {
		return Schedule{}, fmt.Errorf("schedule %q: this time is over", s.text)
	}
	return s, err
}

// Zone is the zone of this name; empty is UTC.
func Zone(name string) (*time.Location, error) {
	zone, err := time.LoadLocation(name)
	if err != nil || strings.EqualFold(name, "local") { // that would depend on the machine
		return nil, fmt.Errorf("zone %.80q is not known; write a name such as Europe/Vienna", name)
	}
	return zone, nil
}

// String is the schedule as Parse reads it.
func (s Schedule) String() string { return s.text }

// Once reports whether the schedule is a single time.
func (s Schedule) Once() bool { return !s.at.IsZero() }

// Next is the first time after a time at which the job is due; zero: it is never due again. Intervals count from anchor.
func (s Schedule) Next(after, anchor time.Time) time.Time {
	switch {
	case s.every > 0:
		return s.step(after.Round(0), anchor.Round(0))
	case s.Once():
		if s.at.After(after) {
			return s.at
		}
	case s.spec != nil && s.hourly:
		return s.elapsed(after)
	case s.spec != nil:
		return s.civil(after)
	}
	return time.Time{}
}

// step is the first multiple of the interval after a time.
func (s Schedule) step(after, anchor time.Time) time.Time {
	if after.Before(anchor) {
		return anchor.Add(s.every)
	}
	return anchor.Add((after.Sub(anchor)/s.every + 1) * s.every)
}

// civil is the first time after a time whose local time the expression names. What the zone skips is due at the end of the gap, and
// what it has twice counts the first time, so that later local times are never due earlier.
func (s Schedule) civil(after time.Time) time.Time {
	local := face(after.In(s.zone))
	for {
		if local = s.spec.Next(local); local.IsZero() {
			return time.Time{}
		}
		if due := first(local, s.zone); due.After(after) {
			return due
		}
	}
}

// elapsed is the first instant after a time at which the clocks of the zone show what the expression names. Between two changes of
// the clocks, local time and time differ by the same offset.
func (s Schedule) elapsed(after time.Time) time.Time {
	for {
		here := after.In(s.zone)
		local := s.spec.Next(face(here))
		if local.IsZero() {
			return local
		}
		due := local.Add(-offset(here)).In(s.zone)
		_, end := here.ZoneBounds()
		if end.IsZero() || due.Before(end) {
			return due
		}
		if local = face(end.In(s.zone)); s.names(local) {
			return end.In(s.zone)
		}
		after = end
	}
}

// names reports whether the expression names this local time.
func (s Schedule) names(local time.Time) bool {
	return s.spec.Next(local.Add(-time.Second)).Equal(local)
}

// first is the first instant at which the clocks of a zone show a local time, or the end of the gap that the local time is in.
func first(local time.Time, zone *time.Location) time.Time {
	const day = 24 * time.Hour // farther away than any offset
	before, later := offset(local.Add(-day).In(zone)), offset(local.Add(day).In(zone))
	early, late := local.Add(-before).In(zone), local.Add(-later).In(zone)
	switch {
	case face(early).Equal(local) && (early.Before(late) || !face(late).Equal(local)):
		return early
	case face(late).Equal(local):
		return late
	}
	end, _ := early.ZoneBounds() // by the clocks before the gap, the local time is behind its begin
	return end.In(zone)
}

// face is what a clock shows, as a time of UTC without fractions of a second.
func face(t time.Time) time.Time {
	return time.Date(t.Year(), t.Month(), t.Day(), t.Hour(), t.Minute(), t.Second(), 0, time.UTC)
}

func offset(t time.Time) time.Duration {
	_, seconds := t.Zone()
	return time.Duration(seconds) * time.Second
}
