package e2e

import (
	"fmt"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"

	"gatewaytui/fixtures/eventually"
)

// unprivileged is a line of bash that runs the program as a user without processes or rights, of whom no more than 400
// processes may live: to be given to startUnder by root.
const unprivileged = `chown -R 64999 "$4" "$6"; chmod 755 "$(dirname "$1")" "$(dirname "$6")" "$(dirname "$(dirname "$6")")"
ulimit -u 400; exec setpriv --reuid 64999 --regid 64999 --clear-groups "$@"`

// A tool that fills the limit of processes, and keeps it full, neither ends the gateway nor keeps it from its work (HF3).
func TestHF3_AToolThatFillsTheProcessLimitIsSurvived(t *testing.T) {
	if os.Geteuid() != 0 {
		t.Skip("runs as root: it runs the gateway as a user of its own")
	}
	g := startUnder(t, unprivileged, newHome(t), quick)
	g.job("filler", `for i in $(seq 600); do sleep 3900 & done; sleep 3900`)
	const reserve = 64
	eventually.True(t, "the tools have as many processes as they may", func() bool { return tasksOf(t, 64999) >= 400-reserve })
	var all sync.WaitGroup
	for i := range 100 {
		all.Go(func() {
			if reply, status := g.chat(fmt.Sprintf("u%d", i), "echo a"); status != http.StatusOK {
				t.Errorf("a message is answered with %d %q", status, reply)
			}
		})
	}
	all.Wait()
	if reply, status := g.chat("other", "sh: /bin/echo works"); status != http.StatusOK || !strings.Contains(reply, "works") {
		t.Errorf("another user's tool is answered with %d %q", status, reply)
	}
	if reply, status := g.chat("other", "sh: ulimit -Hu; ulimit -u 390 2>/dev/null; ulimit -u"); status != http.StatusOK || strings.Count(reply, strconv.Itoa(400-reserve)) < 2 {
		t.Errorf("the limit of a tool, which it tries to raise: %d %q", status, reply)
	}
	if code, _ := g.stop(); code != 0 {
		t.Errorf("the gateway ended with %d", code)
	}
	if left := marked(t, g.life); len(left) > 0 {
		t.Errorf("%d processes are still running", len(left))
	}
}

// tasksOf is how many threads of a user live.
func tasksOf(t *testing.T, uid uint32) (n int) {
	t.Helper()
	tasks, err := filepath.Glob("/proc/[0-9]*/task/*")
	if err != nil {
		t.Fatal(err)
	}
	for _, task := range tasks {
		if info, err := os.Stat(task); err == nil && info.Sys().(*syscall.Stat_t).Uid == uid {
			n++
		}
	}
	return n
}

// memoryGroup makes a control group of 120 MB, of either version, and returns its directory and the file that counts what
// the kernel ended for want of memory.
func memoryGroup(t *testing.T) (dir, kills string) {
	t.Helper()
	name := fmt.Sprintf("gatewaytui-test-%d", os.Getpid())
	why := "no memory controller is mounted"
	for _, v := range []struct {
		root, kills string
		limits      map[string]string
	}{
		{"/sys/fs/cgroup/memory", "memory.oom_control", map[string]string{"memory.limit_in_bytes": "120M"}},
		{"/sys/fs/cgroup", "memory.events", map[string]string{"memory.max": "120M", "memory.swap.max": "0"}},
	} {
		dir := filepath.Join(v.root, name)
		if err := os.Mkdir(dir, 0o755); err != nil {
			why = err.Error()
			continue
		}
		t.Cleanup(func() { _ = os.Remove(dir) })
		bounded := true
		for file, value := range v.limits {
			if err := os.WriteFile(filepath.Join(dir, file), []byte(value), 0o644); err != nil {
				bounded, why = false, err.Error()
			}
		}
		if bounded {
			return dir, filepath.Join(dir, v.kills)
		}
	}
	t.Skipf("runs where a control group with a memory limit can be made: %s", why)
	return "", ""
}

// What many small tools eat is not the end of the gateway, the largest process of its group (HF4).
func TestHF4_UnderAMemoryLimitTheToolsEndFirst(t *testing.T) {
	dir, kills := memoryGroup(t)
	g := startUnder(t, `echo $$ >`+dir+`/cgroup.procs; exec "$@"`, newHome(t), quick)
	g.job("eater", `for i in $(seq 40); do { head -c 6000000 /dev/zero; sleep 600; } | tail -n 1 & done; wait`)
	// Version 1 counts in the group of the process that was ended, which is that of a session.
	count := func() (n int) {
		_ = filepath.WalkDir(dir, func(path string, _ os.DirEntry, _ error) error { // a group may vanish meanwhile
			if filepath.Base(path) == filepath.Base(kills) {
				text, _ := os.ReadFile(path)
				_, rest, _ := strings.Cut("\n"+string(text), "\noom_kill ")
				one, _ := strconv.Atoi(strings.Fields(rest + " 0")[0])
				n += one
			}
			return nil
		})
		return n
	}
	eventually.True(t, "the kernel ends processes for want of memory", func() bool { return count() > 0 })
	for i := range 5 {
		if reply, status := g.chat(fmt.Sprintf("u%d", i), "echo a"); status != http.StatusOK {
			t.Errorf("a message is answered with %d %q", status, reply)
		}
	}
	guardian := g.hold().Guardian
	for who, pid := range map[string]int{"the gateway": g.cmd.Process.Pid, "the guardian": guardian} {
		if score := scoreOf(t, strconv.Itoa(pid)); score >= 500 {
			t.Errorf("the oom_score_adj of %s is %d", who, score)
		}
	}
	if reply, _ := g.chat("asker", "sh: (cat /proc/self/oom_score_adj)"); !strings.Contains(reply, "500") {
		t.Errorf("the oom_score_adj of a tool's child is %q", reply)
	}
	if code, _ := g.stop(); code != 0 {
		t.Errorf("the gateway ended with %d", code)
	}
}

func scoreOf(t *testing.T, pid string) int {
	t.Helper()
	text, err := os.ReadFile("/proc/" + pid + "/oom_score_adj")
	if err != nil {
		t.Fatal(err)
	}
	n, err := strconv.Atoi(strings.TrimSpace(string(text)))
	if err != nil {
		t.Fatal(err)
	}
	return n
}

// shedders take their tag off, and their environment, session and parents; MARK is how they are found.
var shedders = map[string]string{
	"of the finding": "ulimit -SR unlimited; env -i setsid -f /bin/sleep MARK",
	"both limits":    "ulimit -SR 5000; ulimit -Sx 5000; env -i setsid -f /bin/sleep MARK",
	"without output": "ulimit -R 5000; ulimit -x 5000; cd /; env -i setsid -f /bin/sleep MARK </dev/null >/dev/null 2>&1",
}

// A process that takes its tag off ends when its owner does, all the same, where no control group holds it (HF6).
func TestHF6_WhatTakesItsTagOffEndsWithItsOwner(t *testing.T) {
	t.Parallel() // it waits for processes to come and go
	wrapper := levels(t)["subreaper"]
	gone := func(t *testing.T, f forest) {
		t.Helper()
		eventually.True(t, "the process is gone", func() bool { return len(f.standing(t)) == 0 })
	}
	planted := func(t *testing.T, f forest) {
		t.Helper()
		eventually.True(t, "the process stands alone", func() bool { return len(f.standing(t)) == 1 })
	}
	for name, script := range shedders {
		script := func(f forest) string { return strings.ReplaceAll(script, "MARK", f.argument(0)) }
		t.Run(name+", its turn", func(t *testing.T) {
			g, f := startUnder(t, wrapper, newHome(t), quick), newForest(t)
			if reply, status := g.chat("a", "sh: "+script(f)); status != http.StatusOK {
				t.Fatalf("%d %s", status, reply)
			}
			gone(t, f)
		})
		t.Run(name+", its session", func(t *testing.T) {
			g, f := startUnder(t, wrapper, newHome(t), quick), newForest(t)
			g.job("a", script(f))
			planted(t, f)
			if reply, status := g.chat("a", "/new"); status != http.StatusOK {
				t.Fatalf("%d %s", status, reply)
			}
			gone(t, f)
		})
		t.Run(name+", a stop", func(t *testing.T) {
			g, f := startUnder(t, wrapper, newHome(t), quick), newForest(t)
			g.job("a", script(f))
			planted(t, f)
			if code, _ := g.stop(); code != 0 {
				t.Errorf("exit code %d", code)
			}
			gone(t, f)
		})
		t.Run(name+", a gateway that it kills at once", func(t *testing.T) {
			g, f := startUnder(t, wrapper, newHome(t), quick), newForest(t)
			g.hold()
			g.say("a", "sh: "+script(f)+"; kill -9 $PPID")
			g.exit()
			gone(t, f)
		})
		t.Run(name+", a gateway that is killed with its guardian", func(t *testing.T) {
			home := newHome(t)
			g, f := startUnder(t, wrapper, home, quick), newForest(t)
			guardian := g.hold().Guardian
			g.job("a", script(f)+"; exec sleep "+f.argument(1))
			eventually.True(t, "both processes stand", func() bool { return len(f.asleep(t)) == 2 })
			if name != "of the finding" { // it has one tag left, by which it is found
				// By their pids, once they sleep: a step on the way may be named as well, and the process that it starts may not be.
				eventually.True(t, "the journal names both", func() bool { return journalled(t, home, f.asleep(t)) == 2 })
			}
			for _, pid := range []int{guardian, g.cmd.Process.Pid} {
				if err := syscall.Kill(pid, syscall.SIGKILL); err != nil {
					t.Fatal(err)
				}
			}
			g.exit()
			next := startUnder(t, wrapper, home, quick)
			gone(t, f)
			if code, _ := next.stop(); code != 0 {
				t.Errorf("exit code %d", code)
			}
		})
	}
}

// journalled is how many of procs the journal of a home names as processes that have not ended.
func journalled(t *testing.T, home string, procs map[process]string) int {
	t.Helper()
	pids := []string{"0"}
	for p := range procs {
		pids = append(pids, strconv.Itoa(p.pid))
	}
	query := "select count(distinct pid) from processes where (ended_at is null or ended_at = 0) and pid in (" + strings.Join(pids, ", ") + ")"
	out, err := exec.Command("sqlite3", "-readonly", filepath.Join(home, "gateway.db"), query).Output()
	if err != nil {
		t.Skipf("runs where sqlite3 reads the journal: %v", err)
	}
	n, _ := strconv.Atoi(strings.TrimSpace(string(out)))
	return n
}

// While the guardian is replaced, status warns (HF26).
func TestHF26_AMissingGuardianIsAWarning(t *testing.T) {
	g := start(t, newHome(t), quick)
	var s struct {
		Containment hold
		Warnings    []struct{ Code, Message string }
	}
	warned := func() bool {
		g.socket(http.MethodGet, "/v1/status", nil, &s)
		for _, w := range s.Warnings {
			if w.Code == "containment.guardian" {
				return true
			}
		}
		return false
	}
	eventually.True(t, "status warns that no guardian watches", func() bool {
		if warned() {
			return true
		}
		if s.Containment.Guardian != 0 { // the pause before the next one doubles each time
			_ = syscall.Kill(s.Containment.Guardian, syscall.SIGKILL)
		}
		return false
	})
	eventually.True(t, "the warning ends when one watches again", func() bool { return !warned() && s.Containment.Guardian != 0 })
}
