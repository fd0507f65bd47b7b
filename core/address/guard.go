package address

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/netip"
	"slices"
	"strings"
	"syscall"
	"time"

	"gatewaytui/core/environment/proxy/hosts"
)

const (
	// dialMost is how many addresses of a name are tried, each for at most dialTime.
	dialMost = 4
	dialTime = 10 * time.Second
)

// metadata are names by which clouds serve the credentials of a machine. They are refused even if a resolver gives them a public address.
var metadata = []string{"metadata.google.internal", "metadata.goog", "metadata", "instance-data", "instance-data.ec2.internal"}

// Allowed is what a config allows besides the public internet. The zero value allows nothing.
type Allowed struct {
	hosts    hosts.List
	networks []netip.Prefix
}

// ParseAllowed reads a list of names ("wiki.lan", "*.lan"), addresses ("10.0.0.5:8080") and networks ("10.0.0.0/8"). A name or an
// address without a port has the ports 80 and 443; a network has all ports. The error names the entry.
func ParseAllowed(list []string) (Allowed, error) {
	var a Allowed
	var errs []error
	var names []string
	for _, text := range list {
		if !strings.Contains(text, "/") {
			names = append(names, text)
			continue
		}
		network, err := netip.ParsePrefix(text)
		if err != nil {
			errs = append(errs, fmt.Errorf("the network %q is not an address with the length of its prefix, such as 10.0.0.0/8", text))
			continue
		}
		a.networks = append(a.networks, network.Masked())
	}
	listed, err := hosts.Parse(names)
	a.hosts = listed
	return a, errors.Join(append(errs, err)...)
}

// Options are what a Guard works with.
type Options struct {
	Allowed Allowed
	// Key is the key of the config that has Allowed, for errors.
	Key string
	// OwnPorts are those on which the gateway listens.
	OwnPorts []uint16
	// Resolve returns the addresses of a name; nil: the system's resolver.
	Resolve func(ctx context.Context, name string) ([]netip.Addr, error)
}

// Guard connects to addresses that are public or allowed. It never changes and may be used by many goroutines.
type Guard struct{ o Options }

// NewGuard returns a Guard. It does no I/O.
func NewGuard(o Options) *Guard {
	if o.Resolve == nil {
		o.Resolve = func(ctx context.Context, name string) ([]netip.Addr, error) {
			return net.DefaultResolver.LookupNetIP(ctx, "ip", name) // without a final dot, with which /etc/hosts is not read
		}
	}
	return &Guard{o}
}

// RefusedError says why a target is not connected to.
type RefusedError struct{ Why string }

func (e *RefusedError) Error() string { return e.Why }

// Resolve returns the addresses of a name.
func (g *Guard) Resolve(ctx context.Context, name string) ([]netip.Addr, error) {
	return g.o.Resolve(ctx, name)
}

// Check returns a *RefusedError unless a, an address of t, may be connected to.
func (g *Guard) Check(t hosts.Target, a netip.Addr) error {
	a = a.Unmap().WithZone("")
	named := g.o.Allowed.hosts.Allow(t)
	switch {
	case slices.Contains(g.o.OwnPorts, t.Port) && Own(a):
		return &RefusedError{"the gateway itself answers at " + t.String()}
	case named, g.o.Allowed.hosts.Allow(hosts.Target{Addr: a, Port: t.Port}):
		return nil
	case slices.ContainsFunc(g.o.Allowed.networks, func(p netip.Prefix) bool { return p.Contains(a) }):
		return nil
	case slices.Contains(metadata, t.Name):
		return &RefusedError{t.Name + " is the metadata service of a cloud"}
	case Public(a) && !Own(a):
		return nil
	case t.Addr.IsValid():
		return &RefusedError{fmt.Sprintf("%s is a private address; %s can allow it", t, g.o.Key)}
	}
	return &RefusedError{fmt.Sprintf("%s has the private address %s; %s can allow it", t, a, g.o.Key)}
}

// Dial connects to t by TCP. Every address of a name is checked before the first one is tried. The error is a *RefusedError if one
// is not allowed.
func (g *Guard) Dial(ctx context.Context, t hosts.Target) (net.Conn, error) {
	dialer := net.Dialer{Timeout: dialTime, Control: g.control(t)}
	return Connect(ctx, t, g.o.Resolve, func(a netip.Addr) error { return g.Check(t, a) }, func(ctx context.Context, to netip.AddrPort) (net.Conn, error) {
		return dialer.DialContext(ctx, "tcp", to.String())
	})
}

// Connect connects to t with dial. Every address of a name passes check before the first one is dialled, and the addresses that were
// checked are dialled: a name that changes its address between the two gains nothing. At most four are tried.
func Connect(
	ctx context.Context, t hosts.Target, resolve func(ctx context.Context, name string) ([]netip.Addr, error),
	check func(netip.Addr) error, dial func(ctx context.Context, to netip.AddrPort) (net.Conn, error),
) (net.Conn, error) {
	addrs := []netip.Addr{t.Addr}
	if !t.Addr.IsValid() {
		var err error
		if addrs, err = resolve(ctx, t.Name); err != nil {
			return nil, fmt.Errorf("look up %s: %w", t.Name, err)
		}
	}
	for i, a := range addrs {
		addrs[i] = a.Unmap().WithZone("")
		if err := check(addrs[i]); err != nil {
			return nil, err
		}
	}
	if len(addrs) == 0 {
		return nil, fmt.Errorf("look up %s: it has no address", t.Name)
	}
	var errs []error
	for _, a := range addrs[:min(len(addrs), dialMost)] {
		conn, err := dial(ctx, netip.AddrPortFrom(a, t.Port))
		if err == nil {
			return conn, nil
		}
		errs = append(errs, err)
	}
	return nil, errors.Join(errs...)
}

// control checks the address of a socket that is about to connect.
func (g *Guard) control(t hosts.Target) func(network, address string, _ syscall.RawConn) error {
	return func(_, address string, _ syscall.RawConn) error {
		to, err := netip.ParseAddrPort(address)
		if err != nil {
			return &RefusedError{"the address of " + t.String() + " cannot be read"}
		}
		return g.Check(hosts.Target{Name: t.Name, Addr: t.Addr, Port: to.Port()}, to.Addr())
	}
}
