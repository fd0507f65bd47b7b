package main

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"gatewaytui/core/ops"
	"gatewaytui/core/service"
)

// account is a user's: a folder for what is installed, and an environment of its own.
type account struct{ dir, home string }

func newAccount(t *testing.T) account {
	t.Helper()
	a := account{dir: t.TempDir(), home: newHome(t).Dir()}
	t.Setenv("HOME", a.dir)
	t.Setenv("XDG_CONFIG_HOME", "")
	t.Setenv("GATEWAYTUI_HOME", a.home)
	t.Setenv("GATEWAYTUI_CONFIG", "")
	t.Setenv("GATEWAYTUI_ADAPTERS_API_LISTEN", "")
	os.Unsetenv("GATEWAYTUI_ADAPTERS_API_LISTEN")
	return a
}

// unit is where a user's unit file belongs.
func (a account) unit() string {
	return a.unitOf(a.home)
}

func (a account) unitOf(home string) string {
	name := service.Name(home, filepath.Join(a.dir, ".local", "state", "gatewaytui"))
	return filepath.Join(a.dir, ".config", "systemd", "user", name+".service")
}

func (a account) run(t *testing.T, args ...string) result {
	t.Helper()
	var out, errOut bytes.Buffer
	p := &program{in: strings.NewReader(""), out: &out, err: &errOut, getenv: os.Getenv}
	root := newRoot(p)
	if child(root, "unit") == nil {
		root.AddCommand(unitVerb(p), doctorVerb(p))
	}
	root.SetArgs(args)
	r := result{code: p.report(root.ExecuteContext(t.Context()))}
	r.out, r.err = out.String(), errOut.String()
	safe(t, args, r.out)
	safe(t, args, r.err)
	return r
}

func read(t *testing.T, path string) string {
	t.Helper()
	b, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return string(b)
}

func write(t *testing.T, path, text string) {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
}

func TestS2_TheUnitIsComputedFromTheConfig(t *testing.T) {
	a := newAccount(t)
	a.run(t, "unit", "systemd").must(t, exitDone).says(t, "TimeoutStopSec=90\n", "Type=notify\n", `"GATEWAYTUI_HOME=`+a.home+`"`, "WantedBy=default.target")
	a.run(t, "unit", "launchd").must(t, exitDone).says(t, "<key>ExitTimeOut</key>\n\t<integer>90</integer>", "<string>"+a.home+"</string>")
	a.run(t, "unit", "systemd", "--system").must(t, exitDone).says(t, "WantedBy=multi-user.target")

	path := writeConfig(t, "[shutdown]\ndrain_timeout = \"5m\"\n[adapters.telegram]\nenabled = true\nallow = [1]\n[adapters.mm]\ncommand = [\"mm\"]\nenv_pass = [\"MM_TOKEN\", \"MM_CA\"]\n[adapters.off]\nenabled = false\ncommand = [\"off\"]\nenv_pass = [\"OFF_TOKEN\"]\n")
	a.run(t, "unit", "systemd", "--config", path).must(t, exitDone).says(t, "TimeoutStopSec=330\n", `"GATEWAYTUI_CONFIG=`+path+`"`, "secrets from MM_TOKEN, TELEGRAM_BOT_TOKEN, which")
	// The service has not the environment of this shell, which counted for the figure.
	t.Setenv("GATEWAYTUI_SHUTDOWN_DRAIN_TIMEOUT", "10s")
	a.run(t, "unit", "systemd", "--config", path).must(t, exitDone).says(t, "TimeoutStopSec=40\n", `"GATEWAYTUI_SHUTDOWN_DRAIN_TIMEOUT=10s"`)
	var got service.Definition
	decodeLine(t, a.run(t, "unit", "systemd", "--json").must(t, exitDone).out, &got)
	if got.Manager != service.Systemd || got.Path != a.unit() || !strings.Contains(got.Text, "TimeoutStopSec=40") || got.Written || len(got.Next) == 0 {
		t.Errorf("the JSON says %+v", got)
	}
	if _, err := os.Stat(a.unit()); err == nil {
		t.Error("printing wrote it")
	}
}

func TestAWrittenUnitIsReplacedAndAnEditedOneIsNot(t *testing.T) {
	a := newAccount(t)
	install := func(args ...string) result {
		return a.run(t, append([]string{"unit", "systemd", "--user", "--write"}, args...)...)
	}
	install().must(t, exitDone).says(t, "written     "+a.unit(), "systemctl --user daemon-reload", "loginctl enable-linger")
	fi, err := os.Stat(a.unit())
	if err != nil || fi.Mode().Perm() != 0o600 {
		t.Fatalf("it is %v, %v", fi, err)
	}
	install().must(t, exitDone).says(t, "unchanged")

	// Of another config, and as we wrote it.
	t.Setenv("GATEWAYTUI_SHUTDOWN_DRAIN_TIMEOUT", "10s")
	install().must(t, exitDone).says(t, "written")
	if got := read(t, a.unit()); !strings.Contains(got, "TimeoutStopSec=40\n") {
		t.Errorf("it is\n%s", got)
	}

	edited := strings.Replace(read(t, a.unit()), "TimeoutStopSec=40", "TimeoutStopSec=5", 1)
	write(t, a.unit(), edited)
	install().must(t, exitFailed).says(t, "was edited by hand", "--force", "drop-in")
	if read(t, a.unit()) != edited {
		t.Error("the edited file has changed")
	}
	install("--force").must(t, exitDone).says(t, "written")
	if read(t, a.unit()+".old") != edited || !strings.Contains(read(t, a.unit()), "TimeoutStopSec=40\n") {
		t.Error("--force did not keep the edited file and write the computed one")
	}
}

func TestAUnitOfAnotherOwnerIsLeftAlone(t *testing.T) {
	a := newAccount(t)
	other := newHome(t).Dir()
	theirs := a.run(t, "unit", "systemd", "--home", other).must(t, exitDone).out
	write(t, a.unit(), theirs) // the default home was another one once
	a.run(t, "unit", "systemd", "--write").must(t, exitFailed).says(t, "the service of another home", other)
	if read(t, a.unit()) != theirs {
		t.Error("it has changed")
	}
	a.run(t, "unit", "systemd", "--write", "--force").must(t, exitDone)
	before := read(t, a.unit())
	if err := os.Remove(a.unit()); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink("/dev/null", a.unit()); err != nil { // a masked unit
		t.Fatal(err)
	}
	a.run(t, "unit", "systemd", "--write").must(t, exitFailed).says(t, "symbolic link", "--force")
	if to, err := os.Readlink(a.unit()); err != nil || to != "/dev/null" {
		t.Errorf("it is masked no longer: %q, %v", to, err)
	}
	a.run(t, "unit", "systemd", "--write", "--force").must(t, exitDone)
	if read(t, a.unit()) != before {
		t.Error("--force did not write it")
	}
}

func TestEachHomeIsInstalledAsAServiceOfItsOwn(t *testing.T) {
	a := newAccount(t)
	usual := filepath.Join(a.dir, ".local", "state", "gatewaytui")
	names := map[string]bool{}
	for _, home := range []string{usual, a.home, newHome(t).Dir()} {
		unit := a.unitOf(home)
		name := strings.TrimSuffix(filepath.Base(unit), ".service")
		names[name] = true
		a.run(t, "unit", "systemd", "--write", "--home", home).must(t, exitDone).says(t, "written     "+unit, "enable --now "+name+".service")
		a.run(t, "unit", "systemd", "--write", "--home", home).must(t, exitDone).says(t, "unchanged   "+unit)
		if got := service.HomeOf(read(t, unit)); got != home {
			t.Errorf("%s is the service of %s, want %s", unit, got, home)
		}
		if home != usual && !strings.Contains(name, filepath.Base(home)) {
			t.Errorf("it cannot be seen from %s that it is the service of %s", name, home)
		}
		plist := a.run(t, "unit", "launchd", "--write", "--home", home).must(t, exitDone)
		plist.says(t, filepath.Join("Library", "LaunchAgents", name+".plist"))
		if got := read(t, filepath.Join(a.dir, "Library", "LaunchAgents", name+".plist")); !strings.Contains(got, "<key>Label</key>\n\t<string>"+name+"</string>") {
			t.Errorf("launchd's label of %s is another:\n%s", home, got)
		}
		if err := os.Remove(filepath.Join(a.dir, "Library", "LaunchAgents", name+".plist")); err != nil {
			t.Fatal(err)
		}
	}
	if len(names) != 3 || !names["gatewaytui"] {
		t.Errorf("three homes are served by %v", names)
	}
}

func TestAUnitThatIsNotMeantIsWrongUsage(t *testing.T) {
	a := newAccount(t)
	for _, args := range [][]string{
		{"unit"},
		{"unit", "sysv"},
		{"unit", "systemd", "--user", "--system"},
		{"unit", "systemd", "--force"},
		{"unit", "systemd", "now"},
		{"unit", "systemd", "--home", "/srv/a\nb"},
	} {
		a.run(t, args...).must(t, exitUsage)
	}
	a.run(t, "unit", "systemd", "--config", writeConfig(t, "[shutdown]\ndrain = 1\n")).must(t, ops.ExitConfig)
}
