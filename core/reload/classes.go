package reload

import (
	"reflect"
	"slices"
	"strings"

	"gatewaytui/core/config"
	"gatewaytui/core/ops"
)

// kind is how a change of a key is classed.
type kind int

const (
	free      kind = iota // holds at once
	secure                // any change may loosen security
	grows                 // a list with a further element may loosen security, one with fewer does not
	shrinks               // a list that lacks an element may loosen security
	rises                 // a larger number may loosen security, and 0, which is no limit
	falls                 // a smaller number may loosen security
	switches              // true may loosen security
	restarts              // needs a restart of the gateway
	unclassed             // is in no row, which the tests refuse: needs a restart
)

// rows class each key of the config by its form, and each family for a table that comes or goes. [model] and the keys of [agent] that
// agents have are listed as models.NAME and agents.NAME. CONTRACT.md, 3 has the same list for operators.
var rows = []struct {
	kind kind
	keys string
}{
	{free, "models.NAME models.NAME.name models.NAME.timeout models.NAME.script models.NAME.context_window models.NAME.max_output models.NAME.vision models.NAME.reasoning"},
	{secure, "models.NAME.provider models.NAME.base_url models.NAME.api_key_env models.NAME.api_key_file"},
	{falls, "models.NAME.price_in models.NAME.price_cached models.NAME.price_out"},

	{free, "agents.NAME.models agents.NAME.prompt agents.NAME.skills"},
	{secure, "agents.NAME agents.NAME.prompt_file agents.NAME.env agents.NAME.environment agents.NAME.approvals agents.NAME.budget"},
	{secure, "agents.NAME.tools"}, // "*" is more than any list
	{free, "agent.cache_size agent.cache_idle agent.cache_memory agent.stall_warn agent.stall_after"},
	{rises, "agent.max_iterations"},

	{secure, "routes[] routes[].match routes[].role routes[].agent"}, // another agent may be one with more rights
	{free, "routes[].chat.progress routes[].chat.stream routes[].chat.busy routes[].chat.mention routes[].chat.sessions routes[].chat.join"},

	{free, "context.prune_at context.compact_at context.compact_to context.keep context.model"},
	{free, "session.idle_reset session.daily_reset session.queue_limit"},

	{grows, "tools.enabled"},
	{secure, "tools.env_pass tools.may_stop"},
	{free, "tools.timeout tools.output_limit"},
	{restarts, "tools.workdir"},

	{rises, "limits.turns limits.calls_per_turn limits.delegates limits.background limits.processes limits.processes_total limits.queued_bytes"},
	{restarts, "limits.model_calls limits.tree_memory limits.tree_processes limits.tools_memory limits.tools_processes limits.body_bytes limits.control_connections"},

	{secure, "access.strangers"},
	{grows, "access.owners"},
	{shrinks, "approvals.never"},
	{grows, "approvals.allow"},
	{free, "approvals.expire"},
	{rises, "approvals.always_expires"},

	{restarts, "process.kill_grace process.guardian process.max_age process.survivors"},
	{restarts, "budget.currency budget.zone"},
	{secure, "budgets.NAME"},
	{rises, "budgets.NAME.per_turn budgets.NAME.per_session budgets.NAME.per_person budgets.NAME.per_job_run budgets.NAME.per_day budgets.NAME.per_month budgets.NAME.tokens_per_day"},
	{secure, "environments.NAME environments.NAME.kind environments.NAME.network environments.NAME.image environments.NAME.read environments.NAME.write"},
	{secure, "environments.NAME.memory_max environments.NAME.pids_max environments.NAME.cpu_max environments.NAME.fallback"},

	{secure, "agents.NAME.kind agents.NAME.command agents.NAME.servers"},
	{free, "agents.NAME.turn_timeout"},
	{rises, "agents.NAME.turns_per_day"},
	{secure, "servers.NAME servers.NAME.preset servers.NAME.command servers.NAME.url servers.NAME.headers_env servers.NAME.env servers.NAME.tools"},
	{grows, "servers.NAME.trusted"},
	{free, "servers.NAME.scope servers.NAME.timeout servers.NAME.idle"},
	{secure, "web.search_url web.search_key_env memory.provider"},
	{grows, "web.allow_private"},
	{free, "memory.review_every memory.review_model"},
	{secure, "jobs.NAME jobs.NAME.prompt jobs.NAME.agent jobs.NAME.deliver"},
	{free, "jobs.NAME.schedule jobs.NAME.zone jobs.NAME.missed"},
	{grows, "jobs.NAME.allow"},
	{secure, "hooks.NAME hooks.NAME.command hooks.NAME.url hooks.NAME.secret_env"},
	{free, "hooks.NAME.on hooks.NAME.timeout"},
	{secure, "adapters.webhook.enabled adapters.webhook.listen adapters.webhook.routes.NAME adapters.webhook.routes.NAME.secret_env adapters.webhook.routes.NAME.prompt"},
	{secure, "adapters.webhook.routes.NAME.agent adapters.webhook.routes.NAME.deliver adapters.webhook.routes.NAME.scheme adapters.webhook.routes.NAME.address"},
	{rises, "adapters.webhook.routes.NAME.per_minute"},

	{restarts, "shutdown.drain_timeout shutdown.notify_timeout shutdown.interrupt_grace shutdown.agent_timeout shutdown.adapter_timeout shutdown.background_timeout"},
	{restarts, "shutdown.store_timeout shutdown.supervisor_budget shutdown.notify_users"},

	{restarts, "adapters.api.enabled adapters.api.listen adapters.api.key_env adapters.api.key_file adapters.api.allow_origins adapters.api.allow_hosts"},
	{restarts, "adapters.api.body_max adapters.api.session_from adapters.api.leave_grace adapters.api.approval"},
	{secure, "adapters.api.role"},
	{switches, "adapters.mail.enabled adapters.mail.allow_all"},
	{secure, "adapters.mail.imap adapters.mail.smtp adapters.mail.user adapters.mail.address adapters.mail.password_env adapters.mail.password_file adapters.mail.folder adapters.mail.authserv_id"},
	{grows, "adapters.mail.allow adapters.mail.groups"},
	{free, "adapters.mail.home adapters.mail.mention adapters.mail.teardown"},
	{switches, "adapters.telegram.enabled adapters.discord.enabled"},
	{secure, "adapters.telegram.token_env adapters.telegram.token_file adapters.telegram.base_url"},
	{secure, "adapters.discord.token_env adapters.discord.token_file adapters.discord.base_url"},
	{switches, "adapters.slack.enabled adapters.slack.allow_all"},
	{secure, "adapters.slack.app_token_env adapters.slack.app_token_file adapters.slack.bot_token_env adapters.slack.bot_token_file adapters.slack.base_url"},
	{grows, "adapters.slack.allow adapters.slack.groups"},
	{free, "adapters.slack.home adapters.slack.mention adapters.slack.teardown adapters.slack.command"},
	{switches, "adapters.feishu.enabled adapters.feishu.allow_all"},
	{secure, "adapters.feishu.app_id adapters.feishu.app_secret_env adapters.feishu.app_secret_file adapters.feishu.base_url"},
	{grows, "adapters.feishu.allow adapters.feishu.groups"},
	{free, "adapters.feishu.home adapters.feishu.mention adapters.feishu.teardown"},
	{grows, "adapters.telegram.allow adapters.discord.allow adapters.telegram.groups adapters.discord.groups"},
	{switches, "adapters.telegram.allow_all adapters.discord.allow_all"},
	{free, "adapters.telegram.home adapters.telegram.mention adapters.telegram.teardown adapters.discord.home adapters.discord.teardown"},

	{switches, "adapters.irc.enabled adapters.irc.allow_all"},
	{secure, "adapters.irc.server adapters.irc.tls adapters.irc.nick adapters.irc.password_env adapters.irc.password_file"},
	{grows, "adapters.irc.allow adapters.irc.groups adapters.irc.channels"},
	{free, "adapters.irc.home adapters.irc.mention adapters.irc.teardown"},
	{switches, "adapters.matrix.enabled adapters.matrix.allow_all"},
	{secure, "adapters.matrix.homeserver adapters.matrix.user adapters.matrix.token_env adapters.matrix.token_file"},
	{grows, "adapters.matrix.allow adapters.matrix.groups"},
	{free, "adapters.matrix.home adapters.matrix.mention adapters.matrix.teardown"},
	{switches, "adapters.NAME.enabled adapters.NAME.allow_all"},
	{secure, "adapters.NAME adapters.NAME.command adapters.NAME.env_pass adapters.NAME.settings"},
	{grows, "adapters.NAME.allow adapters.NAME.groups"},
	{free, "adapters.NAME.home adapters.NAME.mention adapters.NAME.teardown"},
	{restarts, "console.on_hangup console.texts console.theme metrics.listen transcription.base_url transcription.name transcription.api_key_env"},
	{free, "log.level config.watch"},
	{secure, "retention.transcripts retention.tool_outputs retention.media retention.audit"}, // less is deleted for ever
}

// classes has the class of every form that the config knows.
var classes = classify(config.Forms())

func classify(forms []string) map[string]kind {
	listed := map[string]kind{}
	for _, r := range rows {
		for key := range strings.FieldsSeq(r.keys) {
			listed[key] = r.kind
		}
	}
	all := make(map[string]kind, len(forms))
	for _, form := range forms {
		k, known := listed[form]
		for table, family := range map[string]string{"model.": "models.NAME.", "agent.": "agents.NAME."} {
			if key, is := strings.CutPrefix(form, table); is && !known {
				k, known = listed[family+key]
			}
		}
		if !known {
			k = unclassed
		}
		all[form] = k
	}
	return all
}

// needsRestart reports whether a change of a key needs a restart.
func needsRestart(form string) bool {
	k, known := classes[form]
	return !known || k == restarts || k == unclassed
}

// classOf is the class of a change.
func classOf(d config.Difference) ops.ChangeClass {
	k := classes[d.Form]
	switch {
	case needsRestart(d.Form):
		return ops.ChangeRestart
	case k != free && (d.Before == nil || loosens(k, reflect.ValueOf(d.Before), reflect.ValueOf(d.After))):
		return ops.ChangeSecurity
	}
	return ops.ChangeNow
}

// loosens reports whether a change from one value to another may loosen security.
func loosens(k kind, before, after reflect.Value) bool {
	switch k {
	case grows:
		return lacks(before, after)
	case shrinks:
		return lacks(after, before)
	case rises:
		return number(after) == 0 || number(before) != 0 && number(after) > number(before)
	case falls:
		return number(after) < number(before)
	case switches:
		return after.Bool()
	}
	return true
}

// lacks reports whether a list lacks an element of another.
func lacks(list, other reflect.Value) bool {
	var has []any
	for i := range list.Len() {
		has = append(has, list.Index(i).Interface())
	}
	for i := range other.Len() {
		if !slices.Contains(has, other.Index(i).Interface()) {
			return true
		}
	}
	return false
}

// number is the value of a number, a size or a duration.
func number(v reflect.Value) float64 {
	switch v.Kind() {
	case reflect.Int, reflect.Int64:
		return float64(v.Int())
	case reflect.Struct: // config.Duration
		return float64(v.Field(0).Int())
	}
	return v.Float()
}
