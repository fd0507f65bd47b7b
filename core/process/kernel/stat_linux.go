package kernel

import (
	"bytes"
	"errors"
	"strconv"
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

	field := 2 // the number in proc_pid_stat(5)
	for word := range bytes.FieldsSeq(b[end+1:]) {
		field++
		if !p.set(field, word) {
			return Stat{}, errStat
		}
		if field == lastField {
			return p, nil
		}
	}
	return Stat{}, errStat
}

// lastField is the last field that is read.
const lastField = 24

// set reads one field; false: the text is invalid.
func (p *Stat) set(field int, word []byte) bool {
	if field == 3 {
		p.State = word[0]
		return len(word) == 1
	}
	v, ok := number(bytes.TrimPrefix(word, []byte("-")))
	if word[0] == '-' {
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
	default:
		return true
	}
	return ok
}

// number reads decimal digits and nothing else. A value that does not fit in 63 bits is invalid.
func number(b []byte) (uint64, bool) {
	v, err := strconv.ParseUint(string(b), 10, 63)
	return v, err == nil
}
