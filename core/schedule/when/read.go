package when

import (
	"errors"
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/robfig/cron/v3"
)

// fields reads a cron expression. hourly means that it is for every hour.
func fields(text string) (spec *cron.SpecSchedule, hourly bool, err error) {
	if strings.ContainsRune(text, '=') { // the library reads a zone there
		return nil, false, errors.New("a zone has a key of its own")
	}
	parts := strings.Split(text, " ")
	if last := len(parts) - 1; last == 4 {
		parts[last] = sundays(parts[last])
	}
	parsed, err := expression.Parse(strings.Join(parts, " "))
	if err != nil {
		return nil, false, err
	}
	spec, is := parsed.(*cron.SpecSchedule)
	if !is {
		return nil, false, errors.New("it is not a cron expression")
	}
	spec.Location = time.UTC // it is asked for what clocks show
	if spec.Next(time.Date(2001, 1, 1, 0, 0, 0, 0, time.UTC)).IsZero() {
		return nil, false, errors.New("it names no day that exists")
	}
	hourly = text == "@hourly" || len(parts) == 5 && (parts[1] == "*" || parts[1] == "*/1")
	return spec, hourly, nil
}

// sundays writes 7, which crontabs have for Sunday, as the library reads it.
func sundays(days string) string {
	parts := strings.Split(days, ",")
	for i, day := range parts {
		from, isRange := strings.CutSuffix(day, "-7")
		switch {
		case day == "7":
			parts[i] = "0"
		case isRange && from == "7":
			parts[i] = "0"
		case isRange:
			parts[i] = from + "-6,0"
		}
	}
	return strings.Join(parts, ",")
}

// interval reads how often a job is due.
func interval(text string) (time.Duration, error) {
	d, err := duration(text)
	switch {
	case err != nil:
		return 0, err
	case d < MinEvery:
		return 0, errors.New("the shortest interval is one minute")
	case d > maxEvery:
		return 0, errors.New("the longest interval is 366 days")
	}
	return d, nil
}

// duration reads a duration as the config has it, also in days: 30m, 1h30m, 2d.
func duration(text string) (time.Duration, error) {
	var d time.Duration
	var err error
	if days, is := strings.CutSuffix(text, "d"); is {
		n, notNumber := strconv.ParseUint(days, 10, 16)
		d, err = time.Duration(n)*24*time.Hour, notNumber
	} else {
		d, err = time.ParseDuration(text)
	}
	if err != nil || d <= 0 {
		return 0, fmt.Errorf("%.40q is not a duration such as 30m, 2h or 1d", text)
	}
	return d, nil
}

// moments are the forms of a single time. The first has its own offset.
var moments = []string{time.RFC3339, "2006-01-02T15:04:05", "2006-01-02T15:04", "2006-01-02 15:04:05", "2006-01-02 15:04"}

// moment reads a single time.
func moment(text string, zone *time.Location) (time.Time, error) {
	for i, form := range moments {
		t, err := time.Parse(form, text)
		switch {
		case err != nil:
		case i == 0:
			return t.In(zone), nil
		default:
			return first(t, zone), nil
		}
	}
	return time.Time{}, fmt.Errorf("%.40q is not a time such as 2026-12-01T08:00", text)
}
