package fence_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"gatewaytui/core/fence"
)

func TestTR3_ALinkOutOfTheWorkFolderIsSeen(t *testing.T) {
	top, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	// The folders of the config have links on their way, and stand below one that any user may read.
	for _, dir := range []string{"real/work/src", "real/gateway", "out", "real/.ssh"} {
		if err := os.MkdirAll(filepath.Join(top, dir), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	for name, target := range map[string]string{
		"home":                  "real",
		"real/work/key":         "../.ssh/id_ed25519",
		"real/work/secret.txt":  filepath.Join(top, "real/gateway/state.db"),
		"real/work/gone":        "../../out/new",
		"real/work/out":         "../../out",
		"real/work/in":          "src",
		"real/work/round":       "round",
		"real/work/src/notes":   "../notes.txt",
		"real/work/src/deep":    "../out",
		"real/work/disk":        "/dev/sda",
		"real/work/plain.log":   "/dev/null",
		"real/work/src/back.md": "../out/../real/work/x.md",
	} {
		if err := os.Symlink(target, filepath.Join(top, name)); err != nil {
			t.Fatal(err)
		}
	}
	for _, c := range []struct {
		name, command string
		want          fence.Verdict
	}{
		{"a file that is no link", "cat notes.txt", fence.Allowed},
		{"by the full name, which has a link", "cat " + top + "/home/work/notes.txt", fence.Allowed},
		{"a file is written", "echo x > notes.txt", fence.Allowed},
		{"by the full name", "echo x > " + top + "/home/work/notes.txt", fence.Allowed},
		{"a link within the folder", "echo x > in/a.txt", fence.Allowed},
		{"a link to a file within", "echo x > src/notes", fence.Allowed},
		{"a link that comes back", "echo x > src/back.md", fence.Allowed},
		{"a link to where nothing is kept", "echo x > plain.log", fence.Allowed},
		{"a key behind a link", "cat key", fence.Never},
		{"the gateway's file behind a link", "cat secret.txt", fence.Never},
		{"behind a pattern", "cat *.txt", fence.Never},
		{"behind a pattern that does not match it", "cat a*.txt", fence.Allowed},
		{"behind a pattern with brackets", "cat secre[t].txt", fence.Never},
		{"named for a program", "sort key", fence.Never},
		{"a write through a link", "echo x > out/x", fence.Ask},
		{"a write to a file that a link names and that is missing", "echo x > gone", fence.Ask},
		{"a folder behind two links", "mkdir src/deep/x", fence.Ask},
		{"above a folder behind a link", "echo x > out/../x", fence.Ask},
		{"a copy into a link", "cp notes.txt out", fence.Ask},
		{"a copy over a link", "cp src/a.txt gone", fence.Ask},
		{"after a move into a link", "cd out && echo x > y", fence.Ask},
		{"after a move into a link within", "cd in && echo x > y", fence.Allowed},
		{"a disk behind a link", "cat a.img > disk", fence.Never},
		{"a link to itself", "cat round", fence.Ask},
		{"a name with a slash more", "echo x > out//x", fence.Ask},
		{"git in a folder behind a link", "git -C out status", fence.Ask},
		{"a rule for the work folder", "make -s out/x", fence.Ask},
		{"the same rule within", "make -s in/x", fence.Allowed},
	} {
		t.Run(c.name, func(t *testing.T) {
			allow, err := fence.ParseAllowRule("make")
			if err != nil {
				t.Fatal(err)
			}
			f := &fence.Fence{
				Environment: fence.Local, Work: filepath.Join(top, "home/work"), Home: filepath.Join(top, "home"),
				Own: []string{filepath.Join(top, "home/gateway")}, Allow: []fence.Rule{allow}, Links: true,
			}
			if j := f.Judge(c.command, f.Work); j.Verdict != c.want {
				t.Errorf("%q is %s, and should be %s: %q", strings.ReplaceAll(c.command, top, ""), j.Verdict, c.want, j.Reasons)
			}
		})
	}
}

func TestTR3_LinksCostNothingBehindAWall(t *testing.T) {
	f := home(fence.Sandbox)
	f.Links, f.Work = true, filepath.Join(t.TempDir(), "missing")
	if j := f.Judge("cat key > out/x", f.Work); j.Verdict != fence.Allowed {
		t.Errorf("the verdict is %s: %q", j.Verdict, j.Reasons)
	}
}
