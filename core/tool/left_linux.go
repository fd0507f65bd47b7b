package tool

import (
	"bytes"
	"os"
	"path/filepath"
	"strconv"
)

// leftBehind counts the live processes of the session (setsid(2)) that pid led: what a command that has ended left
// running. Those that left the session are not counted; the registry has them. 0 also where /proc cannot be read.
func leftBehind(pid int) int {
	stats, err := filepath.Glob("/proc/[0-9]*/stat")
	if err != nil {
		return 0 // the pattern is a constant
	}
	n := 0
	for _, path := range stats {
		stat, err := os.ReadFile(path)
		if err != nil {
			continue // it ended meanwhile
		}
		if state, session := sessionOf(stat); session == pid && state != 'Z' && state != 'X' {
			n++
		}
	}
	return n
}

// sessionOf reads fields 3 and 6 of /proc/PID/stat (proc_pid_stat(5)), which follow the command's name; the name may hold
// anything, parentheses included.
func sessionOf(stat []byte) (state byte, session int) {
	fields := bytes.Fields(stat[bytes.LastIndexByte(stat, ')')+1:])
	if len(fields) < 4 || len(fields[0]) != 1 {
		return 0, 0
	}
	session, err := strconv.Atoi(string(fields[3]))
	if err != nil {
		return 0, 0
	}
	return fields[0][0], session
}
