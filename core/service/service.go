// Package service connects a gateway with the program that starts and stops it: systemd, launchd, supervisord, runit, s6,
// or a container's engine.
//
// What it promises: Detect finds the supervisor of this process and never takes a shell inside another service for our own
// service (G5). Limit finds out how long a stop may take, within half a second, and returns "unknown" where there is no
// answer (A3). A Notifier keeps systemd informed without ever waiting for it. The definitions that SystemdUnit and
// LaunchdPlist write come from the gateway's own shutdown plan, so that the two figures always agree.
//
// The package takes and returns plain values. It starts no process: the caller runs the queries to systemd.
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

	"gatewaytui/core/process/kernel"

	"golang.org/x/sys/unix"
)

// Kind names a service manager.
type Kind string

// The known service managers.
const (
	None        Kind = "none"
	Systemd     Kind = "systemd"
	Launchd     Kind = "launchd"
	Supervisord Kind = "supervisord"
	Runit       Kind = "runit"
	S6          Kind = "s6"
	// Container is a container's engine: we are pid 1, or the child of an init with pid 1.
	Container Kind = "container"
)

// Manager is the program that starts this process, stops it, and starts it again.
type Manager struct {
	Kind Kind
	// Unit is our name in the manager: a systemd unit, a launchd label, a supervisord process. Empty where it is unknown
	// or there is none.
	Unit string
	// User means a user's own systemd rather than the system's.
	User bool
}

// String is the manager for people: its kind and, in parentheses, our name in it.
func (m Manager) String() string {
	if m.Unit == "" {
		return string(m.Kind)
	}
	return string(m.Kind) + " (" + m.Unit + ")"
}

// Named is the manager with a name as String returns it; an empty name is none.
func Named(name string) Manager {
	kind, unit, _ := strings.Cut(name, " ")
	return Manager{Kind: cmp.Or(Kind(kind), None), Unit: strings.Trim(unit, "()")}
}

// Restarts reports whether the manager does a restart: we exit with code 75 and it starts the next life. The same holds
// in a container, because a process that we start would end with the container (G7).
func (m Manager) Restarts() bool { return m.Kind != None && m.Kind != "" }

// DefaultLimit is the manager's default limit on a stop, for advice only; 0: no limit, or none that is known.
// supervisord: stopwaitsecs, 10 s. s6-supervise kills only with a file timeout-kill. docker stop: 10 s. (A pod has 30 s.)
func (m Manager) DefaultLimit() time.Duration {
	switch m.Kind {
	case Supervisord, Container:
		return 10 * time.Second
	case Systemd:
		return 90 * time.Second // DefaultTimeoutStopSec=, systemd-system.conf(5)
	}
	return 0
}

// Unlimited reports whether the manager never ends a stop: runsv sends TERM and waits without a limit (runsv(8)). Its sv
// stop reports after 7 s that it stops waiting, and the stop continues. An operator's sv force-stop kills after that time
// (sv(8), SVWAIT).
func (m Manager) Unlimited() bool { return m.Kind == Runit }

// Allow is how an operator gives a stop d with this manager, which cannot be asked for its limit; empty: not known.
func (m Manager) Allow(d time.Duration) string {
	secs := int64(math.Ceil(d.Seconds()))
	switch m.Kind {
	case Supervisord:
		return fmt.Sprintf(`stopwaitsecs=%d and environment=%s="%ds" in the program's section of supervisord's config`, secs, StopBudgetVariable, secs)
	case Container:
		return fmt.Sprintf("docker run --stop-timeout %d --env %s=%ds (in a pod terminationGracePeriodSeconds: %d and that variable)", secs, StopBudgetVariable, secs, secs)
	case S6:
		return fmt.Sprintf("%s=%ds in the run script, or that variable and a file timeout-kill with %d or more next to the run script", StopBudgetVariable, secs, 1000*secs)
	case Launchd:
		return "gatewaytui unit launchd --write"
	}
	return ""
}

// Down is how an operator makes the manager stop us and keep us down; empty: there is no way. The manager restarts a
// gateway that is stopped in any other way.
func (m Manager) Down() string {
	return strings.Replace(downs[m.Kind], "UNIT", cmp.Or(m.Unit, "UNIT"), 1)
}

var downs = map[Kind]string{
	Systemd: "systemctl [--user] stop UNIT", Supervisord: "supervisorctl stop UNIT", Launchd: "launchctl bootout UNIT",
	Runit: "sv down", S6: "s6-svc -d", Container: "the container engine's own stop",
}

// Environment is the data that Detect uses.
type Environment struct {
	// Getenv is the environment with which the process was started.
	Getenv    func(string) string
	PID, PPID int
	// Parent is the parent's name, as in /proc/PID/comm.
	Parent string
	// Starter is the command line of the process that started the leader of our process group. What supervisord starts
	// leads a group or is in one, also from a script. What an interactive shell starts leads another.
	Starter string
	// Cgroup is the text of /proc/self/cgroup (cgroups(7)).
	Cgroup string
}

// ReadEnvironment returns this process's environment. What /proc does not show stays empty.
func ReadEnvironment(getenv func(string) string) Environment {
	s := Environment{Getenv: getenv, PID: os.Getpid(), PPID: os.Getppid()}
	s.Starter = commandOf(starterOf(unix.Getpgrp(), s))
	s.Parent, s.Cgroup = parentAndGroup(s.PPID)
	return s
}

// starterOf is the pid of the process that started the leader of a process group; 0: not known.
func starterOf(leader int, s Environment) int {
	if leader == s.PID {
		return s.PPID
	}
	p, err := kernel.StatOf(leader)
	if err != nil {
		return 0
	}
	return p.PPID
}

// commandOf is the command line of a process in one line; empty: not readable.
func commandOf(pid int) string {
	return string(bytes.TrimSpace(bytes.ReplaceAll(kernel.Arguments(pid, make([]byte, 4<<10)), []byte{0}, []byte{' '})))
}

// inits are programs that run as pid 1 of a container for the one program in it.
var inits = map[string]bool{"tini": true, "docker-init": true, "dumb-init": true, "catatonit": true}

// Detect finds the supervisor of the process with this environment.
//
// Every variable that a manager sets is inherited, so no variable alone proves that we are its service: a terminal or a
// tmux that systemd started passes INVOCATION_ID on to every shell in it. systemd's main process is recognised by
// SYSTEMD_EXEC_PID (systemd.exec(5), since 248), by NOTIFY_SOCKET inside a service's own cgroup, or by systemd as its
// parent. If there is only INVOCATION_ID, as in a container that shows no unit, Detect trusts it. A second gateway next to
// a manager's is worse than a gateway left to a manager that does not exist (B4). supervisord's process is recognised by
// the process that started its process group. A manager that is itself a service of systemd's, and passes its variables
// on, is nearer than systemd.
func Detect(s Environment) Manager {
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
	case enabled && s.Starter == "": // of another user on a machine that hides these: only the variable is left
		return supervisord
	case s.PPID == 1 && s.Getenv("XPC_SERVICE_NAME") != "" && s.Getenv("XPC_SERVICE_NAME") != "0": // "0" in a shell
		return Manager{Kind: Launchd, Unit: printable(s.Getenv("XPC_SERVICE_NAME"))}
	case s.PID == 1, s.PPID == 1 && inits[s.Parent]:
		return Manager{Kind: Container}
	}
	return Manager{Kind: None}
}

func (s Environment) systemd() (Manager, bool) {
	if s.Getenv("INVOCATION_ID") == "" && s.Getenv("NOTIFY_SOCKET") == "" {
		return Manager{}, false
	}
	unit, user := unitOf(s.Cgroup)
	m := Manager{Kind: Systemd, Unit: unit, User: user}
	service := strings.HasSuffix(unit, ".service")
	switch {
	case strings.HasSuffix(unit, ".scope"): // a login session, a terminal's tab: no manager restarts it
		return Manager{}, false
	case s.Getenv("SYSTEMD_EXEC_PID") == strconv.Itoa(s.PID):
		return m, true
	case s.Getenv("NOTIFY_SOCKET") != "" && service: // started by a script that systemd started
		return m, true
	}
	return m, s.Getenv("SYSTEMD_EXEC_PID") == "" && (s.Parent == "systemd" || unit == "" && s.Getenv("NOTIFY_SOCKET") == "")
}

// unitOf finds the unit in /proc/self/cgroup: the innermost folder that is a service or a scope, since a delegated unit
// has its own folders below. Both are empty where the hierarchy shows none, as in a cgroup namespace.
func unitOf(cgroup string) (unit string, user bool) {
	for line := range strings.Lines(cgroup) {
		// hierarchy:controllers:path. systemd uses hierarchy 0 of v2 and the one called name=systemd of v1.
		parts := strings.SplitN(strings.TrimSuffix(line, "\n"), ":", 3)
		if len(parts) != 3 || parts[0] != "0" && parts[1] != "name=systemd" {
			continue
		}
		found, ofUser := "", false
		for dir := range strings.SplitSeq(parts[2], "/") {
			name := strings.TrimPrefix(dir, "_") // this escapes names that could be taken for a file of the kernel's
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

// isUnit reports whether systemd.unit(5) allows this name for a service or a scope, and it does not begin with a hyphen,
// because it is an argument of commands. It does not use a regular expression, which each start of the program would
// compile in 1 ms.
func isUnit(name string) bool {
	prefix, is := strings.CutSuffix(name, ".service")
	if !is {
		prefix, is = strings.CutSuffix(name, ".scope")
	}
	return is && prefix != "" && len(prefix) <= 247 && prefix[0] != '-' &&
		!strings.ContainsFunc(prefix, func(r rune) bool { return !strings.ContainsRune(unitCharacters, r) })
}

const unitCharacters = `ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789:_.\@-`

// printable is s if it can be shown unchanged, else empty.
func printable(s string) string {
	if len(s) > 256 || strings.ContainsFunc(s, func(r rune) bool { return r < ' ' || r > '~' }) {
		return ""
	}
	return s
}
