// Package hosts reads the hosts that commands may reach (environments.NAME.network), and where a request wants to go (TR6).
//
// What it promises: the config and the proxy refuse the same lists, because both use Parse; a host is compared after it was read, never
// as text.
package hosts

import (
	"errors"
	"fmt"
	"net"
	"net/netip"
	"strconv"
	"strings"
)

// List is a list of hosts. The zero List has none.
type List struct{ entries []entry }

// entry is one host of the list.
type entry struct {
	// name is a host name in lower case. With below it stands for every name below it, and not for itself.
	name  string
	below bool
	// addr is an address that the list names as such, else invalid.
	addr netip.Addr
	// port is 0 for 80 and 443.
	port uint16
}

// Parse reads a list. An entry is a name ("pypi.org"), all names below one ("*.github.com", without github.com itself),
// or an address, each with a port if it is not 80 or 443 ("10.0.0.5:8080", "[fd00::5]:8080"). The error names the entry.
func Parse(list []string) (List, error) {
	var l List
	var errs []error
	for _, text := range list {
		e, err := parseEntry(text)
		if err != nil {
			errs = append(errs, fmt.Errorf("the host %q: %w", text, err))
			continue
		}
		l.entries = append(l.entries, e)
	}
	return l, errors.Join(errs...)
}

func parseEntry(text string) (e entry, err error) {
	rest, below := strings.CutPrefix(text, "*.")
	t, err := ParseTarget(rest, 0)
	switch {
	case err != nil:
		return entry{}, err
	case below && t.Addr.IsValid():
		return entry{}, errors.New("an address has no names below it")
	case below && !strings.Contains(t.Name, "."):
		return entry{}, errors.New("all names of a top-level domain are too many; use network = true for every host")
	}
	return entry{name: t.Name, below: below, addr: t.Addr, port: t.Port}, nil
}

// Allow reports whether the list has t.
func (l List) Allow(t Target) bool {
	for _, e := range l.entries {
		switch {
		case e.port != t.Port && (e.port != 0 || t.Port != 80 && t.Port != 443):
		case e.addr.IsValid() && e.addr == t.Addr, !e.addr.IsValid() && !e.below && e.name == t.Name && !t.Addr.IsValid():
			return true
		case e.below && !t.Addr.IsValid() && strings.HasSuffix(t.Name, "."+e.name):
			return true
		}
	}
	return false
}

// Target is where a request wants to go: a host name in lower case, or an address without a zone.
type Target struct {
	// Name is empty where Addr is valid.
	Name string
	Addr netip.Addr
	// Port is 0 where the text had none and ParseTarget was given none.
	Port uint16
}

// String is the target as a list would name it.
func (t Target) String() string {
	host := t.Name
	if t.Addr.IsValid() {
		host = t.Addr.String()
		if t.Addr.Is6() {
			host = "[" + host + "]"
		}
	}
	if t.Port == 80 || t.Port == 443 || t.Port == 0 {
		return host
	}
	return host + ":" + strconv.Itoa(int(t.Port))
}

// Authority is t with its port, as a URL has it.
func (t Target) Authority() string {
	if t.Addr.IsValid() {
		return netip.AddrPortFrom(t.Addr, t.Port).String()
	}
	return net.JoinHostPort(t.Name, strconv.Itoa(int(t.Port)))
}

// Reasons to refuse the text of a host.
var (
	errHost = errors.New("it is not a host name (RFC 1123) or an address; a name with other letters is written in its xn-- form")
	// ErrPort refuses a port.
	ErrPort = errors.New("its port is not a number from 1 to 65535")
)

// ParseTarget reads "host", "host:port", "1.2.3.4:port" or "[::1]:port". It takes nothing else: no user, no path, no zone, no
// letter outside of ASCII. One final dot of a name is left out, as it names the same host. port is that of a text without one.
func ParseTarget(text string, port uint16) (Target, error) {
	host, number := text, ""
	if i := strings.LastIndexByte(text, ':'); i >= 0 && (strings.HasPrefix(text, "[") || strings.Count(text, ":") == 1) && !strings.HasSuffix(text, "]") {
		host, number = text[:i], text[i+1:]
		n, err := strconv.ParseUint(number, 10, 16)
		if err != nil || n == 0 || number[0] == '+' {
			return Target{}, ErrPort
		}
		port = uint16(n)
	}
	if inner, ok := strings.CutPrefix(host, "["); ok {
		inner, ok = strings.CutSuffix(inner, "]")
		addr, err := netip.ParseAddr(inner)
		if !ok || err != nil || !addr.Is6() || addr.Zone() != "" {
			return Target{}, errHost
		}
		return Target{Addr: addr.Unmap(), Port: port}, nil
	}
	if addr, err := netip.ParseAddr(host); err == nil && addr.Is4() {
		return Target{Addr: addr, Port: port}, nil
	}
	host = strings.TrimSuffix(strings.ToLower(host), ".")
	if !isName(host) {
		return Target{}, errHost
	}
	return Target{Name: host, Port: port}, nil
}

// isName reports whether host is a name: labels of letters, digits, - and _, of which the last is not a number. A resolver could take a
// name such as 127.1 or 0x7f000001 for an address (inet_aton(3)).
func isName(host string) bool {
	if host == "" || len(host) > 253 {
		return false
	}
	label := ""
	for label = range strings.SplitSeq(host, ".") {
		if label == "" || len(label) > 63 || label[0] == '-' || label[len(label)-1] == '-' {
			return false
		}
		for i := range len(label) {
			if c := label[i]; (c < 'a' || c > 'z') && (c < '0' || c > '9') && c != '-' && c != '_' {
				return false
			}
		}
	}
	return label[0] < '0' || label[0] > '9'
}
