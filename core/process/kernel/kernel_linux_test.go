package kernel

import (
	"os"
	"os/exec"
	"slices"
	"strings"
	"testing"
)

const (
	limits = "Limit                     Soft Limit           Hard Limit           Units     \n" +
		"Max cpu time              unlimited            unlimited            seconds   \n" +
		"Max processes             96365                5000                 processes \n"
	realtime = "Max realtime timeout      "
	locks    = "Max file locks            "
	aTag     = "4611686018427400249  "
	noLimit  = "unlimited            "
	someHard = "9223372036854775808  "
)

func TestParseMarks(t *testing.T) {
	const tag = Tag(1<<62 | 12345)
	for _, tt := range []struct {
		name, in string
		want     Marks
	}{
		{"a tag", limits + locks + aTag + someHard + "locks \n" + realtime + aTag + someHard + "us \n", Marks{[2]Tag{tag, tag}, true, 5000}},
		{"one that took off the first", limits + locks + aTag + someHard + "locks \n" + realtime + "5000     " + someHard + "us \n", Marks{[2]Tag{0, tag}, true, 5000}},
		{"one that took off both", limits + locks + "5000     " + someHard + "locks \n" + realtime + "5000     5000    us \n", Marks{[2]Tag{}, true, 5000}},
		{"of an edition that bounded nothing", limits + locks + noLimit + noLimit + "locks \n" + realtime + aTag + noLimit + "us \n", Marks{[2]Tag{tag, 0}, false, 5000}},
		{"none", limits + locks + noLimit + noLimit + "locks \n" + realtime + noLimit + noLimit + "us \n", Marks{[2]Tag{}, false, 5000}},
		{"a real-time program", limits + locks + noLimit + noLimit + "locks \n" + realtime + "200000               200000               us \n", Marks{[2]Tag{}, false, 5000}},
		{"a number that is too large", limits + realtime + "46116860184274002490 " + noLimit + "us \n", Marks{Processes: 5000}},
		{"cut short", limits + realtime + "46116860184", Marks{Processes: 5000}},
		{"cut short after the name", limits + realtime[:20], Marks{Processes: 5000}},
		{"no such line", limits, Marks{Processes: 5000}},
		{"nothing", "", Marks{Processes: infinity}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			if got := parseMarks([]byte(tt.in)); got != tt.want {
				t.Errorf("%+v, want %+v", got, tt.want)
			}
		})
	}
}

func FuzzParseMarks(f *testing.F) {
	f.Add([]byte(limits + locks + aTag + someHard + "locks \n" + realtime + aTag + someHard + "us \n"))
	f.Add([]byte(limits + realtime))
	f.Fuzz(func(t *testing.T, b []byte) {
		m := parseMarks(b)
		for _, tag := range m.Tags {
			if tag != 0 && !tag.Valid() {
				t.Errorf("%q is read as %d, which is not a tag", b, tag)
			}
		}
		if m.Shed() && m.Tag() != 0 {
			t.Errorf("%q has the tag %d and is said to have taken it off", b, m.Tag())
		}
	})
}

func TestTag_NamesItsLifeAndSpawn(t *testing.T) {
	seen := map[Tag]string{}
	for _, life := range []string{"", "a", "b", "01M7YPC0HYB8Y83HBSK2MHEQAQ", "01M7YPC0HYB8Y83HBSK2MHEQAR", strings.Repeat("x", 1000)} {
		for _, spawn := range []uint64{0, 1, 2, 1<<spawnBits - 1} {
			tag := NewTag(life, spawn)
			if !tag.Valid() || !tag.Of(life) || tag.Of(life+"x") || tag.Spawn() != spawn {
				t.Errorf("tag %x of %q, %d", tag, life, spawn)
			}
			if other, twice := seen[tag]; twice {
				t.Errorf("%q and %q have the tag %x", life, other, tag)
			}
			seen[tag] = life
		}
		if tag := NewTag(life, 1<<spawnBits); !tag.Of(life) || tag.Spawn() != 0 {
			t.Errorf("a spawn whose number does not fit: %x", tag)
		}
	}
	for _, not := range []Tag{0, 1, 200_000, 1 << 63, ^Tag(0)} {
		if not.Valid() || not.Of("a") {
			t.Errorf("%x is not a tag", not)
		}
	}
}

// A child has the tag, and nothing that it does to its environment or session takes it off.
func TestTag_IsInherited(t *testing.T) {
	tag := tagged(t)
	out, err := exec.Command("setsid", "-w", "env", "-i", "/bin/bash", "-c", "(/bin/cat /proc/self/limits)").Output()
	if err != nil {
		t.Fatal(err)
	}
	if got := parseMarks(out); got.Tags != [2]Tag{tag, tag} || !got.Bounded {
		t.Errorf("a grandchild has %+v, not %x", got, tag)
	}
}

// One of two tags is not enough to take off, and who takes off both is known to have had them (HF6).
func TestHF6_ATagThatIsTakenOffLeavesAMark(t *testing.T) {
	tag := tagged(t)
	for _, tt := range []struct {
		name, script string
		tag          Tag
		shed         bool
	}{
		{"a limit that is to be unlimited", "ulimit -SR unlimited", tag, false},
		{"the soft limit of time", "ulimit -SR 5000", tag, false},
		{"the hard limit of time", "ulimit -R 5000", tag, false},
		{"the soft limit of locks", "ulimit -Sx 5000", tag, false},
		{"both soft limits", "ulimit -SR 5000; ulimit -Sx 5000", 0, true},
		{"both hard limits", "ulimit -R 5000; ulimit -x 5000", 0, true},
		{"both as far as they go", "ulimit -SR hard; ulimit -Sx hard", 0, true},
	} {
		t.Run(tt.name, func(t *testing.T) {
			out, err := exec.Command("bash", "-c", tt.script+" 2>/dev/null; cat /proc/self/limits").Output()
			if err != nil {
				t.Fatal(err)
			}
			if m := parseMarks(out); m.Tag() != tt.tag || m.Shed() != tt.shed {
				t.Errorf("tag %x, shed %v; want %x, %v", m.Tag(), m.Shed(), tt.tag, tt.shed)
			}
		})
	}
	if m := MarksOf(1); m.Shed() {
		t.Errorf("pid 1 is taken for one that took its tag off: %+v", m)
	}
}

// tagged tags this process for one test.
func tagged(t *testing.T) Tag {
	t.Helper()
	tag := NewTag("a life", 7)
	if err := TryTag(tag); err != nil {
		t.Skipf("runs where the limits can be set: %v", err)
	}
	t.Cleanup(func() {
		if err := SetTag(0); err != nil {
			t.Error(err)
		}
		if got := MarksOf(os.Getpid()).Tag(); got != 0 {
			t.Errorf("the tag is still %x", got)
		}
	})
	return tag
}

// A tool gets a lower limit of processes, which it cannot raise again without the right to.
func TestHF3_ALimitOfProcessesIsLowered(t *testing.T) {
	cmd := exec.Command("sleep", "1000")
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	defer func() { _, _ = cmd.Process.Kill(), cmd.Wait() }()
	before := MarksOf(cmd.Process.Pid).Processes
	if before < 20 {
		t.Skipf("runs where more than %d processes are allowed", before)
	}
	for _, most := range []uint64{before - 10, before - 5} { // the second one is higher, and changes nothing
		if err := BoundProcesses(cmd.Process.Pid, most); err != nil {
			t.Fatal(err)
		}
		if got := MarksOf(cmd.Process.Pid).Processes; got != before-10 {
			t.Errorf("after %d it has %d, want %d", most, got, before-10)
		}
	}
	if own, limited := ProcessLimit(); limited && own < before-10 {
		t.Errorf("our own is %d now", own)
	}
}

func TestHasMarker(t *testing.T) {
	for _, tt := range []struct {
		name, environ string
		want          bool
	}{
		{"the life", "A=b\x00" + EnvLife + "=x\x00B=c\x00", true},
		{"the life, last and cut", "A=b\x00" + EnvLife + "=x", true},
		{"another life", EnvLife + "=y\x00", false},
		{"a longer one", EnvLife + "=xy\x00", false},
		{"the first one counts", EnvLife + "=y\x00" + EnvLife + "=x\x00", false},
		{"in a value", "A=" + EnvLife + "=x\x00", false},
		{"a name that begins so", EnvLife + "S=x\x00", false},
		{"without a value", EnvLife + "\x00", false},
		{"nothing", "", false},
	} {
		t.Run(tt.name, func(t *testing.T) {
			if got := hasMarker([]byte(tt.environ), "x"); got != tt.want {
				t.Errorf("%v, want %v", got, tt.want)
			}
		})
	}
}

func FuzzHasMarker(f *testing.F) {
	f.Add([]byte("A=b\x00" + EnvLife + "=x\x00"))
	f.Add([]byte("\x00\x00"))
	f.Fuzz(func(t *testing.T, b []byte) {
		want := false
		for entry := range strings.SplitSeq(string(b), "\x00") {
			if value, ok := strings.CutPrefix(entry, EnvLife+"="); ok {
				want = value == "x"
				break
			}
		}
		if got := hasMarker(b, "x"); got != want {
			t.Errorf("%q: %v, want %v", b, got, want)
		}
	})
}

func TestPIDs_HasUs(t *testing.T) {
	pids, err := PIDs()
	if err != nil || !slices.Contains(pids, os.Getpid()) || !slices.Contains(pids, 1) {
		t.Errorf("%v, %v", pids, err)
	}
}

// A pid that was given out again is not killed (B11).
func TestB11_KillTakesTheIdentity(t *testing.T) {
	cmd := exec.Command("sleep", "1000")
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	p, err := StatOf(cmd.Process.Pid)
	if err != nil {
		t.Fatal(err)
	}
	Kill(p.PID, p.Start-1)
	if now, err := StatOf(p.PID); err != nil || !now.Alive() {
		t.Errorf("another process of this pid was killed: %+v, %v", now, err)
	}
	Kill(p.PID, p.Start)
	if err := cmd.Wait(); err == nil || err.Error() != "signal: killed" {
		t.Errorf("it ended with %v", err)
	}
	Kill(p.PID, p.Start) // gone: nothing happens
}
