package container

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"time"

	"gatewaytui/core/process"
)

// runDir is a small file system in memory, in each container, with a file for each command that was ended.
const runDir = "/run/gatewaytui"

// markVariable marks the processes of commands, as NAME/COMMAND/. It is not in the environment of the first process.
const markVariable = "GATEWAYTUI_COMMAND"

// keeper is the first process of a container, below the init of the program. It signals commands on request, because a
// signal to `docker exec` does not reach what it started. At the end of its input it sends TERM to every command, waits for
// the grace, and ends, and with it the container. It needs sh, grep and sleep of the image.
//
//	$1: directory of ended commands; $2: begin of all marks; $3: grace in tenths of a second.
const keeper = `
run=$1 all=$2 grace=$3 termed=" "
send() {
	for f in $(grep -lsF "$2" /proc/[0-9]*/environ); do
		p=${f#/proc/}; p=${p%/environ}
		case "$termed" in *" $p "*) [ "$1" = TERM ] && continue ;; esac
		[ "$1" = TERM ] && termed="$termed$p "
		kill -"$1" "$p" 2>/dev/null
	done
}
some() { [ -n "$(grep -lsF "$1" /proc/[0-9]*/environ)" ]; }
finish() {
	trap '' TERM
	send TERM "$all"
	while [ "$grace" -gt 0 ] && some "$all"; do sleep 0.1; grace=$((grace - 1)); done
	exit 0
}
trap finish TERM
echo ready
while read -r verb id; do
	: > "$run/$id"
	case "$verb" in
	TERM) send TERM "$all$id/"; echo "TERM $id done" ;;
	KILL)
		i=0
		while [ $i -lt 50 ] && { send KILL "$all$id/"; some "$all$id/"; }; do sleep 0.02; i=$((i + 1)); done
		some "$all$id/" || echo "KILL $id done" ;;
	esac
done
finish
`

// carrier runs one command in a container. A command that was ended before it began does not begin. bash is replaced by sh in
// an image without bash. What the command leaves running ends with it.
//
//	$1: file that says that the command was ended; the rest: the command.
const carrier = `
[ -e "$1" ] && exit 143
shift
if [ "$1" = bash ] && ! command -v bash >/dev/null 2>&1; then shift; set -- sh "$@"; fi
trap : TERM INT HUP
"$@"
code=$?
for i in 1 2 3; do
	for f in $(grep -lsF "$` + markVariable + `" /proc/[0-9]*/environ); do
		p=${f#/proc/}; p=${p%/environ}
		[ "$p" = $$ ] || kill -KILL "$p" 2>/dev/null
	done
done
exit $code
`

// Command is a command that runs in a container.
type Command struct {
	// Argv is run instead of the command. Env is added to the environment of Argv, and holds the values that Argv names.
	Argv, Env []string
	c         *Container
	id        string
}

// Command returns how argv starts in dir. env is what the command sees, as NAME=value, beyond what the image sets. terminal
// says that its standard input is a terminal. It starts nothing.
func (c *Container) Command(argv []string, dir string, env []string, terminal bool) Command {
	c.engine.mu.Lock()
	c.commands++
	id := strconv.FormatUint(c.commands, 10)
	c.engine.mu.Unlock()
	args := []string{"exec", "--interactive", "--workdir", dir}
	if terminal {
		args = append(args, "--tty")
	}
	args = append(args, "--env", markVariable+"="+c.name+"/"+id+"/", "--env", "HOME="+c.owner.Home)
	var carried []string
	for _, kv := range env {
		name, _, ok := strings.Cut(kv, "=")
		if !ok || name == "" || notCarried(name) {
			continue
		}
		args, carried = append(args, "--env", name), append(carried, kv) // by name: the value is not in the list of processes
	}
	args = append(args, c.name, "sh", "-c", carrier, "gatewaytui", runDir+"/"+id)
	return Command{Argv: c.program.Argv(append(args, argv...)...), Env: append(carried, c.program.Env()...), c: c, id: id}
}

// notCarried reports whether a variable would change what the program does, or is set by the image.
func notCarried(name string) bool {
	switch name {
	case "PATH", "HOME", "USER", "LOGNAME", "SHELL", "TMPDIR", "SSH_AUTH_SOCK":
		return true
	}
	for _, prefix := range []string{"DOCKER_", "CONTAINER", "PODMAN_", "XDG_", "GATEWAYTUI_", "LD_", "SSL_CERT_"} {
		if strings.HasPrefix(name, prefix) {
			return true
		}
	}
	return false
}

// Times of signals, which go through the input of the program that holds the container.
const (
	sayBound  = time.Second
	hearBound = 3 * time.Second
)

// Term sends TERM to the command and what it started. It does not wait for their end.
func (c Command) Term(ctx context.Context) error { return c.signal(ctx, "TERM") }

// Kill sends KILL to the command and what it started, until none of them is left. Where that is not confirmed in time the
// container is removed, in the background: nothing else is certain then.
func (c Command) Kill(ctx context.Context) error {
	err := c.signal(ctx, "KILL")
	if err != nil {
		c.c.abandon(err)
	}
	return err
}

func (c Command) signal(ctx context.Context, name string) error {
	ctx, cancel := context.WithTimeout(ctx, sayBound+hearBound)
	defer cancel()
	attached := c.c.attached
	if !c.c.usable() {
		return nil // it ends as a whole, with its commands
	}
	err := attached.Say(ctx, name+" "+c.id)
	if err == nil {
		err = attached.Hear(ctx, name+" "+c.id+" done")
	}
	if errors.Is(err, process.ErrNoInput) {
		return nil // a kill closed the input, at which the container ends
	}
	if err != nil && c.c.usable() {
		return fmt.Errorf("send %s to a command in container %s: %w", name, c.c.name, err)
	}
	return nil
}
