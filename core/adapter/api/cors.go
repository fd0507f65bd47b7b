package api

import (
	"net/http"
	"slices"
	"strings"
)

// Cross-origin requests (TF27), by the Fetch standard: https://fetch.spec.whatwg.org/#http-cors-protocol. A browser lets a
// page send a JSON body only after a preflight that allows its origin, and read an answer only if that names its origin.
// Origins are listed one by one, and credentials (cookies) are never allowed: the API knows none.

// allows reports whether the config lists the origin of r, compared byte for byte: a browser writes it in one way only.
func (p *Platform) allows(r *http.Request) bool {
	return slices.Contains(p.options.AllowOrigins, r.Header.Get("Origin"))
}

func originRefused() *problem {
	return &problem{
		status: http.StatusForbidden, code: "origin_refused",
		message: "requests from web pages are refused; list the page's origin in adapters.api.allow_origins",
	}
}

// share lets the page of a listed origin read the answer to r, an error too. What a cache keeps depends on the origin.
func (p *Platform) share(w http.ResponseWriter, r *http.Request) {
	if len(p.options.AllowOrigins) == 0 {
		return
	}
	h := w.Header()
	h.Add("Vary", "Origin")
	if p.allows(r) {
		h.Set("Access-Control-Allow-Origin", r.Header.Get("Origin"))
		h.Set("Access-Control-Expose-Headers", "Retry-After, X-Should-Retry")
	}
}

// preflight answers what a browser asks before a page's request: whether the page may send it. It does nothing else, and
// needs no key, since a browser sends none with it.
func (c *conn) preflight(w http.ResponseWriter, r *http.Request, methods []string) {
	p := originRefused()
	if c.platform.allows(r) {
		p = nil
		if c.platform.options.Key == "" {
			p = c.platform.fromPage(r) // without a key the Host must be ours here, too
		}
	}
	if p != nil {
		c.log.Warn("api request refused", "code", p.code, "remote", r.RemoteAddr)
		p.write(w)
		return
	}
	h := w.Header()
	h.Set("Access-Control-Allow-Methods", strings.Join(methods, ", "))
	if names := r.Header.Get("Access-Control-Request-Headers"); isNameList(names) {
		h.Set("Access-Control-Allow-Headers", names)
	}
	if r.Header.Get("Access-Control-Request-Private-Network") == "true" {
		h.Set("Access-Control-Allow-Private-Network", "true")
	}
	h.Set("Access-Control-Max-Age", "600")
	w.WriteHeader(http.StatusNoContent)
}

// isNameList reports whether text is a list of header names, so that it can be repeated in a header.
func isNameList(text string) bool {
	return text != "" && len(text) <= 1<<10 && !strings.ContainsFunc(text, func(r rune) bool {
		return (r < 'a' || r > 'z') && (r < 'A' || r > 'Z') && (r < '0' || r > '9') && !strings.ContainsRune("-_, ", r)
	})
}
