package mail

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"net/url"
	"strings"
	"sync"

	"gatewaytui/core/term"
	"gatewaytui/core/text"
)

const (
	// maxSubject bounds a subject in runes.
	maxSubject = 200
	// maxThreads bounds the threads that are remembered.
	maxThreads = 1024
	// threadSize is the length of the name of a thread, in hexadecimal digits.
	threadSize = 16
)

var (
	// plainID is a Message-ID that fits into a line of a header, which has at most 998 bytes (RFC 5322, 2.1.1).
	plainID    = text.Lazily(`^<[!-;=?-~]{1,248}>$`)
	threadName = text.Lazily(`^[0-9a-f]{16}$`)
	// ownID is a Message-ID of a gateway.
	ownID = text.Lazily(`^<gatewaytui\.([0-9a-f]{16})\.[0-9a-f]{24}@`)
)

// address is an address of a person as the gateway names that person; empty: one that is not served.
func address(said string) string {
	if said = strings.ToLower(strings.TrimSpace(said)); !text.IsMailAddress(said) {
		return ""
	}
	return said
}

// domain is what stands behind the @ of an address.
func domain(of string) string { return of[strings.LastIndexByte(of, '@')+1:] }

// ids are the Message-IDs in a field of a header, in order.
func ids(field string) (all []string) {
	for word := range strings.FieldsSeq(field) {
		if plainID().MatchString(word) && len(all) < maxKeptIDs {
			all = append(all, word)
		}
	}
	return all
}

// maxKeptIDs bounds the Message-IDs of one field.
const maxKeptIDs = 100

// threadOf is the name of the thread of a mail: references are its References, answers its In-Reply-To, and self its own Message-ID.
// The first mail of the thread gives the name; if that is one of a gateway, the name stands in it, so that an answer without
// References stays in its thread.
func threadOf(references, answers []string, self string) (name, root string) {
	for _, found := range append(append([]string{}, answers...), references...) {
		if own := ownID().FindStringSubmatch(found); own != nil {
			name = own[1]
			break
		}
	}
	switch {
	case len(references) > 0:
		root = references[0]
	case len(answers) > 0:
		root = answers[0]
	default:
		root = self
	}
	if name == "" {
		name = hash(threadSize, root)
	}
	return name, root
}

// hash is a name of texts with this many hexadecimal digits.
func hash(digits int, texts ...string) string {
	sum := sha256.Sum256([]byte(strings.Join(texts, "\x00")))
	return hex.EncodeToString(sum[:])[:digits]
}

// chat is where answers of a thread go: an address, and the name of the thread. It implements bot.Chat.
type chat struct {
	to     string
	thread string
}

// String is the chat as it stands in a target.
func (c chat) String() string {
	if c.thread == "" {
		return c.to
	}
	return c.to + "/" + c.thread
}

// mailed is the mail that an answer answers. The zero value is none.
type mailed struct {
	// root is the Message-ID of the first mail of the thread, id the one of the mail itself.
	root, id string
	subject  string
	// sender is who wrote it, where the chat is a group.
	sender string
}

// target is the address of the chat and the mail that is answered, as one text.
func target(c chat, m mailed) string {
	return c.String() + "#" + url.Values{"root": {m.root}, "id": {m.id}, "subject": {m.subject}, "from": {m.sender}}.Encode()
}

// parseTarget reads what target made, and an address alone.
func parseTarget(text string) (c chat, m mailed, err error) {
	where, about, _ := strings.Cut(text, "#")
	to, thread, has := strings.Cut(where, "/")
	if c.to = address(to); c.to == "" || has && !threadName().MatchString(thread) {
		return chat{}, mailed{}, fmt.Errorf("%.80q is not an address of a mail", term.Clean(where, 80))
	}
	c.thread = thread
	values, err := url.ParseQuery(about)
	if err != nil {
		return chat{}, mailed{}, fmt.Errorf("read the address of an answer: %w", err)
	}
	one := func(name string) string {
		if all := ids(values.Get(name)); len(all) == 1 {
			return all[0]
		}
		return ""
	}
	m = mailed{root: one("root"), id: one("id"), subject: term.Clean(values.Get("subject"), maxSubject), sender: address(values.Get("from"))}
	return c, m, nil
}

// threads remembers the last mail of each thread, for what the gateway says there without an answer to a mail. The zero value is ready.
type threads struct {
	mu   sync.Mutex
	last map[chat]mailed
}

func (t *threads) set(c chat, m mailed) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.last == nil || len(t.last) >= maxThreads {
		t.last = map[chat]mailed{}
	}
	t.last[c] = m
}

func (t *threads) get(c chat) mailed {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.last[c]
}

// session is the key of the session (CONTRACT.md, 4): one for each thread of a person, or of a group.
func (c chat) session(group bool) string {
	kind := "dm"
	if group {
		kind = "group"
	}
	return platformName + ":" + kind + ":" + c.to + ":thread:" + c.thread
}
