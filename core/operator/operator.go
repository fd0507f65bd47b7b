// Package operator is what an operator sees of a gateway and does to it: Operator implements ops.Console over the live parts.
//
// It shows the gateway (snapshot.go, lists.go), says what a command would do (preview.go), and does it (do.go): each verb is
// one entry of the table in verbs.go. Requests and the audit (requests.go) record who asked for what.
//
// What it promises: a status reads memory alone, so it answers even if a part hangs (H4). A command that is taken has an id, an
// outcome and one audit row (B5, H11). A command that names what its sender saw does nothing to anything else. A tool of
// the gateway may ask only for what the config lets it (HF7).
//
// Locks: the locks of the requests and of the refusals are leaves. None is held over I/O or over a call of Host.
package operator

import (
	"context"
	"log/slog"
	"os"
	"sync/atomic"
	"time"

	"gatewaytui/core/access"
	"gatewaytui/core/adapter"
	"gatewaytui/core/agent"
	"gatewaytui/core/background"
	"gatewaytui/core/budget"
	"gatewaytui/core/conversation"
	"gatewaytui/core/delivery"
	"gatewaytui/core/events"
	"gatewaytui/core/health"
	"gatewaytui/core/limit"
	"gatewaytui/core/media"
	"gatewaytui/core/metrics"
	"gatewaytui/core/ops"
	"gatewaytui/core/people"
	"gatewaytui/core/process"
	"gatewaytui/core/rates"
	"gatewaytui/core/recovery"
	"gatewaytui/core/search"
	"gatewaytui/core/session"
	"gatewaytui/core/shutdown"
	"gatewaytui/core/store"
)

// Lifecycle is the state of the gateway, and its stop.
type Lifecycle interface {
	// Now is the state with who drains the gateway; nil unless it is draining.
	Now() (ops.State, *ops.DrainState)
	// Drain ends the intake of turns and Undrain resumes it; began is false if the gateway was draining already.
	Drain(by ops.DrainState) (began bool, err error)
	Undrain() error
	// Plan is the stop as it would run now, Budget what the service manager allows it; 0 is unknown.
	Plan() shutdown.Plan
	Budget() time.Duration
	// Stop begins the shutdown, or joins the one that runs; began is then false. Stopped is the request that began it.
	Stop(rq StopRequest) (id string, began bool)
	Stopped() StopRequest
	// Run is the shutdown that runs or ran, or nil.
	Run() *shutdown.Run
	// Extended asks the service manager for more time, because an operator extended the stop.
	Extended(by time.Duration)
}

// Host is what the program around the gateway knows. Its methods do not wait, and may call the gateway.
type Host interface {
	// APIListen is where the api adapter listens, empty while it does not.
	APIListen() string
	// MetricsListen is where the metrics listener listens, empty where there is none. trouble without a code: none.
	MetricsListen() (addr string, trouble ops.Warning)
	// LogTrouble is why lines cannot be written to the log file, and since when; empty: they can.
	LogTrouble() (text string, since time.Time)
	// Demo is what a demo shows about itself; nil on a gateway that is not a demo.
	Demo() *ops.Demo
	// Diagnosis opens a new private file for a diagnosis.
	Diagnosis() (*os.File, error)
}

// Environments is what the commands of sessions run in. *environment.Set is one.
type Environments interface {
	// Rows are all that are held, oldest first, and then those that no session holds and that may still exist. It does no I/O.
	Rows() []ops.Environment
	// Names are the names of those that sessions have, by session.
	Names() map[string]string
}

// Options are the live parts of a gateway. Every field but APIAccess, Media, Inbox, Rules, Servers, Jobs, Held and Notes is needed.
type Options struct {
	Log      *slog.Logger
	Identity recovery.Identity
	// Home is the directory of the home.
	Home       string
	Supervisor ops.Supervisor
	// APIAccess is whom the api adapter serves; nil: there is none.
	APIAccess *ops.APIAccess
	Host      Host
	Lifecycle Lifecycle

	Table         *session.Table
	Cache         *agent.Cache
	Conversations *conversation.Conversations
	Intake        *delivery.Intake
	Processes     *process.Registry
	Adapters      *adapter.Supervisor
	Background    *background.Group
	Events        *events.Hub
	Health        *health.Health
	Recovery      *recovery.Recovery
	Search        *search.Index
	Metrics       *metrics.Metrics
	Rates         *rates.Ring
	Limits        *limit.Set
	// Media is the files of chats; nil: there are none.
	Media *media.Media

	// Budget counts what model calls cost.
	Budget *budget.Ledger
	// People is who may speak, and as what.
	People *access.People
	// Environments has what commands run in, as rows.
	Environments Environments
	// Servers, Jobs, Held and Notes are those of the gateway; nil: there are none.
	Servers Servers
	Jobs    Jobs
	Held    Held
	Notes   Notes

	// Inbox are the parts whose requests wait for a person; Rules has what approvals made, nil: there are none.
	Inbox []InboxSource
	Rules RuleBook
	// Configs applies the config file.
	Configs Configs

	// Texts is what an operator sees of conversations (console.texts).
	Texts ops.Texts
	// ToolsMayStop says whether a tool may ask for a stop or a restart now, and whether a person is then asked first (tools.may_stop).
	ToolsMayStop func() (may, ask bool)
	// AskStop asks a person.
	AskStop StopGate
	// KillGrace is the time from TERM to KILL.
	KillGrace time.Duration
	// NewID makes unique ids that sort by time.
	NewID func() string
}

// Operator is the operator's view of one gateway. Its methods may be called from any goroutine.
type Operator struct {
	o        Options
	requests *requests
	people   *people.People
	refusals toolRefusals
	opened   opened

	// abortBackup ends the backup that runs; nil: none does.
	abortBackup atomic.Pointer[context.CancelCauseFunc]
}

var _ ops.Console = (*Operator)(nil)

// New returns the operator's view of a gateway. It does no I/O.
func New(o Options) *Operator {
	op := &Operator{o: o, requests: newRequests()}
	op.people = op.newPeople()
	return op
}

// store is the open store; nil: there is none yet.
func (op *Operator) store() *store.Store { return op.o.Recovery.Store() }
