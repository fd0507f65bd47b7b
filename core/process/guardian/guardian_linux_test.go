package guardian

import (
	"errors"
	"fmt"
	"go/parser"
	"go/token"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"gatewaytui/core/process/kernel"
)

// The guardian weighs what its imports weigh: one that is set up late brings the whole program with it. These are set up
// before the gateway's own code.
func TestGuardian_ImportsLittle(t *testing.T) {
	allowed := []string{"bytes", "errors", "os", "strconv", "strings", "syscall", "unsafe", "gatewaytui/core/process/kernel"}
	for _, dir := range []string{".", "../kernel"} {
		files, err := filepath.Glob(filepath.Join(dir, "*.go"))
		if err != nil || len(files) < 2 {
			t.Fatalf("%d files in %s, %v", len(files), dir, err)
		}
		for _, name := range files {
			if strings.HasSuffix(name, "_test.go") || strings.HasSuffix(name, "_darwin.go") { // the goal of its memory is Linux's
				continue
			}
			file, err := parser.ParseFile(token.NewFileSet(), name, nil, parser.ImportsOnly)
			if err != nil {
				t.Fatal(err)
			}
			for _, spec := range file.Imports {
				if path, err := strconv.Unquote(spec.Path.Value); err != nil || !slices.Contains(allowed, path) {
					t.Errorf("%s imports %s", name, spec.Path.Value)
				}
			}
		}
	}
}

func TestCharge_IsReadAsItWasWritten(t *testing.T) {
	for _, c := range []Target{
		{Life: "01M7YPC0HYB8Y83HBSK2MHEQAQ", PID: 4711, Start: 1234567890123},
		{Life: "a life with blanks", PID: 1, Start: 1, Group: "/sys/fs/cgroup/a group"},
		{Life: "x", PID: 1, Start: 1, Group: "/a/b/c", Base: "/a", Controllers: "-memory -pids"},
		{Life: "x", PID: 1, Start: 1, Old: "/sys/fs/cgroup/memory/x\n/sys/fs/cgroup/pids/x"},
	} {
		if got, err := parseTarget(c.Args()); err != nil || got != c {
			t.Errorf("%+v, %v, want %+v", got, err, c)
		}
	}
	for name, args := range map[string][]string{
		"nothing after the title": {title + "x"},
		"an invalid pid":          {title + "x", "one", "1", "", "", "", ""},
		"an invalid start":        {title + "x", "1", "-1", "", "", "", ""},
		"too much":                {title + "x", "1", "1", "", "", "", "", ""},
	} {
		if c, err := parseTarget(args); err == nil {
			t.Errorf("%s is read as %+v", name, c)
		}
	}
}

// life is one that no other test has.
func life(t *testing.T) string {
	return fmt.Sprintf("life of %s %d %d", t.Name(), os.Getpid(), time.Now().UnixNano())
}

// started is a guardian of c, its pid, our end of its socket, and what it ends with.
func started(t *testing.T, c Target) (pid int, conn *os.File, ended <-chan error) {
	t.Helper()
	ours, theirs := pair(t)
	// In addition to the socket, a descriptor that the gateway was started with, and a standard input that the runtime polls.
	stdin, feed, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	defer stdin.Close()
	t.Cleanup(func() { _ = feed.Close() })
	if err := syscall.SetNonblock(int(stdin.Fd()), true); err != nil {
		t.Fatal(err)
	}
	cmd := &exec.Cmd{Path: "/proc/self/exe", Args: c.Args(), Env: Env(), Stdin: stdin, ExtraFiles: []*os.File{theirs, stdin}}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	if err := theirs.Close(); err != nil {
		t.Fatal(err)
	}
	done := make(chan error, 1)
	go func() { done <- cmd.Wait() }() // ends with the guardian, which the cleanup sees to
	t.Cleanup(func() { _ = cmd.Process.Kill(); _ = ours.Close() })
	pid = cmd.Process.Pid
	return pid, ours, done
}

func over(t *testing.T, ended <-chan error) error {
	t.Helper()
	select {
	case err := <-ended:
		return err
	case <-time.After(15 * time.Second):
		t.Fatal("the guardian did not end within 15 s")
		return nil
	}
}

func ready(t *testing.T, conn *os.File) {
	t.Helper()
	var b [1]byte
	if err := conn.SetReadDeadline(time.Now().Add(15 * time.Second)); err != nil {
		t.Fatal(err)
	}
	if _, err := conn.Read(b[:]); err != nil || b[0] != Ready {
		t.Fatalf("it says %q, %v, and not that it is ready", b, err)
	}
}

// me is this process as a gateway.
func me(t *testing.T, life string) Target {
	t.Helper()
	p, err := kernel.StatOf(os.Getpid())
	if err != nil {
		t.Fatal(err)
	}
	return Target{Life: life, PID: p.PID, Start: p.Start}
}

// marked is a process of a life, which says what ended it.
func marked(t *testing.T, life string) <-chan error {
	t.Helper()
	cmd := exec.Command("sleep", "1000")
	cmd.Env = []string{kernel.EnvLife + "=" + life}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	done := make(chan error, 1)
	go func() { done <- cmd.Wait() }() // ends with the process, which the cleanup sees to
	t.Cleanup(func() { _ = cmd.Process.Kill() })
	return done
}

func TestGuardian_ExitsAfterItsReleaseAndTouchesNothing(t *testing.T) {
	life := life(t)
	child := marked(t, life)
	pid, conn, ended := started(t, me(t, life))
	ready(t, conn)
	if to, err := os.Readlink(fmt.Sprintf("/proc/%d/fd/4", pid)); err == nil && strings.HasPrefix(to, "pipe:") {
		t.Errorf("it holds a descriptor of the gateway: %s", to)
	}
	if _, err := conn.Write([]byte{'?', Release, '!'}); err != nil {
		t.Fatal(err)
	}
	if err := over(t, ended); err != nil {
		t.Errorf("it ended with %v", err)
	}
	select {
	case err := <-child:
		t.Errorf("a process of the life was ended: %v", err)
	default:
	}
}

func TestGuardian_EndsTheLifeWhenItsSocketEnds(t *testing.T) {
	mine, others := life(t), life(t)+" of another"
	child, other := marked(t, mine), marked(t, others)
	_, conn, ended := started(t, me(t, mine))
	ready(t, conn)
	if err := conn.Close(); err != nil {
		t.Fatal(err)
	}
	if err := over(t, child); err == nil || err.Error() != "signal: killed" {
		t.Errorf("a process of the life ended with %v", err)
	}
	if err := over(t, ended); err != nil {
		t.Errorf("it ended with %v", err)
	}
	select {
	case err := <-other:
		t.Errorf("a process of another life was ended: %v", err)
	default:
	}
}

// One that comes too late, the pid of its gateway being reused by now, does its work at once and exits.
func TestGuardian_OfAGatewayThatIsGone(t *testing.T) {
	c := me(t, life(t))
	c.Start-- // who had our pid before us
	child := marked(t, c.Life)
	_, _, ended := started(t, c)
	if err := over(t, child); err == nil || err.Error() != "signal: killed" {
		t.Errorf("a process of the life ended with %v", err)
	}
	if err := over(t, ended); err != nil {
		t.Errorf("it ended with %v", err)
	}
}

func TestGuardian_DoesNotStartOnNonsense(t *testing.T) {
	cmd := &exec.Cmd{Path: "/proc/self/exe", Args: []string{title + "x", "one", "two", "three"}, Env: Env()}
	var exit *exec.ExitError
	if err := cmd.Run(); !errors.As(err, &exit) || exit.ExitCode() != 2 {
		t.Errorf("it ended with %v", err)
	}
}
