package address

import (
	"net/netip"
	"testing"
)

func TestHR3_OnlyThePublicInternetIsPublic(t *testing.T) {
	for text, want := range map[string]bool{
		"93.184.215.14": true, "1.1.1.1": true, "2606:4700::1111": true, "64:ff9b::101:101": true, "2002:101:101::": true,
		"127.0.0.1": false, "127.255.1.1": false, "0.0.0.0": false, "0.1.2.3": false, "10.1.2.3": false, "172.16.0.1": false, "192.168.1.1": false,
		"169.254.169.254": false, "168.63.129.16": false, "100.64.0.1": false, "192.0.0.8": false, "198.18.0.1": false, "224.0.0.1": false, "240.0.0.1": false, "255.255.255.255": false,
		"::": false, "::1": false, "fe80::1": false, "fec0::1": false, "fc00::1": false, "fd12::1": false, "ff02::1": false, "2001:db8::1": false, "2001::1": false,
		"::ffff:127.0.0.1": false, "::ffff:10.0.0.1": false, "::127.0.0.1": false,
		"64:ff9b::7f00:1": false, "64:ff9b::a9fe:a9fe": false, "64:ff9b:1::1": false, "2002:7f00:1::": false, "2002:a00:1::": false,
	} {
		if got := Public(netip.MustParseAddr(text)); got != want {
			t.Errorf("%s: %v", text, got)
		}
	}
}
