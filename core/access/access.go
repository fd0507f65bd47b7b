// Package access says who may do what (TR1), and lets people in (TR2).
//
// What it promises: Decide is the one place that says what a role may do, and People.Role the one that says which role a person has.
// A person without a role starts nothing. A removal wins over the config and over a code. A change holds from the person's next
// message, without a restart. A code is known to its person alone: the gateway keeps a hash, it lets in that person and no other,
// it counts for an hour and once. The limits on codes and on guesses hold over restarts.
//
// decide.go has what each role may do, people.go who has which, pairing.go the codes, unknown.go what unknown users hear.
//
// Locks: People.mu is a leaf, and is not held over I/O. Changes come one after the other through People.one, which is held over
// the writes of one change.
package access

import (
	"regexp"

	"gatewaytui/core/ops"
	"gatewaytui/core/people"
)

// Person names a person: a platform, and its id of them.
type Person struct{ Platform, ID string }

// String is what verbs take: telegram:4711.
func (p Person) String() string { return p.Platform + ":" + p.ID }

// Read reads the name of a person. The error is an *ops.Error.
func Read(name string) (Person, error) {
	f, err := people.Read(name)
	return Person{Platform: f.Platform, ID: f.ID}, err
}

// Unknown is what becomes of users without a role (access.strangers).
type Unknown string

// The ways. UnknownTell is the default.
const (
	// UnknownTell tells each user once, with their id, what the owner has to do.
	UnknownTell Unknown = "tell"
	// UnknownPair gives each user a code, at most once an hour.
	UnknownPair Unknown = "pair"
	// UnknownIgnore says nothing.
	UnknownIgnore Unknown = "ignore"
)

// Rules are what the config says. A value never changes: People.Use replaces it.
type Rules struct {
	Unknown Unknown
	// API is the role of all programs (adapters.api.role).
	API ops.Role
	// Owners are access.owners.
	Owners []Person
	// Platforms are those whose people are named one by one. A person of another platform is a member: it is
	// not connected in this life, and what came from it was admitted by an earlier one.
	Platforms map[string]Platform
}

// Platform is what the config says of the people of one platform.
type Platform struct {
	// Members are allow. All makes everyone a member (allow_all).
	Members []string
	All     bool
	// Numbers means that the platform's ids are numbers, so that a name in place of one is a mistake.
	Numbers bool
}

// number is an id of a platform with numbers.
var number = regexp.MustCompile(`^[1-9][0-9]{0,19}$`)

// role is the role that the config gives a person.
func (r Rules) role(p Person) ops.Role {
	if p.Platform == API {
		return r.API
	}
	for _, owner := range r.Owners {
		if owner == p {
			return ops.RoleOwner
		}
	}
	platform, connected := r.Platforms[p.Platform]
	if platform.All || !connected {
		return ops.RoleMember
	}
	for _, id := range platform.Members {
		if id == p.ID {
			return ops.RoleMember
		}
	}
	return ""
}
