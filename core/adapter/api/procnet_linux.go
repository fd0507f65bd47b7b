package api

import (
	"bufio"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net/netip"
	"os"
	"slices"
	"strconv"
	"strings"

	"gatewaytui/core/adapter"
)

// readNet looks for the socket in /proc/net/tcp and tcp6, where all of the machine are listed. A socket for both families
// that talks IPv4 is in the second one.
func readNet(ctx context.Context, client, server netip.AddrPort) (adapter.Socket, error) {
	for _, path := range []string{"/proc/self/net/tcp", "/proc/self/net/tcp6"} {
		f, err := os.Open(path)
		if errors.Is(err, fs.ErrNotExist) {
			continue // a kernel without IPv6
		}
		if err != nil {
			return adapter.Socket{}, fmt.Errorf("look for the caller's socket: %w", err)
		}
		s, err := scanNet(ctx, f, client, server)
		f.Close()
		if !errors.Is(err, errNoSocket) {
			return s, err
		}
	}
	return adapter.Socket{}, errNoSocket
}

// scanNet reads one table (proc_net_tcp.txt of the kernel's documentation): per line the number, the two addresses, the state,
// and with two fields between them the uid and the inode.
func scanNet(ctx context.Context, table io.Reader, client, server netip.AddrPort) (adapter.Socket, error) {
	wanted := []string{addressOf(client, false) + " " + addressOf(server, false), addressOf(client, true) + " " + addressOf(server, true)}
	lines := bufio.NewScanner(table)
	for n := 0; lines.Scan(); n++ {
		if n%256 == 0 && ctx.Err() != nil {
			return adapter.Socket{}, fmt.Errorf("look for the caller's socket: %w", ctx.Err())
		}
		fields := strings.Fields(lines.Text())
		if len(fields) < 10 || !slices.Contains(wanted, fields[1]+" "+fields[2]) {
			continue
		}
		state, err := strconv.ParseUint(fields[3], 16, 5)
		uid, err1 := strconv.ParseUint(fields[7], 10, 32)
		inode, err2 := strconv.ParseUint(fields[9], 10, 64)
		if errors.Join(err, err1, err2) == nil && clientStates&(1<<state) != 0 && inode != 0 {
			return adapter.Socket{UID: int(uid), Inode: inode}, nil
		}
	}
	if err := lines.Err(); err != nil {
		return adapter.Socket{}, fmt.Errorf("look for the caller's socket: %w", err)
	}
	return adapter.Socket{}, errNoSocket
}

// addressOf is a as the table for IPv4 or for IPv6 has it, "0100007F:1F90": the address in words of the machine's byte order, the
// port as a number. No table has the zone of a link-local address.
func addressOf(a netip.AddrPort, six bool) string {
	b := a.Addr().AsSlice()
	if six {
		mapped := a.Addr().As16()
		b = mapped[:]
	}
	var words strings.Builder
	for ; len(b) > 0; b = b[4:] {
		fmt.Fprintf(&words, "%08X", binary.NativeEndian.Uint32(b))
	}
	return fmt.Sprintf("%s:%04X", &words, a.Port())
}
