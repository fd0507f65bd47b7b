package config

import (
	"cmp"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"time"
	_ "time/tzdata" // a machine without zoneinfo, such as a container from scratch, knows the zone of budget.zone

	"github.com/dustin/go-humanize/english"

	"gatewaytui/core/environment/proxy/hosts"
	"gatewaytui/core/ops"
	"gatewaytui/core/term"
	"gatewaytui/core/text"
)

// Access is [access]: who may speak, in addition to the lists of the platforms.
type Access struct {
	Strangers string   `toml:"strangers" default:"tell" doc:"what an unknown user of a platform gets: \"tell\" (once, with their id), \"pair\" (a code that \"gatewaytui people approve CODE\" takes) or \"ignore\"; in groups they get nothing"`
	Owners    []string `toml:"owners" default:"" doc:"people who approve, restart and let others in: [\"telegram:4711\"]; the command line and the console may do so in any case"`
}

// Values of access.strangers.
const (
	StrangersTell   = "tell"
	StrangersPair   = "pair"
	StrangersIgnore = "ignore"
)

// The roles of people (TR1), as routes.role and adapters.api.role name them.
const (
	RoleOwner  = string(ops.RoleOwner)
	RoleMember = string(ops.RoleMember)
	RoleGuest  = string(ops.RoleGuest)
)

var roles = []string{RoleOwner, RoleMember, RoleGuest}

// Values of agents.NAME.approvals.
const (
	ApprovalsFence  = "fence"
	ApprovalsStrict = "strict"
	ApprovalsOff    = "off"
)

// Values of adapters.api.approval; empty: wait for streams, refuse for plain requests.
const (
	ApprovalWait   = "wait"
	ApprovalRefuse = "refuse"
)

// Values of agents.NAME.environment that are not the name of an environment.
const (
	EnvironmentAuto  = "auto"
	EnvironmentLocal = "local"
)

// Environment is each of [environments.NAME]: where an agent's commands run (TR6).
type Environment struct {
	Kind      string   `toml:"kind" default:"sandbox" doc:"\"sandbox\": namespaces of this machine, by bubblewrap; \"container\": Docker or Podman"`
	Network   Network  `toml:"network" default:"false" doc:"true, false, or a list of hosts: [\"pypi.org\", \"*.github.com\"]"`
	Image     string   `toml:"image" doc:"for container: the image"`
	Read      []string `toml:"read" default:"" doc:"absolute paths that can be read as well"`
	Write     []string `toml:"write" default:"" doc:"absolute paths that can be written as well"`
	MemoryMax Size     `toml:"memory_max" default:"2GiB" doc:"memory of all commands of a session together"`
	PidsMax   int      `toml:"pids_max" default:"512" doc:"processes and threads of a session"`
	CPUMax    float64  `toml:"cpu_max" default:"2.0" doc:"cores of a session"`
	Fallback  string   `toml:"fallback" doc:"\"landlock\": files and TCP alone are fenced where bubblewrap does not work; empty: commands are then refused"`
}

// Values of environments.NAME.kind and environments.NAME.fallback.
const (
	KindSandbox      = "sandbox"
	KindContainer    = "container"
	FallbackLandlock = "landlock"
)

// Network is environments.NAME.network: everything, nothing, or the hosts of a list.
type Network struct {
	All   bool
	Hosts []string
}

// String writes n as TOML has it.
func (n Network) String() string {
	if len(n.Hosts) > 0 {
		return literalStrings(n.Hosts)
	}
	return fmt.Sprint(n.All)
}

// set takes over a decoded TOML value; ok is false for one of another type.
func (n *Network) set(v any) (ok bool) {
	*n = Network{}
	if n.All, ok = v.(bool); ok {
		return true
	}
	if text, is := v.(string); is && (text == "true" || text == "false") { // the default, as its tag has it
		n.All = text == "true"
		return true
	}
	_, is := v.([]any)
	return is && intoList(&n.Hosts, v, wantNetwork) == ""
}

// Budget is [budget]: in what budgets are counted.
type Budget struct {
	Currency string `toml:"currency" default:"USD" doc:"the currency of all prices and budgets"`
	Zone     string `toml:"zone" default:"UTC" doc:"the time zone in which a day and a month begin, e.g. \"Europe/Vienna\""`
}

// Limits of each of [budgets.NAME] (TR8). 0 is none.
type BudgetLimits struct {
	PerTurn      float64 `toml:"per_turn" default:"1.0" doc:"money for one turn, its child agents included"`
	PerSession   float64 `toml:"per_session" doc:"for one session, as long as its conversation lasts"`
	PerPerson    float64 `toml:"per_person" doc:"for one person in a day"`
	PerJobRun    float64 `toml:"per_job_run" default:"0.5" doc:"for one run of a job"`
	PerDay       float64 `toml:"per_day" default:"10.0" doc:"for all agents of this budget together in a day"`
	PerMonth     float64 `toml:"per_month" default:"100.0" doc:"for all of them in a month"`
	TokensPerDay int     `toml:"tokens_per_day" default:"3000000" doc:"tokens in a day of models whose price is not known"`
}

// BudgetsByName are the budgets, with the one called default, which is in force unless the config changes it.
func (c Config) BudgetsByName() map[string]*BudgetLimits {
	all := map[string]*BudgetLimits{}
	for name, b := range c.Budgets {
		all[name] = b
	}
	if all[DefaultName] == nil {
		all[DefaultName] = familyDefault[BudgetLimits]("budgets")
	}
	return all
}

// EnvironmentOf is the environment with this name. "auto" and "local" have the limits of one that sets none.
func (c Config) EnvironmentOf(name string) *Environment {
	if e := c.Environments[name]; e != nil {
		return e
	}
	return familyDefault[Environment]("environments")
}

// familyDefault is a table of a family that sets no key.
func familyDefault[T any](name string) *T {
	f := familyOf(name)
	return f.made().Interface().(*T)
}

// isPerson is how people name a person: the platform, and its id of them.
var isPerson = text.Lazily(`^[a-z][a-z0-9_-]{0,63}:[A-Za-z0-9@._:+=!~^{}|\[\]\\$&'*?\x60-]{1,200}$`)

// isCurrency matches a code of ISO 4217.
var isCurrency = text.Lazily(`^[A-Z]{3}$`)

// trustRules are the rules about people, approvals and budgets.
var trustRules = []rule{
	oneOf("access.strangers", StrangersTell, StrangersPair, StrangersIgnore),
	{[]string{"access.owners"}, func(c *Config) string {
		for _, id := range c.Access.Owners {
			if !isPerson().MatchString(id) {
				return fmt.Sprintf(`must hold people such as "telegram:4711", not %s`, quote(id))
			}
		}
		return ""
	}},
	positive("approvals.expire"),
	positive("approvals.always_expires"),
	oneOf("adapters.api.role", roles...),
	mustBe("adapters.api.approval", `"wait", "refuse", or empty`, func(s string) bool { return s == "" || s == ApprovalWait || s == ApprovalRefuse }),
	mustBe("budget.currency", `a code of three capital letters such as "USD"; all prices and budgets have this one currency`, isCurrency().MatchString),
	mustBe("budget.zone", `a time zone such as "Europe/Vienna"`, func(zone string) bool {
		_, err := time.LoadLocation(zone)
		return zone != "" && !strings.EqualFold(zone, "local") && err == nil
	}),
}

// validateTrust checks environments and budgets, and what agents and routes say of them.
func (l *Loaded) validateTrust() {
	c := &l.Config
	for _, name := range Names(c.Environments) {
		l.validateEnvironment(name, c.Environments[name])
	}
	for _, name := range Names(c.Budgets) {
		b := c.Budgets[name]
		for _, k := range []struct {
			key   string
			value float64
		}{
			{"per_turn", b.PerTurn},
			{"per_session", b.PerSession},
			{"per_person", b.PerPerson},
			{"per_job_run", b.PerJobRun},
			{"per_day", b.PerDay},
			{"per_month", b.PerMonth},
			{"tokens_per_day", float64(b.TokensPerDay)},
		} {
			if k.value < 0 || k.value > 1e12 {
				l.wrong(keyName([]string{"budgets", name}), k.key, fmt.Sprintf("must be from 0, which is no limit, to 1e12, not %g", k.value))
			}
		}
	}
	for i, r := range c.Routes {
		if r.Role != "" && !slices.Contains(roles, r.Role) {
			l.wrong("routes"+indexPart(i), "role", fmt.Sprintf("must be %s, not %s", english.WordSeries(roles, "or"), quote(r.Role)))
		}
	}
}

// validateEnvironment checks one environment.
func (l *Loaded) validateEnvironment(name string, e *Environment) {
	table := keyName([]string{"environments", name})
	for _, c := range []struct {
		wrong        bool
		key, message string
	}{
		{e.Kind != KindSandbox && e.Kind != KindContainer, "kind", fmt.Sprintf(`must be %q or %q, not %s`, KindSandbox, KindContainer, quote(e.Kind))},
		{e.Kind == KindContainer && e.Image == "", "image", "must name the image of the container"},
		{strings.HasPrefix(e.Image, "-") || strings.ContainsAny(e.Image, " \t\n"), "image", "must be the name of an image, not " + quote(e.Image)},
		{e.Kind == KindContainer && len(e.Network.Hosts) > 0, "network", "can be a list of hosts for the kind sandbox alone; a container has true or false"},
		{e.MemoryMax < 8<<20, "memory_max", fmt.Sprintf(`must be at least "8MiB", not %s`, quote(e.MemoryMax.String()))},
		{e.PidsMax < 8 || e.PidsMax > 4_194_304, "pids_max", fmt.Sprintf("must be from 8 to 4194304, not %d", e.PidsMax)},
		{e.CPUMax < 0.01 || e.CPUMax > 4096, "cpu_max", fmt.Sprintf("must be from 0.01 to 4096, not %g", e.CPUMax)},
		{e.Fallback != "" && (e.Fallback != FallbackLandlock || e.Kind != KindSandbox), "fallback", fmt.Sprintf("must be empty or, for the kind sandbox, %q, not %s", FallbackLandlock, quote(e.Fallback))},
	} {
		if c.wrong {
			l.wrong(table, c.key, c.message)
		}
	}
	for _, host := range e.Network.Hosts {
		if _, err := hosts.Parse([]string{host}); err != nil {
			l.wrong(table, "network", `must hold hosts such as "pypi.org", "*.github.com" or "10.0.0.5:8080": `+term.Clean(term.Redact(err.Error()), 400))
		}
	}
	l.validatePaths(table, "read", e.Read)
	l.validatePaths(table, "write", e.Write)
}

// validatePaths checks a list of paths.
func (l *Loaded) validatePaths(table, key string, paths []string) {
	for _, path := range paths {
		if !filepath.IsAbs(path) || filepath.Clean(path) != path || path == "/" {
			l.wrong(table, key, fmt.Sprintf(`must hold absolute paths without . and .., and not "/", not %s`, quote(path)))
		}
	}
}

// wrong records that the value of a key of a table is wrong.
func (l *Loaded) wrong(table, key, message string) {
	if name := table + "." + key; !l.faulty[name] {
		l.add(l.fault(name+" "+message, name, table), name)
	}
}

// validateAgentTrust checks what an agent says about environments, approvals and budgets. wrong records a wrong key.
func (l *Loaded) validateAgentTrust(d *Definition, wrong func(key, format string, args ...any)) {
	choose := func(key, value string, known []string) {
		if !slices.Contains(known, value) {
			wrong(key, "must be %s, not %s; the nearest is %s", english.OxfordWordSeries(known, "or"), quote(value), quote(text.Nearest(value, known)))
		}
	}
	choose("environment", d.Environment, append([]string{EnvironmentAuto, EnvironmentLocal}, Names(l.Config.Environments)...))
	choose("approvals", d.Approvals, []string{ApprovalsFence, ApprovalsStrict, ApprovalsOff})
	choose("budget", d.Budget, Names(l.Config.BudgetsByName()))
	for _, name := range d.Env {
		if !VariableName(name) || strings.HasPrefix(name, envPrefix) {
			wrong("env", "must hold names of variables, without * and not of this program, not %s", quote(cmp.Or(name, "an empty name")))
		}
	}
}
