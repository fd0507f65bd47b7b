package doctor

import (
	"cmp"
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"time"

	"gatewaytui/core/adapter"
	"gatewaytui/core/config"
	"gatewaytui/core/ops"
	"gatewaytui/core/service"
	"gatewaytui/core/shutdown"
	"gatewaytui/core/text"
)

// checkAdapters asks the gateway how its platforms are; without one it looks for their credentials as this shell has
// them.
func (c *checkup) checkAdapters(ctx context.Context) {
	if c.gateway != nil {
		c.checkRows(ctx)
	}
	if !c.valid {
		return
	}
	c.examine(ctx)
	if c.gateway != nil {
		return
	}
	cfg, s := c.loaded.Config, c.loaded.Config.Credentials(c.o.Getenv)
	before := len(c.findings)
	lacks := func(who string, s config.Credential) {
		c.warn("set "+s.Source+" for the gateway; under a service manager in a file of mode 0600 (EnvironmentFile=)", "%s has no credential here: %v", who, &adapter.CredentialsError{Variable: s.Source, Why: s.Why()})
	}
	if cfg.Adapters.API.Enabled && s.API.Missing() {
		lacks("api", s.API)
	}
	bots := cfg.Adapters.EnabledBots()
	for _, b := range bots {
		if secret, missing := s.Missing(b); missing {
			lacks(b.Name, secret)
		}
	}
	missingSecrets(cfg, s, lacks)
	models := cfg.ModelsByName()
	for _, name := range config.Names(models) {
		m, key := models[name], s.Models[name]
		switch {
		case m.Provider == config.Scripted:
		case key.Err != nil:
			c.fail("fix it, or name another with api_key_env or api_key_file", "the key of the model %s: %v", name, key.Err)
		case key.Missing() && !config.LocalURL(m.BaseURL): // one on this machine mostly wants none
			lacks("the model "+name, key)
		}
	}
	if !cfg.Adapters.API.Enabled && len(bots) == 0 && !cfg.Adapters.Webhook.Enabled {
		c.warn("enable one, e.g. adapters.api.enabled = true", "none is enabled, so only gatewaytui send can talk to it")
	}
	if len(c.findings) == before {
		c.ok("every credential that the config names is there")
	}
}

func (c *checkup) checkRows(ctx context.Context) {
	rows, err := c.gateway.Adapters(ctx, ops.Query{})
	if err != nil {
		c.fail("ask again", "%v", err)
		return
	}
	for _, r := range rows.Items {
		switch r.State {
		case ops.AdapterConnected, ops.AdapterConnecting, ops.AdapterPaused:
			if r.State == ops.AdapterConnected && r.LastError != "" {
				c.warn("do what it says; a credential counts after a restart of the gateway", "%s is connected, and a part of it does not work: %s", r.Name, r.LastError)
				continue
			}
			c.ok("%s is %s", r.Name, text.Words(r.State))
		case ops.AdapterNeedsCredentials:
			c.warn("set its credential where the gateway is started, then restart it", "%s needs credentials: %s", r.Name, cmp.Or(r.LastError, "no word"))
		default:
			c.warn("gatewaytui adapter reconnect "+r.Name, "%s is %s for %s, attempt %d: %s", r.Name, text.Words(r.State), cmp.Or(text.Ago(r.Since.Time), "some time"), r.Attempt, cmp.Or(r.LastError, "no word"))
		}
	}
	if len(rows.Items) == 0 {
		c.ok("it has none")
	}
}

// places are where a definition may be installed.
var places = []struct {
	kind   service.Kind
	system bool
}{{service.Systemd, false}, {service.Systemd, true}, {service.Launchd, false}, {service.Launchd, true}}

// installed is every definition that is in place for this home, under any name.
func (c *checkup) installed() (all []installedDefinition) {
	name := service.NameFor(c.home, c.o.Getenv)
	for _, at := range places {
		own := service.InstallPath(at.kind, at.system, name, c.o.Getenv("HOME"), c.o.Getenv("XDG_CONFIG_HOME"))
		for _, path := range candidates(at.kind, own) {
			text, err := service.ReadDefinition(path)
			if text == nil && err == nil {
				continue
			}
			home := service.HomeOf(string(text))
			if path != own && (err != nil || home != c.home) || path == own && err == nil && home != c.home && home != "" {
				continue // another gateway's
			}
			called, _ := service.NameAt(at.kind, path)
			all = append(all, installedDefinition{at.kind, at.system, called, path, string(text), c.homeFlag(), err})
		}
	}
	return all
}

// candidates are the path own, and those of what may be other services of a gateway in the same folder.
func candidates(kind service.Kind, own string) []string {
	paths := []string{own}
	entries, _ := os.ReadDir(filepath.Dir(own)) // there is none, or none that we may see
	for _, e := range entries {
		if path := filepath.Join(filepath.Dir(own), e.Name()); path != own {
			if _, ours := service.NameAt(kind, path); ours {
				paths = append(paths, path)
			}
		}
	}
	return paths
}

type installedDefinition struct {
	kind   service.Kind
	system bool
	name   string // the service's
	path   string
	text   string
	flag   string // that names the home to a verb, where the environment does not
	err    error
}

// homeFlag is the flag that names this home to a verb, empty where it finds it by itself.
func (c *checkup) homeFlag() string {
	if c.o.Home == "" {
		return ""
	}
	return " --home " + text.ShellWord(c.home)
}

// command is the verb that writes it again.
func (d installedDefinition) command() string {
	scope := "--user"
	if d.system {
		scope = "--system"
	}
	return "gatewaytui unit " + string(d.kind) + " " + scope + " --write" + d.flag
}

// checkUnits compares what is installed with what this config asks for.
func (c *checkup) checkUnits(context.Context) {
	if !c.valid || c.home == "" {
		return
	}
	all := c.installed()
	if len(all) == 0 {
		c.ok("none is installed for this home; gatewaytui unit systemd prints one")
	}
	if len(all) > 1 { // B4
		paths := make([]string, len(all))
		for i, d := range all {
			paths[i] = d.path
		}
		c.warn("disable and remove all but one of them", "%d services start a gateway on this home, and only one can: %s", len(all), strings.Join(paths, ", "))
	}
	for _, d := range all {
		if d.err != nil {
			c.warn("look at it, then "+d.command()+" --force", "%s: %v", d.path, d.err)
			continue
		}
		want, err := service.Define(d.kind, d.system, c.loaded, c.home, c.o.Getenv)
		if err != nil {
			c.fail("use paths without such characters, and set HOME", "%v", err)
			continue
		}
		if d.path != want.Path {
			c.warn("disable and remove it, then "+d.command(), "%s starts a gateway on this home, whose service is called %s", d.path, want.Name)
		}
		fix := d.command()
		if service.Edited(d.text) {
			fix = "move what you changed into a drop-in, then " + fix + " --force"
		}
		differences := service.Compare(d.text, want.Text)
		for _, x := range differences {
			v := Warn
			if x.Kills {
				v = Fail
			}
			c.say(v, fix, "%s: %s is %s, and this config asks for %s", d.path, x.Setting, cmp.Or(x.Installed, "not set"), cmp.Or(x.Computed, "none"))
		}
		if len(differences) == 0 {
			c.ok("%s is as this config asks", d.path)
		}
	}
}

// checkStop asks whether the service manager's patience is enough for the plan (A3), and whether anything
// starts the gateway again (G5).
func (c *checkup) checkStop(ctx context.Context) {
	if c.gateway != nil {
		c.checkRunningStop(ctx)
		return
	}
	if !c.valid || c.home == "" {
		return
	}
	plan := shutdown.Standard(c.loaded.Config.StopBudgets())
	asked := false
	for _, d := range c.installed() {
		if d.kind != service.Systemd || d.err != nil {
			continue
		}
		asked = true
		if s, ok := c.checkAsked(ctx, d); ok {
			c.compareLimit(plan, s.StopLimit, "systemd", d.command()+", and take TimeoutStopSec= out of drop-ins")
		}
	}
	limit, set := c.loaded.Config.Shutdown.SupervisorLimit()
	switch {
	case set:
		c.compareLimit(plan, limit, "shutdown.supervisor_budget", "raise it with what the service manager allows, or lower shutdown.drain_timeout")
	case !asked:
		c.ok("a stop takes at most %s, and wants %s from a service manager; none is set up here", text.Duration(plan.WorstCase()), text.Duration(plan.TimeoutStopSec()))
	}
}

// checkAsked asks systemd what counts for an installed unit, drop-ins included, and says what is wrong with that but for
// its patience.
func (c *checkup) checkAsked(ctx context.Context, d installedDefinition) (service.Settings, bool) {
	systemctl := "systemctl --user "
	if d.system {
		systemctl = "systemctl "
	}
	s, err := service.Settings{}, c.runnerErr
	if err == nil {
		s, err = service.Ask(ctx, service.Manager{Kind: service.Systemd, Unit: d.name + ".service", User: !d.system}, c.runner.Run)
	}
	if err != nil {
		c.warn(systemctl+"daemon-reload, then "+systemctl+"status "+d.name, "%s is installed, but its limit is not known: %v", d.path, err)
		return service.Settings{}, false
	}
	if s.Reload {
		c.warn(systemctl+"daemon-reload", "%s has changed since systemd read it", d.path)
	}
	for _, t := range s.Issues() {
		c.warn(d.command()+", and take "+t.Setting+"= out of drop-ins", "%s", t.Text)
	}
	return s, true
}

// compareLimit: a limit that is too small shortens the stop rather than break it, so it is a warning with both numbers.
func (c *checkup) compareLimit(plan shutdown.Plan, limit time.Duration, who, fix string) {
	_, shrunk := plan.Fit(limit)
	if len(shrunk) == 0 {
		c.ok("a stop takes at most %s, and %s allows %s", text.Duration(plan.WorstCase()), who, patience(limit))
		return
	}
	c.warn(fix, "a stop wants %s, and %s allows %s: %s", text.Duration(plan.TimeoutStopSec()), who, text.Duration(limit), shortened(shrunk))
}

// shortened says which phases get less than the config asks for, the first one with both figures.
func shortened(phases []ops.ShrunkPhase) string {
	first := phases[0]
	said := fmt.Sprintf("%s is shortened from %s to %s", first.Name, text.Millis(first.WantedMS), text.Millis(first.GotMS))
	if more := len(phases) - 1; more > 0 {
		said += fmt.Sprintf(", and %d more phases", more)
	}
	return said
}

// patience is the limit d on a stop, 0 for none.
func patience(d time.Duration) string {
	if d <= 0 {
		return "as long as it takes"
	}
	return text.Duration(d)
}

func (c *checkup) checkRunningStop(ctx context.Context) {
	plan, err := c.gateway.Plan(ctx)
	if err != nil {
		c.fail("ask again", "%v", err)
		return
	}
	sv := c.status.Supervisor
	manager := service.Named(sv.Name)
	fix := "gatewaytui unit systemd --user --write" + c.homeFlag() + ", or shutdown.supervisor_budget with what another manager allows"
	if c.valid {
		fix = cmp.Or(manager.Allow(shutdown.Standard(c.loaded.Config.StopBudgets()).TimeoutStopSec()), fix)
	}
	limit := time.Duration(plan.SupervisorBudgetMS) * time.Millisecond
	switch {
	case !plan.Fits:
		c.fail("lower shutdown.drain_timeout, or give it more time in the service manager", "a stop takes %s, and the service manager kills after %s", text.Millis(plan.WorstCaseMS), text.Duration(limit))
	case len(plan.Shrunk) > 0:
		c.warn("give it more time in the service manager, or lower shutdown.drain_timeout", "the service manager allows %s (%s): %s",
			text.Duration(limit), sv.Source, shortened(plan.Shrunk))
	case limit > 0:
		c.ok("a stop takes at most %s, and %s allows %s (%s)", text.Millis(plan.WorstCaseMS), cmp.Or(sv.Name, "the service manager"), text.Duration(limit), sv.Source)
	case manager.Kind == service.None:
		c.warn(fix, "no service manager is known to run it: nothing starts it again after a crash")
	case manager.Unlimited():
		c.ok("a stop takes at most %s, and %s waits as long as it takes; sv stop says after 7s that it waits no longer (sv -w %d stop waits), and only sv force-stop kills",
			text.Millis(plan.WorstCaseMS), sv.Name, plan.WorstCaseMS/1000+1)
	case sv.Source == service.SourceUnknown:
		c.warn(fix, "a stop takes %s, and how long %s waits before it kills is not known (%s)",
			text.Millis(plan.WorstCaseMS), sv.Name, patience(manager.DefaultLimit())+" unless configured")
	default:
		c.ok("a stop takes at most %s, and %s waits as long as it takes", text.Millis(plan.WorstCaseMS), sv.Name)
	}
	for _, d := range c.installed() {
		if d.kind == service.Systemd && d.err == nil && strings.HasPrefix(sv.Name, string(service.Systemd)) {
			c.checkAsked(ctx, d) // its patience is in the plan
		}
	}
}
