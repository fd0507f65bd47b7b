package hosts

import (
	"strings"
	"testing"
)

func TestTR6_TheListIsReadAsItIsMeant(t *testing.T) {
	for _, tt := range []struct {
		name, list, target string
		want               bool
	}{
		{"a name at 443", "pypi.org", "pypi.org:443", true},
		{"a name at 80", "pypi.org", "pypi.org:80", true},
		{"a name at another port", "pypi.org", "pypi.org:8080", false},
		{"a name with its port", "pypi.org:8080", "pypi.org:8080", true},
		{"a name with a port at 443", "pypi.org:8080", "pypi.org:443", false},
		{"capitals are the same name", "PyPI.org", "pypi.ORG:443", true},
		{"a final dot is the same name", "pypi.org", "pypi.org.:443", true},
		{"a name below is another name", "pypi.org", "a.pypi.org:443", false},
		{"a name that ends alike is another name", "pypi.org", "notpypi.org:443", false},
		{"a name that begins alike is another name", "pypi.org", "pypi.org.evil.example:443", false},
		{"names below a name", "*.github.com", "api.github.com:443", true},
		{"names far below a name", "*.github.com", "a.b.github.com:443", true},
		{"the name itself is not below it", "*.github.com", "github.com:443", false},
		{"a name that ends alike is not below it", "*.github.com", "evilgithub.com:443", false},
		{"an address that is listed", "10.0.0.5:8080", "10.0.0.5:8080", true},
		{"an address written as one of IPv6", "10.0.0.5:8080", "[::ffff:10.0.0.5]:8080", true},
		{"an address of IPv6", "[fd00::5]:8080", "[fd00:0::5]:8080", true},
		{"another address", "10.0.0.5:8080", "10.0.0.6:8080", false},
		{"an address is not a name", "pypi.org", "151.101.0.223:443", false},
	} {
		t.Run(tt.name, func(t *testing.T) {
			list, err := Parse([]string{"other.example", tt.list})
			if err != nil {
				t.Fatal(err)
			}
			to, err := ParseTarget(tt.target, 0)
			if err != nil {
				t.Fatal(err)
			}
			if got := list.Allow(to); got != tt.want {
				t.Errorf("%s with %s: %v", tt.target, tt.list, got)
			}
		})
	}
}

func TestTR6_AWrongHostOfTheListIsNamed(t *testing.T) {
	for _, text := range []string{
		"", "*", "*.", "*.com", "a.*.com", "https://pypi.org", "pypi.org/simple", "user@pypi.org", "pypi.org:", "pypi.org:0", "pypi.org:65536", "pypi.org:+80",
		"pypi..org", ".pypi.org", "-a.org", "127.1", "0x7f000001", "2130706433", "1.2.3.4.5", "1.2.3", "*.10.0.0.1", "[::1%lo]:80", "[::1", "::1", "[1.2.3.4]:80",
		"bücher.example", "py pi.org", "pypi.org\n", "pypi.org..", strings.Repeat("a", 64) + ".org", strings.Repeat("a.", 127) + "org",
	} {
		if h, err := Parse([]string{text}); err == nil || !strings.Contains(err.Error(), "the host ") {
			t.Errorf("%q is %+v, %v", text, h.entries, err)
		}
	}
}

func FuzzParseTarget(f *testing.F) {
	for _, seed := range []string{"pypi.org:443", "[::1]:80", "user@pypi.org:443", "pypi.org.:443", "127.1:80", "a:b:c", "[::ffff:1.2.3.4]:1", "xn--bcher-kva.example:443"} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, text string) {
		to, err := ParseTarget(text, 80)
		if err != nil {
			return
		}
		if to.Addr.IsValid() == (to.Name != "") || to.Port == 0 {
			t.Fatalf("%q is %+v", text, to)
		}
		again, err := ParseTarget(to.Authority(), 0)
		if err != nil || again != to {
			t.Fatalf("%q is %+v, and read again %+v, %v", text, to, again, err)
		}
		if strings.ContainsAny(to.Authority(), "@/?#%\\ \t\r\n") {
			t.Fatalf("%q is %q", text, to.Authority())
		}
	})
}
