package operator

import (
	"context"
	"fmt"
	"io"
	"os"

	"github.com/dustin/go-humanize"
	"github.com/shirou/gopsutil/v3/load"
	"github.com/shirou/gopsutil/v3/mem"
	"github.com/shirou/gopsutil/v3/net"
	"golang.org/x/sys/unix"
)

// writeSockets lists the sockets among our descriptors with what the kernel says of each (proc(5), /proc/net/tcp). It
// reads links and tables alone and opens no file of the home.
func writeSockets(ctx context.Context, w io.Writer) {
	sockets, err := net.ConnectionsPidMaxWithoutUidsWithContext(ctx, "all", int32(os.Getpid()), 0)
	if err != nil {
		fmt.Fprintf(w, "no sockets: %v\n", err)
	}
	for _, s := range sockets {
		fmt.Fprintf(w, "fd %d %s %s:%d -> %s:%d %s\n", s.Fd, socketKinds[s.Family], s.Laddr.IP, s.Laddr.Port, s.Raddr.IP, s.Raddr.Port, s.Status)
	}
}

var socketKinds = map[uint32]string{unix.AF_UNIX: "unix", unix.AF_INET: "ip", unix.AF_INET6: "ip6"}

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
