// Package service is how a gateway gets on with what starts and stops it: systemd, launchd, supervisord, runit, s6, or a
// container's engine.
//
// What it promises: Detect says who supervises this process and never takes a shell inside somebody else's service for
// our own (G5); Limit finds out what a stop may take, within half a second, and says "unknown" where nobody
// tells (A3); a Notifier keeps systemd informed without ever waiting for it; the definitions that SystemdUnit and
// LaunchdPlist write come from the gateway's own shutdown plan, so that the two figures cannot drift apart.
//
// The package takes and returns plain values. It starts no process: where systemd has to be asked, the caller does so.
package service

import (
	"bytes"
	"cmp"
	"fmt"
	"math"
	"os"
	"strconv"
	"strings"
	"time"

	"golang.org/x/sys/unix"
)

// Kind names a service manager.
type Kind string

// The service managers that are known.
const (
	None        Kind = "none"
	Systemd     Kind = "systemd"
	Launchd     Kind = "launchd"
	Supervisord Kind = "supervisord"
	Runit       Kind = "runit"
	S6          Kind = "s6"
	// Container is a container's engine: we are pid 1, or the child of an init that is.
	Container Kind = "container"
)

// Manager is what starts this process, stops it, and starts it again.
type Manager struct {
	Kind Kind
	// Unit is our name there: a systemd unit, a launchd label, a supervisord process. Empty where it is unknown or there
	// is none.
	Unit string
	// User is whether it is a user's own systemd rather than the system's.
	User bool
}

// String is the manager for people: its kind and, in parentheses, our name there.
func (m Manager) String() string {
	if m.Unit == "" {
		return string(m.Kind)
	}
	return string(m.Kind) + " (" + m.Unit + ")"
}

// Named is the manager with a name as String gives it; an empty name is none.
func Named(name string) Manager {
	kind, unit, _ := strings.Cut(name, " ")
	return Manager{Kind: cmp.Or(Kind(kind), None), Unit: strings.Trim(unit, "()")}
}

// Restarts reports whether a restart is the manager's to do: we exit with code 75 and it starts the next life. In a
// container that is so as well, because a successor of our own would end with it (G7).
func (m Manager) Restarts() bool { return m.Kind != None && m.Kind != "" }

// DefaultLimit is what the manager allows a stop where nobody configured anything, for advice only; 0 is no limit, or
// none that is known. supervisord: stopwaitsecs, 10 s; s6-supervise kills by itself only with a file timeout-kill; docker
// stop: 10 s. (A pod has 30 s.)
func (m Manager) DefaultLimit() time.Duration {
	switch m.Kind {
	case Supervisord, Container:
		return 10 * time.Second
	case Systemd:
		return 90 * time.Second // DefaultTimeoutStopSec=, systemd-system.conf(5)
	}
	return 0
}

// Unlimited reports whether the manager never ends a stop by itself: runsv sends TERM and waits for as long as it takes
// (runsv(8)). Its sv stop tells after 7 s that it waits no longer, and the stop goes on; an operator's sv force-stop kills
// after these (sv(8), SVWAIT).
func (m Manager) Unlimited() bool { return m.Kind == Runit }

// Allow says how an operator gives a stop d with this manager, which cannot be asked what it allows; empty where it is not
// known how.
func (m Manager) Allow(d time.Duration) string {
	secs := int64(math.Ceil(d.Seconds()))
	switch m.Kind {
	case Supervisord:
		return fmt.Sprintf(`stopwaitsecs=%d and environment=%s="%ds" in the program's section of supervisord's config`, secs, StopBudgetVariable, secs)
	case Container:
		return fmt.Sprintf("docker run --stop-timeout %d --env %s=%ds (in a pod terminationGracePeriodSeconds: %d and that variable)", secs, StopBudgetVariable, secs, secs)
	case S6:
		return fmt.Sprintf("%s=%ds in the run script, or a file timeout-kill with %d or more beside it and that variable", StopBudgetVariable, secs, 1000*secs)
	case Launchd:
		return "gatewaytui unit launchd --write"
	}
	return ""
}

// Down is how an operator has the manager stop us and keep us down, empty where there is none: a gateway that is stopped by
// anybody else it starts again.
func (m Manager) Down() string {
	unit := m.Unit
	if unit == "" {
		unit = "UNIT"
	}
	switch m.Kind {
	case Systemd:
		return "systemctl [--user] stop " + unit
	case Supervisord:
		return "supervisorctl stop " + unit
	case Launchd:
		return "launchctl bootout " + unit
	case Runit:
		return "sv down"
	case S6:
		return "s6-svc -d"
	case Container:
		return "the container engine's own stop"
	}
	return ""
}

// Surroundings are what Detect goes by.
type Surroundings struct {
	// Getenv is the environment as the process was started with it.
	Getenv    func(string) string
	PID, PPID int
	// Parent is the parent's name, as /proc/PID/comm has it.
	Parent string
	// Starter is the command line of the process that started the leader of our process group: what supervisord starts
	// leads one or is in it, also behind a script, and what an interactive shell starts leads another.
	Starter string
	// Cgroup is the text of /proc/self/cgroup (cgroups(7)).
	Cgroup string
}

// Look returns this process's surroundings. What /proc does not tell stays empty.
func Look(getenv func(string) string) Surroundings {
	s := Surroundings{Getenv: getenv, PID: os.Getpid(), PPID: os.Getppid()}
	if b, err := os.ReadFile("/proc/" + strconv.Itoa(s.PPID) + "/comm"); err == nil {
		s.Parent = strings.TrimSpace(string(b))
	}
	s.Starter = commandOf(starterOf(unix.Getpgrp(), s))
	if b, err := os.ReadFile("/proc/self/cgroup"); err == nil {
		s.Cgroup = string(b)
	}
	return s
}

// starterOf is the pid of who started the leader of a process group; 0 where that is not known.
func starterOf(leader int, s Surroundings) int {
	if leader == s.PID {
		return s.PPID
	}
	b, err := os.ReadFile("/proc/" + strconv.Itoa(leader) + "/stat")
	if err != nil {
		return 0
	}
	// pid (comm) state ppid ...: the name may hold anything, parentheses too (proc(5)).
	fields := strings.Fields(string(b[bytes.LastIndexByte(b, ')')+1:]))
	if len(fields) < 2 {
		return 0
	}
	ppid, err := strconv.Atoi(fields[1])
	if err != nil {
		return 0
	}
	return ppid
}

// commandOf is the command line of a process in one line, empty where that cannot be read.
func commandOf(pid int) string {
	b, err := os.ReadFile("/proc/" + strconv.Itoa(pid) + "/cmdline")
	if err != nil {
		return ""
	}
	return strings.TrimSpace(strings.ReplaceAll(string(b), "\x00", " "))
}

// inits are programs that run as pid 1 of a container for the one program in it.
var inits = map[string]bool{"tini": true, "docker-init": true, "dumb-init": true, "catatonit": true}

// Detect says what supervises the process with these surroundings.
//
// Every variable that a manager sets is inherited, so none of them alone says that we are its service: a terminal or a
// tmux that systemd started hands INVOCATION_ID on to every shell in it. systemd's main process is recognised by
// SYSTEMD_EXEC_PID (systemd.exec(5), since 248), by NOTIFY_SOCKET inside a service's own cgroup, or by systemd as its
// parent. Where nothing but INVOCATION_ID is there to go by, as in a container that shows no unit, it is believed: to start
// a second gateway beside a manager's is worse than to leave it to one that is not there (B4). supervisord's process by who started its process group. A manager that is a service of systemd's itself, with
// all that this hands on, is nearer than systemd.
func Detect(s Surroundings) Manager {
	enabled := s.Getenv("SUPERVISOR_ENABLED") == "1" // supervisord, "Subprocess Environment"
	supervisord := Manager{Kind: Supervisord, Unit: printable(s.Getenv("SUPERVISOR_PROCESS_NAME"))}
	switch {
	case enabled && strings.Contains(s.Starter, string(Supervisord)):
		return supervisord
	case s.Parent == "runsv":
		return Manager{Kind: Runit}
	case s.Parent == "s6-supervise":
		return Manager{Kind: S6}
	}
	if m, ok := s.systemd(); ok {
		return m
	}
	switch {
	case enabled && s.Starter == "": // of another user on a machine that hides these: the variable is all there is
		return supervisord
	case s.PPID == 1 && s.Getenv("XPC_SERVICE_NAME") != "" && s.Getenv("XPC_SERVICE_NAME") != "0": // "0" in a shell
		return Manager{Kind: Launchd, Unit: printable(s.Getenv("XPC_SERVICE_NAME"))}
	case s.PID == 1, s.PPID == 1 && inits[s.Parent]:
		return Manager{Kind: Container}
	}
	return Manager{Kind: None}
}

func (s Surroundings) systemd() (Manager, bool) {
	if s.Getenv("INVOCATION_ID") == "" && s.Getenv("NOTIFY_SOCKET") == "" {
		return Manager{}, false
	}
	unit, user := unitOf(s.Cgroup)
	m := Manager{Kind: Systemd, Unit: unit, User: user}
	service := strings.HasSuffix(unit, ".service")
	switch {
	case strings.HasSuffix(unit, ".scope"): // a login session, a terminal's tab: nobody starts it again
		return Manager{}, false
	case s.Getenv("SYSTEMD_EXEC_PID") == strconv.Itoa(s.PID):
		return m, true
	case s.Getenv("NOTIFY_SOCKET") != "" && service: // started by a script that systemd started
		return m, true
	}
	return m, s.Getenv("SYSTEMD_EXEC_PID") == "" && (s.Parent == "systemd" || unit == "" && s.Getenv("NOTIFY_SOCKET") == "")
}

// unitOf finds the unit in /proc/self/cgroup: the innermost folder that is a service or a scope, since a delegated unit
// has folders of its own below. Both are empty where the hierarchy shows none, as in a cgroup namespace.
func unitOf(cgroup string) (unit string, user bool) {
	for line := range strings.Lines(cgroup) {
		// hierarchy:controllers:path; systemd's are 0 of v2 and the one that is called name=systemd of v1.
		parts := strings.SplitN(strings.TrimSuffix(line, "\n"), ":", 3)
		if len(parts) != 3 || parts[0] != "0" && parts[1] != "name=systemd" {
			continue
		}
		found, ofUser := "", false
		for dir := range strings.SplitSeq(parts[2], "/") {
			name := strings.TrimPrefix(dir, "_") // what could be taken for a file of the kernel's is escaped so
			if !isUnit(name) {
				continue
			}
			ofUser = ofUser || strings.HasPrefix(found, "user@")
			found = name
		}
		if found != "" && !strings.HasPrefix(found, "user@") {
			return found, ofUser
		}
	}
	return "", false
}

// isUnit reports whether systemd.unit(5) lets a service or a scope have this name, and it does not begin with a hyphen: it
// is an argument of commands. It is no regular expression, which each start of the program would compile in 1 ms.
func isUnit(name string) bool {
	prefix, is := strings.CutSuffix(name, ".service")
	if !is {
		prefix, is = strings.CutSuffix(name, ".scope")
	}
	return is && prefix != "" && len(prefix) <= 247 && prefix[0] != '-' &&
		!strings.ContainsFunc(prefix, func(r rune) bool { return !strings.ContainsRune(unitCharacters, r) })
}

const unitCharacters = `ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789:_.\@-`

// printable is s if it can be shown as it is, else nothing.
func printable(s string) string {
	if len(s) > 256 || strings.ContainsFunc(s, func(r rune) bool { return r < ' ' || r > '~' }) {
		return ""
	}
	return s
}
