package ops

import (
	"fmt"
	"slices"
)

// Role is what a person may do with a gateway (TR1). The empty role is that of a person who may not speak.
type Role string

// The roles, from the one that may do most.
const (
	// RoleOwner approves, restarts and lets others in, besides what a member may do.
	RoleOwner Role = "owner"
	// RoleMember talks, and uses the tools of the agents.
	RoleMember Role = "member"
	// RoleGuest talks, without tools.
	RoleGuest Role = "guest"
)

// Roles are the roles, from the one that may do most.
var Roles = []Role{RoleOwner, RoleMember, RoleGuest}

// AtLeast reports whether r may do all that other may.
func (r Role) AtLeast(other Role) bool { return r.rank() >= other.rank() }

// rank is higher the more a role may do, and 0 for no role.
func (r Role) rank() int {
	at := slices.Index(Roles, r)
	if at < 0 {
		return 0
	}
	return len(Roles) - at
}

// ReadRole reads the name of a role. The error is an *Error.
func ReadRole(name string) (Role, error) {
	if !slices.Contains(Roles, Role(name)) {
		return "", invalid(fmt.Sprintf("there is no role %.40q", name), "use owner, member or guest")
	}
	return Role(name), nil
}

// PersonState says whether a person may speak.
type PersonState string

// The states.
const (
	PersonAllowed PersonState = "allowed"
	PersonBlocked PersonState = "blocked"
	// PersonAsked is an unknown user who has a code that counts.
	PersonAsked PersonState = "asked"
)

// PersonSource says where it is from that a person may speak, or may not.
type PersonSource string

// The sources.
const (
	FromConfig  PersonSource = "config"
	FromPairing PersonSource = "pairing"
	FromVerb    PersonSource = "verb"
)

// Person is a row about who may speak. A person with a row of the gateway's besides the one of the config has both in one: Source
// is that of the row which gives the role.
type Person struct {
	// ID is what verbs take: the platform and its id of the person, as in telegram:4711.
	ID       string       `json:"id"`
	Platform string       `json:"platform"`
	Name     string       `json:"name"`
	Role     Role         `json:"role"`
	State    PersonState  `json:"state"`
	Source   PersonSource `json:"source"`
	// By is who said so; empty for the config.
	By string `json:"by"`
	At Time   `json:"at"`
}
