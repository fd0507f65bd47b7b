package proxy

import (
	"errors"
	"fmt"
	"net/netip"
	"strconv"
	"strings"
)

// Hosts are the hosts that commands may reach (environments.NAME.network).
type Hosts struct{ entries []entry }

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

// ParseHosts reads a list. An entry is a name ("pypi.org"), all names below one ("*.github.com", without github.com itself),
// or an address, each with a port if it is not 80 or 443 ("10.0.0.5:8080", "[fd00::5]:8080"). The error names the entry.
func ParseHosts(list []string) (Hosts, error) {
	var h Hosts
	var errs []error
	for _, text := range list {
		e, err := parseEntry(text)
		if err != nil {
			errs = append(errs, fmt.Errorf("the host %q: %w", text, err))
			continue
		}
		h.entries = append(h.entries, e)
	}
	return h, errors.Join(errs...)
}

func parseEntry(text string) (e entry, err error) {
	rest, below := strings.CutPrefix(text, "*.")
	t, err := parseTarget(rest, 0)
	switch {
	case err != nil:
		return entry{}, err
	case below && t.addr.IsValid():
		return entry{}, errors.New("an address has no names below it")
	case below && !strings.Contains(t.name, "."):
		return entry{}, errors.New("all names of a top-level domain are too many; use network = true for every host")
	}
	return entry{name: t.name, below: below, addr: t.addr, port: t.port}, nil
}

// Allow reports whether the list has t.
func (h Hosts) allow(t target) bool {
	for _, e := range h.entries {
		switch {
		case e.port != t.port && (e.port != 0 || t.port != 80 && t.port != 443):
		case e.addr.IsValid() && e.addr == t.addr, !e.addr.IsValid() && !e.below && e.name == t.name && !t.addr.IsValid():
			return true
		case e.below && !t.addr.IsValid() && strings.HasSuffix(t.name, "."+e.name):
			return true
		}
	}
	return false
}

// target is where a request wants to go: a host name in lower case, or an address without a zone.
type target struct {
	name string
	addr netip.Addr
	port uint16
}

// String is the target as a list would name it.
func (t target) String() string {
	host := t.name
	if t.addr.IsValid() {
		host = t.addr.String()
		if t.addr.Is6() {
			host = "[" + host + "]"
		}
	}
	if t.port == 80 || t.port == 443 || t.port == 0 {
		return host
	}
	return host + ":" + strconv.Itoa(int(t.port))
}

// Reasons to refuse the text of a host.
var (
	errHost = errors.New("it is not a host name (RFC 1123) or an address; a name with other letters is written in its xn-- form")
	errPort = errors.New("its port is not a number from 1 to 65535")
)

// parseTarget reads "host", "host:port", "1.2.3.4:port" or "[::1]:port". It takes nothing else: no user, no path, no zone, no
// letter outside of ASCII. One final dot of a name is left out, as it names the same host.
func parseTarget(text string, port uint16) (target, error) {
	host, number := text, ""
	if i := strings.LastIndexByte(text, ':'); i >= 0 && (strings.HasPrefix(text, "[") || strings.Count(text, ":") == 1) && !strings.HasSuffix(text, "]") {
		host, number = text[:i], text[i+1:]
		n, err := strconv.ParseUint(number, 10, 16)
		if err != nil || n == 0 || number[0] == '+' {
			return target{}, errPort
		}
		port = uint16(n)
	}
	if inner, ok := strings.CutPrefix(host, "["); ok {
		inner, ok = strings.CutSuffix(inner, "]")
		addr, err := netip.ParseAddr(inner)
		if !ok || err != nil || !addr.Is6() || addr.Zone() != "" {
			return target{}, errHost
		}
		return target{addr: addr.Unmap(), port: port}, nil
	}
	if addr, err := netip.ParseAddr(host); err == nil && addr.Is4() {
		return target{addr: addr, port: port}, nil
	}
	host = strings.TrimSuffix(strings.ToLower(host), ".")
	if !isName(host) {
		return target{}, errHost
	}
	return target{name: host, port: port}, nil
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
