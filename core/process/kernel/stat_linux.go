package kernel

import (
	"bytes"
	"errors"
)

var errStat = errors.New("not a line of /proc/PID/stat")

// ParseStat reads one line of /proc/PID/stat. The second field is the command's name in parentheses. The command chooses
// that name, which may have spaces, parentheses and newlines.
func ParseStat(b []byte) (Stat, error) {
	var p Stat
	open, end := bytes.IndexByte(b, '('), bytes.LastIndexByte(b, ')')
	if open < 2 || end < open || b[open-1] != ' ' {
		return p, errStat
	}
	pid, ok := number(b[:open-1])
	if !ok || pid == 0 || pid > 1<<31 {
		return p, errStat
	}
	p.PID = int(pid)

	// Fields from the third on; the index is the number in proc_pid_stat(5).
	field := 2
	for rest := b[end+1:]; ; {
		rest = bytes.TrimLeft(rest, " \n")
		if len(rest) == 0 {
			return Stat{}, errStat
		}
		word := rest
		if i := bytes.IndexAny(rest, " \n"); i >= 0 {
			word = rest[:i]
		}
		rest = rest[len(word):]
		field++
		if !p.set(field, word) {
			return Stat{}, errStat
		}
		if field == lastField {
			return p, nil
		}
	}
}

// lastField is the last field that is read.
const lastField = 24

// set reads one field; false: the text is invalid.
func (p *Stat) set(field int, word []byte) bool {
	if field == 3 {
		p.State = word[0]
		return len(word) == 1
	}
	if !wanted(field) {
		return true
	}
	negative := word[0] == '-'
	if negative {
		word = word[1:]
	}
	v, ok := number(word)
	if negative {
		v = 0 // only a group or session outside of our namespace, and a broken rss, are below zero
	}
	switch field {
	case 4:
		p.PPID = int(v)
	case 5:
		p.PGRP = int(v)
	case 6:
		p.SID = int(v)
	case 9:
		p.Flags = v
	case 14, 15:
		p.CPU += v
	case 20:
		p.Threads = int(v)
	case 22:
		p.Start = v
	case lastField:
		p.RSS = int64(v)
	}
	return ok
}

func wanted(field int) bool {
	switch field {
	case 4, 5, 6, 9, 14, 15, 20, 22, 24:
		return true
	}
	return false
}

// number reads decimal digits and nothing else. A value that does not fit in 63 bits is invalid.
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
