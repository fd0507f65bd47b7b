package gateway

import (
	"log/slog"
	"time"

	"gatewaytui/core/adapter"
	"gatewaytui/core/health"
	"gatewaytui/core/instance"
	"gatewaytui/core/limit"
	"gatewaytui/core/lives"
	"gatewaytui/core/media"
	"gatewaytui/core/operator"
	"gatewaytui/core/ops"
	"gatewaytui/core/recovery"
	"gatewaytui/core/shutdown"
	"gatewaytui/core/term"
)

// Identity names a life and its process.
type Identity = recovery.Identity

// Start is what the start found in the home, and what its operator asked for.
type Start = recovery.Start

// Options are what a gateway is made of. Broken, Open, Redactor, Warnings, APIAccess, Supervisor, Stores and Surrender may be empty.
type Options struct {
	// Settings are what the config at the start was made into. Of them Models is required.
	Settings
	Log *slog.Logger
	// Platforms are the adapters to connect; Broken those that the config enables and that cannot be built, with why.
	Platforms []adapter.Platform
	Broken    map[string]error
	// Open are the names of platforms that everyone may use as a member: those of a demo.
	Open []string

	Identity
	Start
	Home       Home
	Supervisor Supervisor
	Host       Host

	// Configs is the config file, for reloads.
	Configs Configs
	// Redactor knows the secrets; nil masks what looks like one.
	Redactor *term.Redactor
	// Warnings are what the start already noticed.
	Warnings []ops.Warning
	// Media is the files of chats.
	Media *media.Media
	// Root says that the program runs as root: commands of people who are not owners then run in an environment or not at all.
	Root bool
	// Limits are the bounds that are kept elsewhere than in the gateway, which adds its own.
	Limits *limit.Set
	// APIAccess is whom the api adapter serves; nil: there is none.
	APIAccess *ops.APIAccess
	// Stores are what its owner made and the stop closes with the store; Surrender is closed in its order, last of all.
	Stores, Surrender []shutdown.Item
}

// Home is where a gateway lives.
type Home struct {
	// Dir is its directory and ID its name for ever; Database is its SQLite file, Search that of the search index, Workdir where
	// tools work. Without Search nothing is indexed.
	Dir, ID, Database, Search, Workdir string
	// Lives is the list of past lives next to the database.
	Lives *lives.List
	// ConfigFile is the config file as it was read.
	ConfigFile ops.ConfigFile
}

// Supervisor is the service manager. The zero value is none.
type Supervisor struct {
	Name string
	// Budget is what it allows a stop, 0 for no limit and if unknown; Source says where that is from.
	Budget time.Duration
	Source string
	// Notify tells it how the life goes; nil: it receives nothing.
	Notify Notifier
}

// Notifier is the way to a service manager (sd_notify(3)). Its methods never wait; an error is worth a log line.
type Notifier interface {
	Ready(status string) error
	Stopping(status string) error
	Status(text string) error
	// Extend asks for more time than the manager was going to give, for an operator's extension only.
	Extend(by time.Duration) error
}

// Host is the program around a gateway. Its methods are called without a lock held.
type Host interface {
	operator.Host
	health.Host
	recovery.Reports
	// Mark writes the clean-shutdown marker. SaveReport keeps the report of a stop where it survives a SIGKILL.
	Mark(instance.Marker) error
	SaveReport(ops.Shutdown) error
	// Dump writes every goroutine's stack. Exit ends the process at once; the watchdog calls both.
	Dump()
	Exit(code int)
	// Over is called with the exit code when the stop has run to its end, and its watchdog with it: what comes after is for
	// the host to bound.
	Over(code int)
}
