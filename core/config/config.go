// Package config is the config file of a gateway (CONTRACT.md, 3): its keys, their defaults, where it is found, and
// what is wrong with it.
//
// What it promises: a file that is accepted is understood to the last key (J15); a wrong one, or a wrong
// environment variable, is one *Error that says where and what to write instead; no error, warning or listing carries a
// secret. The keys stand once, as the fields of Config: the example, the names of the environment variables, the
// nearest-key hints and the decoding come from their tags.
package config

import "time"

// Config is what an operator can set. The zero value is not valid: begin with Default.
//
// A field's toml tag is its key. Its doc tag is its explanation for an operator.
type Config struct {
	Model    Model    `toml:"model" doc:"The language model that agents call."`
	Agent    Agent    `toml:"agent" doc:"Agents and the cache that keeps them between turns."`
	Session  Session  `toml:"session" doc:"When a conversation expires, and how many messages may wait in it."`
	Tools    Tools    `toml:"tools" doc:"What a model can call."`
	Limits   Limits   `toml:"limits" doc:"How much may run at once, and what one message may cost. What comes beyond a limit waits or is refused, with the name of the limit; \"gatewaytui status\" shows what is in use."`
	Process  Process  `toml:"process" doc:"Subprocesses that tools start."`
	Shutdown Shutdown `toml:"shutdown" doc:"The budgets of a stop. \"gatewaytui plan\" prints what they add up to."`
	Adapters Adapters `toml:"adapters"`
	Console  Console  `toml:"console" doc:"The screens."`
	Log      Log      `toml:"log" doc:"The log."`
	Metrics  Metrics  `toml:"metrics" doc:"Figures for Prometheus, which the control socket serves in any case."`
}

// Model is [model].
type Model struct {
	Provider   string   `toml:"provider" doc:"\"openai\": any OpenAI-compatible chat-completions endpoint; \"scripted\": plays a script, no model needed"`
	BaseURL    string   `toml:"base_url" doc:"the endpoint, e.g. \"http://127.0.0.1:11434/v1\"; needed by openai"`
	Name       string   `toml:"name" doc:"the model's name at the endpoint; needed by openai"`
	APIKeyEnv  string   `toml:"api_key_env" doc:"the environment variable that holds the endpoint's key"`
	APIKeyFile string   `toml:"api_key_file" doc:"a file that holds it instead"`
	Timeout    Duration `toml:"timeout" doc:"one model call, its retries included"`
	Script     string   `toml:"script" doc:"for scripted: a script file; empty plays the embedded one"`
}

// Agent is [agent].
type Agent struct {
	MaxIterations int      `toml:"max_iterations" doc:"model calls in one turn"`
	CacheSize     int      `toml:"cache_size" doc:"agents kept between turns"`
	CacheIdle     Duration `toml:"cache_idle" doc:"how long an idle one is kept"`
	CacheMemory   Size     `toml:"cache_memory" doc:"all cached transcripts together"`
	StallWarn     Duration `toml:"stall_warn" doc:"warn about a turn that makes no progress for this long"`
	StallAfter    Duration `toml:"stall_after" doc:"then interrupt and release it after this long"`
}

// Session is [session].
type Session struct {
	IdleReset  Duration `toml:"idle_reset" doc:"a conversation without a message for this long starts afresh; \"0\" never"`
	DailyReset string   `toml:"daily_reset" doc:"the local time at which every conversation starts afresh, e.g. \"04:00\"; empty never"`
	QueueLimit int      `toml:"queue_limit" doc:"messages that may wait behind a running turn"`
}

// Tools is [tools].
type Tools struct {
	Enabled     []string `toml:"enabled" doc:"of terminal, process, delegate"`
	Workdir     string   `toml:"workdir" doc:"where commands run; empty is work in the gateway's home"`
	Timeout     Duration `toml:"timeout" doc:"one foreground command"`
	OutputLimit Size     `toml:"output_limit" doc:"how much of a command's output the model gets"`
	EnvPass     []string `toml:"env_pass" doc:"variables of the gateway's environment that tools see, by name or, with * at the end, by the beginning of the name. What looks like a secret, and what makes programs load something (LD_*, BASH_ENV, NODE_OPTIONS and the like), must be named exactly"`
	MayStop     string   `toml:"may_stop" doc:"whether a tool may stop or restart its gateway through the control socket: yes or no; a tool may also ask for the status, and for nothing else"`
}

// Values of tools.may_stop.
const (
	Yes = "yes"
	No  = "no"
)

// Limits is [limits].
type Limits struct {
	Turns          int  `toml:"turns" doc:"turns at once; a message beyond it waits, sessions are served in turn"`
	ModelCalls     int  `toml:"model_calls" doc:"model calls at once, over all endpoints; the api adapter serves twice as many requests at once"`
	CallsPerTurn   int  `toml:"calls_per_turn" doc:"model calls of one turn, its child agents included; then the turn ends with an answer that says so"`
	Background     int  `toml:"background" doc:"/background tasks at once in one session; one more is refused"`
	Processes      int  `toml:"processes" doc:"process trees at once in one session, foreground commands included; one more is refused"`
	ProcessesTotal int  `toml:"processes_total" doc:"process trees at once in all sessions; one more is refused"`
	TreeMemory     Size `toml:"tree_memory" doc:"memory of one process tree; the kernel ends a tree that needs more, whole. \"0B\": seven eighths of limits.tools_memory. This and the three keys below need a control group with controllers; doctor says whether there is one"`
	TreeProcesses  int  `toml:"tree_processes" doc:"processes and threads of one process tree, but at most seven eighths of limits.tools_processes; it can start no more"`
	ToolsMemory    Size `toml:"tools_memory" doc:"memory of all process trees together. \"0B\": what the memory limit of the gateway's own group leaves when the gateway has its share; without such a limit, no bound"`
	ToolsProcesses int  `toml:"tools_processes" doc:"processes and threads of all process trees together. 0: the limit of the gateway's own group less 64; without such a limit, seven eighths of what the machine can have"`
	QueuedBytes    Size `toml:"queued_bytes" doc:"text of all messages that wait in all sessions; one more is refused"`
	BodyBytes      Size `toml:"body_bytes" doc:"bytes of API request bodies under way at once, over all requests; beyond it a request waits up to 5s and is then refused"`

	ControlConnections int `toml:"control_connections" doc:"connections of the control socket at once, at most a quarter of the descriptors (ulimit -n); one process gets a quarter of them, and the last 8 are for callers that are not tools and have no other"`
}

// Values of process.survivors.
const (
	SurvivorsEnd   = "end"
	SurvivorsAdopt = "adopt"
)

// Process is [process].
type Process struct {
	KillGrace Duration `toml:"kill_grace" doc:"from TERM to KILL; the phases reap and sweep may cost this and 1s more"`
	Guardian  bool     `toml:"guardian" doc:"end the trees at once when the gateway itself is killed"`
	MaxAge    Duration `toml:"max_age" doc:"how old a process tree may become before it is ended with a warning; \"0\" without a limit"`
	Survivors string   `toml:"survivors" doc:"background commands when the gateway itself is killed: end them, or adopt them in the next life"`
}

// Shutdown is [shutdown]. A budget of 0 means no time. Only AdapterTimeout can be disabled.
type Shutdown struct {
	DrainTimeout      Duration `toml:"drain_timeout" doc:"how long running turns may go on"`
	NotifyTimeout     Duration `toml:"notify_timeout" doc:"telling the chats"`
	InterruptGrace    Duration `toml:"interrupt_grace" doc:"for turns that were interrupted"`
	AgentTimeout      Duration `toml:"agent_timeout" doc:"memory flush and close, all agents at once"`
	AdapterTimeout    Duration `toml:"adapter_timeout" doc:"one adapter's whole teardown, and any single call to it on the stop path; \"0\" opts out of this bound, not of the plan's"`
	BackgroundTimeout Duration `toml:"background_timeout" doc:"cancelling background tasks"`
	StoreTimeout      Duration `toml:"store_timeout" doc:"closing the stores"`
	SupervisorBudget  string   `toml:"supervisor_budget" doc:"what the service manager allows a stop: \"auto\" is what was detected, a duration overrides it"`
	NotifyUsers       bool     `toml:"notify_users" doc:"tell chats with a running turn that the gateway stops"`
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
}

// API is [adapters.api].
type API struct {
	Enabled bool   `toml:"enabled" doc:"serve it"`
	Listen  string `toml:"listen" doc:"host:port; port 0 picks one, which \"gatewaytui status --json\" tells"`
	KeyEnv  string `toml:"key_env" doc:"the environment variable that holds the key which every caller must send; needed unless the address is loopback. Without one programs of the gateway's own user and of root need no key, others need the one in api.key of the home"`
	KeyFile string `toml:"key_file" doc:"a file that holds it instead"`

	AllowOrigins []string `toml:"allow_origins" doc:"web origins whose pages are served, e.g. [\"https://app.example\"]; every other page is refused unless it has the key, and cannot read the answer"`
	AllowHosts   []string `toml:"allow_hosts" doc:"host names, in addition to the loopback ones, that requests without a key may be addressed to, e.g. [\"gateway.internal\"]; the program that sends them on, such as a reverse proxy, is the caller"`
	BodyMax      Size     `toml:"body_max" doc:"the longest request body; at most limits.body_bytes"`
	LeaveGrace   string   `toml:"leave_grace" doc:"how long the turn of a request without a stream goes on when its client has gone; \"never\" does not end it. A closed stream ends its turn at once"`
}

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
	Enabled   bool    `toml:"enabled" doc:"run the bot"`
	TokenEnv  string  `toml:"token_env" doc:"the environment variable that holds the bot's token"`
	TokenFile string  `toml:"token_file" doc:"a file that holds it instead"`
	BaseURL   string  `toml:"base_url" doc:"the Bot API server"`
	Allow     []int64 `toml:"allow" doc:"user ids that may use the bot, e.g. [4711]; if empty, no user may, unless allow_all is set"`
	AllowAll  bool    `toml:"allow_all" doc:"let everyone speak to it"`
}

// Console is [console].
type Console struct {
	OnHangup string `toml:"on_hangup" doc:"when the terminal goes away: \"detach\" lets the gateway go on without it, \"stop\" stops the gateway"`
	Theme    string `toml:"theme" doc:"auto, dark, light, high-contrast or mono"`
}

// Log is [log].
type Log struct {
	Level string `toml:"level" doc:"debug, info, warn or error"`
}

// Metrics is [metrics].
type Metrics struct {
	Listen string `toml:"listen" doc:"host:port where /metrics is served; empty: nowhere. Unless the address is loopback scrapers must send the key of adapters.api; port 0 picks one"`
}

// auto is the value that leaves a choice to the program.
const auto = "auto"

// never is the value that switches a limit off.
const never = "never"

// Default is the embedded default: a scripted model, and the api adapter on loopback.
func Default() Config {
	return Config{
		Model: Model{
			Provider:  "scripted",
			APIKeyEnv: "OPENAI_API_KEY",
			Timeout:   Duration{10 * time.Minute},
		},
		Agent: Agent{
			MaxIterations: 60,
			CacheSize:     128,
			CacheIdle:     Duration{time.Hour},
			CacheMemory:   256 << 20,
			StallWarn:     Duration{15 * time.Minute},
			StallAfter:    Duration{30 * time.Minute},
		},
		Session: Session{
			QueueLimit: 32,
		},
		Tools: Tools{
			Enabled:     []string{"terminal", "process", "delegate"},
			Timeout:     Duration{3 * time.Minute},
			OutputLimit: 64 << 10,
			EnvPass: []string{
				"LANG", "LANGUAGE", "LC_*", "TZ", "PATH", "HOME", "USER", "LOGNAME", "SHELL", "TERM", "TMPDIR", "XDG_*",
				"HTTP_PROXY", "HTTPS_PROXY", "NO_PROXY", "http_proxy", "https_proxy", "no_proxy", "SSL_CERT_*",
			},
			MayStop: Yes,
		},
		Limits: Limits{
			Turns:          512,
			ModelCalls:     512,
			CallsPerTurn:   200,
			Background:     8,
			Processes:      64,
			ProcessesTotal: 4096,
			TreeProcesses:  4096,
			QueuedBytes:    64 << 20,
			BodyBytes:      64 << 20,

			ControlConnections: 128,
		},
		Process: Process{
			KillGrace: Duration{2 * time.Second},
			Guardian:  true,
			Survivors: SurvivorsEnd,
		},
		Shutdown: Shutdown{
			DrainTimeout:      Duration{60 * time.Second},
			NotifyTimeout:     Duration{3 * time.Second},
			InterruptGrace:    Duration{4500 * time.Millisecond},
			AgentTimeout:      Duration{3 * time.Second},
			AdapterTimeout:    Duration{5 * time.Second},
			BackgroundTimeout: Duration{1 * time.Second},
			StoreTimeout:      Duration{3 * time.Second},
			SupervisorBudget:  auto,
			NotifyUsers:       true,
		},
		Adapters: Adapters{
			API: API{
				Enabled: true,
				Listen:  "127.0.0.1:8642",

				AllowOrigins: []string{},
				AllowHosts:   []string{},
				BodyMax:      16 << 20,
				LeaveGrace:   "10s",
			},
			Telegram: Telegram{
				TokenEnv: "TELEGRAM_BOT_TOKEN",
				BaseURL:  "https://api.telegram.org",
				Allow:    []int64{},
			},
		},
		Console: Console{OnHangup: "detach", Theme: auto},
		Log:     Log{Level: "info"},
	}
}
