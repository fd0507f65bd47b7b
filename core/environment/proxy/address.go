package proxy

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/netip"
	"slices"

	"gatewaytui/core/environment/proxy/hosts"
)

// special are blocks that are not of the public internet and that netip does not tell (IANA special-purpose address registries,
// RFC 6890).
var special = prefixes(
	"0.0.0.0/8", "100.64.0.0/10", "192.0.0.0/24", "192.0.2.0/24", "192.88.99.0/24", "198.18.0.0/15", "198.51.100.0/24", "203.0.113.0/24", "240.0.0.0/4",
	"::/96", "64:ff9b:1::/48", "100::/64", "2001::/23", "2001:db8::/32", "3fff::/20", "5f00::/16", "fec0::/10",
)

// Blocks with an address of IPv4 inside: NAT64 (RFC 6052) at its end, 6to4 (RFC 3056) after the first two bytes.
var (
	nat64  = netip.MustParsePrefix("64:ff9b::/96")
	sixTo4 = netip.MustParsePrefix("2002::/16")
)

func prefixes(all ...string) []netip.Prefix {
	out := make([]netip.Prefix, len(all))
	for i, s := range all {
		out[i] = netip.MustParsePrefix(s)
	}
	return out
}

// public reports whether a is an address of the public internet.
func public(a netip.Addr) bool {
	a = a.Unmap()
	if b := a.As16(); nat64.Contains(a) {
		return public(netip.AddrFrom4([4]byte(b[12:16])))
	} else if sixTo4.Contains(a) {
		return public(netip.AddrFrom4([4]byte(b[2:6])))
	}
	return a.IsGlobalUnicast() && !a.IsPrivate() && !slices.ContainsFunc(special, func(p netip.Prefix) bool { return p.Contains(a) })
}

// ownAddress reports whether a is an address of this machine. If that cannot be found out, it is.
func ownAddress(a netip.Addr) bool {
	if a.IsLoopback() || a.IsUnspecified() {
		return true
	}
	all, err := net.InterfaceAddrs()
	if err != nil {
		return true
	}
	return slices.ContainsFunc(all, func(of net.Addr) bool {
		network, is := of.(*net.IPNet)
		own, ok := netip.AddrFromSlice(network.IP)
		return !is || !ok || own.Unmap() == a
	})
}

// connect connects to t. Each address of a name must be one of the public internet and not of this machine, and the address
// that was checked is the one that is dialled: a name that changes its address between the two gains nothing.
func (p *Proxy) connect(ctx context.Context, t hosts.Target) (net.Conn, error) {
	addrs := []netip.Addr{t.Addr}
	if !t.Addr.IsValid() {
		var err error
		if addrs, err = p.opts.Resolve(ctx, t.Name); err != nil {
			return nil, fmt.Errorf("look up %s: %w", t.Name, err)
		}
	}
	for i, a := range addrs {
		addrs[i] = a.Unmap().WithZone("")
		if err := p.reachable(t, addrs[i]); err != nil {
			return nil, err
		}
	}
	if len(addrs) == 0 {
		return nil, fmt.Errorf("look up %s: it has no address", t.Name)
	}
	var errs []error
	for _, a := range addrs[:min(len(addrs), dialMost)] {
		conn, err := p.opts.Dial(ctx, netip.AddrPortFrom(a, t.Port))
		if err == nil {
			return conn, nil
		}
		errs = append(errs, err)
	}
	return nil, errors.Join(errs...)
}

// reachable says why a, an address of t, is not dialled.
func (p *Proxy) reachable(t hosts.Target, a netip.Addr) error {
	switch {
	case slices.Contains(p.opts.OwnPorts, t.Port) && ownAddress(a):
		return refusal("the gateway itself answers there")
	case t.Addr.IsValid(): // the list names the address, or a person allowed it
		return nil
	case !public(a) || ownAddress(a):
		return refusal(fmt.Sprintf("%s has the private address %s; a list can name the address itself", t.Name, a))
	}
	return nil
}
