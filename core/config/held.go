package config

import (
	"fmt"
	"maps"
	"path/filepath"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/dustin/go-humanize/english"

	"gatewaytui/core/adapter/webhook/prompt"
	"gatewaytui/core/address"
	"gatewaytui/core/fence"
	"gatewaytui/core/ops"
	"gatewaytui/core/schedule/when"
	"gatewaytui/core/signature"
	"gatewaytui/core/term"
	"gatewaytui/core/text"
)

// Server is each of [servers.NAME]: a server of tools.
type Server struct {
	Preset     string    `toml:"preset" doc:"\"browser\": a browser for each session, by Playwright's server and the system's Chromium; then neither command nor url is needed"`
	Command    []string  `toml:"command" default:"" doc:"the program and its arguments, such as [\"mcp-server-filesystem\", \".\"]; it runs in the work folder of the agent"`
	URL        string    `toml:"url" doc:"the address of a server over HTTP, in place of command"`
	HeadersEnv Variables `toml:"headers_env" default:"" doc:"for url: headers with the environment variables that hold their values, such as { Authorization = \"FILES_AUTH\" }"`
	Scope      string    `toml:"scope" default:"session" doc:"\"session\": one server for each session; \"gateway\": one for all"`
	Trusted    []string  `toml:"trusted" default:"" doc:"names of its tools that need no approval; * is any text"`
	Env        []string  `toml:"env" default:"" doc:"variables of the gateway's environment that it sees as well, each by its whole name"`
	Timeout    Duration  `toml:"timeout" default:"60s" doc:"one call"`
	Idle       Duration  `toml:"idle" default:"10m" doc:"closed when it is not used for this long"`
	Tools      []string  `toml:"tools" default:"*" doc:"names of its tools that are offered; * is any text"`
}

// Values of servers.NAME.preset and servers.NAME.scope.
const (
	PresetBrowser = "browser"
	ScopeSession  = ops.ServerOfSession
	ScopeGateway  = ops.ServerOfGateway
)

// Web is [web].
type Web struct {
	SearchURL    string   `toml:"search_url" doc:"an endpoint for web_search that answers JSON, with {query} where the words go, e.g. \"http://127.0.0.1:8888/search?format=json&q={query}\"; empty: web_search is not offered"`
	SearchKeyEnv string   `toml:"search_key_env" doc:"the environment variable that holds the endpoint's key, which is sent as a bearer token; empty: it needs none"`
	AllowPrivate []string `toml:"allow_private" default:"" doc:"hosts, addresses and networks of your own that pages may be fetched from, e.g. [\"wiki.internal\", \"10.1.0.0/16\"]; without a port a host has 80 and 443, a network has all ports. All other private addresses are refused"`
}

// Memory is [memory].
type Memory struct {
	Provider    string `toml:"provider" default:"builtin" doc:"\"builtin\": notes are in the gateway's database; \"none\"; or the name of one of [servers] that keeps notes"`
	ReviewEvery int    `toml:"review_every" default:"10" doc:"after this many turns of a conversation a model looks for what is worth a note; 0: never"`
	ReviewModel string `toml:"review_model" doc:"the name of that model; empty is the agent's own"`
}

// Values of memory.provider that are not the name of a server.
const (
	MemoryBuiltin = "builtin"
	MemoryNone    = "none"
)

// Job is each of [jobs.NAME].
type Job struct {
	Schedule string   `toml:"schedule" doc:"a cron expression such as \"0 8 * * mon-fri\", \"every 30m\", or once \"at 2026-12-01 08:00\""`
	Zone     string   `toml:"zone" default:"UTC" doc:"the time zone of the schedule, e.g. \"Europe/Vienna\""`
	Prompt   string   `toml:"prompt" doc:"what the agent is asked"`
	Agent    string   `toml:"agent" default:"default" doc:"the name of the agent that works"`
	Deliver  string   `toml:"deliver" doc:"the session that gets the answer, such as \"telegram:dm:4711\"; empty: it stays in the job's own session"`
	Missed   string   `toml:"missed" default:"once" doc:"what becomes of runs whose time passed while the gateway was down: \"once\" (one run at the start) or \"skip\""`
	Allow    []string `toml:"allow" default:"" doc:"commands that its turns may run without a person, as in approvals.allow; all others that need an approval are refused"`
}

// Values of jobs.NAME.missed.
const (
	MissedOnce = "once"
	MissedSkip = "skip"
)

// Hook is each of [hooks.NAME].
type Hook struct {
	On        []string `toml:"on" default:"" doc:"names of events, such as [\"job.ended\", \"budget.*\"]; * is any text"`
	Command   []string `toml:"command" default:"" doc:"the program and its arguments; it reads the event as JSON from its standard input"`
	URL       string   `toml:"url" doc:"an address that gets the event as JSON, in place of command"`
	SecretEnv string   `toml:"secret_env" doc:"for url: the environment variable that holds the secret with which each request is signed; empty: none is"`
	Timeout   Duration `toml:"timeout" default:"10s" doc:"one command or request"`
}

// Webhook is [adapters.webhook].
type Webhook struct {
	Enabled bool                     `toml:"enabled" doc:"serve it"`
	Listen  string                   `toml:"listen" default:"127.0.0.1:8643" doc:"host:port; port 0 picks one"`
	Routes  map[string]*WebhookRoute `toml:"routes" doc:"What is received, each with a name of your choice, which is the path: POST /NAME."`
}

// WebhookRoute is each of [adapters.webhook.routes.NAME].
type WebhookRoute struct {
	SecretEnv string `toml:"secret_env" doc:"the environment variable that holds the secret with which each request is signed"`
	Scheme    string `toml:"scheme" default:"gateway" doc:"how it is signed: \"gateway\" (X-Gateway-Timestamp and X-Gateway-Signature), \"github\", \"slack\", \"standard\" (Standard Webhooks) or \"twilio\""`
	Address   string `toml:"address" doc:"for twilio, which signs it: the URL that Twilio calls, as it stands in its console, e.g. \"https://gateway.example/sms\""`
	PerMinute int    `toml:"per_minute" default:"30" doc:"requests in a minute; one more gets 429"`
	Prompt    string `toml:"prompt" doc:"what the agent is asked; {{.body}}, {{.header.NAME}}, {{.json.PATH}} and {{.form.NAME}} are replaced, and marked as data. Empty: the body is delivered as it is, and no agent works"`
	Agent     string `toml:"agent" default:"default" doc:"the name of the agent that works"`
	Deliver   string `toml:"deliver" doc:"the session that gets the answer, such as \"telegram:dm:4711\"; empty: it stays in the route's own session"`
}

// Variables are texts with the environment variable that holds the value of each.
type Variables map[string]string

// String writes v as TOML has it.
func (v Variables) String() string {
	if len(v) == 0 {
		return "{}"
	}
	var parts []string
	for _, name := range slices.Sorted(maps.Keys(v)) {
		parts = append(parts, keyName([]string{name})+" = "+strconv.Quote(v[name]))
	}
	return "{ " + strings.Join(parts, ", ") + " }"
}

// set takes over a decoded TOML value; ok is false for one of another type.
func (v *Variables) set(value any) (ok bool) {
	if value == "" { // the default, as its tag has it
		*v = Variables{}
		return true
	}
	table, ok := value.(map[string]any)
	all := Variables{}
	for name, one := range table {
		text, is := one.(string)
		ok = ok && is
		all[name] = text
	}
	*v = all
	return ok
}

// inTable reports whether the value of a key is a table whose keys the operator chooses.
func (k key) inTable(member reflect.Value) bool {
	_, is := member.FieldByIndex(k.index).Interface().(Variables)
	return is
}

// isSettings reports whether the value of a key is what an operator wrote for a program.
func (k key) isSettings(member reflect.Value) bool {
	_, is := member.FieldByIndex(k.index).Interface().(Settings)
	return is
}

// assignIn sets one key of such a table. It returns what the table wants, if v is not that.
func assignIn(field reflect.Value, name string, v any) (want string) {
	all, _ := field.Interface().(Variables)
	value, is := v.(string)
	if !is {
		return wantVariables
	}
	all = maps.Clone(all)
	if all == nil {
		all = Variables{}
	}
	all[name] = value
	field.Set(reflect.ValueOf(all))
	return ""
}

// heldVariables are the environment variables that hold secrets of servers, hooks, routes and the search.
func (c Config) heldVariables() []string {
	names := []string{c.Web.SearchKeyEnv}
	for _, s := range c.Servers {
		names = append(names, slices.Collect(maps.Values(s.HeadersEnv))...)
	}
	for _, h := range c.Hooks {
		names = append(names, h.SecretEnv)
	}
	for _, r := range c.Adapters.Webhook.Routes {
		names = append(names, r.SecretEnv)
	}
	return names
}

// heldRules are the rules about what is held and has one table.
var heldRules = []rule{
	httpURL("web.search_url"),
	holds("must have {query} where the words go", func(c *Config) bool {
		return c.Web.SearchURL == "" || strings.Contains(c.Web.SearchURL, "{query}")
	}, "web.search_url"),
	{[]string{"web.allow_private"}, func(c *Config) string {
		if _, err := address.ParseAllowed(c.Web.AllowPrivate); err != nil {
			return `must hold hosts and networks such as "wiki.internal", "10.0.0.5:8080" or "10.1.0.0/16": ` + term.Clean(term.Redact(err.Error()), 400)
		}
		return ""
	}},
	{[]string{"web.search_key_env"}, func(c *Config) string { return wrongVariable(c.Web.SearchKeyEnv) }},
	{[]string{"memory.provider"}, func(c *Config) string {
		if p := c.Memory.Provider; p == MemoryBuiltin || p == MemoryNone || c.Servers[p] != nil {
			return ""
		}
		return fmt.Sprintf("must be %q, %q or the name of one of [servers], not %s", MemoryBuiltin, MemoryNone, quote(c.Memory.Provider))
	}},
	within("memory.review_every", 0, 1_000_000),
	{[]string{"memory.review_model"}, func(c *Config) string {
		known := Names(c.ModelsByName())
		if c.Memory.ReviewModel == "" || slices.Contains(known, c.Memory.ReviewModel) {
			return ""
		}
		return fmt.Sprintf("names the model %s, which is not configured; there %s %s", quote(c.Memory.ReviewModel), text.Plural(len(known), "is", "are"), english.WordSeries(known, "and"))
	}},
	mustBe("adapters.webhook.listen", `host:port such as "127.0.0.1:8643"`, isListen),
	holds("needs a route: [adapters.webhook.routes.NAME]", func(c *Config) bool {
		return !c.Adapters.Webhook.Enabled || len(c.Adapters.Webhook.Routes) > 0
	}, "adapters.webhook.enabled"),
}

// complaint is a key of a table with what is wrong with it, where something is.
type complaint struct {
	wrong        bool
	key, message string
}

func (l *Loaded) complain(table string, all ...complaint) {
	for _, c := range all {
		if c.wrong {
			l.wrong(table, c.key, c.message)
		}
	}
}

// validateHeld checks servers, jobs, hooks and the routes of the webhook, and what agents say of servers.
func (l *Loaded) validateHeld() {
	c := &l.Config
	for _, name := range Names(c.Servers) {
		l.validateServer(name, c.Servers[name])
	}
	for _, name := range Names(c.Jobs) {
		l.validateJob(name, c.Jobs[name])
	}
	for _, name := range Names(c.Hooks) {
		l.validateHook(name, c.Hooks[name])
	}
	for _, name := range Names(c.Adapters.Webhook.Routes) {
		l.validateWebhookRoute(name, c.Adapters.Webhook.Routes[name])
	}
}

func (l *Loaded) validateServer(name string, s *Server) {
	ways := 0
	for _, set := range []bool{s.Preset != "", len(s.Command) > 0, s.URL != ""} {
		if set {
			ways++
		}
	}
	badHeader := slices.ContainsFunc(slices.Collect(maps.Values(s.HeadersEnv)), func(v string) bool { return wrongVariable(v) != "" })
	l.complain(
		keyName([]string{"servers", name}),
		complaint{ways == 0, "command", "must be set, or url, or preset: the server has no program and no address"},
		complaint{ways > 1 && s.Preset == "", "command", "and url are both set: a server has one of them"},
		complaint{ways > 1 && s.Preset != "" && s.URL != "", "url", "and preset are both set: a server has one of them"},
		complaint{s.Preset != "" && s.Preset != PresetBrowser, "preset", fmt.Sprintf("must be %q or empty, not %s", PresetBrowser, quote(s.Preset))},
		complaint{len(s.Command) > 0 && s.Command[0] == "", "command", "begins with an empty text: the first text is the program"},
		complaint{wrongURL(s.URL) != "", "url", wrongURL(s.URL)},
		complaint{len(s.HeadersEnv) > 0 && s.URL == "", "headers_env", "is for a server with url alone"},
		complaint{badHeader, "headers_env", `must hold the names of environment variables, such as { Authorization = "FILES_AUTH" }; secrets are never written in the file`},
		complaint{s.Scope != ScopeSession && s.Scope != ScopeGateway, "scope", fmt.Sprintf("must be %q or %q, not %s", ScopeSession, ScopeGateway, quote(s.Scope))},
		complaint{s.Preset == PresetBrowser && s.Scope == ScopeGateway, "scope", "must be \"session\" for a browser: sessions would share its pages"},
		complaint{s.Timeout.Duration <= 0, "timeout", fmt.Sprintf("must be over 0, not %q", s.Timeout)},
		complaint{s.Idle.Duration <= 0, "idle", fmt.Sprintf("must be over 0, not %q", s.Idle)},
		complaint{slices.ContainsFunc(s.Env, func(v string) bool { return !VariableName(v) }), "env", "must hold names of variables"},
	)
}

func (l *Loaded) validateJob(name string, j *Job) {
	known := Names(l.Config.AgentsByName())
	zone, noZone := when.Zone(j.Zone)
	if noZone != nil {
		zone = time.UTC
	}
	_, noSchedule := when.Parse(j.Schedule, zone)
	noRule := approvalRules(j.Allow, fence.ParseAllowRule)
	l.complain(
		keyName([]string{"jobs", name}),
		complaint{j.Schedule == "", "schedule", `must be set, for example to "0 8 * * mon-fri"`},
		complaint{j.Schedule != "" && noSchedule != nil, "schedule", fmt.Sprint("cannot be read: ", noSchedule)},
		complaint{j.Zone == "" || noZone != nil, "zone", fmt.Sprintf(`must be a time zone such as "Europe/Vienna", not %s`, quote(j.Zone))},
		complaint{strings.TrimSpace(j.Prompt) == "", "prompt", "must be set: it is what the agent is asked"},
		complaint{len(j.Prompt) > maxPrompt, "prompt", fmt.Sprintf("is longer than %s", Size(maxPrompt))},
		complaint{!slices.Contains(known, j.Agent), "agent", unknownAgent(j.Agent, known)},
		complaint{wrongTarget(j.Deliver) != "", "deliver", wrongTarget(j.Deliver)},
		complaint{j.Missed != MissedOnce && j.Missed != MissedSkip, "missed", fmt.Sprintf("must be %q or %q, not %s", MissedOnce, MissedSkip, quote(j.Missed))},
		complaint{noRule != "", "allow", noRule},
	)
}

func (l *Loaded) validateHook(name string, h *Hook) {
	l.complain(
		keyName([]string{"hooks", name}),
		complaint{len(h.On) == 0, "on", `must name events, for example ["job.ended"]`},
		complaint{noEvent(h.On) != "", "on", noEvent(h.On)},
		complaint{len(h.Command) == 0 && h.URL == "", "command", "must be set, or url: the hook does nothing"},
		complaint{len(h.Command) > 0 && h.URL != "", "command", "and url are both set: a hook has one of them"},
		complaint{len(h.Command) > 0 && !filepath.IsAbs(h.Command[0]) && strings.Contains(h.Command[0], "/"), "command", "must begin with an absolute path, or with the name of a program in PATH"},
		complaint{wrongURL(h.URL) != "", "url", wrongURL(h.URL)},
		complaint{wrongVariable(h.SecretEnv) != "", "secret_env", wrongVariable(h.SecretEnv)},
		complaint{h.SecretEnv != "" && h.URL == "", "secret_env", "is for a hook with url alone"},
		complaint{h.Timeout.Duration <= 0, "timeout", fmt.Sprintf("must be over 0, not %q", h.Timeout)},
	)
}

// noEvent says which pattern names no event; empty: each names one.
func noEvent(patterns []string) string {
	for _, p := range patterns {
		if !slices.ContainsFunc(ops.EventTypes, func(e ops.EventType) bool { return text.Glob(p, string(e)) }) {
			var known []string
			for _, e := range ops.EventTypes {
				known = append(known, string(e))
			}
			return fmt.Sprintf("has %s, which names no event; did you mean %s?", quote(p), text.Nearest(p, known))
		}
	}
	return ""
}

func (l *Loaded) validateWebhookRoute(name string, r *WebhookRoute) {
	known := Names(l.Config.AgentsByName())
	l.complain(
		keyName([]string{"adapters", "webhook", "routes", name}),
		complaint{r.SecretEnv == "", "secret_env", "must name the variable that holds the secret: a request that is not signed is refused"},
		complaint{wrongVariable(r.SecretEnv) != "", "secret_env", wrongVariable(r.SecretEnv)},
		complaint{!slices.Contains(signature.Schemes(), r.Scheme), "scheme", fmt.Sprintf("must be %s, not %s", english.OxfordWordSeries(signature.Schemes(), "or"), quote(r.Scheme))},
		complaint{wrongURL(r.Address) != "", "address", wrongURL(r.Address)},
		complaint{(r.Scheme == string(signature.Twilio)) != (r.Address != ""), "address", `must be set for the scheme "twilio", and for no other`},
		complaint{strings.Contains(r.Address, "?"), "address", "must have no query: that of each request is added"},
		complaint{r.PerMinute < 1 || r.PerMinute > 10_000, "per_minute", fmt.Sprintf("must be from 1 to 10000, not %d", r.PerMinute)},
		complaint{len(r.Prompt) > maxPrompt, "prompt", fmt.Sprintf("is longer than %s", Size(maxPrompt))},
		complaint{prompt.Check(r.Prompt) != "", "prompt", prompt.Check(r.Prompt)},
		complaint{r.Prompt == "" && r.Deliver == "", "deliver", "must be set where prompt is empty: the body has no reader"},
		complaint{!slices.Contains(known, r.Agent), "agent", unknownAgent(r.Agent, known)},
		complaint{wrongTarget(r.Deliver) != "", "deliver", wrongTarget(r.Deliver)},
	)
}

// validateKind checks what works for an agent, and its servers.
func (l *Loaded) validateKind(table string, d *Definition) {
	known := Names(l.Config.Servers)
	l.complain(
		table,
		complaint{d.Kind != "" && d.Kind != KindACP, "kind", fmt.Sprintf("must be %q or empty, not %s", KindACP, quote(d.Kind))},
		complaint{d.Kind == KindACP && len(d.Command) == 0, "command", "must be set: an agent of the kind acp is a program"},
		complaint{d.Kind == "" && len(d.Command) > 0, "command", `is for the kind "acp" alone`},
		complaint{d.TurnTimeout.Duration <= 0, "turn_timeout", fmt.Sprintf("must be over 0, not %q", d.TurnTimeout)},
		complaint{d.TurnsPerDay < 0, "turns_per_day", fmt.Sprintf("must be 0 or more, not %d", d.TurnsPerDay)},
	)
	if d.Kind == KindACP {
		l.external(table, d)
	}
	for i, name := range d.Servers {
		l.complain(
			table,
			complaint{l.Config.Servers[name] == nil, "servers", fmt.Sprintf("names the server %s, which is not configured%s", quote(name), thereAre(known))},
			complaint{slices.Contains(d.Servers[:i], name), "servers", fmt.Sprintf("holds %s twice", quote(name))},
		)
	}
}

// external gives an agent that is a program the environment in which it finds its login, and warns of keys that it does not read.
func (l *Loaded) external(table string, d *Definition) {
	set := func(key string) bool {
		_, is := l.origins[table+"."+key]
		return is
	}
	if !set("environment") {
		d.Environment = EnvironmentLocal
	}
	unused := slices.DeleteFunc([]string{"models", "prompt", "prompt_file", "tools", "servers", "skills"}, func(key string) bool { return !set(key) })
	if len(unused) > 0 {
		l.warn(WarnExternalKeys, fmt.Sprintf("%s is an external program (kind = %q), which does not read %s; configure the program itself", table, KindACP, english.WordSeries(unused, "and")))
	}
}

// WarnExternalKeys is the code of the warning that an external agent has keys that are for models.
const WarnExternalKeys = "config.external_keys"

// KindACP is the value of agents.NAME.kind for an external program.
const KindACP = "acp"

func thereAre(known []string) string {
	if len(known) == 0 {
		return "; there is none"
	}
	return fmt.Sprintf("; there %s %s", text.Plural(len(known), "is", "are"), english.WordSeries(known, "and"))
}

func unknownAgent(name string, known []string) string {
	return fmt.Sprintf("names the agent %s, which is not configured%s", quote(name), thereAre(known))
}

// wrongTarget wants a session key, or nothing.
func wrongTarget(key string) string {
	platform, rest, parts := strings.Cut(key, ":")
	if key == "" || parts && platform != "" && rest != "" && !strings.ContainsAny(key, " \t\n*?") {
		return ""
	}
	return fmt.Sprintf(`must be a session key such as "telegram:dm:4711", not %s`, quote(key))
}

// wrongVariable wants the name of an environment variable, or nothing. The text is not repeated: a secret may have been put there.
func wrongVariable(name string) string {
	if name == "" || VariableName(name) {
		return ""
	}
	return "must be the name of an environment variable; secrets are never written in the file"
}
