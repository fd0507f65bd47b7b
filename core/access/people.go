package access

import (
	"cmp"
	"context"
	"fmt"
	"log/slog"
	"maps"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"gatewaytui/core/ops"
	"gatewaytui/core/store"
	"gatewaytui/core/term"
)

const (
	// maxPeople bounds the rows about people, who are in memory.
	maxPeople = 10_000
	// maxName bounds the name of a person, in cells.
	maxName = 64
)

// Store keeps the rows. *store.Store is one.
type Store interface {
	People(ctx context.Context) ([]store.Person, error)
	PutPerson(ctx context.Context, v store.Person) error
	DropPerson(ctx context.Context, platform, id string) error
	Pairings(ctx context.Context) ([]store.Pairing, error)
	PutPairing(ctx context.Context, v store.Pairing) error
	DropPairing(ctx context.Context, platform, id string) error
	Pair(ctx context.Context, v store.Person, used store.Pairing) error
	Misses(ctx context.Context) ([]time.Time, error)
	PutMiss(ctx context.Context, at, since time.Time) error
}

// Options are what People need. Every field is required.
type Options struct {
	Rules
	Log *slog.Logger
	// Asked is called when an unknown user has a new code. It does not block.
	Asked func(p Person, name string, until time.Time)
}

// People is who may speak, and as what. Its methods may be called from any goroutine.
type People struct {
	o     Options
	store Store
	// one holds a token: one change at a time.
	one chan struct{}

	// rules are those of the config in force.
	rules atomic.Pointer[Rules]

	mu       sync.RWMutex // guards what follows
	rows     map[Person]store.Person
	pairings map[Person]store.Pairing
	misses   []time.Time // within the last hour, or a little older
}

// New returns People who have only what the config says. It does no I/O.
func New(o Options) *People {
	p := &People{o: o, one: make(chan struct{}, 1), rows: map[Person]store.Person{}, pairings: map[Person]store.Pairing{}}
	p.Use(o.Rules)
	return p
}

// Use puts other rules of the config in force. Who has a row keeps it.
func (p *People) Use(r Rules) { p.rules.Store(&r) }

// Open reads the rows. It is called once, before any message.
func (p *People) Open(ctx context.Context, s Store) error {
	rows, err := s.People(ctx)
	if err != nil {
		return err
	}
	pairings, err := s.Pairings(ctx)
	if err != nil {
		return err
	}
	misses, err := s.Misses(ctx)
	if err != nil {
		return err
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	p.store, p.misses = s, misses
	for _, v := range rows {
		p.rows[Person{v.Platform, v.ID}] = v
	}
	for _, v := range pairings {
		p.pairings[Person{v.Platform, v.ID}] = v
	}
	return nil
}

// change runs a change alone. Before Open it is refused.
func (p *People) change(ctx context.Context, do func(s Store) error) error {
	select {
	case p.one <- struct{}{}:
		defer func() { <-p.one }()
	case <-ctx.Done():
		return context.Cause(ctx)
	}
	p.mu.RLock()
	s := p.store
	p.mu.RUnlock()
	if s == nil {
		return &ops.Error{Code: ops.CodeUnavailable, Message: "the gateway is starting", Hint: "try again in a moment"}
	}
	return do(s)
}

// Role is the role of a person; empty: the person may not speak.
func (p *People) Role(who Person) ops.Role {
	p.mu.RLock()
	row, known := p.rows[who]
	p.mu.RUnlock()
	role, _ := p.of(who, row, known)
	return role
}

// of is the role of a person with this row, and whether the row gives it.
func (p *People) of(who Person, row store.Person, known bool) (role ops.Role, byRow bool) {
	role = p.rules.Load().role(who)
	switch {
	case !known:
		return role, false
	case row.State == ops.PersonBlocked:
		return "", true
	case role.AtLeast(row.Role):
		return role, false
	}
	return row.Role, true
}

// MayAnswer reports whether a person may answer approvals: an owner may, of each session.
func (p *People) MayAnswer(who Person) bool { return Decide(p.Role(who), Approve, who.Platform) }

// Owners are the owners on a platform, in the order of their ids.
func (p *People) Owners(platform string) (owners []Person) {
	for _, v := range p.List() {
		if who, err := Read(v.ID); err == nil && v.Role == ops.RoleOwner && v.Platform == platform {
			owners = append(owners, who)
		}
	}
	return owners
}

// List is everyone who is named, and the unknown users who have a code: those that ask first, then by role and id.
func (p *People) List() []ops.Person {
	p.mu.RLock()
	all := map[Person]ops.Person{}
	for _, who := range p.rules.Load().Owners {
		all[who] = ops.Person{}
	}
	for platform, of := range p.rules.Load().Platforms {
		for _, id := range of.Members {
			all[Person{platform, id}] = ops.Person{}
		}
	}
	for who := range p.rows {
		all[who] = ops.Person{}
	}
	for who := range all {
		row, known := p.rows[who]
		role, byRow := p.of(who, row, known)
		v := ops.Person{ID: who.String(), Platform: who.Platform, Name: row.Name, Role: role, State: ops.PersonAllowed, Source: ops.FromConfig}
		if byRow {
			v.State, v.Source, v.By, v.At = row.State, row.Source, row.By, ops.At(row.At)
		}
		all[who] = v
	}
	now := time.Now()
	for who, ask := range p.pairings {
		if counts(ask, now) {
			all[who] = ops.Person{ID: who.String(), Platform: who.Platform, Name: ask.Name, State: ops.PersonAsked, Source: ops.FromPairing, At: ops.At(ask.Asked)}
		}
	}
	p.mu.RUnlock()
	rank := map[ops.PersonState]int{ops.PersonAsked: 0, ops.PersonAllowed: 1, ops.PersonBlocked: 2}
	return slices.SortedFunc(maps.Values(all), func(a, b ops.Person) int {
		return cmp.Or(cmp.Compare(rank[a.State], rank[b.State]), roleOrder(a.Role, b.Role), cmp.Compare(a.ID, b.ID))
	})
}

// roleOrder puts the role that may do more first.
func roleOrder(a, b ops.Role) int {
	return cmp.Compare(slices.Index(ops.Roles, a), slices.Index(ops.Roles, b))
}

// Add lets a person in with a role, also one who was removed.
func (p *People) Add(ctx context.Context, name string, role ops.Role, by string) (string, error) {
	who, err := p.named(name)
	if err != nil {
		return "", err
	}
	return p.admit(ctx, who, role, by, ops.FromVerb)
}

// admit writes that a person has a role.
func (p *People) admit(ctx context.Context, who Person, role ops.Role, by string, source ops.PersonSource) (string, error) {
	err := p.change(ctx, func(s Store) error {
		p.mu.RLock()
		row, known := p.rows[who]
		row.Name = cmp.Or(p.pairings[who].Name, row.Name)
		full := !known && len(p.rows) >= maxPeople
		p.mu.RUnlock()
		if full {
			return &ops.Error{Code: ops.CodeLimit, Message: fmt.Sprintf("there are %d people with a row, and no more may be", maxPeople), Hint: "forget some, or use allow_all"}
		}
		if err := p.notBelow(who, role); err != nil {
			return err
		}
		return p.put(ctx, s, store.Person{Platform: who.Platform, ID: who.ID, Role: role, State: ops.PersonAllowed, Source: source, By: by, Name: row.Name, At: time.Now()})
	})
	return who.String() + " is " + string(role) + " from the next message on", err
}

// SetRole changes the role of a person who may speak.
func (p *People) SetRole(ctx context.Context, name string, role ops.Role, by string) (string, error) {
	who, err := p.named(name)
	if err != nil {
		return "", err
	}
	if p.Role(who) == "" {
		return "", &ops.Error{Code: ops.CodeNotFound, Message: who.String() + " may not speak to this gateway", Hint: "`gatewaytui people add " + who.String() + " --role " + string(role) + "` lets them in"}
	}
	return p.Add(ctx, name, role, by)
}

// notBelow refuses a role that the config does not let a person have: its entries always count.
func (p *People) notBelow(who Person, role ops.Role) error {
	if config := p.rules.Load().role(who); !role.AtLeast(config) {
		return &ops.Error{
			Code: ops.CodeConflict, Message: fmt.Sprintf("the config makes %s %s, which is more than %s", who, config, role),
			Hint: "take the person out of access.owners and adapters." + who.Platform + ".allow, or `gatewaytui people remove " + who.String() + "`",
		}
	}
	return nil
}

// Remove blocks a person. It wins over the config and over a code.
func (p *People) Remove(ctx context.Context, name, by string) (string, error) {
	who, err := Read(name)
	if err != nil {
		return "", err
	}
	err = p.change(ctx, func(s Store) error {
		p.mu.RLock()
		row := p.rows[who]
		p.mu.RUnlock()
		return p.put(ctx, s, store.Person{Platform: who.Platform, ID: who.ID, State: ops.PersonBlocked, Source: ops.FromVerb, By: by, Name: row.Name, At: time.Now()})
	})
	return who.String() + " may not speak to this gateway any more", err
}

// Forget deletes what is kept of a person from before a time. A person whom the config lets in stays removed, by id alone. It
// returns how many rows were deleted.
func (p *People) Forget(ctx context.Context, who Person, before time.Time) (n int, err error) {
	err = p.change(ctx, func(s Store) error {
		p.mu.RLock()
		row, known := p.rows[who]
		ask, asked := p.pairings[who]
		p.mu.RUnlock()
		known, asked = known && !row.At.After(before), asked && !ask.Asked.After(before)
		if known && row.State == ops.PersonBlocked && p.rules.Load().role(who) != "" {
			if n++; row.Name == "" && !asked {
				n = 0
				return nil
			}
			row.Name = ""
			return p.put(ctx, s, row)
		}
		if known {
			n++
			if err := s.DropPerson(ctx, who.Platform, who.ID); err != nil {
				return err
			}
		} else if asked {
			if err := s.DropPairing(ctx, who.Platform, who.ID); err != nil {
				return err
			}
		}
		if asked {
			n++
		}
		p.mu.Lock()
		defer p.mu.Unlock()
		if known {
			delete(p.rows, who)
		}
		if known || asked {
			delete(p.pairings, who)
		}
		return nil
	})
	return n, err
}

// put writes a row, then takes it up. It is called within change.
func (p *People) put(ctx context.Context, s Store, v store.Person) error {
	v.By, v.Name = term.Clean(v.By, 2*maxName), term.Clean(v.Name, maxName)
	if err := s.PutPerson(ctx, v); err != nil {
		return err
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	who := Person{v.Platform, v.ID}
	p.rows[who] = v
	delete(p.pairings, who)
	return nil
}

// named reads the name of a person who can get a role.
func (p *People) named(name string) (Person, error) {
	who, err := Read(name)
	if err != nil {
		return who, err
	}
	return who, p.rules.Load().Check(who)
}

// Check refuses a person who cannot get a role: of a platform without names, or with an id that the platform does not have.
func (r Rules) Check(who Person) error {
	platform, known := r.Platforms[who.Platform]
	switch {
	case who.Platform == API:
		return &ops.Error{Code: ops.CodeInvalid, Message: "programs have no names", Hint: "adapters.api.role is the role of all of them"}
	case !known:
		return &ops.Error{Code: ops.CodeInvalid, Message: "there is no platform " + term.Quote(who.Platform), Hint: "there are: " + strings.Join(slices.Sorted(maps.Keys(r.Platforms)), ", ")}
	case platform.Numbers && !number.MatchString(who.ID):
		return &ops.Error{Code: ops.CodeInvalid, Message: term.Quote(who.ID) + " is not an id of " + who.Platform, Hint: "an id is a number; /whoami shows a person's own"}
	}
	return nil
}
