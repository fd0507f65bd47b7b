package mail

import (
	"net/mail"
	"strings"

	"gatewaytui/core/text"
)

// authentic reports whether the server with this authserv-id has confirmed the domain of from: by DMARC, or by DKIM or SPF for that domain
// or one that it belongs to. Only the first Authentication-Results of the header counts, which is the one that was added last: a sender
// can write others below it (RFC 8601, 5).
func authentic(h mail.Header, server, from string) bool {
	fields := h["Authentication-Results"]
	if len(fields) == 0 {
		return false
	}
	id, results, ok := authResults(fields[0])
	if !ok || !strings.EqualFold(id, server) {
		return false
	}
	of := domain(from)
	for _, r := range results {
		if r.value != "pass" {
			continue
		}
		switch r.method {
		case "dmarc":
			if r.properties["header.from"] == of {
				return true
			}
		case "dkim":
			if aligned(of, r.properties["header.d"]) || aligned(of, domain(r.properties["header.i"])) {
				return true
			}
		case "spf":
			if aligned(of, domain(r.properties["smtp.mailfrom"])) {
				return true
			}
		}
	}
	return false
}

// aligned reports whether a confirmed domain speaks for one: it is the same, or that one is below it. A confirmed top-level domain speaks for none.
func aligned(of, confirmed string) bool {
	return strings.Contains(confirmed, ".") && (of == confirmed || strings.HasSuffix(of, "."+confirmed))
}

// authResult is one result: what was checked, how that ended, and the properties such as header.d.
type authResult struct {
	method, value string
	properties    map[string]string
}

// authWord is a word of a result: NAME=VALUE, where the value may be quoted.
var authWord = text.Lazily(`^([A-Za-z0-9._/-]+)\s*=\s*(?:"([^"]*)"|(\S+))`)

// authResults reads the text of the field (RFC 8601, 2.2), in lower case. ok is false for one that cannot be read whole: then it
// counts for nothing.
func authResults(text string) (id string, results []authResult, ok bool) {
	text, ok = uncommented(text)
	if !ok {
		return "", nil, false
	}
	parts := strings.Split(strings.ToLower(text), ";")
	words := strings.Fields(parts[0])
	if len(words) == 0 || len(words) > 2 || strings.Contains(parts[0], `"`) {
		return "", nil, false
	}
	for _, part := range parts[1:] {
		part = strings.TrimSpace(part)
		if part == "" || part == "none" {
			continue
		}
		var r authResult
		for part != "" {
			at := authWord().FindStringSubmatch(part)
			if at == nil {
				return "", nil, false
			}
			part = strings.TrimSpace(part[len(at[0]):])
			value := at[2] + at[3]
			if r.method == "" {
				method, _, _ := strings.Cut(at[1], "/") // its version
				r = authResult{method: method, value: value, properties: map[string]string{}}
				continue
			}
			if _, twice := r.properties[at[1]]; twice {
				return "", nil, false
			}
			r.properties[at[1]] = value
		}
		results = append(results, r)
	}
	return words[0], results, true
}

// uncommented is text with a blank in place of each comment; ok is false if one has no end. A quoted string keeps its parentheses.
func uncommented(text string) (out string, ok bool) {
	var b strings.Builder
	depth, quoted := 0, false
	for i := 0; i < len(text); i++ {
		c := text[i]
		switch {
		case c == '\\' && (quoted || depth > 0):
			return "", false // no server writes one there
		case c == '"' && depth == 0:
			quoted = !quoted
		case c == ';' && quoted:
			return "", false
		case c == '(' && !quoted:
			depth++
			b.WriteByte(' ')
			continue
		case c == ')' && !quoted:
			if depth--; depth < 0 {
				return "", false
			}
			continue
		}
		if depth == 0 {
			b.WriteByte(c)
		}
	}
	return b.String(), depth == 0 && !quoted
}
