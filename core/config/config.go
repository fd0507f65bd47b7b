// Package config is the config file of a gateway (CONTRACT.md, 3): its keys, their defaults, where it is found, and
// what is wrong with it.
//
// What it promises: a file that is accepted is understood to the last key (J15); a wrong one, or a wrong
// environment variable, is one *Error that says where and what to write instead; no error, warning or listing carries a
// secret. The keys stand once, as the fields of Config: the example, the names of the environment variables, the
// nearest-key hints and the decoding come from their tags.
package config

import (
	"reflect"
	"time"
)

// Config is what an operator can set. The zero value is not valid: begin with Default.
//
// A field's toml tag is its key, and its default tag its default as an environment variable would set it; without one that is
// the zero value. Its doc tag is its explanation for an operator.
type Config struct {
	Model     Model                  `toml:"model" doc:"The language model that agents call. It has the name default."`
	Models    map[string]*Model      `toml:"models" doc:"Further models, each with a name of your choice. [models.default] stands for [model]: only one of the two may be there."`
	Agent     Agent                  `toml:"agent" doc:"The agent default, and the cache that keeps agents between turns."`
	Agents    map[string]*Definition `toml:"agents" doc:"Further agents, each with a name of your choice. [agents.default] stands for the keys of [agent] that are listed here; none may be in both."`
	Routes    []*Route               `toml:"routes" doc:"Which agent works for which sessions. The first route that matches counts; without one it is the agent default."`
	Context   Context                `toml:"context" doc:"How a conversation is made to fit the context of its model. Nothing is deleted: what is replaced stays in the store."`
	Session   Session                `toml:"session" doc:"When a conversation expires, and how many messages may wait in it."`
	Tools     Tools                  `toml:"tools" doc:"What a model can call."`
	Limits    Limits                 `toml:"limits" doc:"How much may run at once, and what one message may cost. What comes beyond a limit waits or is refused, with the name of the limit; \"gatewaytui status\" shows what is in use."`
	Access    Access                 `toml:"access" doc:"Who may speak, in addition to the lists of the platforms."`
	Approvals Approvals              `toml:"approvals" doc:"Commands of a model that wait for a person, and rules for the verdict on them. \"gatewaytui approvals check COMMAND\" prints the verdict."`
	Process   Process                `toml:"process" doc:"Subprocesses that tools start."`
	Budget    Budget                 `toml:"budget" doc:"In what budgets are counted."`

	Environments map[string]*Environment  `toml:"environments" doc:"Where the commands of agents run, each with a name of your choice, which agents name in environment."`
	Budgets      map[string]*BudgetLimits `toml:"budgets" doc:"What may be spent, each with a name of your choice, which agents name in budget. [budgets.default] is in force also where it is not written; 0 is no limit."`

	Servers map[string]*Server `toml:"servers" doc:"Tool servers (MCP), each with a name of your choice, which agents name in servers. A server starts at its first use; \"gatewaytui servers\" shows them."`
	Web     Web                `toml:"web" doc:"What web_fetch and web_search may reach."`
	Memory  Memory             `toml:"memory" doc:"Notes that outlive conversations."`
	Jobs    map[string]*Job    `toml:"jobs" doc:"What runs at a time, each with a name of your choice. \"gatewaytui jobs\" shows them, and those that agents have made."`
	Hooks   map[string]*Hook   `toml:"hooks" doc:"Commands and URLs that get events, each with a name of your choice."`

	Shutdown Shutdown `toml:"shutdown" doc:"The budgets of a stop. \"gatewaytui plan\" prints what they add up to."`
	Adapters Adapters `toml:"adapters"`
	Console  Console  `toml:"console" doc:"The screens."`
	Reload   Reload   `toml:"config" doc:"This file. \"gatewaytui reload\" applies a changed one without a restart."`
	Log      Log      `toml:"log" doc:"The log."`
	Metrics  Metrics  `toml:"metrics" doc:"Figures for Prometheus, which the control socket serves in any case."`

	Transcription Transcription `toml:"transcription" doc:"What hears voice messages. Without it they are saved, and the agent learns that it cannot hear them."`

	Retention Retention `toml:"retention" doc:"How long what is over is kept. It is deleted in the background, in small steps, an hour after a start and then once a day; \"0s\" keeps it for ever. What else has ended is kept for 90 days."`
}

// Model is [model], and each of [models.NAME].
type Model struct {
	Provider   string   `toml:"provider" default:"scripted" doc:"\"openai\": any OpenAI-compatible chat-completions endpoint; \"anthropic\": Anthropic's API; \"scripted\": plays a script, no model needed"`
	BaseURL    string   `toml:"base_url" doc:"the endpoint, e.g. \"http://127.0.0.1:11434/v1\"; needed by openai, for anthropic empty is https://api.anthropic.com/v1"`
	Name       string   `toml:"name" doc:"the model's name at the endpoint; needed by openai and anthropic"`
	APIKeyEnv  string   `toml:"api_key_env" default:"OPENAI_API_KEY" doc:"the environment variable that holds the endpoint's key; for anthropic the default is ANTHROPIC_API_KEY"`
	APIKeyFile string   `toml:"api_key_file" doc:"a file that holds it instead"`
	Timeout    Duration `toml:"timeout" default:"10m" doc:"one model call, its retries included"`
	Script     string   `toml:"script" doc:"for scripted: a script file; empty plays the embedded one"`

	ContextWindow int     `toml:"context_window" doc:"tokens that a request and its answer may have together; 0: not known"`
	MaxOutput     int     `toml:"max_output" doc:"tokens that one answer may have; 0: the endpoint's own bound"`
	Vision        bool    `toml:"vision" doc:"it can see pictures: a request with some goes to such a model of the agent, if there is one"`
	Reasoning     string  `toml:"reasoning" doc:"how much it thinks: low, medium or high; empty: the endpoint's default"`
	PriceIn       float64 `toml:"price_in" doc:"price of a million tokens of requests. If all prices are 0 and the endpoint tells no cost, the cost is unknown"`
	PriceCached   float64 `toml:"price_cached" doc:"price of those that the endpoint had in its cache; 0: as price_in"`
	PriceOut      float64 `toml:"price_out" doc:"price of a million tokens of answers, thoughts included"`
}

// Definition is what an agent is made from: the first keys of [agent], and each of [agents.NAME].
type Definition struct {
	Kind    string   `toml:"kind" doc:"empty: a model works; \"acp\": an external program works, which speaks the Agent Client Protocol"`
	Command []string `toml:"command" default:"" doc:"for acp: the program and its arguments, such as [\"opencode\", \"acp\"]"`

	TurnTimeout Duration `toml:"turn_timeout" default:"30m" doc:"for acp: how long the program may work on one turn; waiting for a person does not count"`
	TurnsPerDay int      `toml:"turns_per_day" default:"200" doc:"for acp: how many turns the program may work on in a day, in the zone of [budget], without saying what they used; 0: as many as there are"`

	Models     []string `toml:"models" default:"default" doc:"names of models; the first that works answers. One that fails is left alone for a while"`
	Prompt     string   `toml:"prompt" doc:"the system prompt; empty is the gateway's own. {{date}}, {{time_zone}}, {{platform}}, {{chat}} and {{speaker}} are replaced"`
	PromptFile string   `toml:"prompt_file" doc:"a file that holds it instead, read at the start; a relative path begins at the folder of the config file"`
	Tools      []string `toml:"tools" default:"*" doc:"what it can call; \"*\" is all of tools.enabled, which bounds every agent if it is set"`
	Servers    []string `toml:"servers" default:"" doc:"names of [servers] whose tools it can call"`
	Skills     bool     `toml:"skills" default:"true" doc:"list the skills of the work folder in the prompt: folders with a SKILL.md. AGENTS.md and SOUL.md of the folder are in every prompt"`

	Env         []string `toml:"env" default:"" doc:"variables of the gateway's environment that its tools see as well, each by its whole name"`
	Environment string   `toml:"environment" default:"auto" doc:"where its commands run; for acp where the program runs, without the key \"local\": \"auto\" (a sandbox where one works, else files and TCP are fenced and what is not known as harmless is asked), \"local\" (this machine as it is) or a name of [environments]"`
	Approvals   string   `toml:"approvals" default:"fence" doc:"which commands wait for a person: \"fence\" (in an environment none, in local all that are not known as harmless), \"strict\" (every one) or \"off\" (none: no command is judged, not even by approvals.never)"`
	Budget      string   `toml:"budget" default:"default" doc:"the name of its budget in [budgets]"`

	// Text is the system prompt as Load found it, in Prompt or in PromptFile; empty: the gateway's own.
	Text string `toml:"-"`
}

// Route is one of [[routes]].
type Route struct {
	Match string `toml:"match" doc:"a session key such as \"telegram:dm:4711\"; * is any text, ? any character"`
	Role  string `toml:"role" doc:"\"owner\", \"member\" or \"guest\": only for messages of people of this role; empty: for all"`
	Agent string `toml:"agent" default:"default" doc:"the name of the agent that works for the sessions"`
	Chat  Chat   `toml:"chat"`
}

// Chat is how the sessions of a route are shown in their chats.
type Chat struct {
	Progress string `toml:"progress" default:"short" doc:"of a turn that takes over 10s, in one message that is edited: \"off\", \"short\" (the running step) or \"full\" (the steps before it, too)"`
	Stream   string `toml:"stream" default:"off" doc:"\"edit\" shows the answer as it is written, in one message that is edited; \"draft\" does in a draft, in a chat that has drafts; \"off\" sends it when it is whole"`
	Busy     string `toml:"busy" doc:"a message during a turn: \"queue\" (it waits), \"steer\" (the turn reads it after its next step) or \"interrupt\" (it ends the turn); empty is steer in direct messages and queue elsewhere"`
	Mention  string `toml:"mention" doc:"which messages of a group the bot answers: \"required\" those that name it, answer it or are commands; \"always\" every one; \"never\" only commands. Empty is what the platform's own key says, else required"`
	Sessions string `toml:"sessions" default:"auto" doc:"whose a conversation in a group is: \"auto\" (one for each thread, else one for each member), \"shared\" (one for all) or \"per_user\" (one for each member, in a thread too)"`

	Join Duration `toml:"join" default:"1.5s" doc:"how long a message of 4000 characters or more, or a forwarded one, waits for the next one, at most 10s; \"0\": it does not"`
}

// Values of chat.busy.
const (
	BusyQueue     = "queue"
	BusySteer     = "steer"
	BusyInterrupt = "interrupt"
)

// Values of chat.mention, which adapters.telegram.mention has too, and of chat.sessions.
const (
	MentionRequired = "required"
	MentionAlways   = "always"
	MentionNever    = "never"
	SessionsAuto    = "auto"
	SessionsShared  = "shared"
	SessionsPerUser = "per_user"
)

// Values of chat.progress and chat.stream.
const (
	ProgressOff   = "off"
	ProgressShort = "short"
	ProgressFull  = "full"
	StreamOff     = "off"
	StreamEdit    = "edit"
	StreamDraft   = "draft"
)

// Agent is [agent].
type Agent struct {
	Definition

	MaxIterations int      `toml:"max_iterations" default:"60" doc:"model calls in one turn"`
	CacheSize     int      `toml:"cache_size" default:"128" doc:"agents kept between turns"`
	CacheIdle     Duration `toml:"cache_idle" default:"1h" doc:"how long an idle one is kept"`
	CacheMemory   Size     `toml:"cache_memory" default:"256MiB" doc:"all cached transcripts together"`
	StallWarn     Duration `toml:"stall_warn" default:"15m" doc:"warn about a turn that makes no progress for this long"`
	StallAfter    Duration `toml:"stall_after" default:"30m" doc:"then interrupt and release it after this long"`
}

// Context is [context]. The parts are of the tokens that the model's context leaves for the conversation.
type Context struct {
	PruneAt   float64 `toml:"prune_at" default:"0.6" doc:"from this part on, old results of tools are left out, many at a time"`
	CompactAt float64 `toml:"compact_at" default:"0.75" doc:"from this part on, a summary replaces the older part"`
	CompactTo float64 `toml:"compact_to" default:"0.4" doc:"the part that is in use after that"`
	Keep      float64 `toml:"keep" default:"0.2" doc:"the newest part, which stays whole"`
	Model     string  `toml:"model" doc:"the name of the model that summarises; empty is the agent's own"`
}

// Session is [session].
type Session struct {
	IdleReset  Duration `toml:"idle_reset" doc:"a conversation without a message for this long starts afresh; \"0\" never"`
	DailyReset string   `toml:"daily_reset" doc:"the local time at which every conversation starts afresh, e.g. \"04:00\"; empty never"`
	QueueLimit int      `toml:"queue_limit" default:"32" doc:"messages that may wait behind a running turn"`
}

// Tools is [tools].
type Tools struct {
	Enabled     []string `toml:"enabled" default:"terminal,process,delegate,files,send_file,web,memory,ask_user,jobs" doc:"of terminal, process, delegate, files, send_file, web, memory, ask_user and jobs; files, web, memory and jobs are groups"`
	Workdir     string   `toml:"workdir" doc:"where commands run and files are; empty is work in the gateway's home"`
	Timeout     Duration `toml:"timeout" default:"3m" doc:"one foreground command"`
	OutputLimit Size     `toml:"output_limit" default:"64KiB" doc:"how much of a command's output the model gets"`
	EnvPass     []string `toml:"env_pass" default:"LANG,LANGUAGE,LC_*,TZ,PATH,HOME,USER,LOGNAME,SHELL,TERM,TMPDIR,XDG_*,HTTP_PROXY,HTTPS_PROXY,NO_PROXY,http_proxy,https_proxy,no_proxy,SSL_CERT_*" doc:"variables of the gateway's environment that tools see, by name or, with * at the end, by the beginning of the name. What looks like a secret, and what makes programs load something (LD_*, BASH_ENV, NODE_OPTIONS and the like), must be named exactly"`
	MayStop     string   `toml:"may_stop" default:"ask" doc:"whether a tool may stop or restart its gateway through the control socket: \"yes\", \"ask\" (a person must allow it first) or \"no\"; a tool may also ask for the status, and for nothing else"`
}

// Values of tools.may_stop.
const (
	Yes = "yes"
	Ask = "ask"
	No  = "no"
)

// Limits is [limits].
type Limits struct {
	Turns          int  `toml:"turns" default:"512" doc:"turns at once; a message beyond it waits, sessions are served in turn"`
	ModelCalls     int  `toml:"model_calls" default:"512" doc:"model calls at once, over all endpoints; the api adapter serves twice as many requests at once"`
	CallsPerTurn   int  `toml:"calls_per_turn" default:"200" doc:"model calls of one turn, its child agents included; then the turn ends with an answer that says so"`
	Delegates      int  `toml:"delegates" default:"4" doc:"child agents of one agent that work at the same time; further tasks of delegate wait until one has ended"`
	Background     int  `toml:"background" default:"8" doc:"/background tasks at once in one session; one more is refused"`
	Processes      int  `toml:"processes" default:"64" doc:"process trees at once in one session, foreground commands included; one more is refused"`
	ProcessesTotal int  `toml:"processes_total" default:"4096" doc:"process trees at once in all sessions; one more is refused"`
	TreeMemory     Size `toml:"tree_memory" doc:"memory of one process tree; the kernel ends a tree that needs more, whole. \"0B\": seven eighths of limits.tools_memory. This and the three keys below need a control group with controllers; doctor says whether there is one"`
	TreeProcesses  int  `toml:"tree_processes" default:"4096" doc:"processes and threads of one process tree, but at most seven eighths of limits.tools_processes; it can start no more"`
	ToolsMemory    Size `toml:"tools_memory" doc:"memory of all process trees together. \"0B\": what the memory limit of the gateway's own group leaves when the gateway has its share; without such a limit, no bound"`
	ToolsProcesses int  `toml:"tools_processes" doc:"processes and threads of all process trees together. 0: the limit of the gateway's own group less 64; without such a limit, seven eighths of what the machine can have"`
	QueuedBytes    Size `toml:"queued_bytes" default:"64MiB" doc:"text of all messages that wait in all sessions; one more is refused"`
	BodyBytes      Size `toml:"body_bytes" default:"64MiB" doc:"bytes of API request bodies under way at once, over all requests; beyond it a request waits up to 5s and is then refused"`

	ControlConnections int `toml:"control_connections" default:"128" doc:"connections of the control socket at once, at most a quarter of the descriptors (ulimit -n); one process gets a quarter of them, and the last 8 are for callers that are not tools and have no other"`
}

// Approvals is [approvals]. A rule is a program, its subcommands and patterns of paths (fence.ParseRule).
type Approvals struct {
	Never []string `toml:"never" default:"" doc:"commands that never run, in addition to those that ruin a machine or betray its secrets: [\"git push\", \"rm /srv/**\"]. A rule is a program, its subcommands, and patterns of paths; /** at the end is all below"`
	Allow []string `toml:"allow" default:"" doc:"commands that run without a question in the work folder: [\"go test\", \"make\"]. A command that leads out of the work folder, or names another program to run, is a question all the same"`

	Expire        Duration `toml:"expire" default:"30m" doc:"how long a request waits for an answer"`
	AlwaysExpires Duration `toml:"always_expires" default:"720h" doc:"how long \"always\" holds"`
}

// Values of process.survivors.
const (
	SurvivorsEnd   = "end"
	SurvivorsAdopt = "adopt"
)

// Process is [process].
type Process struct {
	KillGrace Duration `toml:"kill_grace" default:"2s" doc:"from TERM to KILL; the phases reap and sweep may cost this and 1s more"`
	Guardian  bool     `toml:"guardian" default:"true" doc:"end the trees at once when the gateway itself is killed"`
	MaxAge    Duration `toml:"max_age" doc:"how old a process tree may become before it is ended with a warning; \"0\" without a limit"`
	Survivors string   `toml:"survivors" default:"end" doc:"background commands when the gateway itself is killed: end them, or adopt them in the next life"`
}

// Shutdown is [shutdown]. A budget of 0 means no time. Only AdapterTimeout can be disabled.
type Shutdown struct {
	DrainTimeout      Duration `toml:"drain_timeout" default:"60s" doc:"how long running turns may go on"`
	NotifyTimeout     Duration `toml:"notify_timeout" default:"3s" doc:"telling the chats"`
	InterruptGrace    Duration `toml:"interrupt_grace" default:"4.5s" doc:"for turns that were interrupted"`
	AgentTimeout      Duration `toml:"agent_timeout" default:"3s" doc:"memory flush and close, all agents at once"`
	AdapterTimeout    Duration `toml:"adapter_timeout" default:"5s" doc:"one adapter's whole teardown, and any single call to it on the stop path; \"0\" opts out of this bound, not of the plan's"`
	BackgroundTimeout Duration `toml:"background_timeout" default:"1s" doc:"cancelling background tasks"`
	StoreTimeout      Duration `toml:"store_timeout" default:"3s" doc:"closing the stores"`
	SupervisorBudget  string   `toml:"supervisor_budget" default:"auto" doc:"what the service manager allows a stop: \"auto\" is what was detected, a duration overrides it"`
	NotifyUsers       bool     `toml:"notify_users" default:"true" doc:"tell chats with a running turn that the gateway stops"`
}

// SupervisorLimit is SupervisorBudget as a duration; ok is false for "auto".
func (s Shutdown) SupervisorLimit() (limit time.Duration, ok bool) {
	if s.SupervisorBudget == auto {
		return 0, false
	}
	d, err := time.ParseDuration(s.SupervisorBudget)
	return d, err == nil
}

// Adapters is the platforms.
type Adapters struct {
	API      API      `toml:"api" doc:"An OpenAI-compatible HTTP server."`
	Telegram Telegram `toml:"telegram" doc:"A Telegram bot, by long polling."`
	Discord  Discord  `toml:"discord" doc:"A Discord bot, over its gateway."`
	Feishu   Feishu   `toml:"feishu" doc:"A bot of Feishu or Lark, over its long connection."`
	IRC      IRC      `toml:"irc" doc:"A client of an IRC network."`
	Matrix   Matrix   `toml:"matrix" doc:"An account of Matrix, over the client-server API."`
	Mail     Mail     `toml:"mail" doc:"A mailbox, over IMAP and SMTP."`
	Slack    Slack    `toml:"slack" doc:"A Slack app, over Socket Mode."`
	Webhook  Webhook  `toml:"webhook" doc:"An HTTP server for messages of other programs, which sign them."`

	External map[string]*External `toml:"" doc:"Further platforms, each a program that speaks JSON lines (core/adapter/external/PROTOCOL.md), with a name of your choice other than those above."`
}

// API is [adapters.api].
type API struct {
	Enabled bool   `toml:"enabled" default:"true" doc:"serve it"`
	Listen  string `toml:"listen" default:"127.0.0.1:8642" doc:"host:port; port 0 picks one, which \"gatewaytui status --json\" tells"`
	KeyEnv  string `toml:"key_env" doc:"the environment variable that holds the key which every caller must send; needed unless the address is loopback. Without one programs of the gateway's own user and of root need no key, others need the one in api.key of the home"`
	KeyFile string `toml:"key_file" doc:"a file that holds it instead"`

	AllowOrigins []string `toml:"allow_origins" default:"" doc:"web origins whose pages are served, e.g. [\"https://app.example\"]; every other page is refused unless it has the key, and cannot read the answer"`
	AllowHosts   []string `toml:"allow_hosts" default:"" doc:"host names, in addition to the loopback ones, that requests without a key may be addressed to, e.g. [\"gateway.internal\"]; the program that sends them on, such as a reverse proxy, is the caller"`
	BodyMax      Size     `toml:"body_max" default:"16MiB" doc:"the longest request body; at most limits.body_bytes"`
	SessionFrom  string   `toml:"session_from" default:"header" doc:"what names a session: \"header\" is the header X-Session-Key alone, and user in a body is a label; \"user\" lets user name one as well, as the first edition did"`
	LeaveGrace   string   `toml:"leave_grace" default:"10s" doc:"how long the turn of a request without a stream goes on when its client has gone; \"never\" does not end it. A closed stream ends its turn at once"`
	Role         string   `toml:"role" default:"member" doc:"what callers are: owner, member or guest"`
	Approval     string   `toml:"approval" doc:"what a request does whose turn asks for an approval: \"wait\" or \"refuse\"; empty: a stream waits, a plain request is refused. The header X-Approval says otherwise for one request"`
}

// Values of adapters.api.session_from.
const (
	FromHeader = "header"
	FromUser   = "user"
)

// LeaveTime is LeaveGrace as a duration; less than 0 is never.
func (a API) LeaveTime() time.Duration {
	if a.LeaveGrace == never {
		return -1
	}
	d, _ := time.ParseDuration(a.LeaveGrace) // validate has seen it
	return d
}

// Telegram is [adapters.telegram].
type Telegram struct {
	Enabled   bool     `toml:"enabled" doc:"run the bot"`
	TokenEnv  string   `toml:"token_env" default:"TELEGRAM_BOT_TOKEN" doc:"the environment variable that holds the bot's token"`
	TokenFile string   `toml:"token_file" doc:"a file that holds it instead"`
	BaseURL   string   `toml:"base_url" default:"https://api.telegram.org" doc:"the Bot API server"`
	Allow     []int64  `toml:"allow" default:"" doc:"user ids that may use the bot, e.g. [4711]; if empty, no user may, unless allow_all is set"`
	AllowAll  bool     `toml:"allow_all" doc:"let everyone speak to it"`
	Groups    []int64  `toml:"groups" default:"" doc:"ids of the groups that it listens in, e.g. [-100123]; in others it says nothing"`
	Home      string   `toml:"home" doc:"the chat that gets the gateway's own notices (it stops, it is back, another platform is down): the id of a chat such as \"4711\", or a session key such as \"telegram:dm:4711\"; empty: none does"`
	Teardown  Duration `toml:"teardown" doc:"how long its end may take; \"0\": as long as shutdown.adapter_timeout, which bounds it in any case"`
	Mention   string   `toml:"mention" default:"required" doc:"which messages of these groups it answers: \"required\" those that name it, answer it or are commands; \"always\" every one; \"never\" only commands. chat.mention of a route counts first"`
}

// Discord is [adapters.discord].
type Discord struct {
	Enabled   bool     `toml:"enabled" doc:"run the bot"`
	TokenEnv  string   `toml:"token_env" default:"DISCORD_TOKEN" doc:"the environment variable that holds the bot's token"`
	TokenFile string   `toml:"token_file" doc:"a file that holds it instead"`
	BaseURL   string   `toml:"base_url" default:"https://discord.com/api" doc:"the API, without its version"`
	Allow     []int64  `toml:"allow" default:"" doc:"user ids that may use the bot, e.g. [80351110224678912]; if empty, no user may, unless allow_all is set"`
	AllowAll  bool     `toml:"allow_all" doc:"let everyone speak to it"`
	Groups    []int64  `toml:"groups" default:"" doc:"ids of the guilds and channels in which it listens; elsewhere it answers people who write to it alone"`
	Home      string   `toml:"home" doc:"the chat that gets the gateway's own notices: the id of a channel, or a session key such as \"discord:dm:80351110224678912\" of a person who has written to the bot; empty: none does"`
	Teardown  Duration `toml:"teardown" doc:"how long its end may take; \"0\": as long as shutdown.adapter_timeout, which bounds it in any case"`
}

func (t Telegram) bot() Bot {
	return Bot{
		Name: "telegram", Title: "Telegram", Enabled: t.Enabled, Allow: numbers(t.Allow), AllowAll: t.AllowAll, Numbers: true, BaseURL: t.BaseURL,
		Mention: t.Mention, Teardown: t.Teardown.Duration, Secrets: []SecretPlace{{Key: "token", Env: t.TokenEnv, File: t.TokenFile}},
		HomeText: t.Home, Homed: func(home string) (Home, bool) { return Telegram{Home: home}.home() },
	}
}

func (d Discord) bot() Bot {
	return Bot{
		Name: "discord", Title: "Discord", Enabled: d.Enabled, Allow: numbers(d.Allow), AllowAll: d.AllowAll, Numbers: true, BaseURL: d.BaseURL,
		Teardown: d.Teardown.Duration, Secrets: []SecretPlace{{Key: "token", Env: d.TokenEnv, File: d.TokenFile}},
		HomeText: d.Home, Homed: func(home string) (Home, bool) { return Discord{Home: home}.home() },
	}
}

// Console is [console].
type Console struct {
	OnHangup string `toml:"on_hangup" default:"detach" doc:"when the terminal goes away: \"detach\" lets the gateway go on without it, \"stop\" stops the gateway"`
	Theme    string `toml:"theme" default:"auto" doc:"auto, dark, light, high-contrast or mono"`
	Texts    string `toml:"texts" default:"all" doc:"what operators see of conversations: \"all\"; \"lengths\" (who, when, how long, tools by name); \"none\""`
}

// Reload is [config].
type Reload struct {
	Watch bool `toml:"watch" doc:"apply a changed file after 2 s without a write, unless a change may loosen security: that waits for \"gatewaytui reload\""`
}

// Log is [log].
type Log struct {
	Level string `toml:"level" default:"info" doc:"debug, info, warn or error"`
}

// Metrics is [metrics].
type Metrics struct {
	Listen string `toml:"listen" doc:"host:port where /metrics is served; empty: nowhere. Unless the address is loopback scrapers must send the key of adapters.api; port 0 picks one"`
}

// Transcription is [transcription].
type Transcription struct {
	BaseURL   string `toml:"base_url" doc:"an endpoint of OpenAI's audio transcriptions, without /audio/transcriptions, e.g. \"http://127.0.0.1:8000/v1\"; empty: none"`
	Name      string `toml:"name" doc:"the model's name at the endpoint, e.g. \"whisper-1\"; needed with base_url"`
	APIKeyEnv string `toml:"api_key_env" doc:"the environment variable that holds the endpoint's key; empty: it needs none"`
}

// Retention is [retention]. 0 is for ever.
type Retention struct {
	Transcripts Duration `toml:"transcripts" doc:"conversations that have ended, with their messages; those that go on are kept in any case"`
	ToolOutputs Duration `toml:"tool_outputs" default:"720h" doc:"results of tools over 8KiB, of all conversations: a note takes their place"`
	Media       Duration `toml:"media" default:"720h" doc:"files that were saved from chats, in received of the work folder, and copies of files that were sent"`
	Audit       Duration `toml:"audit" default:"8760h" doc:"who asked the gateway for what"`
}

// auto is the value that leaves a choice to the program.
const auto = "auto"

// never is the value that switches a limit off.
const never = "never"

// Default is the embedded default, which the tags of the fields have: a scripted model, and the api adapter on loopback.
func Default() (c Config) {
	setDefaults(reflect.ValueOf(&c).Elem(), keys)
	return c
}

// setDefaults gives the fields of v, which are those of keys, their defaults.
func setDefaults(v reflect.Value, keys []key) {
	for _, k := range keys {
		if field := v.FieldByIndex(k.index); k.set {
			assign(field, fromText(field, k.standard))
		}
	}
}
