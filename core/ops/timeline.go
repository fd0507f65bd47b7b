package ops

// Turn is a turn of a conversation in a list.
type Turn struct {
	ID      string `json:"id"`
	Session string `json:"session"`
	// State is running, done, failed or interrupted; Reason says why it failed or was interrupted.
	State     string `json:"state"`
	Reason    string `json:"reason"`
	StartedAt Time   `json:"started_at"`
	// EndedAt is null for a turn that runs. ElapsedMS is how long it took, or has run.
	EndedAt      Time  `json:"ended_at"`
	ElapsedMS    int64 `json:"elapsed_ms"`
	TokensIn     int64 `json:"tokens_in"`
	TokensCached int64 `json:"tokens_cached"`
	TokensOut    int64 `json:"tokens_out"`
	// Cost is the money for its model calls; null: unknown.
	Cost *float64 `json:"cost"`
}

// TimelineKind is what a part of a turn is.
type TimelineKind string

// The parts of a turn.
const (
	TimelineModel      TimelineKind = "model"
	TimelineTool       TimelineKind = "tool"
	TimelineApproval   TimelineKind = "approval"   // a person is asked
	TimelineWait       TimelineKind = "wait"       // for a slot, a limit, a file, or in the queue
	TimelineCompaction TimelineKind = "compaction" // the conversation is made shorter
	TimelineDelegate   TimelineKind = "delegate"   // a child agent works; its calls have Child
)

// Names of waits. Others are those of the bounds of the config.
const (
	TimelineQueue = "queue" // of the message, before its turn began
	TimelineFiles = "files" // of the message, which are fetched
)

// Results that others compare with. An empty result is a call that went well.
const (
	TimelineNotRun      = "not run"
	TimelineInterrupted = "interrupted"
	TimelineFailed      = "failed"
)

// TimelineItem is one part of a turn.
type TimelineItem struct {
	Kind TimelineKind `json:"kind"`
	// Name is the model, the tool, or what is waited for.
	Name string `json:"name"`
	// Text is the beginning of what a tool was asked to do, cleaned, on one line; empty: there is none, or operators do not see texts.
	Text string `json:"text"`
	// Child is the child agent that made the call: "1", or "1/2" for a child's child; empty: the turn's own agent.
	Child string `json:"child,omitempty"`
	// StartedAt is null where it is not known, EndedAt where it is not known or where the part goes on.
	StartedAt Time `json:"started_at"`
	EndedAt   Time `json:"ended_at"`
	// ElapsedMS is how long it took, or has gone on; 0 without StartedAt.
	ElapsedMS    int64 `json:"elapsed_ms"`
	TokensIn     int64 `json:"tokens_in"`
	TokensCached int64 `json:"tokens_cached"`
	TokensOut    int64 `json:"tokens_out"`
	// Cost is the money for a model call; null: unknown.
	Cost *float64 `json:"cost"`
	// Result is what became of it in a few words, such as "exit 0" or "allowed by alice"; empty: it went well, or goes on.
	Result string `json:"result"`
}

// TimelineSum is all parts of a kind, also those that a Timeline leaves out.
type TimelineSum struct {
	Kind      TimelineKind `json:"kind"`
	Calls     int          `json:"calls"`
	ElapsedMS int64        `json:"elapsed_ms"`
}

// TimelineSource is what a timeline is made from.
type TimelineSource string

// The sources of timelines.
const (
	// FromCalls: the calls were recorded as they happened.
	FromCalls TimelineSource = "calls"
	// FromMessages: nothing was recorded, or it is not kept any more. The messages of the turn tell which calls ended when, up to KnownUntil.
	FromMessages TimelineSource = "messages"
)

// Timeline is what a turn did, in order.
type Timeline struct {
	Turn
	Agent  string         `json:"agent"`
	Source TimelineSource `json:"source"`
	// Note says why the timeline is not whole; empty: it is. KnownUntil is then up to when it is known; null: not at all.
	Note       string `json:"note"`
	KnownUntil Time   `json:"known_until"`
	// Items are in the order of their start. LeftOut is how many shorter ones are left out.
	Items   []TimelineItem `json:"items"`
	LeftOut int            `json:"left_out"`
	Sums    []TimelineSum  `json:"sums"`
	// Earlier and Later are the turns before and after it in its conversation; empty: there is none.
	Earlier string `json:"earlier"`
	Later   string `json:"later"`
}

// Running reports whether the turn goes on.
func (t Timeline) Running() bool { return t.State == "running" }

// Sum is what a timeline has of a kind.
func (t Timeline) Sum(kind TimelineKind) TimelineSum {
	for _, s := range t.Sums {
		if s.Kind == kind {
			return s
		}
	}
	return TimelineSum{Kind: kind}
}
