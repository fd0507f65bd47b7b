package process

import (
	"bytes"
	"errors"
)

// proc is the part of a line of /proc/PID/stat that we use (proc_pid_stat(5)).
type proc struct {
	ident
	ppid, pgrp, sid int
	state           byte
	flags           uint64
	threads         int
	cpu             uint64 // user and system time, in clock ticks
	rss             int64  // pages
}

// kernelThread is PF_KTHREAD of linux/sched.h.
const kernelThread = 0x00200000

func (p proc) kernel() bool { return p.flags&kernelThread != 0 }

// alive leaves zombies out (field notes, 4.3). A leader whose other threads run on is shown as a zombie but is none.
func (p proc) alive() bool {
	switch p.state {
	case 'Z':
		return p.threads > 1
	case 'X', 'x':
		return false
	}
	return true
}

var errStat = errors.New("not a line of /proc/PID/stat")

// parseStat reads one line of /proc/PID/stat. The second field is the command's name in parentheses, and the command
// chooses what is between them: spaces, parentheses and newlines included.
func parseStat(b []byte) (proc, error) {
	var p proc
	open, end := bytes.IndexByte(b, '('), bytes.LastIndexByte(b, ')')
	if open < 2 || end < open || b[open-1] != ' ' {
		return p, errStat
	}
	pid, ok := number(b[:open-1])
	if !ok || pid == 0 || pid > 1<<31 {
		return p, errStat
	}
	p.pid = int(pid)

	// Fields from the third on; the index is the number in proc_pid_stat(5).
	field := 2
	for rest := b[end+1:]; len(rest) > 0; {
		rest = bytes.TrimLeft(rest, " \n")
		if len(rest) == 0 {
			break
		}
		word := rest
		if i := bytes.IndexAny(rest, " \n"); i >= 0 {
			word = rest[:i]
		}
		rest = rest[len(word):]
		field++
		if field == 3 {
			if len(word) != 1 {
				return proc{}, errStat
			}
			p.state = word[0]
			continue
		}
		if !wanted(field) {
			continue
		}
		negative := word[0] == '-'
		if negative {
			word = word[1:]
		}
		v, ok := number(word)
		if !ok {
			return proc{}, errStat
		}
		if negative {
			v = 0 // only a group or session outside of our namespace, and a broken rss, read below zero
		}
		switch field {
		case 4:
			p.ppid = int(v)
		case 5:
			p.pgrp = int(v)
		case 6:
			p.sid = int(v)
		case 9:
			p.flags = v
		case 14, 15:
			p.cpu += v
		case 20:
			p.threads = int(v)
		case 22:
			p.start = v
		case 24:
			p.rss = int64(v)
			return p, nil
		}
	}
	return proc{}, errStat
}

func wanted(field int) bool {
	switch field {
	case 4, 5, 6, 9, 14, 15, 20, 22, 24:
		return true
	}
	return false
}

// number reads decimal digits and nothing else; what does not fit in 63 bits is none.
func number(b []byte) (uint64, bool) {
	if len(b) == 0 || len(b) > 19 {
		return 0, false
	}
	var v uint64
	for _, c := range b {
		if c < '0' || c > '9' {
			return 0, false
		}
		v = v*10 + uint64(c-'0')
	}
	return v, v>>63 == 0
}

// marks are the marker variables of one environment.
type marks struct {
	life, session, spawn string
}

// parseEnviron reads the markers from the content of /proc/PID/environ, which the process may have overwritten with
// anything. The first of each name counts, as for getenv(3).
func parseEnviron(b []byte) marks {
	var m marks
	for len(b) > 0 {
		entry := b
		if i := bytes.IndexByte(b, 0); i >= 0 {
			entry, b = b[:i], b[i+1:]
		} else {
			b = nil
		}
		if !bytes.HasPrefix(entry, []byte(envPrefix)) {
			continue
		}
		name, value, ok := bytes.Cut(entry, []byte{'='})
		if !ok {
			continue
		}
		var into *string
		switch string(name) {
		case EnvLife:
			into = &m.life
		case EnvSession:
			into = &m.session
		case EnvSpawn:
			into = &m.spawn
		default:
			continue
		}
		if *into == "" {
			*into = string(value)
		}
	}
	return m
}
