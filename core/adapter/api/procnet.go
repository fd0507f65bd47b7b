package api

import (
	"bufio"
	"bytes"
	"context"
	"encoding/binary"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net/netip"
	"os"
	"strconv"
)

// readNet looks for the socket in /proc/net/tcp and tcp6, where all of the machine are listed. A socket for both families
// that talks IPv4 is in the second one.
func readNet(ctx context.Context, client, server netip.AddrPort) (socket, error) {
	for _, path := range []string{"/proc/self/net/tcp", "/proc/self/net/tcp6"} {
		f, err := os.Open(path)
		if errors.Is(err, fs.ErrNotExist) {
			continue // a kernel without IPv6
		}
		if err != nil {
			return socket{}, fmt.Errorf("look for the caller's socket: %w", err)
		}
		s, err := scanNet(ctx, f, client, server)
		f.Close()
		if !errors.Is(err, errNoSocket) {
			return s, err
		}
	}
	return socket{}, errNoSocket
}

// scanNet reads one table (proc_net_tcp.txt of the kernel's documentation): per line the number, the two addresses, the state,
// and with two fields between them the uid and the inode.
func scanNet(ctx context.Context, table io.Reader, client, server netip.AddrPort) (socket, error) {
	lines := bufio.NewScanner(table)
	for n := 0; lines.Scan(); n++ {
		if n%256 == 0 && ctx.Err() != nil {
			return socket{}, fmt.Errorf("look for the caller's socket: %w", ctx.Err())
		}
		fields := bytes.Fields(lines.Bytes())
		if len(fields) < 10 || addressOf(fields[1]) != client || addressOf(fields[2]) != server {
			continue
		}
		state, err := strconv.ParseUint(string(fields[3]), 16, 5)
		if err != nil || clientStates&(1<<state) == 0 {
			continue
		}
		uid, err1 := strconv.ParseUint(string(fields[7]), 10, 32)
		inode, err2 := strconv.ParseUint(string(fields[9]), 10, 64)
		if err1 != nil || err2 != nil || inode == 0 {
			continue
		}
		return socket{uid: int(uid), inode: inode}, nil
	}
	if err := lines.Err(); err != nil {
		return socket{}, fmt.Errorf("look for the caller's socket: %w", err)
	}
	return socket{}, errNoSocket
}

// addressOf reads "0100007F:1F90": the address in words of the machine's byte order, the port as a number. It is not valid for
// anything else, and without the zone that a link-local one has.
func addressOf(text []byte) netip.AddrPort {
	host, port, ok := bytes.Cut(text, []byte{':'})
	words := make([]byte, hex.DecodedLen(len(host)))
	if _, err := hex.Decode(words, host); err != nil || !ok || len(words)%4 != 0 {
		return netip.AddrPort{}
	}
	for at := 0; at < len(words); at += 4 {
		binary.NativeEndian.PutUint32(words[at:], binary.BigEndian.Uint32(words[at:]))
	}
	a, ok := netip.AddrFromSlice(words)
	n, err := strconv.ParseUint(string(port), 16, 16)
	if !ok || err != nil {
		return netip.AddrPort{}
	}
	return netip.AddrPortFrom(a.Unmap(), uint16(n))
}
