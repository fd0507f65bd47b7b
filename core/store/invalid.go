package store

import (
	"encoding/json"
	"fmt"
	"math"
	"slices"
	"strings"
	"time"

	"gatewaytui/core/ops"
)

// InvalidRow is a row with impossible values: the database was changed by hand, by another program or by a disk.
type InvalidRow struct {
	Table, Row string // Row names it: life and pid of a process, the id of a message
	Why        string
	// Name is the first part of Row as it is stored: the key of a session.
	Name string

	values map[string]any // by column
}

// String describes the row in a sentence.
func (i InvalidRow) String() string { return fmt.Sprintf("%s %s: %s", i.Table, i.Row, i.Why) }

// keepInvalid writes a row of the table quarantine.
const keepInvalid = `INSERT INTO quarantine (source, row, why, at) VALUES (?, ?, ?, ?)`

// policies are those of core/process, outcomes those of a life.
var (
	policies      = []string{"turn", "session", "kept", "gateway"}
	outcomes      = []string{string(ops.OutcomeClean), string(ops.OutcomeCutShort), string(ops.OutcomeCrashed), string(ops.OutcomeRunning)}
	callers       = []string{"", string(ops.ByKernel), string(ops.ByKey)}
	sessionStates = []string{
		string(ops.SessionIdle), string(ops.SessionRunning), string(ops.SessionQueued), string(ops.SessionWaitingApproval),
		string(ops.SessionStalled), string(ops.SessionInterrupted), string(ops.SessionSuspended),
	}
)

// shown is a value for a person, short and on one line.
func shown(v any) string {
	switch v := v.(type) {
	case string:
		return fmt.Sprintf("%.60q", v)
	case []byte:
		return fmt.Sprintf("the bytes %.60q", v)
	}
	return fmt.Sprint(v)
}

const (
	// maxPID is the largest that a pid can be (pid_t).
	maxPID = math.MaxInt32
	// maxUID is the largest that a user id can be (uid_t); one more means none.
	maxUID = math.MaxUint32 - 1
	// lastMoment is the last microsecond that RFC 3339 can write: the year 9999.
	lastMoment = 253402300799999999
	// clockSlack is how far the clock may have been ahead when a row was written. A process start beyond it is in the
	// future, so the process with its pid cannot be identified.
	clockSlack = 24 * time.Hour
)

func validTime(t time.Time) bool {
	return t.IsZero() || t.UnixMicro() >= 0 && t.UnixMicro() <= lastMoment
}

// judge returns what is wrong with the value of a column; empty: nothing is.
type judge func(v any, now time.Time) string

func text(v any, _ time.Time) string {
	if _, is := v.(string); !is {
		return "is not text: " + shown(v)
	}
	return ""
}

func name(v any, now time.Time) string {
	if v == "" {
		return "is empty"
	}
	return text(v, now)
}

// orNone accepts null as well.
func orNone(other judge) judge {
	return func(v any, now time.Time) string {
		if v == nil {
			return ""
		}
		return other(v, now)
	}
}

// whole accepts whole numbers within these limits. what names such a number.
func whole(least, most int64, what string) judge {
	return func(v any, _ time.Time) string {
		n, is := v.(int64)
		switch {
		case !is:
			return "is not a number: " + shown(v)
		case n < least || n > most:
			return fmt.Sprintf("is %d, which is not a valid %s", n, what)
		}
		return ""
	}
}

var (
	count  = whole(0, math.MaxInt64, "count")
	moment = orNone(whole(0, lastMoment, "time"))
)

func past(v any, now time.Time) string {
	if why := moment(v, now); why != "" {
		return why
	}
	if n, is := v.(int64); is && time.UnixMicro(n).After(now.Add(clockSlack)) {
		return "is " + time.UnixMicro(n).UTC().Format(time.RFC3339) + ", which is in the future"
	}
	return ""
}

func none(v any, _ time.Time) string {
	if v != nil {
		return "is " + shown(v) + " though it has not ended"
	}
	return ""
}

func oneOf(words []string) judge {
	return func(v any, _ time.Time) string {
		if s, is := v.(string); is && slices.Contains(words, s) {
			return ""
		}
		return "is " + shown(v) + ", which is not one of " + strings.Join(words, ", ")
	}
}

// report validates an ops.Shutdown as JSON.
func report(v any, now time.Time) string {
	if why := text(v, now); why != "" {
		return why
	}
	var sd ops.Shutdown
	if err := json.Unmarshal([]byte(v.(string)), &sd); err != nil {
		return fmt.Sprintf("is not a report: %.200s", err)
	}
	return ""
}
