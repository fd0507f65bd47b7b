package process

import (
	"errors"
	"fmt"
	"os"
	"os/signal"
	"syscall"
	"time"

	"golang.org/x/sys/unix"

	"gatewaytui/core/ops"
)

// reapRetry is how soon the reaper tries again when it had to leave a zombie alone.
const reapRetry = 200 * time.Millisecond

// reapLoop waits for children as they end: for the status of those that we started, and for adopted ones so that no zombie stays (C3).
func (r *Registry) reapLoop() {
	ended := make(chan os.Signal, 1)
	signal.Notify(ended, syscall.SIGCHLD)
	defer signal.Stop(ended)
	for {
		var retry <-chan time.Time
		if !r.reap() {
			retry = time.After(reapRetry)
		}
		select {
		case <-r.ctx.Done():
			r.reap()
			return
		case <-ended:
		case <-r.reapNow:
		case <-retry:
		}
	}
}

// reap collects every zombie that is ours to collect, and reports whether it could see past all of them. It never waits
// for a child that another part of the program started. Such a child is in our own process group, unless we are pid 1. As
// pid 1 we inherit all orphans, and only we start processes. It may be called from any goroutine.
func (r *Registry) reap() bool {
	for {
		pid := nextZombie()
		if pid == 0 {
			return true
		}
		if !r.collect(pid) {
			break
		}
	}
	// A zombie that is not ours is first in the kernel's list: ask for each known pid instead.
	r.mu.Lock()
	pids := make([]int, 0, len(r.trees)+len(r.adopted))
	for _, t := range r.trees {
		if t.origin == ops.OriginSpawned && t.leading {
			pids = append(pids, t.leader.PID)
		}
	}
	for pid := range r.adopted {
		pids = append(pids, pid)
	}
	r.mu.Unlock()
	for _, pid := range pids {
		r.collect(pid)
	}
	return false
}

// collect waits for pid, a child that may have ended, and reports whether it was ours to wait for.
func (r *Registry) collect(pid int) bool {
	p, statErr := statOf(pid)
	var status unix.WaitStatus
	r.mu.Lock()
	t := r.byPID[pid]
	if t == nil || t.origin != ops.OriginSpawned || !t.leading {
		t = nil
		if _, known := r.adopted[pid]; !known && len(r.pending) > 0 {
			r.mu.Unlock()
			return false // perhaps ours, about to be entered
		}
		if statErr != nil || (r.self.PID != 1 && (r.foreign[p.Ident] || p.PGRP == r.self.PGRP)) {
			r.mu.Unlock()
			return errors.Is(statErr, unix.ENOENT) || errors.Is(statErr, unix.ESRCH) // another part of the program collected it
		}
	}
	// Under the lock, so that a pid cannot pass from a collected child to an uncollected one.
	got, err := unix.Wait4(pid, &status, unix.WNOHANG, nil)
	if got != pid {
		r.mu.Unlock()
		return errors.Is(err, unix.ECHILD) // another part of the program collected it
	}
	r.waited++
	delete(r.adopted, pid)
	if t == nil {
		r.reaped.Add(1)
		r.mu.Unlock()
		nudge(r.nudges)
		return true
	}
	t.leading, t.leftAt, t.leftTick = false, r.scans, ticksNow()
	exit := exitOf(status, time.Now())
	byUs := t.killed
	r.mu.Unlock()

	hit := r.limits(t)
	if !byUs && exit.Code != 0 {
		exit.Limit = r.limitOf(exit, hit)
	}
	r.mu.Lock()
	row := r.row(t, exit.At)
	r.mu.Unlock()
	t.handle.exit = exit
	close(t.handle.exited)
	text := fmt.Sprintf("process %d ended with status %d", pid, exit.Code)
	if exit.Signal != 0 {
		text = fmt.Sprintf("process %d ended by signal %d (%v)", pid, int(exit.Signal), exit.Signal)
	}
	if exit.Limit != "" {
		text += ": " + exit.Limit
	}
	r.emit(ops.EventProcessExited, row, text)
	nudge(r.nudges)
	return true
}

func exitOf(s unix.WaitStatus, at time.Time) Exit {
	if s.Signaled() {
		return Exit{Code: 128 + int(s.Signal()), Signal: s.Signal(), At: at}
	}
	return Exit{Code: s.ExitStatus(), At: at}
}

// limitOf names the limit that ended a leader; empty: none did, as far as known.
func (r *Registry) limitOf(exit Exit, hit reached) string {
	// A shell also exits with 137 if a signal 9 ended its last command.
	struck := exit.Code == 128+int(syscall.SIGKILL)
	switch {
	case hit.text != "" && (struck || !hit.elsewhere):
		return hit.text
	case struck && r.oom.recent(exit.At):
		return outOfMemory
	}
	return ""
}
