package config

import (
	"cmp"
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/dustin/go-humanize/english"

	"gatewaytui/core/ops"
	"gatewaytui/core/text"
)

// Values of model.provider.
const (
	OpenAI    = "openai"
	Anthropic = "anthropic"
	Scripted  = "scripted"
)

// EveryTool is the value of an agent's tools that stands for all of tools.enabled.
const EveryTool = "*"

// maxJoin bounds chat.join: the answer does not begin before.
const maxJoin = 10 * time.Second

// maxPrompt bounds a system prompt, in bytes.
const maxPrompt = 256 << 10

// PromptVariables are what a system prompt may use, each written {{name}}.
var PromptVariables = []string{"date", "time_zone", "platform", "chat", "speaker"}

// WarnScripted is the code of the warning that the agent default uses the scripted model although others are configured.
const WarnScripted = "config.scripted_default"

// efforts are the values of model.reasoning.
var efforts = []string{"", "low", "medium", "high"}

// modelRules are what every model obeys. The first key of each is the one that the error is about.
var modelRules = []struct {
	keys  []string
	wrong func(m *Model) string // completes the key's name; empty: nothing is
}{
	{[]string{"provider"}, func(m *Model) string {
		if slices.Contains([]string{OpenAI, Anthropic, Scripted}, m.Provider) {
			return ""
		}
		return fmt.Sprintf(`must be %q, %q or %q, not %s`, OpenAI, Anthropic, Scripted, quote(m.Provider))
	}},
	{[]string{"base_url", "provider", ""}, func(m *Model) string { return m.needs(m.BaseURL, OpenAI) }},
	{[]string{"name", "provider", ""}, func(m *Model) string { return m.needs(m.Name, OpenAI, Anthropic) }},
	{[]string{"base_url"}, func(m *Model) string { return wrongURL(m.BaseURL) }},
	{[]string{"timeout"}, func(m *Model) string {
		if m.Timeout.Duration > 0 {
			return ""
		}
		return fmt.Sprintf("must be over 0, not %q", m.Timeout)
	}},
	{[]string{"context_window"}, func(m *Model) string { return wrongCount(m.ContextWindow) }},
	{[]string{"max_output"}, func(m *Model) string { return wrongCount(m.MaxOutput) }},
	{[]string{"max_output", "context_window"}, func(m *Model) string {
		if m.ContextWindow == 0 || m.MaxOutput < m.ContextWindow {
			return ""
		}
		return "must be less than context_window, which a request and its answer share"
	}},
	{[]string{"reasoning"}, func(m *Model) string {
		if slices.Contains(efforts, m.Reasoning) {
			return ""
		}
		return fmt.Sprintf(`must be "low", "medium", "high" or empty, not %s`, quote(m.Reasoning))
	}},
	{[]string{"price_in"}, func(m *Model) string { return wrongPrice(m.PriceIn) }},
	{[]string{"price_cached"}, func(m *Model) string { return wrongPrice(m.PriceCached) }},
	{[]string{"price_out"}, func(m *Model) string { return wrongPrice(m.PriceOut) }},
}

// wrongCount says what is wrong with a number of tokens; empty: nothing is.
func wrongCount(n int) string {
	if n >= 0 && n <= 1_000_000_000 {
		return ""
	}
	return fmt.Sprintf("must be from 0 to 1000000000, not %d", n)
}

// wrongPrice says what is wrong with a price; empty: nothing is.
func wrongPrice(n float64) string {
	if n >= 0 && n <= 1e6 {
		return ""
	}
	return fmt.Sprintf("must be from 0 to 1000000, not %g", n)
}

// needs wants a text where the model has one of the providers.
func (m *Model) needs(value string, providers ...string) string {
	if !slices.Contains(providers, m.Provider) || value != "" {
		return ""
	}
	return fmt.Sprintf("must be set: provider %q needs it", m.Provider)
}

// validateModel checks the model whose table is named.
func (l *Loaded) validateModel(table string, m *Model) {
	for _, r := range modelRules {
		var names []string
		for _, k := range r.keys {
			names = append(names, strings.TrimSuffix(table+"."+k, "."))
		}
		if slices.ContainsFunc(names, func(name string) bool { return l.faulty[name] }) {
			continue
		}
		if wrong := r.wrong(m); wrong != "" {
			l.add(l.fault(names[0]+" "+wrong, names...), names[0])
		}
	}
}

// validateAgents checks models, agents and routes, reads the prompts, and bounds the tools of the agents.
func (l *Loaded) validateAgents() {
	c := &l.Config
	l.keyVariable("model", &c.Model)
	for name, m := range c.Models {
		l.keyVariable(keyName([]string{"models", name}), m)
	}
	l.validateModel(l.written("model"), &c.Model)
	for _, name := range Names(c.Models) {
		l.validateModel(keyName([]string{"models", name}), c.Models[name])
	}
	l.validateAgent(l.written("agent"), &c.Agent.Definition)
	for _, name := range Names(c.Agents) {
		l.validateAgent(keyName([]string{"agents", name}), c.Agents[name])
	}
	l.validateTrust()
	l.validateBots()
	l.validateMail()
	l.validateIRC()
	l.validateExternals()
	l.validateHeld()
	for i, r := range c.Routes {
		l.validateRoute("routes"+indexPart(i), r)
	}
	if m := c.Models; len(m) > 0 && c.Model.Provider == Scripted && slices.Equal(c.Agent.Models, []string{DefaultName}) && c.Model == Default().Model {
		l.warn(WarnScripted, fmt.Sprintf("the agent default uses the scripted model; name one of the configured models (%s) in agent.models, or call one default", english.WordSeries(Names(m), "or")))
	}
}

// keyVariable gives a model of Anthropic whose variable is not set the usual one: no key of another service goes to it.
func (l *Loaded) keyVariable(table string, m *Model) {
	if _, set := l.origins[table+".api_key_env"]; !set && m.Provider == Anthropic {
		m.APIKeyEnv = "ANTHROPIC_API_KEY"
	}
}

// written is the table that stands in the file for model or agent.
func (l *Loaded) written(table string) string {
	if stand := l.standing[table]; stand != "" {
		return stand
	}
	return table
}

// validateAgent checks the agent whose table is named.
func (l *Loaded) validateAgent(table string, d *Definition) {
	l.validateKind(table, d)
	wrong := func(key, format string, args ...any) {
		name := table + "." + key
		if _, set := l.origins[name]; !set && table == l.written("agent") {
			name = "agent." + key // [agents.default] stands there, and this key is in [agent]
		}
		if !l.faulty[name] {
			l.add(l.fault(name+" "+fmt.Sprintf(format, args...), name, table), name)
		}
	}
	if len(d.Models) == 0 {
		wrong("models", "must name at least one model")
	}
	known := Names(l.Config.ModelsByName())
	for i, name := range d.Models {
		switch {
		case !slices.Contains(known, name):
			wrong("models", "names the model %s, which is not configured; there %s %s", quote(name), text.Plural(len(known), "is", "are"), english.WordSeries(known, "and"))
		case slices.Contains(d.Models[:i], name):
			wrong("models", "names %s twice", quote(name))
		}
	}
	l.validateAgentTrust(d, wrong)
	if !slices.Equal(d.Tools, []string{EveryTool}) {
		if w := wrongTools(d.Tools); w != "" {
			wrong("tools", "%s", strings.Replace(w, "may hold ", `may hold "*" alone, or `, 1))
		} else {
			l.boundTools(table, d)
		}
	}
	if d.Text = d.Prompt; d.PromptFile != "" {
		if d.Prompt != "" {
			wrong("prompt_file", "and prompt are both set; keep one of them")
			return
		}
		prompt, err := l.readPrompt(d.PromptFile)
		if err != nil {
			wrong("prompt_file", "%s cannot be read: %v", quote(d.PromptFile), err)
			return
		}
		d.Text = prompt
	}
	key := "prompt"
	if d.PromptFile != "" {
		key = "prompt_file"
	}
	if len(d.Text) > maxPrompt {
		wrong(key, "is longer than %s", Size(maxPrompt))
	}
	if w := l.Config.tooLong(d); w != "" {
		wrong(key, "%s", w)
	}
	for _, name := range text.Holes(d.Text) {
		if !slices.Contains(PromptVariables, name) {
			wrong(key, "uses {{%s}}, which is not known; there are %s; did you mean %s?", name, english.WordSeries(PromptVariables, "and"), text.Nearest(name, PromptVariables))
			return
		}
	}
}

// runesPerToken is the most characters that a token of a prompt has on average.
const runesPerToken = 4

// tooLong says that a prompt fills more than half of the context of one of its agent's models; empty: it does not, or that is not
// known.
func (c Config) tooLong(d *Definition) string {
	models, least := c.ModelsByName(), utf8.RuneCountInString(d.Text)/runesPerToken
	for _, name := range d.Models {
		if w := models[name].ContextWindow; w > 0 && least > w/2 {
			return fmt.Sprintf("has at least %d tokens, more than half of the context_window of the model %s (%d): no room is left for the conversation", least, quote(name), w)
		}
	}
	return ""
}

// boundTools takes from an agent the tools that tools.enabled does not have, where the config sets that, and says so.
func (l *Loaded) boundTools(table string, d *Definition) {
	if _, set := l.origins["tools.enabled"]; !set || l.faulty["tools.enabled"] {
		return
	}
	var kept, lost []string
	for _, name := range d.Tools {
		if slices.Contains(l.Config.Tools.Enabled, name) {
			kept = append(kept, name)
		} else {
			lost = append(lost, name)
		}
	}
	if len(lost) == 0 {
		return
	}
	d.Tools = kept
	l.warn(WarnToolsBounded, fmt.Sprintf("%s.tools names %s, which tools.enabled does not have: the agent cannot call %s", table, english.WordSeries(lost, "and"), text.Plural(len(lost), "it", "them")))
}

// WarnToolsBounded is the code of the warning that tools.enabled takes tools from an agent.
const WarnToolsBounded = "config.tools_bounded"

// readPrompt reads a prompt file. A relative path begins at the folder of the config file.
func (l *Loaded) readPrompt(path string) (string, error) {
	if !filepath.IsAbs(path) && l.Path != "" {
		path = filepath.Join(filepath.Dir(l.Path), path)
	}
	data, err := readRegular(path, maxPrompt)
	switch {
	case err != nil:
		return "", err
	case !utf8.Valid(data):
		return "", errors.New("it is not valid UTF-8")
	case strings.ContainsFunc(string(data), actsOnTerminal):
		return "", errors.New("it contains control characters")
	case strings.TrimSpace(string(data)) == "":
		return "", errors.New("it is empty")
	}
	return strings.TrimSpace(string(data)), nil
}

// validateRoute checks one route.
func (l *Loaded) validateRoute(table string, r *Route) {
	wrong := func(key, message string) {
		name := table + "." + key
		if !l.faulty[name] {
			l.add(l.fault(name+" "+message, name, table), name)
		}
	}
	platform, rest, parts := strings.Cut(r.Match, ":")
	switch {
	case r.Match == "":
		wrong("match", `must be set, for example to "telegram:dm:*"`)
	case strings.ContainsAny(r.Match, `[]\`):
		wrong("match", fmt.Sprintf("is a session key in which only * and ? have a meaning, not %s", quote(r.Match)))
	case !parts && !strings.Contains(r.Match, "*"), parts && (platform == "" || rest == ""):
		wrong("match", fmt.Sprintf(`can match no session key, which reads platform:kind:chat, not %s; "%s:*" matches all of a platform`, quote(r.Match), strings.Trim(quote(platform), `"`)))
	}
	known := Names(l.Config.AgentsByName())
	if !slices.Contains(known, r.Agent) {
		wrong("agent", fmt.Sprintf("names the agent %s, which is not configured; there %s %s", quote(r.Agent), text.Plural(len(known), "is", "are"), english.WordSeries(known, "and")))
	}
	for _, c := range []struct {
		key, value string
		known      []string
	}{
		{"chat.progress", r.Chat.Progress, []string{ProgressOff, ProgressShort, ProgressFull}},
		{"chat.stream", r.Chat.Stream, []string{StreamOff, StreamEdit, StreamDraft}},
		{"chat.busy", cmp.Or(r.Chat.Busy, BusyQueue), []string{BusyQueue, BusySteer, BusyInterrupt}},
		{"chat.mention", cmp.Or(r.Chat.Mention, MentionRequired), []string{MentionRequired, MentionAlways, MentionNever}},
		{"chat.sessions", r.Chat.Sessions, []string{SessionsAuto, SessionsShared, SessionsPerUser}},
	} {
		if !slices.Contains(c.known, c.value) {
			wrong(c.key, fmt.Sprintf("must be %s, not %s", english.WordSeries(c.known, "or"), quote(c.value)))
		}
	}
	if d := r.Chat.Join.Duration; d < 0 || d > maxJoin {
		wrong("chat.join", fmt.Sprintf("must be from 0 to %s, not %q", maxJoin, r.Chat.Join))
	}
}

// defaultChat is how a session without a route is shown.
var defaultChat = Chat{Progress: ProgressShort, Stream: StreamOff, Sessions: SessionsAuto, Join: Duration{Duration: 1500 * time.Millisecond}}

// ChatOf is how the session of this key is shown in its chat to a person of a role: as the first route that matches says.
func (c Config) ChatOf(key string, role ops.Role) Chat {
	chat := defaultChat
	if r := c.route(key, role); r != nil {
		chat = r.Chat
	}
	if chat.Mention == "" {
		platform, _, _ := strings.Cut(key, ":")
		b, _ := c.Adapters.Bot(platform)
		chat.Mention = b.Mention
	}
	chat.Mention = cmp.Or(chat.Mention, MentionRequired)
	return chat
}

// route is the first route that matches a session's key and a role; nil: none does.
func (c Config) route(key string, role ops.Role) *Route {
	for _, r := range c.Routes {
		if (r.Role == "" || ops.Role(r.Role) == role) && text.GlobKey(r.Match, key) {
			return r
		}
	}
	return nil
}

// RouteOf says which route is that of the session of this key for a person of a role, and how its chat is shown.
func (c Config) RouteOf(key string, role ops.Role) string {
	match := "no route matches, so the defaults hold"
	if r := c.route(key, role); r != nil {
		match = r.Match
	}
	chat := c.ChatOf(key, role)
	return fmt.Sprintf("%s; progress = %s, stream = %s, busy = %s, in a group mention = %s, sessions = %s",
		match, chat.Progress, chat.Stream, cmp.Or(chat.Busy, "steer in a direct message, else queue"), chat.Mention, chat.Sessions)
}

// Callable are the names of the tools that an agent can call.
func (c Config) Callable(d Definition) []string {
	if slices.Equal(d.Tools, []string{EveryTool}) {
		return c.Tools.Enabled
	}
	return d.Tools
}
