package process

import (
	"fmt"
	"os"
	"os/exec"
	"strings"
	"testing"

	"gatewaytui/fixtures/eventually"
)

const mounts = `31 23 0:28 / /sys/fs/cgroup rw,relatime - tmpfs tmpfs rw,mode=755
41 31 0:37 / /sys/fs/cgroup/systemd rw,relatime - cgroup cgroup rw,name=systemd
`

func TestOwnGroup(t *testing.T) {
	for _, tt := range []struct {
		name, mountinfo, cgroup, dir, own string
	}{
		{"a unified host", "29 23 0:26 / /sys/fs/cgroup rw,nosuid shared:4 - cgroup2 cgroup2 rw,nsdelegate\n", "0::/user.slice/x.service\n", "/sys/fs/cgroup/user.slice/x.service", "/user.slice/x.service"},
		{"a host with both versions", mounts + "42 31 0:38 / /sys/fs/cgroup/unified rw,relatime - cgroup2 cgroup2 rw\n", "9:name=systemd:/a\n0::/b\n", "/sys/fs/cgroup/unified/b", "/b"},
		{"the root group", "29 23 0:26 / /sys/fs/cgroup rw - cgroup2 none rw\n", "0::/\n", "/sys/fs/cgroup", "/"},
		{"a container that sees a part", "29 23 0:26 /docker/4711 /sys/fs/cgroup rw - cgroup2 cgroup rw\n", "0::/docker/4711/sub\n", "/sys/fs/cgroup/sub", "/docker/4711/sub"},
		{"a part that is not ours", "29 23 0:26 /docker/47 /sys/fs/cgroup rw - cgroup2 cgroup rw\n", "0::/docker/4711\n", "", ""},
		{"blanks in the mount point", "29 23 0:26 / /mnt/c\\040g rw - cgroup2 cgroup rw\n", "0::/a\n", "/mnt/c g/a", "/a"},
		{"a group outside of the namespace", "29 23 0:26 / /sys/fs/cgroup rw - cgroup2 cgroup rw\n", "0::/../a\n", "", ""},
		{"version 1 alone", mounts, "9:name=systemd:/a\n", "", ""},
		{"a tree that is not mounted", mounts, "0::/a\n", "", ""},
		{"lines cut short", "29 23 - cgroup2\n0 0", "0::", "", ""},
		{"nothing", "", "", "", ""},
	} {
		t.Run(tt.name, func(t *testing.T) {
			dir, own, err := ownGroup(tt.mountinfo, tt.cgroup)
			if dir != tt.dir || own != tt.own || (err == nil) != (tt.dir != "") {
				t.Errorf("%q, %q, %v; want %q, %q", dir, own, err, tt.dir, tt.own)
			}
		})
	}
}

func FuzzOwnGroup(f *testing.F) {
	f.Add("29 23 0:26 / /sys/fs/cgroup rw shared:4 - cgroup2 cgroup2 rw\n", "0::/user.slice/x.service\n")
	f.Add("29 23 0:26 /a /mnt/c\\040g rw - cgroup2 cgroup rw\n", "0::/a/b\n")
	f.Fuzz(func(t *testing.T, mountinfo, cgroup string) {
		dir, own, err := ownGroup(mountinfo, cgroup)
		if err == nil && (!strings.HasPrefix(dir, "/") || !strings.HasPrefix(own, "/")) {
			t.Errorf("%q, %q", dir, own)
		}
	})
}

// The level that is not to be had is refused if it was asked for; otherwise it is said why there is a lower one.
func TestContainment_SaysItsLevelAndWhy(t *testing.T) {
	t.Run("the strongest", func(t *testing.T) {
		needs(t, ContainmentCgroup)
		r := registry(t)
		if level, why := r.Containment(); level != ContainmentCgroup || why != "" {
			t.Errorf("%s, %q", level, why)
		}
		if _, err := os.Stat(r.groups.life); err != nil {
			t.Error(err)
		}
		p := sh(t, r, `exec sleep 1000`)
		if id := r.groups.spawnOf(p.PID()); id != p.tree.id {
			t.Errorf("it is in the group of spawn %d, not %d", id, p.tree.id)
		}
		verified(t, p.Kill(t.Context(), short))
		eventually.True(t, "the tree's group is gone", func() bool {
			_, err := os.Stat(r.groups.tree(p.tree.id, false))
			return os.IsNotExist(err)
		})
	})
	t.Run("a lower one that was asked for", func(t *testing.T) {
		r := registry(t, at(ContainmentSubreaper))
		if level, why := r.Containment(); level != ContainmentSubreaper || why == "" || r.groups != nil {
			t.Errorf("%s, %q", level, why)
		}
	})
	t.Run("one that cannot be had", func(t *testing.T) {
		long := strings.Repeat("x", 5000) // no path is so long
		r := registry(t, func(o *Options) { o.HomeID = long })
		if level, why := r.Containment(); level != ContainmentSubreaper || why == "" {
			t.Errorf("%s, %q", level, why)
		}
		strict := New(Options{Life: testLife, HomeID: long, Log: discard, Containment: ContainmentCgroup})
		if _, err := makeGroups(strict.opts.HomeID, testLife); err == nil {
			t.Fatal("the group was made")
		}
		if err := strict.openGroups(); err == nil {
			t.Error("what was asked for and cannot be had gives no error")
		}
	})
	t.Run("one that stops to work and works again", func(t *testing.T) {
		needs(t, ContainmentCgroup)
		r := registry(t)
		was := r.groups.life
		set := func(life string) {
			r.scanTurn <- struct{}{} // who reads it holds this or is the spawner, which rests
			defer r.giveScan()
			r.groups.life = life
		}
		set("/proc/nowhere")
		p := sh(t, r, `exec sleep 1000`)
		if level, why := r.Containment(); level != ContainmentSubreaper || !strings.Contains(why, "control group") {
			t.Errorf("%s, %q", level, why)
		}
		set(was)
		sh(t, r, `exec sleep 1000`)
		if level, why := r.Containment(); level != ContainmentCgroup || why != "" {
			t.Errorf("%s, %q", level, why)
		}
		verified(t, r.KillAll(t.Context(), short), p.tree.leader)
	})
}

// Two runs of these tests at once have two homes: with one, the sweep of a start in one run kills what the other has, the test binary
// itself included. What a run plays has the home of the run.
func TestARunOfTheTestsHasItsOwnHome(t *testing.T) {
	home := func(env ...string) string {
		t.Helper()
		cmd := exec.CommandContext(t.Context(), self0(t))
		cmd.Env = append(append(os.Environ(), playAs+"=the home of a run"), env...)
		out, err := cmd.Output()
		if err != nil {
			t.Fatal(err)
		}
		return strings.TrimSpace(string(out))
	}
	if got := home(); got != testHome() {
		t.Errorf("what this run plays has the home %q, this run %q", got, testHome())
	}
	if a, b := home(playHome+"="), home(playHome+"="); a == b || a == testHome() {
		t.Errorf("other runs have the homes %q and %q, this one %q", a, b, testHome())
	}
}

// playHomeOfARun says the home of the run that this process belongs to.
func playHomeOfARun() error {
	_, err := fmt.Println(testHome())
	return err
}

// The groups of a life go with it, and those that an earlier one left empty with the next.
func TestGroups_NoneIsLeft(t *testing.T) {
	needs(t, ContainmentCgroup)
	home := testHome() + " of groups / with a slash"
	left, err := makeGroups(home, "an earlier life")
	if err != nil {
		t.Fatal(err)
	}
	if err := os.Mkdir(left.tree(3, false), 0o755); err != nil {
		t.Fatal(err)
	}
	r := New(Options{Life: testLife, HomeID: home, KillGrace: short, Log: discard})
	if err := r.Open(t.Context()); err != nil {
		t.Fatal(err)
	}
	if _, err := os.Stat(left.life); !os.IsNotExist(err) {
		t.Errorf("the earlier life's: %v", err)
	}
	sh(t, r, `sleep 1000 & exec sleep 1000`)
	if err := r.Close(t.Context()); err != nil {
		t.Error(err)
	}
	if _, err := os.Stat(left.home); !os.IsNotExist(err) {
		t.Errorf("the home's: %v", err)
	}
}
