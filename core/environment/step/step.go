// Package step has what the steps have in common that this program takes as the child of a gateway, between fork and exec: it
// becomes the command, or says why not. It imports next to nothing, so that the steps run before the rest of the program is set up.
package step

import (
	"strings"
	"syscall"
)

// The exit codes of a command that did not start, those of a shell (POSIX, 2.8.2).
const (
	NotRun   = 126
	NotFound = 127
)

// Exec becomes argv, which is searched for in the PATH of env as execvp(3) does. It returns only if that fails: the exit code, after
// a line on stderr.
func Exec(argv, env []string) int {
	name := argv[0]
	folders := []string{""}
	if !strings.Contains(name, "/") {
		folders = strings.Split(variable(env, "PATH"), ":")
	}
	code, last := NotFound, error(syscall.ENOENT)
	for _, folder := range folders {
		path := name
		if folder != "" {
			path = folder + "/" + name
		}
		err := syscall.Exec(path, argv, env)
		if err != syscall.ENOENT && err != syscall.ENOTDIR { // the first reason that tells more than absence
			code, last = NotRun, err
			if err != syscall.EACCES {
				break
			}
		}
	}
	Say("run " + name + ": " + last.Error())
	return code
}

func variable(env []string, name string) string {
	for _, kv := range env {
		if value, ok := strings.CutPrefix(kv, name+"="); ok {
			return value
		}
	}
	return "/usr/local/bin:/usr/bin:/bin"
}

// Say writes one line to stderr. Control characters are left out, because a path may have some.
func Say(line string) {
	clean := strings.Map(func(r rune) rune {
		if r < ' ' || r == 0x7f || r >= 0x80 && r < 0xa0 {
			return '?'
		}
		return r
	}, line)
	_, _ = syscall.Write(2, []byte("gatewaytui: "+clean+"\n"))
}
