package access

import (
	"context"
	"crypto/rand"
	"fmt"
	"time"

	"gatewaytui/core/store"
	"gatewaytui/core/term"
)

const (
	// maxTold bounds the unknown users of a platform who are remembered. Beyond it the oldest makes room once it is older than
	// toldLeast; until then further users hear nothing.
	maxTold   = 4096
	toldLeast = 24 * time.Hour
)

// Greets reports whether an unknown user who writes to the bot alone gets an answer now. It does not wait. A person with a role, and
// one who was removed, gets none.
func (p *People) Greets(who Person) bool {
	now := time.Now()
	p.mu.RLock()
	defer p.mu.RUnlock()
	return p.store != nil && p.greets(who, now)
}

// greets is Greets. The caller holds mu.
func (p *People) greets(who Person, now time.Time) bool {
	row, known := p.rows[who]
	if role, _ := p.of(who, row, known); known || role != "" {
		return false
	}
	ask, asked := p.pairings[who]
	switch p.rules.Load().Unknown {
	case UnknownIgnore:
		return false
	case UnknownPair:
		recent := asked && ask.State != store.PairingTold && ask.Asked.After(now.Add(-CodeLasts)) && !ask.Asked.After(now.Add(skew))
		return !recent && p.open(who.Platform, now) < maxOpen
	case UnknownTell:
		return !asked
	}
	return false
}

// open is how many codes of a platform count. The caller holds mu.
func (p *People) open(platform string, now time.Time) (n int) {
	for who, v := range p.pairings {
		if who.Platform == platform && counts(v, now) {
			n++
		}
	}
	return n
}

// Greet returns what an unknown user hears now; empty: nothing. The answer is in the store before Greet returns, so that a
// restart does not repeat it. It waits for the disk.
func (p *People) Greet(ctx context.Context, who Person, name string) (text string, err error) {
	err = p.change(ctx, func(s Store) error {
		now := time.Now()
		p.mu.RLock()
		greets := p.greets(who, now)
		oldest, full := p.oldest(who, now)
		p.mu.RUnlock()
		if !greets || full && oldest == (Person{}) {
			return nil
		}
		if full {
			if err := s.DropPairing(ctx, oldest.Platform, oldest.ID); err != nil {
				return err
			}
		}
		v := store.Pairing{Platform: who.Platform, ID: who.ID, Name: term.Clean(name, maxName), State: store.PairingTold, Asked: now, Expires: now}
		code := ""
		if p.rules.Load().Unknown == UnknownPair {
			code = newCode()
			v.Code, v.State, v.Expires = hashed(who, rand.Text(), code), store.PairingOpen, now.Add(CodeLasts)
		}
		if err := s.PutPairing(ctx, v); err != nil {
			return err
		}
		p.mu.Lock()
		delete(p.pairings, oldest)
		p.pairings[who] = v
		p.mu.Unlock()
		text = greeting(who, code)
		if code != "" {
			p.o.Asked(who, v.Name, v.Expires)
		}
		return nil
	})
	return text, err
}

// oldest is whether who would be one too many, and who makes room then; the zero value: none may. The caller holds mu.
func (p *People) oldest(who Person, now time.Time) (gone Person, full bool) {
	if _, asked := p.pairings[who]; asked {
		return gone, false
	}
	n, least := 0, now.Add(-toldLeast)
	for other, v := range p.pairings {
		if other.Platform != who.Platform {
			continue
		}
		if n++; v.Asked.Before(least) {
			gone, least = other, v.Asked
		}
	}
	if n < maxTold {
		return Person{}, false
	}
	return gone, true
}

// greeting is what an unknown user reads. code is empty where there is none.
func greeting(who Person, code string) string {
	if code == "" {
		return fmt.Sprintf("You are not on this bot's allow list. Your user id is %s; its owner can add you: gatewaytui people add %s", who.ID, who)
	}
	return fmt.Sprintf("You are not on this bot's allow list. Your user id is %s. Send its owner this code, which counts for an hour: %s\nThe owner lets you in with: gatewaytui people approve %s", who.ID, code, code)
}
