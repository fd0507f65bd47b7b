package ops

// EventType names what happened; the part before the first dot is the kind of thing it happened to.
type EventType string

// The events. payload.go has what each of them carries.
const (
	EventGatewayState    EventType = "gateway.state"
	EventSessionReset    EventType = "session.reset"
	EventSessionExpired  EventType = "session.expired"
	EventMessageAccepted EventType = "session.message.accepted"
	EventMessageRefused  EventType = "session.message.refused"
	EventTurnStarted     EventType = "session.turn.started"
	EventTurnProgress    EventType = "session.turn.progress"
	EventTurnStalled     EventType = "session.turn.stalled"
	EventTurnEnded       EventType = "session.turn.ended"
	EventAgentCached     EventType = "agent.cached"
	EventAgentEvicted    EventType = "agent.evicted"
	EventAgentClosed     EventType = "agent.closed"
	EventProcessStarted  EventType = "process.started"
	EventProcessExited   EventType = "process.exited"
	EventProcessKilled   EventType = "process.killed"
	EventProcessTooOld   EventType = "process.too_old"
	EventProcessLimit    EventType = "process.limit"
	EventAdapterState    EventType = "adapter.state"
	EventRequest         EventType = "request"
	EventShutdownPhase   EventType = "shutdown.phase"
	EventShutdownItem    EventType = "shutdown.item"
	EventShutdownEnded   EventType = "shutdown.ended"
	EventWarning         EventType = "warning"
	// EventDropped stands for events that a slow reader missed.
	EventDropped EventType = "events.dropped"
	// EventSkipped stands for events of types that the reader did not ask for; its Seq is the newest of them.
	EventSkipped EventType = "events.skipped"
)

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
