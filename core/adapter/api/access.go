package api

import (
	"crypto/sha256"
	"crypto/subtle"
	"net"
	"net/http"
	"strings"
)

// authorize says whether r may ask the agent. With a key configured the key alone decides. Without one every program of
// this machine may, but no web page that one of its browsers shows: such a request has an Origin, or, where a page's own
// name was made to point here (DNS rebinding), a Host that is not this machine's. A page can change neither (I5).
func (c *conn) authorize(r *http.Request) *problem {
	if c.platform.options.Key == "" {
		switch {
		case r.Header.Get("Origin") != "":
			return &problem{status: http.StatusForbidden, code: "origin_refused", message: "web pages are served only with a key: set adapters.api.key_env"}
		case !c.platform.own(r.Host):
			return &problem{
				status: http.StatusForbidden, code: "host_refused",
				message: "without a key only requests to a loopback address or localhost are served: use one, or set adapters.api.key_env",
			}
		}
		return nil
	}
	scheme, token, _ := strings.Cut(r.Header.Get("Authorization"), " ")
	if token == "" || !strings.EqualFold(scheme, "Bearer") {
		return &problem{status: http.StatusUnauthorized, code: "missing_api_key", message: "no API key: send it as Authorization: Bearer KEY"}
	}
	// Sums of equal length, so that the time tells nothing of the key.
	sum := sha256.Sum256([]byte(strings.TrimSpace(token)))
	if subtle.ConstantTimeCompare(sum[:], c.platform.key[:]) != 1 {
		return &problem{status: http.StatusUnauthorized, code: "invalid_api_key", message: "the API key is wrong"}
	}
	return nil
}

// own reports whether a request to hostport meant this machine: a loopback address, a name that RFC 6761 (6.3) keeps for
// it, or the name that the config listens on.
func (p *Platform) own(hostport string) bool { return OwnHost(hostport, p.options.Listen) }

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
