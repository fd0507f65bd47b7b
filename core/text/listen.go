package text

import "net/netip"

// ListenNetwork is the network to listen on for an address, host:port. An IPv4 address, 0.0.0.0 included, is IPv4 alone:
// net.Listen would take 0.0.0.0 for every address, IPv6 ones too (HF33).
func ListenNetwork(address string) string {
	if at, err := netip.ParseAddrPort(address); err == nil && at.Addr().Is4() {
		return "tcp4"
	}
	return "tcp"
}
