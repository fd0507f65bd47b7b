package config

import (
	"slices"

	"github.com/dustin/go-humanize/english"

	"gatewaytui/core/ops"
)

// Change is one default that differs from that of an earlier edition. An operator who relied on the old default without
// setting it gets one warning, at the first start on a home of the earlier edition (see gateway.Options.Changes).
type Change struct {
	// Name is unique and names the warning: its code is "upgrade." and Name.
	Name string
	// Key is the config key whose default changed.
	Key string
	// Old and New are the two defaults as they are written in the config file.
	Old, New string
	// More are further keys whose defaults changed with Key's, each with Old: one warning tells of all of them.
	More []NewDefault
	// What tells of a default that is written as before and does something else; then Old and New are empty. When reports
	// whether a config relies on it; nil: one that does not set Key.
	What string
	When func(Config) bool
	// Schema is the first schema version of the store that has the new default: a home whose store has an older one was
	// last used with Old. Version 5 is the first of the second edition.
	Schema int
}

// NewDefault is a key and its default as it is written in the config file.
type NewDefault struct{ Key, Value string }

// none is the old default of a bound that did not exist.
const none = "none"

// changes has one row for each default that changed. A new row is added together with the new default in Default and a
// line in .github/CHANGELOG.md.
var changes = []Change{
	{Name: "idle_reset", Key: "session.idle_reset", Old: `"24h"`, New: `"0s"`, Schema: 5},
	{Name: "leave_grace", Key: "adapters.api.leave_grace", Old: `"never"`, New: `"10s"`, Schema: 5},
	{Name: "notify_timeout", Key: "shutdown.notify_timeout", Old: `"5s"`, New: `"3s"`, Schema: 5},
	{Name: "interrupt_grace", Key: "shutdown.interrupt_grace", Old: `"5s"`, New: `"4.5s"`, Schema: 5},
	{Name: "store_timeout", Key: "shutdown.store_timeout", Old: `"2s"`, New: `"3s"`, Schema: 5},
	{Name: "limits", Key: "limits.turns", Old: none, New: "512", Schema: 5, More: []NewDefault{
		{"limits.calls_per_turn", "200"},
		{"limits.background", "8"},
		{"limits.processes", "64"},
		{"limits.processes_total", "4096"},
		{"limits.tree_processes", "4096"},
		{"limits.queued_bytes", `"64MiB"`},
	}},
	{Name: "session_from", Key: "adapters.api.session_from", Old: `"user"`, New: `"header"`, Schema: 10},
	{
		Name: "api_model", Key: "adapters.api.enabled", Schema: 10,
		What: "the model of an API request names an agent, and one that is not in GET /v1/models is refused with 404 model_not_found (before, every name " +
			"was accepted); \"any\", \"default\" and no model are the agent default; add agents to the config, or ignore this",
		When: func(c Config) bool { return c.Adapters.API.Enabled },
	},
	{
		Name: "retention", Key: "retention.transcripts", Schema: 12,
		What: "conversations that have ended are kept for ever (retention.transcripts; before, 90 days), results of tools over 8 KiB for 30 days " +
			"(retention.tool_outputs; before, as long as their conversation) and the audit for a year (retention.audit; before, 90 days); set " +
			"retention.transcripts in the config to choose, or ignore this",
		When: func(c Config) bool { return c.Retention.Transcripts.Duration == 0 },
	},
	{
		Name: "telegram_groups", Key: "adapters.telegram.groups", Schema: 14,
		What: "the Telegram bot no longer listens in every group: list those it may answer in adapters.telegram.groups; in them it answers what names it, " +
			"answers it or is a command, unless adapters.telegram.mention is \"always\", and each member of a group without topics has a conversation of their own",
		When: func(c Config) bool { return c.Adapters.Telegram.Enabled && len(c.Adapters.Telegram.Groups) == 0 },
	},
	{
		Name: "busy", Key: "adapters.telegram.enabled", Schema: 17,
		What: "a message that comes while a turn runs in a direct message is read by that turn after its running step (before, it waited for the end), and " +
			"messages that wait are worked on together; set chat.busy to \"queue\" in a route of the config to choose, or ignore this",
		When: func(c Config) bool {
			return len(c.Adapters.EnabledBots()) > 0 &&
				!slices.ContainsFunc(c.Routes, func(r *Route) bool { return r.Chat.Busy != "" })
		},
	},
	{
		Name: "tools_enabled", Key: "tools.enabled", Schema: 25,
		What: "agents have further tools: files and send_file, web (pages of public addresses), memory (notes that outlive conversations), ask_user and jobs; set " +
			"tools.enabled in the config to choose, or ignore this",
		When: func(c Config) bool { return slices.Equal(c.Tools.Enabled, Default().Tools.Enabled) },
	},
	{Name: "may_stop", Key: "tools.may_stop", Old: `"yes"`, New: `"ask"`, Schema: 21},
	{
		Name: "approvals", Key: "agent.approvals", Schema: 21,
		What: "commands of agents that are not known as harmless wait for a person where no sandbox or container holds them (before, every command ran); answer with " +
			"gatewaytui approve, in the console or, as one of access.owners, in a chat; set agent.approvals to \"off\" to run them without a question, or ignore this",
		When: func(c Config) bool { return c.Agent.Approvals == ApprovalsFence },
	},
	{
		Name: "environment", Key: "agent.environment", Schema: 23,
		What: "commands of agents run in a sandbox where bubblewrap works, else with files and TCP fenced by landlock (before, on the machine itself): they see the work " +
			"folder, a home of the agent's own and the system, and have no network; name other paths, hosts or a container in [environments.NAME], set " +
			"agent.environment to \"local\" for the machine itself, or ignore this",
		When: func(c Config) bool { return c.Agent.Environment == EnvironmentAuto },
	},
	{
		Name: "budget", Key: "agent.budget", Schema: 22,
		What: "model calls are refused once a turn cost 1.0, a day 10.0 or a month 100.0 in budget.currency, or a day had 3,000,000 tokens of models without a " +
			"price (before, there was no limit); set the limits in [budgets.default], 0 for none, or ignore this",
		When: func(c Config) bool { return c.Budgets[DefaultName] == nil },
	},
	{
		Name: "strangers", Key: "access.strangers", Schema: 20,
		What: "an unknown user of a platform hears once how to be let in, and never again (before, once in each life of the gateway); the users in allow are " +
			"members, and approvals and people are for access.owners, the command line and the console; set access.strangers and access.owners to choose, or ignore this",
		When: func(c Config) bool {
			return len(c.Adapters.EnabledBots()) > 0 && len(c.Access.Owners) == 0
		},
	},
	{
		Name: "api_callers", Key: "adapters.api.key_env", Schema: 6,
		What: "without a key in the config the API no longer serves every program of this machine: programs of the gateway's own user and of root " +
			"need no key, others send the one in api.key of the home, and the gateway's tools are refused; set adapters.api.key_env to ask " +
			"everyone for a key of your own, or ignore this",
		When: func(c Config) bool {
			return c.Adapters.API.Enabled && c.Adapters.API.KeyEnv == "" && c.Adapters.API.KeyFile == ""
		},
	},
}

// Changes returns the changed defaults that are in force, which are those whose key neither the file nor the environment
// sets, or that the config relies on as When says; of keys that changed together, the ones that are set are left out.
func (l *Loaded) Changes() []Change { return append(l.unset(changes), l.toolsEnvironment()...) }

func (l *Loaded) unset(rows []Change) []Change {
	var in []Change
	for _, c := range rows {
		if c.When != nil {
			if c.When(l.Config) {
				in = append(in, c)
			}
			continue
		}
		left := slices.DeleteFunc(append([]NewDefault{{c.Key, c.New}}, c.More...), func(d NewDefault) bool {
			_, set := l.origins[d.Key]
			return set
		})
		if len(left) > 0 {
			c.Key, c.New, c.More = left[0].Key, left[0].Value, append([]NewDefault(nil), left[1:]...)
			in = append(in, c)
		}
	}
	return in
}

// Code is the code of the warning, and the event of the log line, that tells of the change.
func (c Change) Code() string { return "upgrade." + c.Name }

// Warning tells of the change; Since is left to the caller.
func (c Change) Warning() ops.Warning {
	w := ops.Warning{Code: c.Code(), Message: c.What}
	if c.What != "" {
		return w
	}
	if len(c.More) == 0 {
		w.Message = "the default of " + c.Key + " changed from " + c.Old + " to " + c.New + "; set " + c.Key + " in the config to choose, or ignore this to use the new default"
		return w
	}
	all := []string{c.Key + " = " + c.New}
	for _, d := range c.More {
		all = append(all, d.Key+" = "+d.Value)
	}
	w.Message = "defaults that were " + c.Old + " changed: " + english.OxfordWordSeries(all, "and") + "; set them in the config to choose, or ignore this to use the new defaults"
	return w
}
