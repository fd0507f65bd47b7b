package process

import (
	"errors"
)

// target is a process that a kill ends. Its pidfd is opened before the identity is read again. From then on it names that
// one process, even if the pid is reused.
type target struct {
	proc
	fd     int // -1: no pidfds, or no descriptor left
	termed bool
	killed bool
	err    error // of the last signal
}

var errNoGroup = errors.New("this kernel cannot signal a group through a pidfd")
