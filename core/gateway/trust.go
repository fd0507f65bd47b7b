package gateway

import (
	"context"
	"time"

	"gatewaytui/core/access"
	"gatewaytui/core/adapter"
	"gatewaytui/core/config"
	"gatewaytui/core/environment"
	"gatewaytui/core/ops"
	"gatewaytui/core/session"
	"gatewaytui/core/tool"
)

// trust is who may do what, and where commands of tools run.
type trust struct {
	people       *access.People
	environments *environment.Set
	// hosts asks about the hosts that sandboxes do not list.
	hosts tool.Hosts
}

// newPeople is who may speak. Platforms that are not in the config, such as those of a demo, are open by name alone.
func (g *Gateway) newPeople() *access.People {
	return access.New(access.Options{
		Rules: accessRules(g.config(), g.opts.Open), Log: g.opts.Log,
		Asked: func(p access.Person, name string, until time.Time) {
			g.events.Emit(ops.EventPersonAsked, p.String(), "an unknown user asks to be let in", ops.PersonAsk{ExpiresAt: ops.At(until), Name: name})
		},
	})
}

// openPeople reads who may speak, before messages come. Of a database that takes nothing no message is worked on: there the config
// is enough.
func (g *Gateway) openPeople(ctx context.Context) error {
	if g.health.Damage() != "" {
		return nil
	}
	return g.trust.people.Open(ctx, g.recovery.Store())
}

// accessRules are what the config says of people. open are platforms that everyone may use.
func accessRules(c config.Config, open []string) access.Rules {
	rules := access.Rules{Unknown: access.Unknown(c.Access.Strangers), API: ops.Role(c.Adapters.API.Role), Platforms: map[string]access.Platform{}}
	for _, b := range c.Adapters.Bots() {
		rules.Platforms[b.Name] = access.Platform{Members: b.Allow, All: b.AllowAll, Numbers: b.Numbers}
	}
	for _, name := range open {
		rules.Platforms[name] = access.Platform{All: true}
	}
	for _, name := range c.Access.Owners {
		if p, err := access.Read(name); err == nil { // the config was checked
			rules.Owners = append(rules.Owners, p)
		}
	}
	return rules
}

// Admits implements adapter.Door.
func (r receiver) Admits(u adapter.User) bool {
	return access.Decide(r.g.trust.people.Role(person(u)), access.Talk, u.Platform)
}

// Greets implements adapter.Door.
func (r receiver) Greets(u adapter.User) bool { return r.g.trust.people.Greets(person(u)) }

// Greet implements adapter.Door.
func (r receiver) Greet(ctx context.Context, u adapter.User) (string, error) {
	return r.g.trust.people.Greet(ctx, person(u), u.Name)
}

func person(u adapter.User) access.Person { return access.Person{Platform: u.Platform, ID: u.ID} }

// roleIn is the role of the person whose session this is; of a session that is not known yet, a member's.
func (g *Gateway) roleIn(key string) ops.Role {
	s, known := g.table.Get(key)
	if !known || s.User == "" {
		return ops.RoleMember
	}
	return g.trust.people.Role(access.Person{Platform: session.Platform(key), ID: session.PersonOf(s.User)})
}
