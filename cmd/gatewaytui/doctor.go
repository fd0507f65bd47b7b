package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"strings"
	"time"

	"github.com/oklog/ulid/v2"
	"github.com/spf13/cobra"

	"gatewaytui/core/config"
	"gatewaytui/core/doctor"
	"gatewaytui/core/health"
	"gatewaytui/core/instance"
	"gatewaytui/core/ops"
	"gatewaytui/core/process"
	"gatewaytui/core/remote"
	"gatewaytui/core/term"
	"gatewaytui/core/text"
	"gatewaytui/views/lines"
)

// doctorBound is what all checks may take together.
const doctorBound = 10 * time.Second

// verdict is what a check comes to. Only a failure changes the exit code.
type verdict string

const (
	isOK   verdict = "ok"
	isWarn verdict = "warn"
	isFail verdict = "fail"
)

// finding is one line of doctor's.
type finding struct {
	Check   string  `json:"check"`
	Verdict verdict `json:"verdict"`
	Detail  string  `json:"detail"`
	// Fix is what to do about it, empty where nothing is wrong.
	Fix string `json:"fix"`
	// ID and Severity are those of a doctor.Finding; empty for other checks.
	ID       string          `json:"id,omitempty"`
	Severity doctor.Severity `json:"severity,omitempty"`
}

// checkup is the state of one doctor: what the checks before found out, and their findings.
type checkup struct {
	p      *program
	config string // --config

	loaded config.Loaded
	valid  bool // loaded is a config

	home  string // empty: it is not known which is meant
	there bool   // the home is a folder
	found instance.Found

	gateway *remote.Gateway // nil: none answers
	status  *ops.Status     // what it says

	asker    asker
	askerErr error // why asker cannot be used

	check    string
	findings []finding
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
	{"security", (*checkup).checkSecurity},
	{"containment", (*checkup).checkContainment},
	{"unit", (*checkup).checkUnits},
	{"stop", (*checkup).checkStop},
	{"clock", (*checkup).checkClock},
}

func doctorVerb(p *program) *cobra.Command {
	var path string
	c := p.verb(&cobra.Command{
		Use: "doctor", Short: "check config, home, store, adapters and service definition, and suggest fixes",
		Example: "  gatewaytui doctor\n  gatewaytui doctor --json | jq '.checks[] | select(.verdict != \"ok\")'",
		RunE: func(cmd *cobra.Command, _ []string) error {
			ctx, cancel := context.WithTimeout(cmd.Context(), doctorBound)
			defer cancel()
			c := &checkup{p: p, config: path}
			c.run(ctx)
			return p.showCheckup(c.findings)
		},
	})
	c.Flags().StringVar(&path, "config", "", "config `FILE` (default: $GATEWAYTUI_CONFIG, else ~/.config/gatewaytui/config.toml)")
	return c
}

// run makes every check. It changes nothing but for a file that it makes in the home and removes at once.
func (c *checkup) run(ctx context.Context) {
	defer func() {
		if c.gateway != nil {
			c.gateway.Close()
		}
	}()
	if c.asker, c.askerErr = openAsker(ctx); c.askerErr == nil {
		defer c.asker.close(ctx)
	}
	for _, check := range checks {
		c.check = check.name
		check.run(c, ctx)
	}
}

func (c *checkup) say(v verdict, fix, format string, args ...any) {
	c.findings = append(c.findings, finding{Check: c.check, Verdict: v, Detail: fmt.Sprintf(format, args...), Fix: fix})
}

func (c *checkup) ok(format string, args ...any)        { c.say(isOK, "", format, args...) }
func (c *checkup) warn(fix, format string, args ...any) { c.say(isWarn, fix, format, args...) }
func (c *checkup) fail(fix, format string, args ...any) { c.say(isFail, fix, format, args...) }

// showCheckup prints the findings; a failure among them is exit code 1.
func (p *program) showCheckup(findings []finding) error {
	count := map[verdict]int{}
	for _, f := range findings {
		count[f.Verdict]++
	}
	if p.json {
		p.writeJSON(p.out, struct {
			OK       bool      `json:"ok"`
			Warnings int       `json:"warnings"`
			Failures int       `json:"failures"`
			Checks   []finding `json:"checks"`
		}{count[isFail] == 0, count[isWarn], count[isFail], findings})
	} else {
		for _, f := range findings {
			p.say("%-5s %-12s %s", string(f.Verdict), f.Check, f.Detail)
			if f.Fix != "" {
				p.say("                   fix: %s", f.Fix)
			}
		}
		p.say("%d ok, %s, %s", count[isOK], text.Count(count[isWarn], "warning"), text.Count(count[isFail], "failure"))
	}
	if count[isFail] > 0 {
		return &outcome{code: exitFailed}
	}
	return nil
}

// checkConfig checks the file that the gateway runs with, if one runs and no other file was named.
func (c *checkup) checkConfig(ctx context.Context) {
	running, runs := c.p.runningConfig(ctx)
	path := c.config
	if runs {
		var note string
		path, note = agree(c.config, cmp.Or(c.config, c.p.getenv("GATEWAYTUI_CONFIG")), running)
		if note != "" && path == c.config {
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
	case !runs || path != running.Path && !sameFile(path, running.Path) && loaded.Path != running.Path:
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
// Only names are told: a value may be a secret.
func (c *checkup) checkTools(context.Context) {
	if !c.valid {
		return
	}
	passed, kept := c.loaded.Config.Tools.Environment(os.Environ())
	list := strings.Join(passed, ", ")
	if len(passed) == 0 {
		list = "none"
	}
	c.ok("of the %d variables in this environment tools see %d: %s (tools.env_pass)", len(passed)+len(kept), len(passed), term.Clean(list, lines.MaxLine))
}

// checkGateway looks at the traces of a gateway, and asks it. Nothing here touches the lock: even to try it would turn
// away a gateway that starts at that moment.
func (c *checkup) checkGateway(ctx context.Context) {
	if !c.there {
		c.ok("none runs: there is no home yet")
		return
	}
	g, err := c.p.reach()
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
		if own := versionInfo().Version; s.Version != own {
			c.warn("gatewaytui restart", "it runs version %s, and this program is version %s", s.Version, own)
		}
		for _, w := range s.Warnings {
			if strings.HasPrefix(w.Code, "store") || strings.HasPrefix(w.Code, "adapter.") || strings.HasPrefix(w.Code, "supervisor.") || strings.HasPrefix(w.Code, doctor.WarningPrefix) || w.Code == "shutdown.budget" || w.Code == health.WarnConfigChanged {
				continue // the checks below say so
			}
			c.warn("gatewaytui status has it in full", "it warns: %s", w.Message)
		}
		if r.PID != 0 && r.PID != s.PID {
			c.warn("nothing: the socket is right, and the next start writes the pid file anew", "the pid file names pid %d, and pid %d answers", r.PID, s.PID)
		}
		return
	}
	g.Close()
	said := ops.AsError(g.Explain(err))
	holder, held := lockHolder(c.home)
	switch {
	case !remote.Gone(err), g.Found.Known && g.Found.Alive: // somebody is there, and does not answer
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

// asker runs programs that are asked something, such as systemctl. There is one at a time, and none beside a gateway's
// own registry.
type asker struct{ procs *process.Registry }

func openAsker(ctx context.Context) (asker, error) {
	id := ulid.Make().String() // of its own: two of them do not clear up after each other
	r := process.New(process.Options{
		Life: id, HomeID: id, KillGrace: 100 * time.Millisecond, Log: slog.New(slog.DiscardHandler),
		Pass: func(string, string) bool { return true }, // systemctl finds its manager by it
	})
	return asker{r}, r.Open(ctx)
}

// askerBound is what the end of an asker may take, once its programs are over.
const askerBound = time.Second

// close ends what still runs: it was asked something, and nothing is lost with it.
func (a asker) close(ctx context.Context) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), askerBound)
	defer cancel()
	_ = a.procs.Close(ctx) // who survives it was not ours to wait for
}

// ask runs a program and returns what it printed; it is a service.Run. One that hangs is left to close.
func (a asker) ask(ctx context.Context, argv []string) (string, error) {
	started, err := a.procs.Spawn(ctx, process.Spec{Argv: argv, Policy: process.PolicyGateway})
	if err != nil {
		return "", err
	}
	exit, err := started.Wait(ctx)
	if err != nil {
		return "", err
	}
	if exit.Code != 0 {
		return "", fmt.Errorf("%s: exit code %d: %s", argv[0], exit.Code, cmp.Or(started.LastLine(), "no output"))
	}
	text, _ := started.Output()
	return text, nil
}

// checkSecurity names what is dangerous. It is a warning and no failure: the operator may want it so.
func (c *checkup) checkSecurity(context.Context) {
	if !c.valid {
		return
	}
	facts := doctor.Facts{Config: c.loaded.Path, UID: os.Geteuid(), Getenv: c.p.getenv}
	switch {
	case c.status != nil: // its own groups may be others than those of this shell
		facts.Groups = c.status.Containment.Level == string(process.ContainmentCgroup)
		facts.Unlimited = c.status.Containment.Unlimited
	case c.askerErr == nil:
		level, _ := c.asker.procs.Containment()
		facts.Groups = level == process.ContainmentCgroup
	}
	found := doctor.Security(c.loaded.Config, facts)
	for _, f := range found {
		c.findings = append(c.findings, finding{
			Check: c.check, Verdict: isWarn, Detail: fmt.Sprintf("%s (%s, %s)", f.Text, f.ID, f.Severity), Fix: f.Fix, ID: f.ID, Severity: f.Severity,
		})
	}
	if len(found) == 0 {
		c.ok("no dangerous setting found")
	}
}

func (c *checkup) checkContainment(context.Context) {
	if c.askerErr != nil {
		c.fail("run it where /proc is mounted, and is that of its own pid namespace", "%v", c.askerErr)
		return
	}
	level, why := c.asker.procs.Containment()
	where, limits := "here", "whether it limits memory and processes is known while a gateway runs"
	if s := c.status; s != nil {
		level, why, where = process.Containment(s.Containment.Level), s.Containment.Why, "for the gateway"
		limits = limitsLine(s.Containment)
	}
	switch level {
	case process.ContainmentCgroup:
		c.ok("cgroup: each tool runs in a control group, which is ended whole; %s", limits)
	default:
		c.ok("%s: what tools start is found by ancestry and marks; there is no control group of our own %s: %s", level, where, cmp.Or(why, "the system gives none"))
	}
	for _, w := range c.asker.procs.Weaknesses() { // those of a running gateway are among its warnings
		c.warn("see what filters system calls here, such as a container's seccomp profile", "%s", w.Text)
	}
	if c.valid && !c.loaded.Config.Process.Guardian {
		c.warn("process.guardian = true", "without the guardian, tools outlive a gateway that is killed with SIGKILL until its next start")
	}
	if c.valid && c.loaded.Config.Process.Survivors == config.SurvivorsAdopt {
		c.ok("background commands outlive a gateway that is killed with SIGKILL, and its next life adopts them (process.survivors); a service manager that ends all of a unit, such as systemd with KillMode=mixed, ends them first")
	}
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
