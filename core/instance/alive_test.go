package instance

import (
	"os"
	"os/exec"
	"testing"

	"golang.org/x/sys/unix"
)

func TestAlive(t *testing.T) {
	self := Self()
	if self.PID != os.Getpid() || self.StartTicks == 0 || self.BootID == "" || self.PIDNamespace == "" {
		t.Fatalf("this process is %+v", self)
	}
	zombie := exec.Command("true")
	if err := zombie.Start(); err != nil {
		t.Fatal(err)
	}
	var info unix.Siginfo
	if err := unix.Waitid(unix.P_PID, zombie.Process.Pid, &info, unix.WEXITED|unix.WNOWAIT, nil); err != nil {
		t.Fatal(err)
	}
	dead, err := readStat(zombie.Process.Pid)
	if err != nil {
		t.Fatal(err)
	}
	with := func(change func(*Record)) Record { r := self; change(&r); return r }
	for _, c := range []struct {
		name         string
		r            Record
		alive, known bool
	}{
		{"this process lives", self, true, true},
		{"it lives, too, for a record that names no pid namespace", with(func(r *Record) { r.PIDNamespace = "" }), true, true},
		{"B11: a pid that was given out again is not the process", with(func(r *Record) { r.StartTicks-- }), false, true},
		{"what ran before the last boot is over", with(func(r *Record) { r.BootID = "00000000-0000-0000-0000-000000000000" }), false, true},
		{"a zombie is over", with(func(r *Record) { r.PID, r.StartTicks = dead.pid, dead.start }), false, true},
		{"a pid of another pid namespace says nothing", with(func(r *Record) { r.PIDNamespace = "pid:[1]" }), false, false},
		{"a pid without a start says nothing", with(func(r *Record) { r.StartTicks = 0 }), false, false},
		{"a pid without a boot says nothing", with(func(r *Record) { r.BootID = "" }), false, false},
		{"no record says nothing", Record{}, false, false},
	} {
		t.Run(c.name, func(t *testing.T) {
			if alive, known := Alive(c.r); alive != c.alive || known != c.known {
				t.Errorf("alive %v, known %v; want %v, %v", alive, known, c.alive, c.known)
			}
		})
	}
	if err := zombie.Wait(); err != nil {
		t.Fatal(err)
	}
	if alive, known := Alive(with(func(r *Record) { r.PID, r.StartTicks = dead.pid, dead.start })); alive || !known {
		t.Errorf("a process that was waited for: alive %v, known %v", alive, known)
	}
}

func TestParseStat(t *testing.T) {
	for _, c := range []struct {
		name, text string
		want       stat
		ok         bool
	}{
		{"a command with parentheses and a newline", "7 (a) R 1 (\n b) S 1 7 7 0 -1 4194560 1 0 0 0 0 0 0 0 20 0 1 0 12345 1 2 3", stat{7, 'S', 12345}, true},
		{"too few fields", "7 (a) S 1 7", stat{}, false},
		{"nothing", "", stat{}, false},
		{"no command", "7 S 1 7 7 0 -1 4194560 1 0 0 0 0 0 0 0 20 0 1 0 12345 1 2 3", stat{}, false},
		{"a start that is not a number", "7 (a) S 1 7 7 0 -1 4194560 1 0 0 0 0 0 0 0 20 0 1 0 -5 1 2 3", stat{}, false},
	} {
		t.Run(c.name, func(t *testing.T) {
			got, err := parseStat([]byte(c.text))
			if got != c.want || (err == nil) != c.ok {
				t.Errorf("got %+v, %v", got, err)
			}
		})
	}
}
