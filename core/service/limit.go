package service

import (
	"context"
	"errors"
	"fmt"
	"math"
	"strconv"
	"strings"
	"time"
)

// StopBudgetVariable is the environment variable with the service manager's limit on a stop, where the manager itself
// cannot be asked. The definitions of this package set it.
const StopBudgetVariable = "GATEWAYTUI_STOP_BUDGET"

// The sources of Limit's result.
const (
	SourceSystemd     = "systemd"
	SourceEnvironment = "environment"
	SourceUnknown     = "unknown"
)

// askBound is how long a query to systemd may delay a start.
const askBound = 500 * time.Millisecond

// Run runs a command and returns what it wrote to its standard output. It ends the command when ctx ends, and an exit code
// other than 0 is an error.
type Run func(ctx context.Context, argv []string) (stdout string, err error)

// StopLimit is a service manager's limit on a stop, as far as it is known.
type StopLimit struct {
	// Budget is how long after the stop signal it kills; 0: there is no limit, or it is unknown.
	Budget time.Duration
	// Source is where Budget comes from: a constant above, or the manager's kind if nothing else is known.
	Source string
	// Settings are the unit's, if systemd answered.
	Settings Settings
}

// Limit finds out how long the manager m lets a stop run. It asks systemd, whose answer includes every drop-in and
// override. If that fails, StopBudgetVariable counts. It returns within half a second if run keeps to its context.
//
// An error is for a warning: the result is still the best that is known. Only a wrong variable is an operator's mistake
// (*VariableError).
func Limit(ctx context.Context, m Manager, getenv func(string) string, run Run) (StopLimit, error) {
	var asked error
	if m.Kind == Systemd && m.Unit != "" {
		s, err := Ask(ctx, m, run)
		if err == nil {
			return StopLimit{s.StopLimit, SourceSystemd, s}, nil
		}
		asked = err
	}
	budget, source, wrong := fromEnvironment(getenv)
	if source == SourceUnknown && wrong == nil && m.Unlimited() {
		source = string(m.Kind)
	}
	return StopLimit{Budget: budget, Source: source}, errors.Join(asked, wrong)
}

// VariableError means that StopBudgetVariable is not a duration over zero.
type VariableError struct{ Value string }

func (e *VariableError) Error() string {
	return fmt.Sprintf("%s must be a duration over 0 such as 90s, not %.40q", StopBudgetVariable, e.Value)
}

func fromEnvironment(getenv func(string) string) (time.Duration, string, error) {
	text := getenv(StopBudgetVariable)
	if text == "" {
		return 0, SourceUnknown, nil
	}
	d, err := time.ParseDuration(text)
	if err != nil || d <= 0 {
		return 0, SourceUnknown, &VariableError{text}
	}
	return d, SourceEnvironment, nil
}

// Settings are systemd's settings of a loaded unit.
type Settings struct {
	// StopLimit is TimeoutStopSec=; 0: no limit.
	StopLimit time.Duration
	// Restart is Restart=, e.g. "always" or "no"; KillMode is KillMode=, e.g. "mixed".
	Restart, KillMode string
	// Reload is whether the unit's file has changed since systemd read it.
	Reload bool
}

// Issue is a setting that breaks a promise of the gateway.
type Issue struct {
	// Setting is its name, and Text is the consequence of its value, for people.
	Setting, Text string
}

// Issues are the faults of a unit's settings, except for its time limit.
func (s Settings) Issues() (all []Issue) {
	if s.Restart == "no" || s.Restart == "on-success" { // G5
		all = append(all, Issue{"Restart", "systemd does not start it again after a failure (Restart=" + s.Restart + ")"})
	}
	if s.KillMode == "control-group" { // C12
		all = append(all, Issue{"KillMode", "systemd sends TERM to the tools together with the gateway (KillMode=control-group), so a stop cuts turns off instead of waiting for them"})
	}
	return all
}

// Ask asks systemd for the settings of m's unit, within half a second. A unit that is not loaded is an error.
func Ask(ctx context.Context, m Manager, run Run) (Settings, error) {
	if m.Kind != Systemd || !isUnit(m.Unit) {
		return Settings{}, fmt.Errorf("ask systemd: invalid unit name %q", m.Unit)
	}
	argv := []string{"systemctl"}
	if m.User {
		argv = append(argv, "--user")
	}
	argv = append(argv, "--no-pager", "show", "--property=LoadState,TimeoutStopUSec,Restart,KillMode,NeedDaemonReload", "--", m.Unit)
	ctx, cancel := context.WithTimeoutCause(ctx, askBound, fmt.Errorf("no answer within %s", askBound))
	defer cancel()
	out, err := run(ctx, argv)
	if err == nil {
		var s Settings
		if s, err = parseSettings(out); err == nil {
			return s, nil
		}
	} else if cause := context.Cause(ctx); cause != nil {
		err = cause
	}
	return Settings{}, fmt.Errorf("ask systemd about %s: %w", m.Unit, err)
}

// parseSettings reads the answer of systemctl show: one property a line, as NAME=VALUE.
func parseSettings(out string) (Settings, error) {
	values := map[string]string{}
	for line := range strings.Lines(out) {
		if name, value, ok := strings.Cut(strings.TrimSpace(line), "="); ok {
			values[name] = value
		}
	}
	if state := values["LoadState"]; state != "loaded" {
		return Settings{}, fmt.Errorf("the unit is not loaded (%.40q)", state)
	}
	limit, err := parseSpan(values["TimeoutStopUSec"])
	if err != nil {
		return Settings{}, fmt.Errorf("TimeoutStopUSec: %w", err)
	}
	return Settings{
		StopLimit: limit, Restart: printable(values["Restart"]), KillMode: printable(values["KillMode"]),
		Reload: values["NeedDaemonReload"] == "yes",
	}, nil
}

// units are those of systemd.time(7), "Parsing Time Spans", as systemd and people write them.
var units = map[string]time.Duration{
	"us": time.Microsecond, "usec": time.Microsecond, "ms": time.Millisecond, "msec": time.Millisecond,
	"": time.Second, "s": time.Second, "sec": time.Second, "second": time.Second, "seconds": time.Second,
	"m": time.Minute, "min": time.Minute, "minute": time.Minute, "minutes": time.Minute,
	"h": time.Hour, "hr": time.Hour, "hour": time.Hour, "hours": time.Hour,
	"d": 24 * time.Hour, "day": 24 * time.Hour, "days": 24 * time.Hour,
	"w": 7 * 24 * time.Hour, "week": 7 * 24 * time.Hour, "weeks": 7 * 24 * time.Hour,
	"month": 2_629_800 * time.Second, "months": 2_629_800 * time.Second,
	"y": 31_557_600 * time.Second, "year": 31_557_600 * time.Second, "years": 31_557_600 * time.Second,
}

// parseSpan reads a time span such as "1min 30s", "1min 30.5s" or "90" (systemd.time(7)). It returns 0 for "infinity",
// and for 0, which has always meant that as a timeout.
func parseSpan(text string) (time.Duration, error) {
	rest := strings.TrimSpace(text)
	if rest == "infinity" {
		return 0, nil
	}
	if rest == "" {
		return 0, errors.New("empty time span")
	}
	var sum float64
	for rest != "" {
		n := strings.IndexFunc(rest, func(r rune) bool { return (r < '0' || r > '9') && r != '.' })
		if n < 0 {
			n = len(rest)
		}
		number, err := strconv.ParseFloat(rest[:n], 64)
		if err != nil {
			return 0, fmt.Errorf("invalid time span %.40q", text)
		}
		rest = strings.TrimLeft(rest[n:], " ")
		n = strings.IndexFunc(rest, func(r rune) bool { return r < 'a' || r > 'z' })
		if n < 0 {
			n = len(rest)
		}
		unit, known := units[rest[:n]]
		if !known {
			return 0, fmt.Errorf("invalid time span %.40q: unknown unit %.10q", text, rest[:n])
		}
		sum += number * float64(unit)
		rest = strings.TrimLeft(rest[n:], " ")
	}
	if sum >= math.MaxInt64 {
		return 0, nil // centuries: the same as no limit
	}
	return time.Duration(sum), nil
}
