package host

import (
	"math"
	"runtime/debug"

	"gatewaytui/core/process"
)

// boundMemory has Go's garbage collector keep this program below nine tenths of the memory limit of its control group, if
// there is one, so that the kernel does not end it for garbage (HF4). A GOMEMLIMIT of the person's own stays.
func boundMemory(getenv func(string) string) {
	if limit := memoryBound(process.MemoryLimit(), getenv("GOMEMLIMIT")); limit > 0 {
		debug.SetMemoryLimit(limit)
	}
}

// memoryBound is the limit for the garbage collector, in bytes; 0: it is left as it is.
func memoryBound(group uint64, own string) int64 {
	if group == 0 || group > math.MaxInt64 || own != "" {
		return 0
	}
	return int64(group / 10 * 9)
}
