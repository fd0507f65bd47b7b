package control

import (
	"fmt"
	"net"
	"os"
	"strconv"
	"strings"

	"golang.org/x/sys/unix"
)

// ucred is who connected.
type ucred = unix.Ucred

func credentials(c net.Conn) (cred *ucred, err error) {
	err = onSocket(c, func(s int) (err error) {
		cred, err = unix.GetsockoptUcred(s, unix.SOL_SOCKET, unix.SO_PEERCRED)
		return err
	})
	return cred, err
}

// connected reports whether the process that connected exists (SO_PEERPIDFD, unix(7)).
func connected(c net.Conn) error {
	return onSocket(c, func(s int) error {
		fd, err := unix.GetsockoptInt(s, unix.SOL_SOCKET, unix.SO_PEERPIDFD)
		if err != nil {
			return err
		}
		defer unix.Close(fd)
		return unix.PidfdSendSignal(fd, 0, nil, 0)
	})
}

// ttyOf is the name of pid's controlling terminal below /dev, empty if it has none or it is unknown.
func ttyOf(pid int) string {
	if pid <= 0 {
		return ""
	}
	stat, _ := os.ReadFile("/proc/" + strconv.Itoa(pid) + "/stat") // of a process that has ended it is empty
	return ttyFromStat(string(stat))
}

// ttyFromStat reads tty_nr, the seventh field of proc_pid_stat(5). The second one, the command, is in parentheses and
// may itself hold parentheses and spaces.
func ttyFromStat(stat string) string {
	i := strings.LastIndexByte(stat, ')')
	if i < 0 {
		return ""
	}
	fields := strings.Fields(stat[i+1:])
	const ttyField = 4 // state, ppid, pgrp, session, tty_nr
	if len(fields) <= ttyField {
		return ""
	}
	nr, err := strconv.ParseInt(fields[ttyField], 10, 32)
	if err != nil || nr == 0 {
		return ""
	}
	major, minor := nr>>8&0xfff, nr&0xff|nr>>12&0xfff00
	switch {
	case major >= 136 && major <= 143: // unix98 terminals, devices.txt
		return "pts/" + strconv.FormatInt((major-136)<<8+minor, 10)
	case major == 4 && minor < 64:
		return "tty" + strconv.FormatInt(minor, 10)
	case major == 4:
		return "ttyS" + strconv.FormatInt(minor-64, 10)
	}
	return fmt.Sprintf("%d:%d", major, minor)
}
