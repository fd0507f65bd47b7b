package address

import (
	"context"
	"errors"
	"net"
	"net/netip"
	"strconv"
	"strings"
	"testing"

	"go.uber.org/goleak"

	"gatewaytui/core/environment/proxy/hosts"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func target(t testing.TB, text string) hosts.Target {
	t.Helper()
	to, err := hosts.ParseTarget(text, 443)
	if err != nil {
		t.Fatal(err)
	}
	return to
}

func TestHR3_WhatIsAllowedIsReadAsItIsMeant(t *testing.T) {
	for _, tt := range []struct {
		name, list, target, addr string
		allowed                  bool
	}{
		{"a public address", "", "example.com", "93.184.215.14", true},
		{"a private address", "", "wiki.lan", "10.0.0.5", false},
		{"a private address in the text", "", "10.0.0.5", "10.0.0.5", false},
		{"an address of IPv4 in one of IPv6", "", "wiki.lan", "::ffff:10.0.0.5", false},
		{"an address with a zone", "", "wiki.lan", "fe80::1%eth0", false},
		{"this machine", "", "localhost", "127.0.0.1", false},
		{"a name of the list", "wiki.lan", "wiki.lan", "10.0.0.5", true},
		{"a name of the list at another port", "wiki.lan", "wiki.lan:8080", "10.0.0.5", false},
		{"a name of the list with its port", "wiki.lan:8080", "wiki.lan:8080", "10.0.0.5", true},
		{"a name below one of the list", "*.lan.example", "wiki.lan.example", "10.0.0.5", true},
		{"an address of the list", "10.0.0.5", "10.0.0.5", "10.0.0.5", true},
		{"a name that has an address of the list", "10.0.0.5", "wiki.lan", "10.0.0.5", true},
		{"a network of the list", "10.0.0.0/8", "wiki.lan:8080", "10.1.2.3", true},
		{"a network of the list, not masked", "10.0.0.7/8", "wiki.lan", "10.1.2.3", true},
		{"an address next to a network of the list", "10.0.0.0/24", "wiki.lan", "10.0.1.1", false},
		{"a metadata service by its name", "", "metadata.google.internal", "93.184.215.14", false},
		{"a metadata service by its address", "", "evil.example", "169.254.169.254", false},
		{"Azure's service by its address", "", "evil.example", "168.63.129.16", false},
		{"the gateway itself, although its network is allowed", "127.0.0.0/8", "127.0.0.1:4321", "127.0.0.1", false},
		{"its neighbour, whose network is allowed", "127.0.0.0/8", "127.0.0.1:4322", "127.0.0.1", true},
	} {
		t.Run(tt.name, func(t *testing.T) {
			allowed, err := ParseAllowed(strings.Fields(tt.list))
			if err != nil {
				t.Fatal(err)
			}
			g := NewGuard(Options{Allowed: allowed, Key: "web.allow_private", OwnPorts: []uint16{4321}})
			err = g.Check(target(t, tt.target), netip.MustParseAddr(tt.addr))
			if (err == nil) != tt.allowed {
				t.Fatalf("%s at %s, with %q: %v", tt.target, tt.addr, tt.list, err)
			}
			if _, is := errors.AsType[*RefusedError](err); err != nil && !is {
				t.Errorf("the error is %T", err)
			}
		})
	}
}

func TestHR3_AWrongEntryIsNamed(t *testing.T) {
	for _, entry := range []string{"10.0.0.0/33", "wiki.lan/8", "https://wiki.lan", "*", "10.0.0.300", "a b", "fd00::/129"} {
		if _, err := ParseAllowed([]string{"ok.lan", entry}); err == nil || !strings.Contains(err.Error(), entry) {
			t.Errorf("%q: %v", entry, err)
		}
	}
}

func TestHR3_ANameWithOnePrivateAddressIsRefused(t *testing.T) {
	answers := map[string][]netip.Addr{
		"mixed.example": {netip.MustParseAddr("127.0.0.1"), netip.MustParseAddr("10.0.0.1")},
		"empty.example": nil,
	}
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer listener.Close()
	port := uint16(listener.Addr().(*net.TCPAddr).Port)
	allowed, err := ParseAllowed([]string{"127.0.0.1/32"})
	if err != nil {
		t.Fatal(err)
	}
	asked := 0
	g := NewGuard(Options{Allowed: allowed, Resolve: func(_ context.Context, name string) ([]netip.Addr, error) {
		if asked++; name == "rebinding.example" {
			return []netip.Addr{netip.AddrFrom4([4]byte{127, 0, 0, byte(asked)})}, nil // 127.0.0.1 the first time alone
		}
		return answers[name], nil
	}})
	if _, err := g.Dial(t.Context(), hosts.Target{Name: "mixed.example", Port: port}); err == nil || !strings.Contains(err.Error(), "private address 10.0.0.1") {
		t.Errorf("a name with one private address: %v", err)
	}
	if _, err := g.Dial(t.Context(), hosts.Target{Name: "empty.example", Port: port}); err == nil || !strings.Contains(err.Error(), "no address") {
		t.Errorf("a name without an address: %v", err)
	}
	asked = 0
	conn, err := g.Dial(t.Context(), hosts.Target{Name: "rebinding.example", Port: port})
	if err != nil {
		t.Fatalf("what is allowed: %v", err)
	}
	defer conn.Close()
	if want := "127.0.0.1:" + strconv.Itoa(int(port)); conn.RemoteAddr().String() != want || asked != 1 {
		t.Errorf("connected to %s after %d look-ups, want %s after one", conn.RemoteAddr(), asked, want)
	}
}

func TestHR3_TheSocketIsCheckedAsItConnects(t *testing.T) {
	control := NewGuard(Options{Key: "web.allow_private"}).control(hosts.Target{Name: "example.com", Port: 443})
	for address, allowed := range map[string]bool{"93.184.215.14:443": true, "127.0.0.1:443": false, "[::ffff:10.0.0.1]:443": false, "[fe80::1%lo]:443": false, "nonsense": false} {
		if err := control("tcp", address, nil); (err == nil) != allowed {
			t.Errorf("%s: %v", address, err)
		}
	}
}

// No address that a family of the standard library calls private passes, in any of the forms that contain one of IPv4.
func FuzzCheck(f *testing.F) {
	for _, seed := range []string{"127.0.0.1", "10.0.0.1", "169.254.169.254", "::1", "::ffff:127.0.0.1", "64:ff9b::7f00:1", "2002:7f00:1::", "fe80::1", "93.184.215.14", "2606:4700::1111"} {
		a := netip.MustParseAddr(seed)
		f.Add(a.AsSlice())
	}
	g := NewGuard(Options{})
	f.Fuzz(func(t *testing.T, raw []byte) {
		a, ok := netip.AddrFromSlice(raw)
		if !ok || g.Check(hosts.Target{Name: "example.com", Port: 443}, a) != nil {
			return
		}
		forms := []netip.Addr{a, a.Unmap()}
		if b := a.As16(); a.Is6() {
			switch {
			case b[0] == 0x20 && b[1] == 0x02:
				forms = append(forms, netip.AddrFrom4([4]byte(b[2:6])))
			case strings.HasPrefix(a.StringExpanded(), "0064:ff9b:0000:0000:0000:0000:"):
				forms = append(forms, netip.AddrFrom4([4]byte(b[12:16])))
			}
		}
		for _, form := range forms {
			if form.IsPrivate() || form.IsLoopback() || form.IsLinkLocalUnicast() || form.IsMulticast() || form.IsUnspecified() || form.IsInterfaceLocalMulticast() {
				t.Fatalf("%s passes", a)
			}
		}
	})
}
