package instance

import (
	"bytes"
	"errors"
	"io/fs"
	"os"
	"strconv"
	"strings"
	"sync"
	"syscall"
)

// Self is the identity of this process for a Record. What /proc does not show stays unknown.
func Self() Record { return self() }

var self = sync.OnceValue(func() Record {
	r := Record{PID: os.Getpid(), BootID: bootID(), PIDNamespace: pidNamespace()}
	if s, err := readStat(r.PID); err == nil {
		r.StartTicks = s.start
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
		return s.start == r.StartTicks && s.state != 'Z' && s.state != 'X', true
	case !errors.Is(err, fs.ErrNotExist) && !errors.Is(err, syscall.ESRCH):
		return false, false
	}
	// Mounted with hidepid, /proc hides processes that exist (proc(5)); the kernel itself does not.
	return false, errors.Is(syscall.Kill(r.PID, 0), syscall.ESRCH)
}

func bootID() string {
	b, err := os.ReadFile("/proc/sys/kernel/random/boot_id")
	if err != nil {
		return ""
	}
	return strings.TrimSpace(string(b))
}

func pidNamespace() string {
	ns, err := os.Readlink("/proc/self/ns/pid")
	if err != nil {
		return ""
	}
	return ns
}

// stat is the part of /proc/PID/stat that distinguishes a process from a later one with its pid.
type stat struct {
	pid   int
	state byte
	start uint64
}

var errStat = errors.New("not a line of /proc/PID/stat")

func readStat(pid int) (stat, error) {
	b, err := os.ReadFile("/proc/" + strconv.Itoa(pid) + "/stat")
	if err != nil {
		return stat{}, err
	}
	s, err := parseStat(b)
	if err == nil && s.pid != pid {
		err = errStat // this /proc belongs to another pid namespace
	}
	return s, err
}

// parseStat reads one line of /proc/PID/stat. The second field, the command in parentheses, may itself hold
// parentheses, spaces and newlines.
func parseStat(b []byte) (stat, error) {
	head, _, ok := bytes.Cut(b, []byte(" ("))
	end := bytes.LastIndexByte(b, ')')
	if !ok || end < len(head) {
		return stat{}, errStat
	}
	fields := bytes.Fields(b[end+1:])
	const stateField, startField = 3, 22 // as proc_pid_stat(5) counts; fields begins with the third
	if len(fields) <= startField-stateField || len(fields[0]) != 1 {
		return stat{}, errStat
	}
	pid, err := strconv.Atoi(string(head))
	if err != nil {
		return stat{}, errStat
	}
	start, err := strconv.ParseUint(string(fields[startField-stateField]), 10, 64)
	if err != nil {
		return stat{}, errStat
	}
	return stat{pid: pid, state: fields[0][0], start: start}, nil
}
