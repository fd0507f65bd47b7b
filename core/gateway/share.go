package gateway

import (
	"gatewaytui/core/config"
	"gatewaytui/core/process"
)

// shareOf is what the processes of a session in an environment may take.
func shareOf(e *config.Environment) process.Share {
	if e == nil {
		return process.Share{}
	}
	return process.Share{Memory: uint64(e.MemoryMax), Processes: uint64(e.PidsMax), CPU: e.CPUMax}
}
