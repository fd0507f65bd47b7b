package process

// Share bounds what all processes of a session may take together (TR7). A 0 is no bound. It is held by control groups: where
// the machine grants none, the rows of the session say so. A tree that may outlive the gateway (PolicyKept) counts against a share of its own,
// which has the same bounds.
type Share struct {
	// Memory is in bytes. The kernel ends a tree of the session that needs more, or with version 1 of control groups a process of it.
	Memory uint64
	// Processes counts processes and threads. A fork beyond it fails.
	Processes uint64
	// CPU is in cores. Beyond it the processes wait; nothing is ended.
	CPU float64
}

// Names of the limits of a session, as rows have them (limit_hit): the keys of [environments.NAME].
const (
	LimitSessionMemory    = "memory_max"
	LimitSessionProcesses = "pids_max"
)

// OwnerTool is the owner of what an agent's tools start, and of every tree without another one.
const OwnerTool = "tool"
