package ops

// EnvironmentKind names how far the commands of an agent are separated from the machine.
type EnvironmentKind string

// The kinds of environments. EnvironmentAuto is a choice of the config and never the kind of a row.
const (
	EnvironmentAuto EnvironmentKind = "auto"
	// EnvironmentSandbox: namespaces of its own; the work folder and a home of the agent's own can be written.
	EnvironmentSandbox   EnvironmentKind = "sandbox"
	EnvironmentContainer EnvironmentKind = "container"
	// EnvironmentPartial: files and TCP are restricted by landlock, nothing else.
	EnvironmentPartial EnvironmentKind = "partial"
	// EnvironmentLocal: nothing is restricted.
	EnvironmentLocal EnvironmentKind = "local"
)

// EnvironmentState is the state of an environment.
type EnvironmentState string

// The states of an environment. EnvironmentCloseFailed lasts until a later close succeeds; detail has the reason.
const (
	EnvironmentMaking      EnvironmentState = "making"
	EnvironmentReady       EnvironmentState = "ready"
	EnvironmentClosing     EnvironmentState = "closing"
	EnvironmentCloseFailed EnvironmentState = "close failed"
)

// Environment is what the commands of one session run in. It is made with the session's first command, and closed with its agent.
type Environment struct {
	ID   string          `json:"id"`
	Kind EnvironmentKind `json:"kind"`
	// Name is that of the config: auto, local, or a block [environments.NAME].
	Name    string           `json:"name"`
	Session string           `json:"session"`
	State   EnvironmentState `json:"state"`
	Since   Time             `json:"since"`
	// Detail is one line for people: what it restricts, or why its close failed.
	Detail string `json:"detail"`
}
