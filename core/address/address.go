// Package address says to which addresses the gateway connects for a model: those of the public internet, and those that the config
// allows by name (HR3, TR6).
//
// What it promises: an address of a private network, of this machine, of a cloud's metadata service or otherwise not of the public
// internet is refused unless it is allowed. A name is refused if one of its addresses is. The address that was checked is the one that
// is connected to, and it is checked once more as the socket connects. The ports on which the gateway listens are never reached.
//
// address.go classifies addresses, guard.go connects.
package address

import (
	"net"
	"net/netip"
	"slices"
)

// special are blocks that are not of the public internet and that netip does not tell (IANA special-purpose address registries,
// RFC 6890), and 168.63.129.16, where Azure has a service for its virtual machines.
var special = prefixes(
	"0.0.0.0/8", "100.64.0.0/10", "192.0.0.0/24", "192.0.2.0/24", "192.88.99.0/24", "198.18.0.0/15", "198.51.100.0/24", "203.0.113.0/24", "240.0.0.0/4",
	"168.63.129.16/32",
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

// Public reports whether a is an address of the public internet.
func Public(a netip.Addr) bool {
	a = a.Unmap()
	if b := a.As16(); nat64.Contains(a) {
		return Public(netip.AddrFrom4([4]byte(b[12:16])))
	} else if sixTo4.Contains(a) {
		return Public(netip.AddrFrom4([4]byte(b[2:6])))
	}
	return a.IsGlobalUnicast() && !a.IsPrivate() && !slices.ContainsFunc(special, func(p netip.Prefix) bool { return p.Contains(a) })
}

// Own reports whether a is an address of this machine. If that cannot be found out, it is.
func Own(a netip.Addr) bool {
	if a.IsLoopback() || a.IsUnspecified() {
		return true
	}
	all, err := net.InterfaceAddrs()
	if err != nil {
		return true
	}
	return slices.ContainsFunc(all, func(of net.Addr) bool {
		network, is := of.(*net.IPNet)
		if !is {
			return true
		}
		own, ok := netip.AddrFromSlice(network.IP)
		return !ok || own.Unmap() == a
	})
}
