package kernel

import (
	"os"
	"os/exec"
	"slices"
	"strings"
	"testing"
)

const limits = "Limit                     Soft Limit           Hard Limit           Units     \n" +
	"Max cpu time              unlimited            unlimited            seconds   \n" +
	"Max realtime priority     0                    0                    \n"

func TestParseLimits(t *testing.T) {
	const tag = Tag(1<<62 | 12345)
	for _, tt := range []struct {
		name, in string
		want     Tag
	}{
		{"a tag", limits + "Max realtime timeout      4611686018427400249  unlimited            us        \n", tag},
		{"none", limits + "Max realtime timeout      unlimited            unlimited            us        \n", 0},
		{"a limit that somebody set", limits + "Max realtime timeout      200000               200000               us        \n", 0},
		{"a number that is too large", limits + "Max realtime timeout      46116860184274002490 unlimited            us        \n", 0},
		{"cut short", limits + "Max realtime timeout      46116860184", 0},
		{"cut short behind the name", limits + "Max realtime timeout", 0},
		{"no such line", limits, 0},
		{"nothing", "", 0},
	} {
		t.Run(tt.name, func(t *testing.T) {
			if got := parseLimits([]byte(tt.in)); got != tt.want {
				t.Errorf("%d, want %d", got, tt.want)
			}
		})
	}
}

func FuzzParseLimits(f *testing.F) {
	f.Add([]byte(limits + "Max realtime timeout      4611686018427400249  unlimited            us        \n"))
	f.Add([]byte(limits + "Max realtime timeout"))
	f.Fuzz(func(t *testing.T, b []byte) {
		if tag := parseLimits(b); tag != 0 && !tag.Valid() {
			t.Errorf("%q is read as %d, which is no tag", b, tag)
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
			t.Errorf("%x is no tag", not)
		}
	}
}

// A child has the tag, and nothing that it does to its environment or session sheds it.
func TestTag_IsInherited(t *testing.T) {
	tag := NewTag("a life", 7)
	if err := TryTag(tag); err != nil {
		t.Skipf("runs where the limit can be set: %v", err)
	}
	defer func() {
		if err := SetTag(0); err != nil {
			t.Error(err)
		}
		if got := TagOf(os.Getpid(), make([]byte, 4<<10)); got != 0 {
			t.Errorf("the tag is still %x", got)
		}
	}()
	out, err := exec.Command("setsid", "-w", "env", "-i", "/bin/bash", "-c", "(/bin/cat /proc/self/limits)").Output()
	if err != nil {
		t.Fatal(err)
	}
	if got := parseLimits(out); got != tag {
		t.Errorf("a grandchild has %x, not %x", got, tag)
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
	buf := make([]byte, 1<<10)
	p, err := StatOf(cmd.Process.Pid, buf)
	if err != nil {
		t.Fatal(err)
	}
	Kill(p.PID, p.Start-1, buf)
	if now, err := StatOf(p.PID, buf); err != nil || !now.Alive() {
		t.Errorf("another process of this pid was killed: %+v, %v", now, err)
	}
	Kill(p.PID, p.Start, buf)
	if err := cmd.Wait(); err == nil || err.Error() != "signal: killed" {
		t.Errorf("it ended with %v", err)
	}
	Kill(p.PID, p.Start, buf) // gone: nothing happens
}
