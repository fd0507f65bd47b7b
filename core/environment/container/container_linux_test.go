package container

import (
	"context"
	"errors"
	"log/slog"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"gatewaytui/core/store"
	"gatewaytui/fixtures/eventually"
)

// late is what a busy machine may add to a bound.
const late = 10 * time.Second

func TestTR6_ACommandRunsInAContainer(t *testing.T) {
	r := setUp(t)
	c := r.container(t)
	if out, code := r.run(t, c, `echo "$HOSTNAME $PWD $HOME"; exit 7`); code != 7 || strings.TrimSpace(out) != c.name+" "+r.owner.Work+" "+r.owner.Home {
		t.Errorf("the command printed %q with exit code %d", out, code)
	}
	if out, _ := r.run(t, c, `echo "$SECRET_OF_TOOL"; env`); !strings.HasPrefix(out, "s3cr3t\n") || strings.Contains(out, "DOCKER_HOST") || strings.Contains(out, "GATEWAYTUI_LIFE") {
		t.Errorf("the command's environment is %q", out)
	}
	rows := r.rows.all()
	if len(rows) != 1 || rows[0].ID != c.name || !rows[0].Made || rows[0].Session != r.owner.Session {
		t.Errorf("the rows are %+v", rows)
	}
	if err := c.Close(t.Context()); err != nil {
		t.Error(err)
	}
	if err := c.Close(t.Context()); err != nil {
		t.Errorf("a second close: %v", err)
	}
	if left, rows := r.docker.Containers(t), r.rows.all(); len(left)+len(rows)+len(r.Rows()) > 0 || len(r.docker.Processes("")) > 0 {
		t.Errorf("left are %v, %+v, %+v", left, rows, r.Rows())
	}
	eventually.True(t, "no program of the engine is left", func() bool { return r.processes.Count() == 0 })
}

// The arguments are the promise of what a container cannot do.
func TestTR6_AContainerGetsNoPrivilegesAndItsLimits(t *testing.T) {
	r := setUp(t)
	v := r.settings()
	with, without := filepath.Join(t.TempDir(), "a,b"), t.TempDir()
	if err := os.Mkdir(with, 0o700); err != nil {
		t.Fatal(err)
	}
	v.Read, v.Write, v.Memory, v.PIDs, v.CPUs = []string{with}, []string{without}, 2<<30, 512, 1.5
	c, err := r.Start(t.Context(), v, r.owner)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = c.Close(context.Background()) }()
	args := strings.Join(r.docker.Arguments(t, c.name), " ")
	for _, want := range []string{
		"--rm", "--init", "--pull never", "--cap-drop ALL", "--security-opt no-new-privileges", "--network none", "--memory 2147483648 --memory-swap 2147483648",
		"--pids-limit 512", "--cpus 1.5", "--label gatewaytui.home=home", "--label gatewaytui.session=" + r.owner.Session, "--user ",
		`--mount type=bind,"source=` + with + `","target=` + with + `",readonly`, "--mount type=bind,source=" + without + ",target=" + without + " ",
	} {
		if !strings.Contains(args, want) {
			t.Errorf("the arguments lack %q: %s", want, args)
		}
	}
	for _, never := range []string{"--privileged", "docker.sock", "--env", "--volume", "--publish"} {
		if strings.Contains(args, never) {
			t.Errorf("the arguments have %q: %s", never, args)
		}
	}
}

func TestTR6_TermReachesTheCommandAndNotItsCarrier(t *testing.T) {
	r := setUp(t)
	c := r.container(t)
	cmd, p := r.sh(t, c, `trap 'echo "got TERM"; sleep 0.1; echo over; exit 3' TERM; echo up; while :; do sleep 0.05; done`)
	eventually.True(t, "the command runs", func() bool { out, _ := p.Output(); return strings.Contains(out, "up") })
	if err := cmd.Term(t.Context()); err != nil {
		t.Fatal(err)
	}
	exit, err := p.Wait(t.Context())
	out, _ := p.Output()
	if err != nil || exit.Code != 3 || !strings.Contains(out, "got TERM\n") || !strings.Contains(out, "over\n") {
		t.Errorf("it ended with %+v, %v and printed %q", exit, err, out)
	}
	if out, code := r.run(t, c, "echo next"); code != 0 || out != "next\n" {
		t.Errorf("the next command: %q, %d", out, code)
	}
}

func TestTR6_KillEndsWhatResistsTermAndLeavesOtherCommandsAlone(t *testing.T) {
	r := setUp(t)
	c := r.container(t)
	cmd, p := r.sh(t, c, `trap '' TERM; setsid sleep 301 & echo up; while :; do sleep 0.05; done`)
	_, other := r.sh(t, c, `echo up; sleep 302; :`)
	for _, p := range []interface{ Output() (string, bool) }{p, other} {
		eventually.True(t, "the command runs", func() bool { out, _ := p.Output(); return strings.Contains(out, "up") })
	}
	if err := cmd.Term(t.Context()); err != nil {
		t.Fatal(err)
	}
	if _, over := p.Exited(); over {
		t.Fatal("a command that ignores TERM ended by it")
	}
	if err := cmd.Kill(t.Context()); err != nil {
		t.Fatal(err)
	}
	if exit, err := p.Wait(t.Context()); err != nil || exit.Code != 137 {
		t.Errorf("it ended with %+v, %v", exit, err)
	}
	if _, over := other.Exited(); over || commandsOf(r, c, "sleep\x00301") > 0 {
		t.Error("KILL left a process, or ended another command")
	}
}

// commandsOf counts the processes of a container with this command line.
func commandsOf(r *rig, c *Container, want string) (n int) {
	for _, pid := range r.docker.Processes(c.name) {
		line, _ := os.ReadFile(filepath.Join("/proc", strconv.Itoa(pid), "cmdline"))
		if strings.HasPrefix(string(line), want) {
			n++
		}
	}
	return n
}

func TestTR6_WhatACommandLeavesEndsWithIt(t *testing.T) {
	r := setUp(t)
	c := r.container(t)
	if _, code := r.run(t, c, `setsid sleep 303 </dev/null >/dev/null 2>&1 & echo`); code != 0 {
		t.Fatal(code)
	}
	eventually.True(t, "what the command left has ended", func() bool { return commandsOf(r, c, "sleep\x00303") == 0 })
}

// A KILL that comes before the daemon began the command keeps it from beginning.
func TestTR6_ACommandThatIsEndedBeforeItBeginsDoesNotBegin(t *testing.T) {
	r := setUp(t)
	c := r.container(t)
	r.docker.Slow(t, "300ms")
	mark := filepath.Join(r.owner.Work, "ran")
	cmd, p := r.sh(t, c, "touch "+mark)
	if err := cmd.Kill(t.Context()); err != nil {
		t.Fatal(err)
	}
	if exit, err := p.Wait(t.Context()); err != nil || exit.Code != 143 {
		t.Errorf("it ended with %+v, %v", exit, err)
	}
	if _, err := os.Stat(mark); !errors.Is(err, os.ErrNotExist) {
		t.Error("it ran")
	}
}

func TestTR6_AMissingImageIsKnownAndNothingIsPulled(t *testing.T) {
	r := setUp(t)
	v := r.settings()
	v.Image = "other:2"
	if _, problems := r.Check(t.Context(), r.settings(), v); len(problems) != 1 || !strings.Contains(problems[0].Error(), "docker pull other:2") {
		t.Errorf("the check says %v", problems)
	}
	if _, err := r.Start(t.Context(), v, r.owner); err == nil || !strings.Contains(err.Error(), "docker pull other:2") {
		t.Errorf("the first use says %v", err)
	}
	if len(r.Rows())+len(r.rows.all()) > 0 {
		t.Errorf("rows of a container that was never made: %+v", r.Rows())
	}
}

// A daemon that hangs costs a Close its bound, and nothing is forgotten.
func TestTR6_ADaemonThatHangsDelaysNoClose(t *testing.T) {
	r := setUp(t)
	c := r.container(t)
	r.docker.Freeze(t, true)
	const limit = time.Second
	ctx, cancel := context.WithTimeout(t.Context(), limit)
	defer cancel()
	began := time.Now()
	err := c.Close(ctx)
	if took := time.Since(began); took > 2*limit { // a busy machine adds to it; the daemon hangs for longer
		t.Errorf("it took %v", took)
	}
	if err == nil || !strings.Contains(err.Error(), c.name) || !strings.Contains(err.Error(), "may still exist") {
		t.Errorf("the close says %v", err)
	}
	rows := r.Rows()
	if len(rows) != 1 || rows[0].State != "left" || len(r.rows.all()) != 1 {
		t.Errorf("the rows are %+v", rows)
	}
	r.docker.Freeze(t, false)
	eventually.True(t, "it is removed when the daemon answers", func() bool {
		return len(r.docker.Containers(t))+len(r.Rows())+len(r.rows.all())+len(r.docker.Processes("")) == 0
	})
}

// After a SIGKILL the next life knows what may be left by its rows, or by the label, and removes it.
func TestTR6_TheNextLifeRemovesWhatIsLeft(t *testing.T) {
	for _, row := range []string{"by its row", "by its label"} {
		t.Run(row, func(t *testing.T) {
			r := setUp(t)
			c := r.container(t)
			r.docker.Freeze(t, true) // else the container ends with its input
			r.die(t.Context())
			c.attached.End(t.Context())
			if row == "by its label" {
				r.rows.rows = map[string]store.Environment{}
			}
			r.live("home", "next")
			r.Recover(t.Context())
			if row == "by its row" && (len(r.Rows()) != 1 || r.Rows()[0].State != "left" || r.Rows()[0].Session != r.owner.Session) {
				t.Errorf("the next life has the rows %+v", r.Rows())
			}
			r.docker.Freeze(t, false)
			eventually.True(t, "it is removed when the daemon answers", func() bool {
				return len(r.docker.Containers(t))+len(r.Rows())+len(r.rows.all())+len(r.docker.Processes("")) == 0
			})
		})
	}
}

// The end of the program that holds a container ends the container without a further call.
func TestTR6_AContainerEndsWithTheProgramThatHoldsIt(t *testing.T) {
	r := setUp(t)
	c := r.container(t)
	marker := filepath.Join(r.owner.Work, "got TERM")
	_, p := r.sh(t, c, `trap 'touch "`+marker+`"; exit' TERM; echo up; while :; do sleep 0.05; done`)
	eventually.True(t, "the command runs", func() bool { out, _ := p.Output(); return strings.Contains(out, "up") })
	c.attached.End(t.Context())
	eventually.True(t, "the container is gone", func() bool { return len(r.docker.Containers(t))+len(r.docker.Processes("")) == 0 })
	if _, err := os.Stat(marker); err != nil {
		t.Error("its command got no TERM")
	}
}

func TestTR6_ADaemonThatIsNotThereIsNamed(t *testing.T) {
	r := setUp(t)
	r.docker.Kill()
	_, err := r.Start(t.Context(), r.settings(), r.owner)
	if err == nil || !strings.Contains(err.Error(), "Is the docker daemon running?") {
		t.Errorf("the first use says %v", err)
	}
	r.docker.Restart(t)
	if _, err := r.Start(t.Context(), r.settings(), r.owner); err != nil {
		t.Errorf("when the daemon runs: %v", err)
	}
	for _, row := range r.Rows() {
		_ = r.all[row.ID].Close(t.Context())
	}
}

// A start that the daemon holds up is cut off, and what it makes later is found.
func TestTR6_AStartThatIsCutOffLeavesNothing(t *testing.T) {
	r := setUp(t)
	if _, problems := r.Check(t.Context(), r.settings()); len(problems) > 0 {
		t.Fatal(problems)
	}
	r.docker.Freeze(t, true)
	ctx, cancel := context.WithTimeout(t.Context(), 300*time.Millisecond)
	defer cancel()
	began := time.Now()
	if _, err := r.Start(ctx, r.settings(), r.owner); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("it says %v", err)
	}
	if took := time.Since(began); took > late {
		t.Errorf("it took %v", took)
	}
	r.docker.Freeze(t, false)
	eventually.True(t, "nothing runs", func() bool { return len(r.docker.Containers(t))+len(r.docker.Processes("")) == 0 })
	if rows := r.rows.all(); len(rows) != 1 || rows[0].Made {
		t.Errorf("its row must last until its absence is certain: %+v", rows)
	}
	if !slices.ContainsFunc(r.Rows(), func(v Row) bool { return v.State == "left" }) {
		t.Errorf("the rows are %+v", r.Rows())
	}
}

// Root of a container of a rootless Docker is the gateway's user; another user could not write the work folder. Rootless Podman maps
// users by --userns.
func TestTR6_ARootlessDaemonMapsTheUser(t *testing.T) {
	for _, tt := range []struct {
		name, info string
		program    string
		want       []string
	}{
		{"docker as root", `{"SecurityOptions":["name=seccomp,profile=builtin"]}`, Docker, []string{"--user", "1000:1000"}},
		{"rootless docker", `{"SecurityOptions":["name=seccomp,profile=builtin","name=rootless"]}`, Docker, []string{"--user", "0:0"}},
		{"podman", `{"host":{"security":{"rootless":true}}}`, Podman, []string{"--user", "1000:1000", "--userns", "keep-id"}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			e := New(Options{Programs: []CommandLine{informed{CommandLine: NewProgram(tt.program, nil), info: tt.info}}, UID: 1000, GID: 1000, Log: slog.New(slog.DiscardHandler)})
			p, err := e.program(t.Context())
			if err != nil {
				t.Fatal(err)
			}
			args := e.add(p, Settings{Image: image}, Owner{Work: "/w", Home: "/h"}).runArgs()
			for i := 0; i < len(tt.want); i += 2 {
				if at := slices.Index(args, tt.want[i]); at < 0 || args[at+1] != tt.want[i+1] {
					t.Errorf("want %v in %q", tt.want[i:i+2], args)
				}
			}
		})
	}
}

// informed is a program whose daemon says info.
type informed struct {
	CommandLine
	info string
}

func (p informed) Run(context.Context, ...string) (string, int, error) { return p.info, 0, nil }

// A close that comes when a stop starts no program any more believes the container's own end, and nothing else.
func TestTR6_ACloseThatMayStartNoProgramBelievesTheEndOfTheContainer(t *testing.T) {
	for _, frozen := range []bool{false, true} {
		t.Run(map[bool]string{false: "the daemon answers", true: "the daemon hangs"}[frozen], func(t *testing.T) {
			r := setUp(t)
			c := r.container(t)
			r.docker.Freeze(t, frozen)
			r.processes.Refuse()
			limit := 2*late + time.Second // its half is for the end of the container
			if frozen {
				limit = 2 * time.Second
			}
			ctx, cancel := context.WithTimeout(t.Context(), limit)
			defer cancel()
			if err := c.Close(ctx); (err != nil) != frozen || c.Gone() == frozen {
				t.Errorf("the close says %v; gone: %v", err, c.Gone())
			}
			if rows := r.rows.all(); (len(rows) > 0) != frozen {
				t.Errorf("the rows are %+v", rows)
			}
		})
	}
}
