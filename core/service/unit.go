package service

import (
	"fmt"
	"maps"
	"path/filepath"
	"slices"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"

	"gatewaytui/core/config"
	"gatewaytui/core/ops"
)

// Values are the inputs of a service definition.
type Values struct {
	// Name is the service's name, from the function Name.
	Name string
	// Exec is the program's absolute path.
	Exec string
	// Home is the gateway's home, Config its config file; both absolute, Config empty for the embedded default.
	Home, Config string
	// StopTimeout is the time that the shutdown plan needs from the manager (shutdown.Plan.TimeoutStopSec): whole seconds
	// over 0.
	StopTimeout time.Duration
	// Environment has the other variables that the service needs, by name.
	Environment map[string]string
	// Credentials are the names of the variables that the config reads secrets from. A comment names them; their values
	// are never written.
	Credentials []string
	// System means the system's manager, and User is the name of the user that it runs the gateway as. Otherwise the
	// definition is for the manager of the calling user.
	System bool
	User   string
}

// Subgroup is the control group below the unit's in which systemd 254 and later start the gateway. It is the group that a
// gateway would make for itself.
const Subgroup = "gatewaytui.main"

// Variables that a definition sets.
const (
	homeVariable   = "GATEWAYTUI_HOME"
	configVariable = "GATEWAYTUI_CONFIG"
)

// watchdogSec is WatchdogSec=. It is much longer than any pause of a healthy gateway: a watchdog that ends a healthy one
// is worse than none (G6).
const watchdogSec = 60

// check refuses values that no definition can hold, or that would mean something else in it.
func (v Values) check() error {
	texts := map[string]string{"the program": v.Exec, "the home": v.Home, "the config": v.Config, "the user": v.User}
	for name, value := range v.Environment {
		texts["the variable "+name] = value
		if !config.VariableName(name) {
			return fmt.Errorf("write the service definition: invalid variable name %.40q", name)
		}
	}
	for _, what := range slices.Sorted(maps.Keys(texts)) {
		if s := texts[what]; !utf8.ValidString(s) || strings.ContainsFunc(s, func(r rune) bool { return unicode.IsControl(r) || r == 0xfffe || r == 0xffff }) {
			return fmt.Errorf("write the service definition: %s has a control character or is not UTF-8: %.120q", what, s)
		}
	}
	for _, name := range v.Credentials {
		if !config.VariableName(name) {
			return fmt.Errorf("write the service definition: invalid variable name %.40q", name)
		}
	}
	switch {
	case !filepath.IsAbs(v.Exec), !filepath.IsAbs(v.Home), v.Config != "" && !filepath.IsAbs(v.Config):
		return fmt.Errorf("write the service definition: program, home and config must be absolute paths, not %.120q, %.120q, %.120q", v.Exec, v.Home, v.Config)
	case strings.ContainsAny(v.Exec, `"'\`): // systemd refuses to run such a program
		return fmt.Errorf("write the service definition: the program's path has a quote or a backslash: %.120q", v.Exec)
	case !isUnit(v.Name + ".service"):
		return fmt.Errorf("write the service definition: invalid service name %.120q", v.Name)
	case v.StopTimeout < time.Second || v.StopTimeout%time.Second != 0:
		return fmt.Errorf("write the service definition: the time for a stop is %s, which is not whole seconds over 0", v.StopTimeout)
	case v.System && v.User != "" && !isUser(v.User):
		return fmt.Errorf("write the service definition: invalid user name %.40q", v.User)
	}
	return nil
}

// isUser reports whether systemd accepts the name for User= in its relaxed mode, without quotes.
func isUser(name string) bool {
	return !strings.ContainsFunc(name, func(r rune) bool {
		return !strings.ContainsRune("_-.@", r) && !unicode.IsLetter(r) && !unicode.IsDigit(r)
	}) && name[0] != '-'
}

// environment is every variable of the service, by name.
func (v Values) environment() map[string]string {
	env := map[string]string{}
	maps.Copy(env, v.Environment)
	env[homeVariable] = v.Home
	if v.Config != "" {
		env[configVariable] = v.Config
	}
	env[StopBudgetVariable] = v.StopTimeout.String()
	return env
}

// SystemdUnit is the unit file for the gateway (systemd.service(5)). It fails where a value cannot be written in one.
func SystemdUnit(v Values) (string, error) {
	if err := v.check(); err != nil {
		return "", err
	}
	var b strings.Builder
	say := func(format string, args ...any) { fmt.Fprintf(&b, format+"\n", args...) }

	say("# %s", stampLine)
	say("# Computed from the gateway's config by \"gatewaytui unit systemd\". Change the config and write it again, or change")
	say("# single settings with \"systemctl %sedit\": a drop-in is never overwritten.", v.scope())
	say("")
	say("[Unit]")
	say("Description=gatewaytui, a gateway for AI agents")
	if v.System {
		say("Wants=network-online.target")
		say("After=network-online.target")
	}
	say("# Start again without limit. A failure that another start cannot fix has a code of RestartPreventExitStatus.")
	say("StartLimitIntervalSec=0")
	say("")
	say("[Service]")
	say("Type=notify")
	say("NotifyAccess=main")
	say("ExecStart=%s --no-tui", quote(v.Exec)) // dollar signs in the program are not variables: systemd.service(5), "Command lines"
	say("ExecReload=%s reload", quote(v.Exec))
	if v.System && v.User != "" {
		say("User=%s", v.User)
	} else if v.System {
		say("# The gateway and each of its tools run as root. To change that, make a user for the gateway, give it the home, and")
		say("# name it here or in a drop-in:")
		say("#User=gatewaytui")
	}
	env := v.environment()
	for _, name := range slices.Sorted(maps.Keys(env)) {
		say("Environment=%s", quote(name+"="+env[name]))
	}
	if len(v.Credentials) > 0 {
		say("# The config reads secrets from %s, which do not belong", strings.Join(v.Credentials, ", "))
		say("# in here. Put them into a file of mode 0600 and name that in a drop-in: EnvironmentFile=/path/to/it")
	}
	say("")
	say("# The stop: SIGTERM goes to the gateway alone, which drains, ends its tools and exits within this time. After it, all")
	say("# remaining processes get SIGKILL. The time is the plan's worst case, and at least shutdown.drain_timeout and 30 s.")
	say("TimeoutStopSec=%d", int64(v.StopTimeout/time.Second))
	say("KillMode=mixed")
	say("# %d is a planned restart, not a failure. After %d (another gateway has this home) and %d (the config is wrong)",
		ops.ExitRestart, ops.ExitHeld, ops.ExitConfig)
	say("# another start would fail too.")
	say("Restart=always")
	say("RestartSec=2")
	say("RestartForceExitStatus=%d", ops.ExitRestart)
	say("SuccessExitStatus=%d", ops.ExitRestart)
	say("RestartPreventExitStatus=%d %d", ops.ExitHeld, ops.ExitConfig)
	say("# An unresponsive gateway gets SIGABRT, prints every goroutine's stack, and is started again.")
	say("WatchdogSec=%d", watchdogSec)
	sayContainment(say)
	say("")
	say("[Install]")
	if v.System {
		say("WantedBy=multi-user.target")
	} else {
		say("WantedBy=default.target")
	}
	return stamped(b.String()), nil
}

// sayContainment writes the settings and comments about control groups, memory, processes and the sandbox.
func sayContainment(say func(format string, args ...any)) {
	say("# Lets the gateway keep its tools in control groups, which hold all that a tool starts, and limit the memory and the processes of")
	say("# each ([limits] of the config). Only groups next to the gateway's own can have limits: systemd 254 and later start it in")
	say("# the group that DelegateSubgroup= names. Older ones ignore that line with a warning, and the gateway moves there itself.")
	say("Delegate=cpu memory pids")
	say("DelegateSubgroup=%s", Subgroup)
	say("# A tool that runs out of memory ends with all that it started, and neither the gateway nor the unit does. Without a")
	say("# limit, tools are ended before the gateway, even if they are small and many. With MemoryMax= in a drop-in, tools get")
	say("# what the gateway does not need.")
	say("OOMPolicy=continue")
	say("OOMScoreAdjust=-100")
	say("# The gateway gives its tools a limit of processes below its own. A limit of the unit would include the gateway, and")
	say("# a gateway that cannot start a thread ends.")
	say("TasksMax=infinity")
	say("# A core file would hold every secret of the gateway. Tools may raise the limit for themselves.")
	say("LimitCORE=0:infinity")
	say("# No sandbox beyond that, on purpose: tools do what this user does in a shell. NoNewPrivileges= would break sudo and")
	say("# every other setuid program, and every filter of system calls or address families implies it for a user other than")
	say("# root; ProtectSystem=, ProtectHome= and PrivateTmp= would show tools other files than their user sees. Where the")
	say("# tools need none of this, add what they can live with in a drop-in.")
}

func (v Values) scope() string {
	if v.System {
		return ""
	}
	return "--user "
}

// quote writes s as one word of a unit file: in double quotes, with backslashes and quotes escaped (systemd.syntax(7),
// "Quoting"), and percent signs doubled (systemd.unit(5), "Specifiers"). Control characters have been refused.
func quote(s string) string {
	return `"` + strings.NewReplacer(`\`, `\\`, `"`, `\"`, `%`, `%%`).Replace(s) + `"`
}
