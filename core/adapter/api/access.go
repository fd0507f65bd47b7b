package api

import (
	"crypto/sha256"
	"crypto/subtle"
	"fmt"
	"net"
	"net/http"
	"os"
	"slices"
	"strings"

	"gatewaytui/core/ops"
)

// authorize says whether r may ask the agent, and who asks. A tool of the gateway never may, with any key. With a key in the
// config the key alone decides. Without one the kernel is asked who is at the other end (HF1): our own user and root may, as
// on the control socket, and everyone else needs the key in the home (LocalKey). A request without a key must not come from
// a web page in a browser of our user: see fromPage.
func (c *conn) authorize(r *http.Request) (ops.Caller, *problem) {
	at := peerOf(r)
	who := at.who()
	token, given := bearer(r)
	right := given && c.platform.isKey(token)
	if who.own() || right { // every tool is one of our own user, unless it changed its user
		tool := at.tool()
		if tool.is {
			return ops.Caller{}, c.toolRefused(r, who, tool.session)
		}
		if who.own() {
			who.problem = tool.err
		}
	}
	switch {
	case right:
		return ops.Caller{UID: who.UID, By: ops.ByKey}, nil
	case c.platform.options.Key != "" && given:
		return ops.Caller{}, unauthorized(codeWrongKey, "the API key is wrong")
	case c.platform.options.Key != "":
		return ops.Caller{}, unauthorized(codeNoKey, "no API key: send it as Authorization: Bearer KEY")
	}
	if p := c.platform.fromPage(r); p != nil {
		return ops.Caller{}, p
	}
	if who.own() { // a wrong key does not matter: clients for OpenAI send some key in any case
		return ops.Caller{UID: who.UID, By: ops.ByKernel}, nil
	}
	code := codeNoKey
	if given {
		code = codeWrongKey
	}
	return ops.Caller{}, unauthorized(code, c.platform.needsKey(who))
}

// toolRefused is what a tool gets, with a key or without. The audit gets a row (HF7).
func (c *conn) toolRefused(r *http.Request, who caller, session string) *problem {
	c.receiver.ToolRefused(ops.Actor{Via: "api", UID: who.UID, Tool: true, Session: session}, r.Method+" "+r.URL.Path)
	p := &problem{
		status: http.StatusForbidden, code: codeTool,
		message: "a tool of this gateway may not call its API; start a child agent with the delegate tool instead",
	}
	if session != "" {
		p.message = "a tool of session " + clean(session) + " may not call the API of its gateway; start a child agent with the delegate tool instead"
	}
	return p
}

// needsKey is the answer to a caller that needs the key in the home.
func (p *Platform) needsKey(who caller) string {
	asks := fmt.Sprintf("uid %d", who.UID)
	if who.problem != nil {
		asks = fmt.Sprintf("a caller that is not known (%s)", clean(who.problem.Error()))
	}
	if p.options.LocalKey == "" {
		return fmt.Sprintf("%s is not served: the gateway serves its own user (uid %d) and root, and has no key for others because of %s", asks, os.Geteuid(), clean(p.options.LocalKeyFile))
	}
	return fmt.Sprintf("%s needs a key: send the one in %s as Authorization: Bearer KEY; without a key the gateway serves its own user (uid %d) and root",
		asks, clean(p.options.LocalKeyFile), os.Geteuid())
}

func unauthorized(code, message string) *problem {
	return &problem{status: http.StatusUnauthorized, code: code, message: message}
}

// isKey reports whether token is the key that opens: the one of the config, or without one that of the home. It compares sums
// of equal length in constant time, so that the time tells nothing of the key.
func (p *Platform) isKey(token string) bool {
	sum := sha256.Sum256([]byte(token))
	return p.key != nil && subtle.ConstantTimeCompare(sum[:], p.key[:]) == 1
}

// fromPage refuses what may come from a web page whose origin is not listed: it has an Origin, or, where a page's own name was
// made to point here (DNS rebinding), a Host that is neither this machine's nor listed. A page can change neither (I5).
func (p *Platform) fromPage(r *http.Request) *problem {
	switch {
	case len(r.Header.Values("Origin")) > 0 && !p.allows(r): // an empty one as well
		return originRefused()
	case !p.own(r.Host):
		return &problem{
			status: http.StatusForbidden, code: "host_refused",
			message: "the Host header is not a loopback name; list it in adapters.api.allow_hosts, or set adapters.api.key_env to allow other hosts",
		}
	}
	return nil
}

// The codes of refusals without a key, for a wrong key, and of a tool.
const (
	codeNoKey    = "missing_api_key"
	codeWrongKey = "invalid_api_key"
	codeTool     = "tool_caller"
)

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
