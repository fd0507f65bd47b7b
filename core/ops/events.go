package ops

import (
	"encoding/json"
	"errors"
)

// EventType names what happened; the part before the first dot is the kind of thing it happened to.
type EventType string

// The events. What each of them carries is a Payload.
const (
	EventGatewayState   EventType = "gateway.state"
	EventSessionReset   EventType = "session.reset"
	EventSessionExpired EventType = "session.expired"
	// EventSessionCompacted says that a digest stands for the older part of a conversation, or that results of tools were left out.
	EventSessionCompacted EventType = "session.compacted"
	EventMessageAccepted  EventType = "session.message.accepted"
	EventMessageRefused   EventType = "session.message.refused"
	EventTurnStarted      EventType = "session.turn.started"
	EventTurnProgress     EventType = "session.turn.progress"
	EventTurnStalled      EventType = "session.turn.stalled"
	EventTurnEnded        EventType = "session.turn.ended"
	// EventSessionLooping says that a session begins to loop; its text says why.
	EventSessionLooping EventType = "session.looping"
	EventAgentCached    EventType = "agent.cached"
	EventAgentEvicted   EventType = "agent.evicted"
	EventAgentClosed    EventType = "agent.closed"
	EventProcessStarted EventType = "process.started"
	EventProcessExited  EventType = "process.exited"
	EventProcessKilled  EventType = "process.killed"
	EventProcessTooOld  EventType = "process.too_old"
	EventProcessLimit   EventType = "process.limit"
	EventAdapterState   EventType = "adapter.state"
	// EventApprovalAsked and the next two are about a request of the inbox; the subject is its session.
	EventApprovalAsked    EventType = "approval.asked"
	EventApprovalAnswered EventType = "approval.answered"
	// EventApprovalExpired says that a request ended without an answer: it expired, or was withdrawn.
	EventApprovalExpired EventType = "approval.expired"
	// EventBudgetWarned says that a part of a budget is used, EventBudgetRefused that a call was not allowed; the subject is its session.
	EventBudgetWarned  EventType = "budget.warned"
	EventBudgetRefused EventType = "budget.refused"
	// EventConfigReloaded says that another config is in force; the subject is its file.
	EventConfigReloaded EventType = "config.reloaded"
	EventRequest        EventType = "request"
	EventShutdownPhase  EventType = "shutdown.phase"
	EventShutdownItem   EventType = "shutdown.item"
	EventShutdownEnded  EventType = "shutdown.ended"
	EventWarning        EventType = "warning"
	// EventPersonAsked says that an unknown user has a code with which an owner can let them in.
	EventPersonAsked EventType = "person.asked"
	// EventServerState is a change of an MCP server, EventJobStarted and EventJobEnded a run of a job; the subject is its name.
	EventServerState EventType = "server.state"
	EventJobStarted  EventType = "job.started"
	EventJobEnded    EventType = "job.ended"
	// EventDropped stands for events that a slow reader missed.
	EventDropped EventType = "events.dropped"
	// EventSkipped stands for events of types that the reader did not ask for; its Seq is the newest of them.
	EventSkipped EventType = "events.skipped"
)

// EventTypes is every type of event that a reader can ask for.
var EventTypes = []EventType{
	EventGatewayState, EventSessionReset, EventSessionExpired, EventSessionCompacted, EventMessageAccepted, EventMessageRefused,
	EventTurnStarted, EventTurnProgress, EventTurnStalled, EventTurnEnded, EventSessionLooping, EventAgentCached, EventAgentEvicted,
	EventAgentClosed, EventProcessStarted, EventProcessExited, EventProcessKilled, EventProcessTooOld, EventProcessLimit, EventAdapterState,
	EventApprovalAsked, EventApprovalAnswered, EventApprovalExpired, EventBudgetWarned, EventBudgetRefused, EventConfigReloaded, EventRequest,
	EventShutdownPhase, EventShutdownItem, EventShutdownEnded, EventWarning, EventPersonAsked, EventServerState, EventJobStarted, EventJobEnded,
}

// Event is one thing that happened. Seq grows by one with each, within a life.
type Event struct {
	Seq  uint64    `json:"seq"`
	At   Time      `json:"at"`
	Type EventType `json:"type"`
	// Subject is what it happened to: a session key, a pid, an adapter's name, a phase.
	Subject string `json:"subject"`
	// Text says it in one line for people. It carries no message body and no secret.
	Text string `json:"text"`
	// Data is the payload of its type; nil: there is none.
	Data Payload `json:"data,omitempty"`
}

// Payload is what an event carries in addition to its text: the struct of its type, or Raw. An event type without a struct
// here has none. The fields of a payload are in the order of their names in JSON.
type Payload interface{ payload() }

// GatewayChange is the payload of EventGatewayState. By is who drains the gateway.
type GatewayChange struct {
	By    string `json:"by,omitempty"`
	State State  `json:"state"`
}

// MessageAccepted is the payload of EventMessageAccepted: the message's id and its place in the mailbox, 0 for none.
type MessageAccepted struct {
	Message  string `json:"message"`
	Position int    `json:"position"`
}

// Compacted is the payload of EventSessionCompacted: about how many tokens the conversation had and has, how many messages were
// replaced, and whether a model made a summary of them.
type Compacted struct {
	After    int    `json:"after"`
	Before   int    `json:"before"`
	Messages int    `json:"messages"`
	Summary  bool   `json:"summary"`
	Turn     string `json:"turn"`
}

// TurnChange is the payload of EventTurnStarted, EventTurnStalled and EventSessionLooping: the turn's id.
type TurnChange struct {
	Turn string `json:"turn"`
}

// TurnEnd is the payload of EventTurnEnded. State is done, failed or interrupted.
type TurnEnd struct {
	ElapsedMS int64  `json:"elapsed_ms"`
	State     string `json:"state"`
	Turn      string `json:"turn"`
}

// AdapterChange is the payload of EventAdapterState. Error is the cause that brought the adapter there.
type AdapterChange struct {
	Attempt int          `json:"attempt"`
	Error   string       `json:"error,omitempty"`
	State   AdapterState `json:"state"`
}

// ProcessChange is the payload of the events of a process, except for one that an operator killed.
type ProcessChange struct {
	// Owner is the owner of the process's row: tool, mcp:NAME, hook.
	Owner   string `json:"owner,omitempty"`
	PID     int    `json:"pid"`
	Session string `json:"session"`
}

// OperatorKill is the payload of EventProcessKilled for a kill by an operator: how many processes survived it.
type OperatorKill struct {
	Survivors int `json:"survivors"`
}

// ApprovalChange is the payload of the events of an approval. The request itself, with its command, is in the inbox.
type ApprovalChange struct {
	By    string     `json:"by,omitempty"`
	ID    string     `json:"id"`
	Kind  InboxKind  `json:"kind"`
	Scope Scope      `json:"scope,omitempty"`
	State InboxState `json:"state"`
	Turn  string     `json:"turn,omitempty"`
}

// BudgetChange is the payload of the events of a budget. Limit and Used are money, or tokens if Window is tokens.
type BudgetChange struct {
	Budget   string  `json:"budget"`
	Limit    float64 `json:"limit"`
	Percent  int     `json:"percent"`
	RenewsAt Time    `json:"renews_at"`
	Turn     string  `json:"turn"`
	Used     float64 `json:"used"`
	Window   string  `json:"window"`
}

// ConfigReload is the payload of EventConfigReloaded, and the Result of VerbReload: the generation that is in force, what was applied, and
// what needs a restart, each as KEY: OLD → NEW.
type ConfigReload struct {
	Applied    []string `json:"applied"`
	By         string   `json:"by"`
	Generation int      `json:"generation"`
	Restarts   []string `json:"restarts"`
}

// PersonAsk is the payload of EventPersonAsked: until when the code counts, and what the platform calls the user.
type PersonAsk struct {
	ExpiresAt Time   `json:"expires_at"`
	Name      string `json:"name"`
}

// ServerChange is the payload of EventServerState. Error is the cause that brought the server there.
type ServerChange struct {
	Error   string      `json:"error,omitempty"`
	Session string      `json:"session,omitempty"`
	State   ServerState `json:"state"`
}

// JobStart is the payload of EventJobStarted: who asked for the run (schedule, or an operator) and the session that it runs in.
type JobStart struct {
	By      string `json:"by"`
	Session string `json:"session"`
}

// JobEnd is the payload of EventJobEnded. Error says why the run failed.
type JobEnd struct {
	ElapsedMS int64     `json:"elapsed_ms"`
	Error     string    `json:"error,omitempty"`
	Result    JobResult `json:"result"`
	Session   string    `json:"session"`
}

// RequestChange is the payload of EventRequest.
type RequestChange struct {
	By    string       `json:"by"`
	State RequestState `json:"state"`
	Verb  Verb         `json:"verb"`
}

// PhaseChange is the payload of EventShutdownPhase: the phase's row without its items, and the names of what it waits for, or
// of what it left unfinished.
type PhaseChange struct {
	Blockers []string `json:"blockers"`
	Phase    Phase    `json:"phase"`
}

// ItemChange is the payload of EventShutdownItem: the item's row and the name of its phase.
type ItemChange struct {
	Item  Item   `json:"item"`
	Phase string `json:"phase"`
}

// ShutdownEnd is the payload of EventShutdownEnded.
type ShutdownEnd struct {
	ElapsedMS int64  `json:"elapsed_ms"`
	ExitCode  int    `json:"exit_code"`
	Outcome   string `json:"outcome"`
}

// Missed is the payload of EventDropped and EventSkipped: how many events it stands for.
type Missed struct {
	Count uint64 `json:"count"`
}

// Raw is the payload of an event that came over the socket: its JSON, which PayloadOf decodes.
type Raw []byte

// MarshalJSON returns r.
func (r Raw) MarshalJSON() ([]byte, error) {
	if len(r) == 0 {
		return nil, errors.New("an empty payload")
	}
	return r, nil
}

func (GatewayChange) payload()   {}
func (MessageAccepted) payload() {}
func (Compacted) payload()       {}
func (TurnChange) payload()      {}
func (TurnEnd) payload()         {}
func (ConfigReload) payload()    {}
func (AdapterChange) payload()   {}
func (ProcessChange) payload()   {}
func (OperatorKill) payload()    {}
func (ApprovalChange) payload()  {}
func (BudgetChange) payload()    {}
func (ServerChange) payload()    {}
func (JobStart) payload()        {}
func (JobEnd) payload()          {}
func (RequestChange) payload()   {}
func (PersonAsk) payload()       {}
func (PhaseChange) payload()     {}
func (ItemChange) payload()      {}
func (ShutdownEnd) payload()     {}
func (Missed) payload()          {}
func (Raw) payload()             {}

// PayloadOf is the payload of ev as a T. ok is false if ev has none, or one that is not a T.
func PayloadOf[T Payload](ev Event) (p T, ok bool) {
	switch data := ev.Data.(type) {
	case T:
		return data, true
	case Raw:
		return p, json.Unmarshal(data, &p) == nil
	}
	return p, false
}

// UnmarshalJSON reads an event of the wire. Its payload is Raw.
func (e *Event) UnmarshalJSON(b []byte) error {
	type plain Event // without this method
	wire := struct {
		*plain
		Data json.RawMessage `json:"data"`
	}{plain: (*plain)(e)}
	if err := json.Unmarshal(b, &wire); err != nil {
		return err
	}
	e.Data = nil
	if len(wire.Data) > 0 && string(wire.Data) != "null" {
		e.Data = Raw(wire.Data)
	}
	return nil
}
