package main

import (
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"gatewaytui/core/adapter/telegram/botapitest"
	"gatewaytui/core/doctor"
	"gatewaytui/core/environment/landlock"
	"gatewaytui/core/instance"
	"gatewaytui/core/ops"
)

type report struct {
	OK       bool
	Warnings int
	Failures int
	Checks   []doctor.Result
}

// doctor runs it, and checks that its exit code and its counts are those of its findings.
func (a account) doctor(t *testing.T, args ...string) report {
	t.Helper()
	r := a.run(t, append([]string{"doctor", "--json"}, args...)...)
	var got report
	decodeLine(t, r.out, &got)
	var warnings, failures int
	for _, f := range got.Checks {
		switch {
		case f.Verdict == doctor.Warn:
			warnings++
		case f.Verdict == doctor.Fail:
			failures++
		case f.Verdict != doctor.OK:
			t.Errorf("%+v has no verdict", f)
		}
		if f.Detail == "" || f.Verdict == doctor.OK && f.Fix != "" || f.Verdict != doctor.OK && f.Fix == "" {
			t.Errorf("%+v: what is wrong comes with how to fix it, and what is well needs nothing", f)
		}
	}
	code := exitDone
	if failures > 0 {
		code = exitFailed
	}
	if r.code != code || got.OK != (failures == 0) || got.Warnings != warnings || got.Failures != failures {
		t.Errorf("exit code %d and %+v for %d warnings and %d failures", r.code, got, warnings, failures)
	}
	return got
}

// has checks that there is a finding of a check with a verdict and these words in it or its fix.
func (r report) has(t *testing.T, check string, v doctor.Verdict, parts ...string) {
	t.Helper()
	for _, f := range r.Checks {
		if f.Check == check && f.Verdict == v && !slices.ContainsFunc(parts, func(p string) bool { return !strings.Contains(f.Detail+" "+f.Fix, p) }) {
			return
		}
	}
	t.Errorf("there is no %s of %s with %q in %+v", v, check, parts, r.Checks)
}

// never checks that a check found nothing wrong.
func (r report) never(t *testing.T, check string) {
	t.Helper()
	for _, f := range r.Checks {
		if f.Check == check && f.Verdict != doctor.OK {
			t.Errorf("%+v", f)
		}
	}
}

func TestDoctorFindsNothingWrongWithAFreshAccount(t *testing.T) {
	a := newAccount(t)
	got := a.doctor(t)
	for _, check := range []string{"config", "home", "gateway", "store", "adapters", "unit", "stop", "containment"} {
		got.never(t, check)
	}
	got.has(t, "stop", doctor.OK, "1m28s", "1m30s")
	got.has(t, "sandbox", doctor.OK, landlock.Describe(landlock.ABI(), landlock.Filters()))
	for _, check := range []string{"config", "tools", "home", "gateway", "store", "adapters", "people", "security", "containment", "unit", "stop", "clock"} {
		if !slices.ContainsFunc(got.Checks, func(r doctor.Result) bool { return r.Check == check }) {
			t.Errorf("%s says nothing", check)
		}
	}
	missing := filepath.Join(a.dir, "not", "yet")
	a.doctor(t, "--home", missing).has(t, "home", doctor.OK, missing, "the first start makes it")
	if _, err := os.Stat(filepath.Dir(missing)); err == nil {
		t.Error("doctor made a home")
	}
	a.run(t, "doctor").must(t, exitDone).says(t, "ok    config", "ok    home", "warning", "0 failures")
}

func TestDoctorSaysWhatIsWrongWithTheConfig(t *testing.T) {
	a := newAccount(t)
	got := a.doctor(t, "--config", writeConfig(t, "[shutdown]\ndrain_timeot = \"5s\"\n"))
	got.has(t, "config", doctor.Fail, "drain_timeot", "did you mean", "config example")
	got.has(t, "home", doctor.OK) // and goes on
	t.Setenv("GATEWAYTUI_SHUTDOWN_DRAIN_TIMEOT", "5s")
	a.doctor(t).has(t, "config", doctor.Warn, "GATEWAYTUI_SHUTDOWN_DRAIN_TIMEOT")
}

func TestTR4_DoctorSaysWhoAnswersApprovals(t *testing.T) {
	const bot = "[adapters.telegram]\nenabled = true\n"
	for name, c := range map[string]struct {
		config  string
		verdict doctor.Verdict
		says    []string
	}{
		"no chats":                {"", doctor.OK, []string{"no owner", "gatewaytui inbox"}},
		"a chat without an owner": {bot, doctor.OK, []string{"no owner", "gatewaytui inbox"}},
		"owners of another chat":  {bot + "[access]\nowners = [\"discord:4711\"]\n", doctor.Warn, []string{"no owner on telegram", "access.owners"}},
		"an owner":                {bot + "[access]\nowners = [\"telegram:4711\"]\n", doctor.OK, []string{"1 owner in the config may answer"}},
		"no approvals":            {bot + "[agent]\napprovals = \"off\"\n", doctor.OK, []string{"no agent asks"}},
	} {
		t.Run(name, func(t *testing.T) {
			a := newAccount(t)
			a.doctor(t, "--config", writeConfig(t, c.config)).has(t, "people", c.verdict, c.says...)
		})
	}
}

func TestDoctorSaysWhatIsWrongWithTheHome(t *testing.T) {
	a := newAccount(t)
	write(t, filepath.Join(a.home, "gateway.lock"), "") // it is a home
	for _, name := range []string{"a", "b", "c", "d"} {
		write(t, filepath.Join(a.home, name), "x")
		if err := os.Chmod(filepath.Join(a.home, name), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.Chmod(a.home, 0o755); err != nil {
		t.Fatal(err)
	}
	got := a.doctor(t)
	got.has(t, "home", doctor.Warn, "mode 0755", "chmod 700")
	got.has(t, "home", doctor.Warn, "a, b, c and 1 more", "chmod -R go=")
	if left, err := filepath.Glob(filepath.Join(a.home, ".doctor*")); err != nil || len(left) > 0 {
		t.Errorf("it left %q, %v", left, err)
	}
	file := filepath.Join(a.dir, "file")
	write(t, file, "")
	a.doctor(t, "--home", file).has(t, "home", doctor.Fail, "is not a folder")
	if os.Geteuid() == 0 { // only root can give a folder away
		if err := os.Chown(a.home, 12345, -1); err != nil {
			t.Fatal(err)
		}
		a.doctor(t).has(t, "home", doctor.Fail, "belongs to uid 12345")
	}
}

func TestDoctorSaysThatAStartFoundTheDatabaseDamaged(t *testing.T) {
	a := newAccount(t)
	write(t, filepath.Join(a.home, "gateway.db"), "x")
	a.doctor(t).has(t, "store", doctor.OK, "1 B")
	write(t, filepath.Join(a.home, "gateway.db.damaged"), "x")
	a.doctor(t).has(t, "store", doctor.Warn, "gateway.db.damaged", "start the gateway once")
}

func TestH1_DoctorTellsALivingGatewayFromItsTraces(t *testing.T) {
	a := newAccount(t)
	home, err := instance.Open(a.home)
	if err != nil {
		t.Fatal(err)
	}
	t.Run("one that lives and does not listen", func(t *testing.T) {
		lock, err := home.Acquire(instance.Record{Life: "l1", Version: "1", StartedAt: ops.At(time.Now()), Control: home.Socket()})
		if err != nil {
			t.Fatal(err)
		}
		defer lock.Release()
		a.doctor(t).has(t, "gateway", doctor.Fail, "pid "+strconv.Itoa(os.Getpid())+" lives on this home", "kill -QUIT")
	})
	t.Run("one that lives and lost its pid file", func(t *testing.T) {
		lock, err := home.Acquire(instance.Record{Life: "l1"})
		if err != nil {
			t.Fatal(err)
		}
		defer lock.Release()
		if err := os.Remove(home.PIDFile()); err != nil {
			t.Fatal(err)
		}
		if _, held := instance.LockHolder(a.home); !held {
			t.Skip("runs where /proc/locks shows the temporary directory's locks under its own device number")
		}
		a.doctor(t).has(t, "gateway", doctor.Fail, "holds the lock", "ps -p "+strconv.Itoa(os.Getpid()))
	})
	t.Run("a pid file of one that is dead", func(t *testing.T) {
		self := instance.Self()
		write(t, home.PIDFile(), `{"pid":`+strconv.Itoa(self.PID)+`,"start_ticks":1,"boot_id":"`+self.BootID+`","life":"l0"}`)
		got := a.doctor(t)
		got.never(t, "gateway")
		got.has(t, "gateway", doctor.OK, "l0 was left behind")
	})
	t.Run("a pid file of another pid namespace", func(t *testing.T) {
		self := instance.Self()
		write(t, home.PIDFile(), `{"pid":7,"start_ticks":1,"boot_id":"`+self.BootID+`","pid_namespace":"pid:[1]","life":"l0"}`)
		a.doctor(t).has(t, "gateway", doctor.Warn, "cannot be known from here")
	})
	t.Run("a pid file that is garbage", func(t *testing.T) {
		write(t, home.PIDFile(), `{"pid":`)
		a.doctor(t).never(t, "gateway")
	})
}

func TestDoctorAsksTheGatewayThatRuns(t *testing.T) {
	a := newAccount(t)
	f := newFake()
	l := start(t, f)
	got := a.doctor(t, "--home", l.home.Dir())
	got.has(t, "gateway", doctor.OK, "up, running", fakeLife)
	got.has(t, "gateway", doctor.Warn, "version 1.2.3", "restart")
	got.has(t, "gateway", doctor.Warn, "pid 4121 answers")
	got.has(t, "store", doctor.Fail, "the disk is full")
	got.has(t, "adapters", doctor.Warn, "telegram needs credentials")
	got.has(t, "stop", doctor.OK, "1m28s", "systemd allows 1m30s")

	f.status.Warnings = nil
	f.plan.Shrunk = []ops.ShrunkPhase{{Name: "drain", WantedMS: 60_000, GotMS: 1_000}, {Name: "notify", WantedMS: 5_000, GotMS: 1_000}}
	f.plan.SupervisorBudgetMS = 30_000
	got = a.doctor(t, "--home", l.home.Dir())
	got.never(t, "store")
	got.has(t, "stop", doctor.Warn, "allows 30s", "drain is shortened from 1m00s to 1.0s, and 1 more phases")

	f.plan.Shrunk, f.plan.Fits = nil, false
	a.doctor(t, "--home", l.home.Dir()).has(t, "stop", doctor.Fail, "kills after 30s")
	f.plan.Fits, f.plan.SupervisorBudgetMS = true, 0
	f.status.Supervisor = ops.Supervisor{Name: "supervisord (gw)", Source: "unknown"}
	a.doctor(t, "--home", l.home.Dir()).has(t, "stop", doctor.Warn, "supervisord (gw) waits", "not known (10s unless configured)",
		`stopwaitsecs=90 and environment=GATEWAYTUI_STOP_BUDGET="90s"`)
	f.status.Supervisor = ops.Supervisor{Name: "container", Source: "unknown"}
	a.doctor(t, "--home", l.home.Dir()).has(t, "stop", doctor.Warn, "container waits", "docker run --stop-timeout 90 --env GATEWAYTUI_STOP_BUDGET=90s")
	f.status.Supervisor = ops.Supervisor{Name: "runit", Source: "runit"}
	a.doctor(t, "--home", l.home.Dir()).has(t, "stop", doctor.OK, "runit waits as long as it takes", "sv stop says after 7s", "sv -w 89 stop", "only sv force-stop kills")
	f.status.Supervisor = ops.Supervisor{Name: "none", Source: "unknown"} // G5
	a.doctor(t, "--home", l.home.Dir()).has(t, "stop", doctor.Warn, "nothing starts it again after a crash")
}

func TestDoctorLooksForTheCredentials(t *testing.T) {
	a := newAccount(t)
	bot := botapitest.New("123:abc")
	t.Cleanup(bot.Close)
	path := writeConfig(t, "[adapters.telegram]\nenabled = true\nallow = [1]\nbase_url = \""+bot.URL+"\"\n[adapters.api]\nenabled = false\n[model]\nprovider = \"openai\"\nbase_url = \"https://models.example/v1\"\nname = \"m\"\n")
	t.Setenv("TELEGRAM_BOT_TOKEN", "")
	t.Setenv("OPENAI_API_KEY", "")
	got := a.doctor(t, "--config", path)
	got.has(t, "adapters", doctor.Warn, "telegram has no credential", "TELEGRAM_BOT_TOKEN")
	got.has(t, "adapters", doctor.Warn, "the model default has no credential", "OPENAI_API_KEY")
	t.Setenv("TELEGRAM_BOT_TOKEN", "123:abc")
	t.Setenv("OPENAI_API_KEY", "sk-4711")
	got = a.doctor(t, "--config", path)
	got.never(t, "adapters")
	got.has(t, "adapters", doctor.OK, "telegram", "@"+botapitest.BotName)
	for _, f := range got.Checks {
		if strings.Contains(f.Detail+f.Fix, "123:abc") || strings.Contains(f.Detail+f.Fix, "sk-4711") {
			t.Errorf("a secret is shown: %+v", f)
		}
	}
}

// fakeSystemctl puts a systemctl in front of the real one.
func fakeSystemctl(t *testing.T, script string) {
	t.Helper()
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "systemctl"), []byte("#!/bin/sh\n"+script+"\n"), 0o700); err != nil {
		t.Fatal(err)
	}
	t.Setenv("PATH", dir+string(filepath.ListSeparator)+os.Getenv("PATH"))
}

func TestA3_DoctorComparesTheUnitAndAsksSystemd(t *testing.T) {
	a := newAccount(t)
	a.run(t, "unit", "systemd", "--write").must(t, exitDone)
	fakeSystemctl(t, `[ "$1" = --user ] || exit 3
printf 'LoadState=loaded\nTimeoutStopUSec=1min 30s\nRestart=always\nNeedDaemonReload=no\n'`)
	got := a.doctor(t)
	got.has(t, "unit", doctor.OK, a.unit(), "as this config asks")
	got.has(t, "stop", doctor.OK, "1m28s", "systemd allows 1m30s")

	// The config has changed since, and a drop-in and an old file count for systemd.
	t.Setenv("GATEWAYTUI_SHUTDOWN_DRAIN_TIMEOUT", "5m")
	fakeSystemctl(t, `printf 'LoadState=loaded\nTimeoutStopUSec=30s\nRestart=no\nKillMode=control-group\nNeedDaemonReload=yes\n'`)
	got = a.doctor(t)
	got.has(t, "unit", doctor.Fail, "TimeoutStopSec is 90, and this config asks for 330", "gatewaytui unit systemd --user --write")
	got.has(t, "stop", doctor.Warn, "wants 5m30s", "systemd allows 30s", "drain is shortened from 5m00s")
	got.has(t, "stop", doctor.Warn, "has changed since systemd read it", "daemon-reload")
	got.has(t, "stop", doctor.Warn, "does not start it again", "Restart=no")                                         // G5
	got.has(t, "stop", doctor.Warn, "TERM to the tools", "KillMode=control-group", "take KillMode= out of drop-ins") // C12

	write(t, a.unit(), strings.Replace(read(t, a.unit()), "Delegate=cpu memory pids\n", "", 1))
	a.doctor(t).has(t, "unit", doctor.Warn, "Service.Delegate is not set", "drop-in", "--force")

	fakeSystemctl(t, "echo Failed to connect to bus >&2; exit 1")
	a.doctor(t).has(t, "stop", doctor.Warn, "Failed to connect to bus")

	fakeSystemctl(t, "exec sleep 60")
	began := time.Now()
	a.doctor(t).has(t, "stop", doctor.Warn, "no answer within 500ms")
	if took := time.Since(began); took > 20*time.Second {
		t.Errorf("a systemd that hangs held doctor up for %s", took)
	}
}

func TestDoctorLooksAtTheServiceOfThisHomeAlone(t *testing.T) {
	a := newAccount(t)
	other := newHome(t).Dir()
	a.run(t, "unit", "systemd", "--write").must(t, exitDone)
	a.run(t, "unit", "systemd", "--write", "--home", other).must(t, exitDone)
	asked := filepath.Join(a.dir, "asked")
	t.Setenv("ASKED", asked)
	fakeSystemctl(t, `for last; do :; done; echo "$last" >>"$ASKED"
printf 'LoadState=loaded\nTimeoutStopUSec=1min 30s\nRestart=always\nNeedDaemonReload=no\n'`)
	for _, home := range []string{a.home, other} {
		got := a.doctor(t, "--home", home)
		got.never(t, "unit")
		got.has(t, "unit", doctor.OK, a.unitOf(home), "as this config asks")
	}
	if got, want := read(t, asked), filepath.Base(a.unit())+"\n"+filepath.Base(a.unitOf(other))+"\n"; got != want {
		t.Errorf("systemd was asked about %q, want %q", got, want)
	}
	// What fixes the service of a home that this shell does not name, names it.
	write(t, a.unitOf(other), strings.Replace(read(t, a.unitOf(other)), "Delegate=cpu memory pids\n", "", 1))
	a.doctor(t, "--home", other).has(t, "unit", doctor.Warn, "Delegate", "gatewaytui unit systemd --user --write --home "+other+" --force")
	a.doctor(t).never(t, "unit")
}

// B4: two services that start a gateway on one home are two things that restart it.
func TestB4_DoctorFindsASecondServiceOfThisHome(t *testing.T) {
	a := newAccount(t)
	fakeSystemctl(t, `printf 'LoadState=loaded\nTimeoutStopUSec=1min 30s\nRestart=always\nNeedDaemonReload=no\n'`)
	a.run(t, "unit", "systemd", "--write").must(t, exitDone)
	byHand := filepath.Join(filepath.Dir(a.unit()), "gatewaytui-mine.service")
	write(t, byHand, read(t, a.unit()))
	a.doctor(t).has(t, "unit", doctor.Warn, "2 services start a gateway on this home", a.unit(), byHand)
	if err := os.Remove(a.unit()); err != nil {
		t.Fatal(err)
	}
	a.doctor(t).has(t, "unit", doctor.Warn, byHand, "whose service is called "+strings.TrimSuffix(filepath.Base(a.unit()), ".service"))
}
