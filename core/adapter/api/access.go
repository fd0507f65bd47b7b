package api

import (
	"crypto/sha256"
	"crypto/subtle"
	"net"
	"net/http"
	"slices"
	"strings"
)

// authorize says whether r may ask the agent. With a key configured the key alone decides. Without one every program of
// this machine may, but no web page that one of its browsers shows, unless its origin is listed: such a request has an
// Origin, or, where a page's own name was made to point here (DNS rebinding), a Host that is neither this machine's nor
// listed. A page can change neither (I5).
func (c *conn) authorize(r *http.Request) *problem {
	if c.platform.options.Key == "" {
		switch {
		case r.Header.Get("Origin") != "" && !c.platform.allows(r):
			return originRefused()
		case !c.platform.own(r.Host):
			return &problem{
				status: http.StatusForbidden, code: "host_refused",
				message: "the Host header is not a loopback name; list it in adapters.api.allow_hosts, or set adapters.api.key_env to allow other hosts",
			}
		}
		return nil
	}
	token, given := bearer(r)
	if !given {
		return &problem{status: http.StatusUnauthorized, code: "missing_api_key", message: "no API key: send it as Authorization: Bearer KEY"}
	}
	// Sums of equal length, so that the time tells nothing of the key.
	sum := sha256.Sum256([]byte(token))
	if subtle.ConstantTimeCompare(sum[:], c.platform.key[:]) != 1 {
		return &problem{status: http.StatusUnauthorized, code: codeWrongKey, message: "the API key is wrong"}
	}
	return nil
}

// codeWrongKey is the code of a refusal for a wrong key.
const codeWrongKey = "invalid_api_key"

// bearer is the token of r, and whether there is one (RFC 6750, 2.1).
func bearer(r *http.Request) (token string, given bool) {
	scheme, token, _ := strings.Cut(r.Header.Get("Authorization"), " ")
	return strings.TrimSpace(token), token != "" && strings.EqualFold(scheme, "Bearer")
}

// own reports whether a request to hostport meant this machine: a loopback address, a name that RFC 6761 (6.3) keeps for
// it, or a name that the config listens on or lists.
func (p *Platform) own(hostport string) bool {
	return OwnHost(hostport, p.options.Listen) || slices.Contains(p.options.AllowHosts, hostname(hostport))
}

// OwnHost reports whether a Host header of hostport means this machine, for a server that the config has listen on
// listen.
func OwnHost(hostport, listen string) bool {
	host := hostname(hostport)
	ip := net.ParseIP(host)
	return host == "localhost" || strings.HasSuffix(host, ".localhost") ||
		ip != nil && ip.IsLoopback() ||
		host != "" && host == hostname(listen)
}

// hostname is hostport in lower case and without the port, brackets and last dot that it may have.
func hostname(hostport string) string {
	host, _, err := net.SplitHostPort(hostport)
	if err != nil {
		host = strings.TrimSuffix(strings.TrimPrefix(hostport, "["), "]")
	}
	return strings.TrimSuffix(strings.ToLower(host), ".")
}
