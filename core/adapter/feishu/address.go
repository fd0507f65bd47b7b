package feishu

import (
	"errors"
	"fmt"
	"strings"
	"sync"

	"gatewaytui/core/adapter"
)

// What Feishu's ids begin with.
const (
	userID    = "ou_"
	groupID   = "oc_"
	threadID  = "omt_"
	messageID = "om_"
)

// maxID bounds an id and the key of a file, in bytes.
const maxID = 128

// isID reports whether s is an id of this kind: it can stand in a path, a target and a session key.
func isID(s, kind string) bool {
	rest, is := strings.CutPrefix(s, kind)
	return is && isKey(rest)
}

// isKey reports whether s has only the signs of Feishu's ids.
func isKey(s string) bool {
	return s != "" && len(s) <= maxID && !strings.ContainsFunc(s, func(r rune) bool {
		return (r < '0' || r > '9') && (r < 'A' || r > 'Z') && (r < 'a' || r > 'z') && r != '_' && r != '-'
	})
}

// address is where messages go: a person or a group, and a thread with the message that began it, if there is one.
type address struct{ to, thread, root string }

// String is the form of adapter.Inbound.Target: "ou_1", "oc_1", or "oc_1/omt_1/om_1".
func (a address) String() string {
	if a.thread == "" {
		return a.to
	}
	return a.to + "/" + a.thread + "/" + a.root
}

// parseAddress reads what String writes.
func parseAddress(s string) (a address, err error) {
	to, rest, inThread := strings.Cut(s, "/")
	if !isID(to, userID) && !isID(to, groupID) {
		return a, fmt.Errorf("%.40q is not the id of a person or a group of Feishu", s)
	}
	a.to = to
	if !inThread {
		return a, nil
	}
	if a.thread, a.root, _ = strings.Cut(rest, "/"); !isID(a.thread, threadID) || !isID(a.root, messageID) {
		return address{}, fmt.Errorf("%.40q has no thread of Feishu", s)
	}
	return a, nil
}

// private reports whether the address is a person.
func (a address) private() bool { return strings.HasPrefix(a.to, userID) }

// chat is what the chat is to people.
func (a address) chat() adapter.ChatKind {
	switch {
	case a.thread != "":
		return adapter.ChatThread
	case a.private():
		return adapter.ChatDM
	}
	return adapter.ChatGroup
}

// session is the key of the session (CONTRACT.md, 4): one for each person who speaks to the bot alone, one for each thread, and one
// for each member of a group (CV10).
func (a address) session(user string) string {
	key := "feishu:group:" + a.to
	if a.private() {
		key = "feishu:dm:" + a.to
	}
	switch {
	case a.thread != "":
		return key + ":thread:" + a.thread
	case a.private():
		return key
	}
	return key + ":user:" + user
}

// answered is the message that a target says is answered; empty: none.
func answered(target string) string {
	if _, message, _ := strings.Cut(target, "#"); isID(message, messageID) {
		return message
	}
	return ""
}

// targetOf reads a target. The error is for ever.
func targetOf(target string) (address, error) {
	a, err := parseAddress(adapter.ChatOf(target))
	if err != nil {
		return a, &adapter.RefusedError{Why: err.Error()}
	}
	return a, nil
}

// checkMessage refuses what is not the id of a message.
func checkMessage(id string) error {
	if !isID(id, messageID) {
		return &adapter.RefusedError{Why: fmt.Sprintf("%.40q is not the id of a message of Feishu", id)}
	}
	return nil
}

// errNoAnswer is why nothing is known about an answer without a result.
var errNoAnswer = errors.New("the answer of Feishu has no result")

// maxKept bounds what a kept remembers.
const maxKept = 4096

// kept remembers values by name, and forgets all of them when it is full. The zero value is ready.
type kept[V any] struct {
	mu sync.Mutex
	m  map[string]V
}

func (k *kept[V]) get(name string) (V, bool) {
	k.mu.Lock()
	defer k.mu.Unlock()
	v, ok := k.m[name]
	return v, ok
}

func (k *kept[V]) put(name string, v V) {
	k.mu.Lock()
	defer k.mu.Unlock()
	if k.m == nil || len(k.m) >= maxKept {
		k.m = map[string]V{}
	}
	k.m[name] = v
}
