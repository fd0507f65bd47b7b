package takeover

import (
	"syscall"
	"time"

	"gatewaytui/core/ops"
)

// Progress is what Replace and Restart do, for a person: one of the types of this file.
type Progress any

// Replacing: the holder was asked to stop. Its stop may take Bound; after Force from the beginning it is killed.
type Replacing struct {
	PID          int
	Bound, Force time.Duration
}

// NoAnswer: the holder does not answer and gets SIGCONT.
type NoAnswer struct{ PID int }

// Escalating: the holder has had its time and gets a stronger signal.
type Escalating struct {
	PID    int
	Signal syscall.Signal
}

// Waiting: the holder still holds the home, for Left yet without a signal. Shutdown is the running stop; nil where the holder does
// not say what it does.
type Waiting struct {
	PID      int
	Left     time.Duration
	Shutdown *ops.Shutdown
}

// RestartedMeanwhile: another command's restart came first.
type RestartedMeanwhile struct{}

// EndedMeanwhile: the life that was to be restarted has ended.
type EndedMeanwhile struct{ Life string }

// ByGateway: a tool of the gateway asks, so the gateway starts its next life itself.
type ByGateway struct{}

// Joined: a restart is under way already.
type Joined struct{ Request string }
