package memory

import (
	"strings"

	"gatewaytui/core/ops"
	"gatewaytui/core/session"
)

// Owner says whose a note is: "person telegram:4711", "chat telegram:group:-42" or "shared".
type Owner string

// Shared owns the notes that all turns of members see.
const Shared Owner = "shared"

const (
	ofPerson = "person "
	ofChat   = "chat "
)

// Scope is the first word of an owner.
func (o Owner) Scope() string {
	scope, _, _ := strings.Cut(string(o), " ")
	return scope
}

// Name is who the owner is; empty for Shared.
func (o Owner) Name() string {
	_, name, _ := strings.Cut(string(o), " ")
	return name
}

// Who is whom a turn or a command works for.
type Who struct {
	// Key is the session's. User wrote the message, as the platform names them, and Role is what they may do.
	Key, User string
	Role      ops.Role
	// Unattended means that no person reads along.
	Unattended bool
}

// Reach is whose notes a turn works with. The zero value is no notes.
type Reach struct {
	// Own is who gets the notes of the turn: a person in a direct message, else the chat.
	Own Owner
	// Shares means that the turn may write shared notes. Only turns of owners may, because every member's turns read them.
	Shares bool
	// Speaker is the person as platform:id; empty: the platform names none.
	Speaker string
}

// operator is the person of the sessions of the command line and the console, and Operator owns their notes.
const (
	operator = "cli:operator"

	Operator Owner = ofPerson + operator
)

// PersonOwner owns the notes of a person, platform:id.
func PersonOwner(person string) Owner { return Owner(ofPerson + person) }

// ReachOf says whose notes a turn sees. In a direct message they are those of the person, and shared ones. Elsewhere others read the
// answer, so that they are those of the chat and shared ones, and none of a person (hermes#11430). Guests have none, and neither have
// requests that name no session.
func ReachOf(w Who) Reach {
	if !w.Role.AtLeast(ops.RoleMember) || session.IsRequest(w.Key) {
		return Reach{}
	}
	key := session.Owner(w.Key)
	platform := session.Platform(key)
	r := Reach{Shares: w.Role == ops.RoleOwner && !w.Unattended, Speaker: speaker(platform, w.User)}
	kind, rest, _ := strings.Cut(strings.TrimPrefix(key, platform+":"), ":")
	switch {
	case platform == "cli":
		r.Own, r.Speaker = Operator, operator
	case kind == "dm" && rest != "":
		id, _, _ := strings.Cut(rest, ":topic:")
		id, _, _ = strings.Cut(id, ":thread:")
		r.Own = Owner(ofPerson + platform + ":" + id)
	case platform == "api" && r.Speaker != "":
		r.Own = Owner(ofPerson + r.Speaker)
	default:
		group, _, _ := strings.Cut(key, ":user:") // a member's own conversation is in the same group
		if platform == "api" {                    // there it is the session's name
			group = key
		}
		r.Own = Owner(ofChat + group)
	}
	return r
}

// speaker names who wrote a message; empty: the platform names no one.
func speaker(platform, user string) string {
	id := session.PersonOf(user)
	if id == "" || id == platform || strings.ContainsFunc(id, isSpace) {
		return ""
	}
	return platform + ":" + id
}

func isSpace(r rune) bool { return r == ' ' || r == '\t' || r == '\n' || r == '\r' }

// None reports whether the turn has no notes.
func (r Reach) None() bool { return r.Own == "" }

// Reads are the owners whose notes the turn sees.
func (r Reach) Reads() []Owner {
	if r.None() {
		return nil
	}
	return []Owner{r.Own, Shared}
}

// Writes are the owners whose notes the turn may change.
func (r Reach) Writes() []Owner {
	switch {
	case r.None():
		return nil
	case r.Shares:
		return r.Reads()
	}
	return []Owner{r.Own}
}

// people wrote the words that a note of the turn may have.
func (r Reach) people() []string {
	if r.Speaker == "" {
		return nil
	}
	return []string{r.Speaker}
}
