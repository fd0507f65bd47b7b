package config

import (
	"fmt"
	"math"
	"net"
	"net/netip"
	"net/url"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode"

	"github.com/dustin/go-humanize/english"

	"gatewaytui/core/fence"
	"gatewaytui/core/ops"
	"gatewaytui/core/text"
)

// rule is one condition on a config whose values have the right types. Its error is about the first key. The other keys take
// part in it, and the error has the line of the first key that is set.
type rule struct {
	keys  []string
	wrong func(c *Config) string // completes the key's name; empty: nothing is
}

// rules are what every valid config obeys. A duration without a rule may have any value. 0 means no time, and 0 or less
// disables shutdown.adapter_timeout.
var rules = []rule{
	within("agent.max_iterations", 1, 1_000_000),
	within("agent.cache_size", 1, 1_000_000),
	positive("agent.cache_idle"),
	within("agent.cache_memory", 1, math.MaxInt64),
	positive("agent.stall_warn"),
	positive("agent.stall_after"),
	holds("must not be shorter than agent.stall_warn", func(c *Config) bool {
		return c.Agent.StallAfter.Duration >= c.Agent.StallWarn.Duration
	}, "agent.stall_after", "agent.stall_warn"),

	share("context.prune_at"),
	share("context.compact_at"),
	share("context.compact_to"),
	share("context.keep"),
	holds("must not be over context.compact_at", func(c *Config) bool { return c.Context.PruneAt <= c.Context.CompactAt }, "context.prune_at", "context.compact_at"),
	holds("must be less than context.compact_at by at least 0.1", func(c *Config) bool {
		return c.Context.CompactTo <= c.Context.CompactAt-0.0999
	}, "context.compact_to", "context.compact_at"),
	holds("must be at most three quarters of context.compact_to", func(c *Config) bool {
		return c.Context.Keep <= c.Context.CompactTo*0.7501
	}, "context.keep", "context.compact_to"),
	{[]string{"context.model"}, func(c *Config) string {
		known := Names(c.ModelsByName())
		if c.Context.Model == "" || slices.Contains(known, c.Context.Model) {
			return ""
		}
		return fmt.Sprintf("names the model %s, which is not configured; there %s %s", quote(c.Context.Model), text.Plural(len(known), "is", "are"), english.WordSeries(known, "and"))
	}},

	notNegative("session.idle_reset"),
	mustBe("session.daily_reset", `a time of day such as "04:00", or empty`, func(at string) bool {
		_, err := time.Parse("15:04", at)
		return at == "" || err == nil && len(at) == len("15:04")
	}),
	within("session.queue_limit", 1, 1_000_000),

	{[]string{"tools.enabled"}, enabledTools},
	oneOf("tools.may_stop", Yes, Ask, No),
	{[]string{"approvals.never"}, func(c *Config) string { return approvalRules(c.Approvals.Never, fence.ParseRule) }},
	{[]string{"approvals.allow"}, func(c *Config) string { return approvalRules(c.Approvals.Allow, fence.ParseAllowRule) }},
	mustBe("tools.workdir", "an absolute path, or empty", func(dir string) bool { return dir == "" || filepath.IsAbs(dir) }),
	positive("tools.timeout"),
	within("tools.output_limit", 1, 1<<30),
	{[]string{"tools.env_pass"}, wrongEnvPass},

	within("limits.turns", 1, 100_000),
	within("limits.model_calls", 1, 100_000),
	within("limits.calls_per_turn", 1, 1_000_000),
	within("limits.delegates", 1, 16),
	within("limits.background", 1, 10_000),
	within("limits.processes", 1, 100_000),
	within("limits.processes_total", 1, 1_000_000),
	treeSize("limits.tree_memory"),
	treeSize("limits.tools_memory"),
	within("limits.tree_processes", 1, 4_194_304),
	{[]string{"limits.tools_processes"}, func(c *Config) string {
		if n := c.Limits.ToolsProcesses; n < 0 || n > 4_194_304 {
			return fmt.Sprintf("must be from 0 to 4194304, not %d", n)
		}
		return ""
	}},
	within("limits.queued_bytes", 1<<20, math.MaxInt64),
	within("limits.body_bytes", 64<<10, math.MaxInt64),
	within("limits.control_connections", 16, 100_000),

	notNegative("process.kill_grace"),
	notNegative("process.max_age"),
	notNegative("shutdown.drain_timeout"),
	notNegative("shutdown.notify_timeout"),
	notNegative("shutdown.interrupt_grace"),
	notNegative("shutdown.agent_timeout"),
	notNegative("shutdown.background_timeout"),
	notNegative("shutdown.store_timeout"),
	mustBe("shutdown.supervisor_budget", `"auto", or a duration over 0 such as "90s"`, func(budget string) bool {
		d, ok := parseDuration(budget)
		return budget == auto || ok && d.Duration > 0
	}),

	{[]string{"adapters.api.allow_origins"}, func(c *Config) string {
		for _, origin := range c.Adapters.API.AllowOrigins {
			u, err := url.Parse(origin)
			if err != nil || u.Host == "" || u.Scheme != "http" && u.Scheme != "https" || origin != strings.ToLower(u.Scheme+"://"+u.Host) {
				return fmt.Sprintf(`must hold origins such as "https://app.example", in lower case and without a path or a wildcard, not %s`, quote(origin))
			}
			if strings.Contains(u.Host, "*") {
				return fmt.Sprintf("must name each origin; the wildcard in %s would let every web page run commands", quote(origin))
			}
		}
		return ""
	}},
	{[]string{"adapters.api.allow_hosts"}, func(c *Config) string {
		for _, host := range c.Adapters.API.AllowHosts {
			if host == "" || host != strings.ToLower(host) || strings.ContainsAny(host, "/:* ") {
				return fmt.Sprintf(`must hold host names such as "gateway.internal", in lower case and without a port or a wildcard, not %s`, quote(host))
			}
		}
		return ""
	}},
	mustBe("adapters.api.leave_grace", `"never", or a duration such as "10s"`, func(grace string) bool {
		d, ok := parseDuration(grace)
		return grace == never || ok && d.Duration >= 0
	}),
	within("adapters.api.body_max", 1<<10, 1<<30),
	holds("must not be over limits.body_bytes, which it would use up", func(c *Config) bool {
		return c.Adapters.API.BodyMax <= c.Limits.BodyBytes
	}, "adapters.api.body_max", "limits.body_bytes"),
	mustBe("adapters.api.listen", `host:port such as "127.0.0.1:8642"`, isListen),
	private("adapters.api.listen", "callers'", func(c *Config) bool { return !c.Adapters.API.Enabled }, "adapters.api.enabled"),
	mustBe("metrics.listen", `host:port such as "127.0.0.1:9642", or empty`, func(at string) bool { return at == "" || isListen(at) }),
	private("metrics.listen", "scrapers'", func(c *Config) bool { return c.Metrics.Listen == "" }),
	holds("or adapters.telegram.token_file must say where the bot's token is", func(c *Config) bool {
		t := c.Adapters.Telegram
		return !t.Enabled || t.TokenEnv != "" || t.TokenFile != ""
	}, "adapters.telegram.token_env", "adapters.telegram.token_file", "adapters.telegram.enabled"),
	httpURL("adapters.telegram.base_url"),
	holds("must not be empty", func(c *Config) bool {
		return !c.Adapters.Telegram.Enabled || c.Adapters.Telegram.BaseURL != ""
	}, "adapters.telegram.base_url", "adapters.telegram.enabled"),
	{[]string{"adapters.telegram.allow"}, func(c *Config) string { return wrongIDs("users", c.Adapters.Telegram.Allow) }},
	holds("or adapters.discord.token_file must say where the bot's token is", func(c *Config) bool {
		d := c.Adapters.Discord
		return !d.Enabled || d.TokenEnv != "" || d.TokenFile != ""
	}, "adapters.discord.token_env", "adapters.discord.token_file", "adapters.discord.enabled"),
	httpURL("adapters.discord.base_url"),
	holds("must not be empty", func(c *Config) bool {
		return !c.Adapters.Discord.Enabled || c.Adapters.Discord.BaseURL != ""
	}, "adapters.discord.base_url", "adapters.discord.enabled"),
	{[]string{"adapters.discord.allow"}, func(c *Config) string { return wrongIDs("users", c.Adapters.Discord.Allow) }},
	{[]string{"adapters.discord.groups"}, func(c *Config) string { return wrongIDs("guilds and channels", c.Adapters.Discord.Groups) }},
	httpURL("adapters.slack.base_url"),
	holds("must not be empty", func(c *Config) bool {
		return !c.Adapters.Slack.Enabled || c.Adapters.Slack.BaseURL != ""
	}, "adapters.slack.base_url", "adapters.slack.enabled"),
	{[]string{"adapters.slack.command"}, func(c *Config) string {
		if name := c.Adapters.Slack.Command; !strings.HasPrefix(name, "/") || strings.ContainsAny(name, " \t") {
			return "must be a slash command such as \"/gateway\", not " + quote(name)
		}
		return ""
	}},

	httpURL("adapters.feishu.base_url"),
	holds("must not be empty", func(c *Config) bool {
		return !c.Adapters.Feishu.Enabled || c.Adapters.Feishu.BaseURL != ""
	}, "adapters.feishu.base_url", "adapters.feishu.enabled"),
	holds("must be the id of an app, which begins with cli_", func(c *Config) bool {
		return !c.Adapters.Feishu.Enabled || feishuApp().MatchString(c.Adapters.Feishu.AppID)
	}, "adapters.feishu.app_id", "adapters.feishu.enabled"),
	{[]string{"adapters.telegram.groups"}, func(c *Config) string {
		if i := slices.IndexFunc(c.Adapters.Telegram.Groups, func(id int64) bool { return id >= 0 }); i >= 0 {
			return fmt.Sprintf("must hold ids of groups, which are under 0, not %d", c.Adapters.Telegram.Groups[i])
		}
		return ""
	}},
	httpURL("transcription.base_url"),
	holds("must name a model of the endpoint", func(c *Config) bool {
		return c.Transcription.BaseURL == "" || c.Transcription.Name != ""
	}, "transcription.name", "transcription.base_url"),
	oneOf("adapters.api.session_from", FromHeader, FromUser),
	oneOf("process.survivors", SurvivorsEnd, SurvivorsAdopt),
	oneOf("console.on_hangup", "detach", "stop"),
	oneOf("console.theme", auto, "dark", "light", "high-contrast", "mono"),
	oneOf("console.texts", string(ops.TextsAll), string(ops.TextsLengths), string(ops.TextsNone)),
	oneOf("log.level", "debug", "info", "warn", "error"),
}

// wrongIDs says what is wrong with the ids of users, for instance; empty: nothing is.
func wrongIDs(whose string, ids []int64) string {
	if i := slices.IndexFunc(ids, func(id int64) bool { return id <= 0 }); i >= 0 {
		return fmt.Sprintf("must hold ids of %s, which are over 0, not %d", whose, ids[i])
	}
	return ""
}

// knownTools are the tools and groups of tools of CONTRACT.md, 5.
var knownTools = []string{"terminal", "process", "delegate", "files", "send_file", "web", "memory", "ask_user", "jobs"}

// validate checks what the types cannot.
func (l *Loaded) validate() {
	for _, k := range l.settings() {
		if wrong := badText(k.key, k.value.Interface()); wrong != "" {
			l.add(l.fault(k.name+" "+wrong, k.name), k.name)
		}
	}
	for _, r := range slices.Concat(rules, trustRules, heldRules, matrixRules) {
		// A key whose value could not be taken has its default, about which nothing is to be said.
		if slices.ContainsFunc(r.keys, func(k string) bool { return l.faulty[k] }) {
			continue
		}
		if wrong := r.wrong(&l.Config); wrong != "" {
			l.add(l.fault(r.keys[0]+" "+wrong, r.keys...), r.keys[0])
		}
	}
}

// badText says what is wrong with any text: control characters in it, or a secret where the name of a variable belongs.
// The text is not repeated.
func badText(k key, v any) string {
	texts, _ := v.([]string)
	if s, ok := v.(string); ok {
		texts = []string{s}
	}
	for _, s := range texts {
		switch {
		case strings.HasSuffix(k.name, ".prompt") && !strings.ContainsFunc(s, actsOnTerminal):
		case strings.ContainsFunc(s, unicode.IsControl):
			return "must not contain control characters"
		case strings.HasSuffix(k.name, "_env") && s != "" && !VariableName(s):
			return "must be the name of an environment variable, such as MY_KEY; the secret itself goes into that variable"
		}
	}
	return ""
}

// actsOnTerminal reports whether a character may not be in a text of several lines.
func actsOnTerminal(r rune) bool { return unicode.IsControl(r) && r != '\n' && r != '\r' && r != '\t' }

// VariableName reports whether s is a name as POSIX has it (Base Definitions, 8.1).
func VariableName(s string) bool {
	return s != "" && (s[0] < '0' || s[0] > '9') && strings.Trim(s, bare) == "" && !strings.Contains(s, "-")
}

// holds is a rule about keys[0] with a fixed message.
func holds(message string, ok func(c *Config) bool, keys ...string) rule {
	return rule{keys, func(c *Config) string {
		if ok(c) {
			return ""
		}
		return message
	}}
}

// mustBe is a rule about one text.
func mustBe(name, want string, ok func(s string) bool) rule {
	k := keyByName[name]
	return rule{[]string{name}, func(c *Config) string {
		got := k.field(c).String()
		if ok(got) {
			return ""
		}
		return fmt.Sprintf("must be %s, not %s", want, quote(got))
	}}
}

func oneOf(name string, allowed ...string) rule {
	quoted := make([]string, len(allowed))
	for i, a := range allowed {
		quoted[i] = strconv.Quote(a)
	}
	return mustBe(name, english.WordSeries(quoted, "or"), func(s string) bool { return slices.Contains(allowed, s) })
}

// private wants a loopback address, or a key for those who call it, unless it is off.
func private(name, whose string, off func(c *Config) bool, more ...string) rule {
	k := keyByName[name]
	return rule{append([]string{name, "adapters.api.key_env", "adapters.api.key_file"}, more...), func(c *Config) string {
		listen := k.field(c).String()
		host, _, _ := net.SplitHostPort(listen)
		if api := c.Adapters.API; off(c) || Loopback(host) || api.KeyEnv != "" || api.KeyFile != "" {
			return ""
		}
		return fmt.Sprintf("is %s, which is not a loopback address: set adapters.api.key_env to the variable that holds the %s key, or listen on 127.0.0.1", quote(listen), whose)
	}}
}

func within(name string, low, high int64) rule {
	k := keyByName[name]
	return rule{[]string{name}, func(c *Config) string {
		field := k.field(c)
		show := func(n int64) string { return strconv.FormatInt(n, 10) }
		if _, size := field.Interface().(Size); size {
			show = func(n int64) string { return Size(n).String() }
		}
		switch n := field.Int(); {
		case n < low:
			return fmt.Sprintf("must be at least %s, not %s", show(low), show(n))
		case n > high:
			return fmt.Sprintf("must be at most %s, not %s", show(high), show(n))
		}
		return ""
	}}
}

// share is a rule about a part of a whole.
func share(name string) rule {
	k := keyByName[name]
	return rule{[]string{name}, func(c *Config) string {
		if part := k.field(c).Float(); part < 0.05 || part > 1 {
			return fmt.Sprintf("must be from 0.05 to 1, not %g", part)
		}
		return ""
	}}
}

func notNegative(name string) rule { return atLeast(name, 0, "must not be negative") }
func positive(name string) rule    { return atLeast(name, 1, "must be over 0") }

func atLeast(name string, least time.Duration, message string) rule {
	k := keyByName[name]
	return rule{[]string{name}, func(c *Config) string {
		if d := k.field(c).Interface().(Duration); d.Duration < least {
			return fmt.Sprintf("%s, not %q", message, d)
		}
		return ""
	}}
}

func httpURL(name string) rule {
	k := keyByName[name]
	return rule{[]string{name}, func(c *Config) string { return wrongURL(k.field(c).String()) }}
}

// wrongURL wants an HTTP address, or nothing. One with a user is refused: secrets are never written in the file.
func wrongURL(text string) string {
	u, err := url.Parse(text)
	switch {
	case text == "":
		return ""
	case err != nil || u.Host == "" || u.Scheme != "http" && u.Scheme != "https":
		return "must be an address that begins with http:// or https://, not " + quote(text)
	case u.User != nil:
		return "must not carry a user or a password; secrets are never written in the file"
	}
	return ""
}

func enabledTools(c *Config) string { return wrongTools(c.Tools.Enabled) }

// wrongTools says what is wrong with a list of tools; empty: nothing is.
func wrongTools(names []string) string {
	for i, name := range names {
		switch {
		case !slices.Contains(knownTools, name):
			return fmt.Sprintf("may hold %s, not %s", english.WordSeries(knownTools, "and"), quote(name))
		case slices.Contains(names[:i], name):
			return fmt.Sprintf("holds %s twice", quote(name))
		}
	}
	return ""
}

// isListen reports whether address is host:port. Port 0 picks one.
func isListen(address string) bool {
	_, port, err := net.SplitHostPort(address)
	if err != nil {
		return false
	}
	_, err = strconv.ParseUint(port, 10, 16)
	return err == nil
}

// Loopback reports whether a listener on host is out of reach of other machines. A name other than localhost is not
// looked up: it may resolve to anything later.
func Loopback(host string) bool {
	if strings.EqualFold(host, "localhost") {
		return true
	}
	ip, err := netip.ParseAddr(host)
	return err == nil && ip.Unmap().IsLoopback()
}

// treeSize bounds the memory of tools: below a few mebibytes not even a shell starts.
func treeSize(name string) rule {
	k := keyByName[name]
	return rule{[]string{name}, func(c *Config) string {
		if s := Size(k.field(c).Int()); s != 0 && s < 8<<20 {
			return fmt.Sprintf("must be \"0B\", or at least \"8MiB\", not %s", quote(s.String()))
		}
		return ""
	}}
}
