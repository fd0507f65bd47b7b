package operator

import (
	"context"
	"fmt"
	"io"

	"github.com/dustin/go-humanize"
	"github.com/shirou/gopsutil/v3/load"
	"github.com/shirou/gopsutil/v3/mem"
)

// writeHost says how the machine is: a gateway that is slow is often on one that is out of something.
func writeHost(ctx context.Context, w io.Writer) {
	if avg, err := load.AvgWithContext(ctx); err == nil {
		fmt.Fprintf(w, "load %.2f %.2f %.2f\n", avg.Load1, avg.Load5, avg.Load15)
	}
	if m, err := mem.VirtualMemoryWithContext(ctx); err == nil {
		fmt.Fprintf(w, "memory %s, available %s\n", humanize.IBytes(m.Total), humanize.IBytes(m.Available))
	}
	if s, err := mem.SwapMemoryWithContext(ctx); err == nil && s.Total > 0 {
		fmt.Fprintf(w, "swap %s, used %s\n", humanize.IBytes(s.Total), humanize.IBytes(s.Used))
	}
}
