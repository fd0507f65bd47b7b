package mail

import (
	"net/mail"
	"strings"

	"gatewaytui/core/text"
)

var (
	// robots are local parts of addresses that no person writes from.
	robots = text.Lazily(`^(?:mailer-daemon|postmaster|no-?reply|do-?not-?reply|bounces?|owner-.+|.+-(?:bounces?|request|owner))(?:[+=].*)?$`)
	// listFields are fields of mails that a list has passed on (RFC 2369, RFC 2919).
	listFields = []string{"List-Id", "List-Post", "List-Unsubscribe", "List-Help", "Mailing-List", "X-Loop"}
	// robotFields are fields of mails that a program has written on its own.
	robotFields = []string{"X-Autoreply", "X-Autorespond", "X-Autorespond-Subject", "X-Failed-Recipients", "X-Auto-Response-Suppress"}
)

// automatic is why a mail of from must not be answered (RFC 3834, 2); empty: a person has written it, as far as one can see.
func automatic(h mail.Header, from, own string) string {
	for _, value := range h["Auto-Submitted"] {
		if word, _, _ := strings.Cut(value, ";"); !strings.EqualFold(strings.TrimSpace(word), "no") {
			return "Auto-Submitted"
		}
	}
	for _, name := range append(append([]string{}, listFields...), robotFields...) {
		if len(h[canonical(name)]) > 0 {
			return name
		}
	}
	for _, value := range h["Precedence"] {
		switch strings.ToLower(strings.TrimSpace(value)) {
		case "bulk", "junk", "list", "auto_reply":
			return "Precedence"
		}
	}
	for _, value := range h["Return-Path"] {
		if strings.Join(strings.Fields(value), "") == "<>" {
			return "Return-Path"
		}
	}
	if kind := strings.ToLower(h.Get("Content-Type")); strings.HasPrefix(kind, "multipart/report") {
		return "Content-Type"
	}
	local, _, _ := strings.Cut(from, "@")
	switch {
	case from == own:
		return "From: the bot itself"
	case robots().MatchString(local):
		return "From"
	}
	return ""
}
