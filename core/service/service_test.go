package service

import (
	"os"
	"os/exec"
	"strings"
	"syscall"
	"testing"

	"go.uber.org/goleak"
)

// asService makes the test's own binary the service of lab_test.go.
const asService = "GATEWAYTUI_TEST_SERVICE"

func TestMain(m *testing.M) {
	if mode := os.Getenv(asService); mode != "" {
		os.Exit(beService(mode))
	}
	goleak.VerifyTestMain(m)
}

// env is an environment from name, value, name, value ...
func env(pairs ...string) func(string) string {
	return func(name string) string {
		for i := 0; i+1 < len(pairs); i += 2 {
			if pairs[i] == name {
				return pairs[i+1]
			}
		}
		return ""
	}
}

func TestG5_DetectSaysWhatSupervisesUs(t *testing.T) {
	const (
		systemUnit = "0::/system.slice/gatewaytui.service\n"
		userUnit   = "0::/user.slice/user-1000.slice/user@1000.service/app.slice/gatewaytui.service\n"
		login      = "0::/user.slice/user-1000.slice/session-3.scope\n"
		tab        = "0::/user.slice/user-1000.slice/user@1000.service/app.slice/vte-spawn-1f2e.scope\n"
		hybrid     = "12:pids:/x.service\n1:name=systemd:/system.slice/gw.service\n0::/\n"
	)
	for _, tt := range []struct {
		name   string
		in     Environment
		want   Manager
		starts bool
	}{
		{
			"systemd's main process",
			Environment{Getenv: env("INVOCATION_ID", "a1", "SYSTEMD_EXEC_PID", "77", "NOTIFY_SOCKET", "/run/systemd/notify"), PID: 77, PPID: 1, Parent: "systemd", Cgroup: systemUnit},
			Manager{Systemd, "gatewaytui.service", false},
			true,
		},
		{
			"a user's systemd",
			Environment{Getenv: env("INVOCATION_ID", "a1", "SYSTEMD_EXEC_PID", "77"), PID: 77, PPID: 900, Parent: "systemd", Cgroup: userUnit},
			Manager{Systemd, "gatewaytui.service", true},
			true,
		},
		{
			"an older systemd, without SYSTEMD_EXEC_PID",
			Environment{Getenv: env("INVOCATION_ID", "a1"), PID: 77, PPID: 1, Parent: "systemd", Cgroup: systemUnit},
			Manager{Systemd, "gatewaytui.service", false},
			true,
		},
		{
			"a delegated unit in which we moved to a group of our own",
			Environment{Getenv: env("INVOCATION_ID", "a1", "SYSTEMD_EXEC_PID", "77"), PID: 77, PPID: 1, Cgroup: "0::/system.slice/gatewaytui.service/gateway\n"},
			Manager{Systemd, "gatewaytui.service", false},
			true,
		},
		{
			"a hybrid machine, where the second version shows nothing",
			Environment{Getenv: env("INVOCATION_ID", "a1", "SYSTEMD_EXEC_PID", "77"), PID: 77, PPID: 1, Cgroup: hybrid},
			Manager{Systemd, "gw.service", false},
			true,
		},
		{
			"a unit whose cgroup is hidden by a namespace",
			Environment{Getenv: env("INVOCATION_ID", "a1", "SYSTEMD_EXEC_PID", "77"), PID: 77, PPID: 1, Cgroup: "0::/\n"},
			Manager{Systemd, "", false},
			true,
		},
		{
			"a script of systemd's that started us",
			Environment{Getenv: env("INVOCATION_ID", "a1", "SYSTEMD_EXEC_PID", "76", "NOTIFY_SOCKET", "@n"), PID: 77, PPID: 76, Parent: "start.sh", Cgroup: systemUnit},
			Manager{Systemd, "gatewaytui.service", false},
			true,
		},
		{
			"a shell in a tmux that a user's systemd started is not a service",
			Environment{Getenv: env("INVOCATION_ID", "a1", "SYSTEMD_EXEC_PID", "50"), PID: 77, PPID: 60, Parent: "bash", Cgroup: "0::/user.slice/user-1000.slice/user@1000.service/app.slice/tmux.service\n"},
			Manager{Kind: None},
			false,
		},
		{
			"a terminal's tab that inherited everything is not a service",
			Environment{Getenv: env("INVOCATION_ID", "a1", "NOTIFY_SOCKET", "/run/n"), PID: 77, PPID: 60, Parent: "bash", Cgroup: tab},
			Manager{Kind: None},
			false,
		},
		{
			"INVOCATION_ID alone, where no unit is shown, is believed (B4)",
			Environment{Getenv: env("INVOCATION_ID", "a1"), PID: 77, PPID: 60, Parent: "sh", Cgroup: "0::/\n"},
			Manager{Kind: Systemd},
			true,
		},
		{
			"INVOCATION_ID that a service's own shell hands on is not a service",
			Environment{Getenv: env("INVOCATION_ID", "a1", "SYSTEMD_EXEC_PID", "50"), PID: 77, PPID: 60, Parent: "bash", Cgroup: "0::/\n"},
			Manager{Kind: None},
			false,
		},
		{"a login is not a service", Environment{PID: 77, PPID: 60, Parent: "bash", Cgroup: login}, Manager{Kind: None}, false},
		{
			"supervisord",
			Environment{Getenv: env("SUPERVISOR_ENABLED", "1", "SUPERVISOR_PROCESS_NAME", "gw"), PID: 77, PPID: 60, Parent: "supervisord", Starter: "/usr/bin/python3 /usr/bin/supervisord -n"},
			Manager{Kind: Supervisord, Unit: "gw"},
			true,
		},
		{
			"supervisord, through a script of its process group",
			Environment{Getenv: env("SUPERVISOR_ENABLED", "1", "SUPERVISOR_PROCESS_NAME", "gw"), PID: 77, PPID: 76, Parent: "start.sh", Starter: "python3 -m supervisor.supervisord"},
			Manager{Kind: Supervisord, Unit: "gw"},
			true,
		},
		{
			"supervisord, where the machine hides other users' processes",
			Environment{Getenv: env("SUPERVISOR_ENABLED", "1", "SUPERVISOR_PROCESS_NAME", "gw"), PID: 77, PPID: 60},
			Manager{Kind: Supervisord, Unit: "gw"},
			true,
		},
		{
			"a shell below supervisord's sshd is not a service",
			Environment{Getenv: env("SUPERVISOR_ENABLED", "1", "SUPERVISOR_PROCESS_NAME", "sshd"), PID: 77, PPID: 70, Parent: "bash", Starter: "-bash"},
			Manager{Kind: None},
			false,
		},
		{
			"supervisord that is systemd's service, with systemd's variables",
			Environment{
				Getenv: env("SUPERVISOR_ENABLED", "1", "SUPERVISOR_PROCESS_NAME", "gw", "INVOCATION_ID", "a1", "SYSTEMD_EXEC_PID", "60", "NOTIFY_SOCKET", "/run/systemd/notify"),
				PID:    77, PPID: 60, Parent: "supervisord", Starter: "/usr/bin/supervisord", Cgroup: "0::/system.slice/supervisor.service\n",
			},
			Manager{Kind: Supervisord, Unit: "gw"},
			true,
		},
		{
			"systemd's service, started from a shell below supervisord",
			Environment{
				Getenv: env("SUPERVISOR_ENABLED", "1", "INVOCATION_ID", "a1", "SYSTEMD_EXEC_PID", "77"),
				PID:    77, PPID: 1, Parent: "systemd", Starter: "/lib/systemd/systemd --user", Cgroup: userUnit,
			},
			Manager{Systemd, "gatewaytui.service", true},
			true,
		},
		{"runit", Environment{PID: 77, PPID: 60, Parent: "runsv"}, Manager{Kind: Runit}, true},
		{"s6, also in a container", Environment{PID: 77, PPID: 1, Parent: "s6-supervise"}, Manager{Kind: S6}, true},
		{"launchd", Environment{Getenv: env("XPC_SERVICE_NAME", "gatewaytui"), PID: 77, PPID: 1}, Manager{Kind: Launchd, Unit: "gatewaytui"}, true},
		{"a shell that launchd's terminal started", Environment{Getenv: env("XPC_SERVICE_NAME", "0"), PID: 77, PPID: 60}, Manager{Kind: None}, false},
		{"G7: pid 1 of a container", Environment{PID: 1}, Manager{Kind: Container}, true},
		{"G7: pid 7 under tini", Environment{PID: 7, PPID: 1, Parent: "tini"}, Manager{Kind: Container}, true},
		{"an orphan of a shell", Environment{PID: 77, PPID: 1, Parent: "init"}, Manager{Kind: None}, false},
		{
			"a hostile name is not shown",
			Environment{Getenv: env("SUPERVISOR_ENABLED", "1", "SUPERVISOR_PROCESS_NAME", "\x1b[2J"), PID: 77, PPID: 60},
			Manager{Kind: Supervisord},
			true,
		},
	} {
		t.Run(tt.name, func(t *testing.T) {
			if tt.in.Getenv == nil {
				tt.in.Getenv = env()
			}
			got := Detect(tt.in)
			if got != tt.want || got.Restarts() != tt.starts {
				t.Errorf("it is %+v, which restarts us: %v; want %+v, %v", got, got.Restarts(), tt.want, tt.starts)
			}
		})
	}
}

func TestLookSeesThisProcess(t *testing.T) {
	s := ReadEnvironment(env())
	if s.PID != os.Getpid() || s.Parent == "" || s.Cgroup == "" {
		t.Errorf("it sees pid %d, the parent %q and the cgroups %q", s.PID, s.Parent, s.Cgroup)
	}
	leader := exec.Command("sleep", "60")
	leader.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	if err := leader.Start(); err != nil {
		t.Fatal(err)
	}
	defer func() {
		_ = leader.Process.Kill()
		_ = leader.Wait() // it was killed
	}()
	if got := starterOf(leader.Process.Pid, s); got != os.Getpid() {
		t.Errorf("the starter of %d is %d, want %d", leader.Process.Pid, got, os.Getpid())
	}
	if got := starterOf(s.PID, s); got != s.PPID {
		t.Errorf("our own starter is %d, want %d", got, s.PPID)
	}
	if got := commandOf(os.Getpid()); !strings.Contains(got, os.Args[0]) || strings.Contains(got, "\x00") {
		t.Errorf("our own command line is %q", got)
	}
}

func TestUnitNamesAreThoseOfSystemd(t *testing.T) {
	long := strings.Repeat("n", 247)
	for name, want := range map[string]bool{
		"gatewaytui.service": true, "gateway-tui@2.service": true, `run-u7\x2d1.scope`: true, "a:b_c.d.service": true, ".service.service": true, long + ".scope": true,
		".service": false, "-x.service": false, "x.timer": false, "x": false, "": false, "a b.service": false, "a/b.service": false, "ä.service": false,
		"x.service\n": false, "x\xff.service": false, "n" + long + ".service": false,
	} {
		if got := isUnit(name); got != want {
			t.Errorf("isUnit(%q) is %v", name, got)
		}
	}
}

func FuzzUnitOf(f *testing.F) {
	f.Add("0::/system.slice/gatewaytui.service\n")
	f.Add("1:name=systemd:/user.slice/user@1.service/a.service/../_x.scope\n::\n")
	f.Fuzz(func(t *testing.T, text string) {
		unit, _ := unitOf(text)
		if unit != "" && (!isUnit(unit) || unit[0] == '-') {
			t.Errorf("%q would be an argument of systemctl", unit)
		}
	})
}
