package doctor

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"
	"time"

	"gatewaytui/core/config"
	"gatewaytui/core/control"
	"gatewaytui/core/health"
	"gatewaytui/core/instance"
	"gatewaytui/core/ops"
	"gatewaytui/core/process"
	"gatewaytui/core/remote"
	"gatewaytui/core/term"
	"gatewaytui/core/text"
)

// bound is what all checks may take together.
const bound = 10 * time.Second

// Verdict is what a check comes to. Only a failure changes the exit code.
type Verdict string

// The verdicts.
const (
	OK   Verdict = "ok"
	Warn Verdict = "warn"
	Fail Verdict = "fail"
)

// Result is what one check says: a line of doctor's.
type Result struct {
	Check   string  `json:"check"`
	Verdict Verdict `json:"verdict"`
	Detail  string  `json:"detail"`
	// Fix is what to do about it, empty where nothing is wrong.
	Fix string `json:"fix"`
	// ID and Severity are those of a Finding; empty for other checks.
	ID       string   `json:"id,omitempty"`
	Severity Severity `json:"severity,omitempty"`
}

// checkup is the state of one run: what the checks before found out, and their findings.
type checkup struct {
	o Options

	loaded config.Loaded
	valid  bool // loaded is a config

	home  string // empty: it is not known which is meant
	there bool   // the home is a folder
	found instance.Found

	gateway *remote.Gateway // nil: none answers
	status  *ops.Status     // what it says

	runner    process.Runner
	runnerErr error // why runner cannot be used

	check    string
	findings []Result
}

// checks are doctor's, in the order in which they build on each other.
var checks = []struct {
	name string
	run  func(*checkup, context.Context)
}{
	{"config", (*checkup).checkConfig},
	{"tools", (*checkup).checkTools},
	{"home", (*checkup).checkHome},
	{"gateway", (*checkup).checkGateway},
	{"store", (*checkup).checkStore},
	{"adapters", (*checkup).checkAdapters},
	{"external adapters", (*checkup).checkPrograms},
	{"people", (*checkup).checkPeople},
	{"jobs", (*checkup).checkJobs},
	{"security", (*checkup).checkSecurity},
	{"containment", (*checkup).checkContainment},
	{"sandbox", (*checkup).checkSandbox},
	{"containers", (*checkup).checkContainers},
	{"browsers", (*checkup).checkBrowsers},
	{"servers", (*checkup).checkServers},
	{"external agents", (*checkup).checkExternal},
	{"unit", (*checkup).checkUnits},
	{"stop", (*checkup).checkStop},
	{"clock", (*checkup).checkClock},
}

// Options say what is to be checked.
type Options struct {
	// Home is the home that is named, and Config the config file; empty are the usual ones.
	Home, Config string
	// Getenv reads the environment of the caller, and Version is the caller's.
	Getenv  func(string) string
	Version string
}

// Run makes every check, in the order of the list, within ten seconds. It changes nothing but for a file that it makes in the home
// and removes at once.
func Run(ctx context.Context, o Options) []Result {
	ctx, cancel := context.WithTimeout(ctx, bound)
	defer cancel()
	c := &checkup{o: o}
	defer func() {
		if c.gateway != nil {
			c.gateway.Close()
		}
	}()
	if c.runner, c.runnerErr = process.OpenRunner(ctx); c.runnerErr == nil {
		defer c.runner.Close(ctx)
	}
	for _, check := range checks {
		c.check = check.name
		check.run(c, ctx)
	}
	return c.findings
}

func (c *checkup) say(v Verdict, fix, format string, args ...any) {
	c.findings = append(c.findings, Result{Check: c.check, Verdict: v, Detail: fmt.Sprintf(format, args...), Fix: fix})
}

func (c *checkup) ok(format string, args ...any)        { c.say(OK, "", format, args...) }
func (c *checkup) warn(fix, format string, args ...any) { c.say(Warn, fix, format, args...) }
func (c *checkup) fail(fix, format string, args ...any) { c.say(Fail, fix, format, args...) }

// checkConfig checks the file that the gateway runs with, if one runs and no other file was named.
func (c *checkup) checkConfig(ctx context.Context) {
	running, runs := remote.RunningConfig(ctx, c.o.Home, c.o.Getenv)
	path := c.o.Config
	if runs {
		var note string
		path, note = remote.AgreeConfig(c.o.Config, c.o.Getenv, running)
		if note != "" && path == c.o.Config {
			c.warn("name the gateway's own with --config, or none", "%s", note)
		}
	}
	loaded, err := config.Load(config.Options{Path: path})
	if all, ok := errors.AsType[config.Errors](err); ok {
		for _, e := range all {
			c.fail("gatewaytui config example prints every key with its default", "%v", e)
		}
		return
	}
	if err != nil {
		c.fail("gatewaytui config example prints every key with its default", "%v", err)
		return
	}
	c.loaded, c.valid = loaded, true
	switch {
	case !runs || path != running.Path && !remote.SameFile(path, running.Path) && loaded.Path != running.Path:
		c.ok("%s is valid", loaded.Source)
	case running.Changed:
		c.warn("gatewaytui restart", "%s is valid, and has changed since the gateway read it at %s", loaded.Source, text.Moment(running.LoadedAt.Time))
	default:
		c.ok("%s is valid, and the gateway runs with it", loaded.Source)
	}
	for _, w := range loaded.Warnings {
		c.warn("gatewaytui config check --values shows where each value is from", "%s", w.Message)
	}
}

// checkTools lists what tools see of this environment, which may differ from that of a gateway that a service manager starts.
// Only names are printed: a value may be a secret.
func (c *checkup) checkTools(context.Context) {
	if !c.valid {
		return
	}
	passed, kept := c.loaded.Config.Tools.Environment(os.Environ())
	list := strings.Join(passed, ", ")
	if len(passed) == 0 {
		list = "none"
	}
	c.ok("of the %d variables in this environment tools see %d: %s (tools.env_pass)", len(passed)+len(kept), len(passed), term.Clean(list, 1000))
}

// checkGateway looks at the traces of a gateway, and asks it. Nothing here touches the lock: even to try it would turn
// away a gateway that starts at that moment.
func (c *checkup) checkGateway(ctx context.Context) {
	if !c.there {
		c.ok("none runs: there is no home yet")
		return
	}
	g, err := remote.Find(c.home, control.ClientOptions{})
	if err != nil {
		c.fail("run doctor as the user that runs the gateway", "%v", err)
		return
	}
	c.found = g.Found
	r := g.Found.Record
	s, err := g.Status(ctx)
	if err == nil {
		c.gateway, c.status = g, &s
		c.ok("up, %s: life %s, pid %d, version %s", s.StateFor(), s.Life, s.PID, s.Version)
		if own := c.o.Version; s.Version != own {
			c.warn("gatewaytui restart", "it runs version %s, and this program is version %s", s.Version, own)
		}
		for _, w := range s.Warnings {
			if strings.HasPrefix(w.Code, "store") || strings.HasPrefix(w.Code, "adapter.") || strings.HasPrefix(w.Code, "supervisor.") || strings.HasPrefix(w.Code, WarningPrefix) || w.Code == "shutdown.budget" || w.Code == health.WarnConfigChanged {
				continue // the checks below say so
			}
			c.warn("gatewaytui status has it in full", "it warns: %s", w.Message)
		}
		if r.PID != 0 && r.PID != s.PID {
			c.warn("nothing: the socket is right, and the next start writes the pid file again", "the pid file names pid %d, and pid %d answers", r.PID, s.PID)
		}
		return
	}
	g.Close()
	said := ops.AsError(g.Explain(err))
	holder, held := instance.LockHolder(c.home)
	switch {
	case !remote.Gone(err), g.Found.Known && g.Found.Alive: // a process is there, and does not answer
		c.fail(said.Hint, "%s", said.Message)
	case held:
		c.fail(fmt.Sprintf("look at it with ps -p %d; the lock is free as soon as that process ends", holder), "no gateway answers, but pid %d holds the lock", holder)
	case r.PID != 0 && !g.Found.Known:
		c.warn(said.Hint, "%s", said.Message)
	case r.PID != 0:
		c.ok("none runs; the pid file of life %s was left behind, which the next start puts right by itself", r.Life)
	default:
		c.ok("none runs")
	}
}

// checkSecurity names what is dangerous. It is a warning and no failure: the operator may want it so.
func (c *checkup) checkSecurity(context.Context) {
	if !c.valid {
		return
	}
	facts := Facts{Config: c.loaded.Path, UID: os.Geteuid(), Getenv: c.o.Getenv}
	switch {
	case c.status != nil: // its own groups may be others than those of this shell
		facts.Groups = c.status.Containment.Level == string(process.ContainmentCgroup)
		facts.Unlimited = c.status.Containment.Unlimited
	case c.runnerErr == nil:
		level, _ := c.runner.Containment()
		facts.Groups = level == process.ContainmentCgroup
	}
	found := Security(c.loaded.Config, facts)
	for _, f := range found {
		c.findings = append(c.findings, Result{
			Check: c.check, Verdict: Warn, Detail: fmt.Sprintf("%s (%s, %s)", f.Text, f.ID, f.Severity), Fix: f.Fix, ID: f.ID, Severity: f.Severity,
		})
	}
	if len(found) == 0 {
		c.ok("no dangerous setting found")
	}
}

func (c *checkup) checkContainment(ctx context.Context) {
	if c.runnerErr != nil {
		c.fail("run it where /proc is mounted, and is that of its own pid namespace", "%v", c.runnerErr)
		return
	}
	weak := c.weaknesses(ctx) // before the level, which a program that is started can lower
	var level process.Containment
	var why, where, limits string
	if s := c.status; s != nil {
		level, why, where = process.Containment(s.Containment.Level), s.Containment.Why, "for the gateway"
		limits = limitsLine(s.Containment)
	} else {
		level, why = c.runner.Containment()
		where, limits = "here", "whether it limits memory and processes is known while a gateway runs"
	}
	const fix = "see what filters system calls here, such as a container's seccomp profile"
	say := c.ok
	if len(weak) > 0 {
		say = func(format string, args ...any) { c.warn(fix, format, args...) }
	}
	switch level {
	case process.ContainmentCgroup:
		say("cgroup: each tool runs in a control group, which is ended whole; %s", limits)
	default:
		say("%s: what tools start is found by ancestry and marks; there is no control group of our own %s: %s", level, where, cmp.Or(why, "the system gives none"))
	}
	if c.status != nil {
		c.sessionLimits(c.status.Containment.SessionLimits)
	}
	for _, text := range weak {
		c.warn(fix, "%s", text)
	}
	for _, text := range missing {
		c.warn("run it on Linux where that matters", "%s", text)
	}
	if c.valid && !c.loaded.Config.Process.Guardian {
		c.warn("process.guardian = true", "without the guardian, tools outlive a gateway that is killed with SIGKILL until its next start")
	}
	if c.valid && c.loaded.Config.Process.Survivors == config.SurvivorsAdopt {
		c.ok("background commands outlive a gateway that is killed with SIGKILL, and its next life adopts them (process.survivors); a service manager that ends all of a unit, such as systemd with KillMode=mixed, ends them first")
	}
}

// weaknesses are the texts of what holds tools less firmly than usual: the warnings of the gateway that runs, which has started
// tools, or else what doctor finds out by starting a program.
func (c *checkup) weaknesses(ctx context.Context) (all []string) {
	if c.status == nil {
		_, _ = c.runner.Run(ctx, []string{"true"}) // a failure of it shows in the weaknesses, or has other causes
		for _, w := range c.runner.Weaknesses() {
			all = append(all, w.Message)
		}
		return all
	}
	for _, w := range c.status.Warnings {
		if strings.HasPrefix(w.Code, process.WeakPrefix) {
			all = append(all, w.Message)
		}
	}
	return all
}

// sessionLimits says which limits of [environments.NAME] hold.
func (c *checkup) sessionLimits(in []string) {
	var lacking []string
	for _, one := range []struct{ controller, key string }{{"memory", "memory_max"}, {"pids", "pids_max"}, {"cpu", "cpu_max"}} {
		if !slices.Contains(in, one.controller) {
			lacking = append(lacking, one.key)
		}
	}
	if len(lacking) == 0 {
		c.ok("the processes of each session have limits of their own (memory_max, pids_max and cpu_max of the environment)")
		return
	}
	c.warn(delegate, "%s of the environments %s no effect: no control group bounds a session there, and other limits (ulimit) are per process or per user",
		strings.Join(lacking, ", "), map[bool]string{true: "has", false: "have"}[len(lacking) == 1])
}

// limitsLine says which controllers limit the control groups of tools.
func limitsLine(held ops.Containment) string {
	text := "no controller limits it"
	if len(held.Controllers) > 0 {
		text = "limited by the controllers " + strings.Join(held.Controllers, ", ") + " (limits.tree_…, limits.tools_…; gatewaytui status has the figures)"
	}
	if held.Unlimited != "" {
		text += ": " + held.Unlimited
	}
	return text
}

// A clock that says less is wrong.
var clockFloor = time.Date(2025, time.January, 1, 0, 0, 0, 0, time.UTC)

func (c *checkup) checkClock(context.Context) {
	now := time.Now()
	synced, known := clockSynced()
	const fix = "turn on a time service, such as timedatectl set-ntp true"
	switch {
	case now.Before(clockFloor):
		c.fail(fix, "it says %s, which is over; certificates and daily resets go wrong", now.Format(time.DateTime))
	case c.found.Record.StartedAt.After(now.Add(time.Minute)):
		c.warn(fix, "it says %s, and a life on this home began at %s: it was set back", now.Format(time.DateTime), c.found.Record.StartedAt.Local().Format(time.DateTime))
	case known && !synced:
		c.warn(fix, "the clock is not synchronised (now %s)", now.Format(time.DateTime))
	default:
		c.ok("it says %s %s", now.Format(time.DateTime), zone(now))
	}
}

func zone(now time.Time) string {
	if tz := os.Getenv("TZ"); tz != "" {
		return tz
	}
	name, _ := now.Zone()
	return name
}
