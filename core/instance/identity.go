package instance

import (
	"errors"
	"io/fs"
	"os"
	"sync"
	"syscall"

	"gatewaytui/core/process/kernel"
)

// Self is the identity of this process for a Record. What /proc does not show stays unknown.
func Self() Record { return self() }

var self = sync.OnceValue(func() Record {
	r := Record{PID: os.Getpid(), PIDNamespace: pidNamespace()}
	r.BootID, _ = kernel.BootID()
	if s, err := readStat(r.PID); err == nil {
		r.StartTicks = s.Start
	}
	return r
})

// Alive reports whether the process that r names runs. known is false where that is unknown: its pid means another
// process or none in our pid namespace, /proc is missing or hides it, or r lacks data.
func Alive(r Record) (alive, known bool) {
	if r.PID <= 0 || r.StartTicks == 0 || r.BootID == "" {
		return false, false
	}
	here := self()
	switch {
	case here.BootID == "":
		return false, false
	case here.BootID != r.BootID:
		return false, true // nothing from another boot runs now
	case r.PIDNamespace != "" && r.PIDNamespace != here.PIDNamespace:
		return false, false
	case here.StartTicks == 0: // /proc is missing, or belongs to another pid namespace
		return false, false
	}
	s, err := readStat(r.PID)
	switch {
	case err == nil:
		return s.Start == r.StartTicks && s.State != 'Z' && s.State != 'X', true
	case !errors.Is(err, fs.ErrNotExist) && !errors.Is(err, syscall.ESRCH):
		return false, false
	}
	// Mounted with hidepid, /proc hides processes that exist (proc(5)); the kernel itself does not.
	return false, errors.Is(syscall.Kill(r.PID, 0), syscall.ESRCH)
}

// readStat reads the process pid.
func readStat(pid int) (kernel.Stat, error) {
	s, err := kernel.StatOf(pid)
	if err == nil && s.PID != pid {
		err = errors.New("/proc belongs to another pid namespace")
	}
	return s, err
}
