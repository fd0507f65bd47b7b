package access

import (
	"context"
	"crypto/rand"
	"crypto/sha256"
	"crypto/subtle"
	"encoding/hex"
	"fmt"
	"math/big"
	"slices"
	"strings"
	"time"

	"gatewaytui/core/ops"
	"gatewaytui/core/store"
	"gatewaytui/core/term"
)

const (
	// CodeLasts is how long a code counts, and how long its person waits for the next one.
	CodeLasts = time.Hour
	// maxOpen is how many codes of a platform may count at once.
	maxOpen = 3
	// maxMisses is how many wrong codes may be given within missWindow. Then none is taken until missWindow after the last of them.
	maxMisses  = 5
	missWindow = time.Hour
	// skew is how far in the future a time of the store may be. Beyond it the clock was set back, and the time counts for nothing.
	skew = time.Minute
)

// letters are those of codes: none looks like another one, also in a handwriting.
const letters = "ACDEFHJKLMNPQRTVWXY34679"

// codeLength is how many letters a code has: 24^8 is about 2^37.
const codeLength = 8

// newCode makes a code.
func newCode() string {
	code := make([]byte, codeLength)
	for i := range code {
		n, err := rand.Int(rand.Reader, big.NewInt(int64(len(letters))))
		if err != nil { // crypto/rand never fails on the systems that Go supports
			panic(err)
		}
		code[i] = letters[n.Int64()]
	}
	return string(code)
}

// hashed is the code of a person as the store keeps it: a salt and a hash.
func hashed(who Person, salt, code string) string {
	sum := sha256.Sum256([]byte(salt + "\x00" + who.String() + "\x00" + code))
	return salt + "$" + hex.EncodeToString(sum[:])
}

// matches reports whether kept is the hash of a code of this person.
func matches(who Person, kept, code string) bool {
	salt, _, is := strings.Cut(kept, "$")
	return is && subtle.ConstantTimeCompare([]byte(kept), []byte(hashed(who, salt, code))) == 1
}

// readCode is a code as a person wrote it, in capitals and without what people put between the letters.
func readCode(text string) (string, bool) {
	code := strings.Map(func(r rune) rune {
		if r == '-' || r == ' ' {
			return -1
		}
		return r
	}, strings.ToUpper(strings.TrimSpace(text)))
	wrong := strings.ContainsFunc(code, func(r rune) bool { return !strings.ContainsRune(letters, r) })
	return code, len(code) == codeLength && !wrong
}

// counts reports whether the code of a pairing can be approved.
func counts(v store.Pairing, now time.Time) bool {
	return v.State == store.PairingOpen && v.Expires.After(now) && !v.Asked.After(now.Add(skew))
}

// Locked is until when no code is taken, because too many were wrong; zero: codes are taken.
func (p *People) Locked(now time.Time) time.Time {
	p.mu.RLock()
	defer p.mu.RUnlock()
	return locked(p.misses, now)
}

func locked(misses []time.Time, now time.Time) (until time.Time) {
	n := 0
	for _, at := range misses {
		if at.After(now.Add(-missWindow)) && !at.After(now.Add(skew)) {
			n++
			until = at.Add(missWindow)
		}
	}
	if n < maxMisses {
		return time.Time{}
	}
	return until
}

// Approve lets in the person of a code. The error is an *ops.Error where its reader can act on it.
func (p *People) Approve(ctx context.Context, text string, role ops.Role, by string) (done string, err error) {
	code, formed := readCode(text)
	if !formed {
		return "", &ops.Error{Code: ops.CodeInvalid, Message: "that is not a code", Hint: fmt.Sprintf("a code has %d letters and digits; `gatewaytui people` lists who asked", codeLength)}
	}
	err = p.change(ctx, func(s Store) error {
		now := time.Now()
		if until := p.Locked(now); !until.IsZero() {
			return &ops.Error{
				Code: ops.CodeLimit, Message: fmt.Sprintf("too many wrong codes: none is taken for %s", until.Sub(now).Round(time.Minute)),
				Hint: "`gatewaytui people add ID` lets in a person by id", RetryAfter: until.Sub(now),
			}
		}
		ask, found := p.withCode(code, now)
		if !found {
			return p.miss(ctx, s, now)
		}
		used := ask
		used.State = store.PairingUsed
		row := store.Person{Platform: ask.Platform, ID: ask.ID, Role: role, State: ops.PersonAllowed, Source: ops.FromPairing, By: term.Clean(by, 2*maxName), Name: ask.Name, At: now}
		who := Person{ask.Platform, ask.ID}
		if err := s.Pair(ctx, row, used); err != nil {
			return err
		}
		p.mu.Lock()
		defer p.mu.Unlock()
		p.rows[who], p.pairings[who] = row, used
		done = fmt.Sprintf("%s (%s) is %s from the next message on", who, term.Clean(ask.Name, maxName), role)
		return nil
	})
	return done, err
}

// withCode is the pairing with a code that counts.
func (p *People) withCode(code string, now time.Time) (found store.Pairing, is bool) {
	p.mu.RLock()
	defer p.mu.RUnlock()
	for who, v := range p.pairings {
		if counts(v, now) && matches(who, v.Code, code) {
			found, is = v, true
		}
	}
	return found, is
}

// miss notes a wrong code.
func (p *People) miss(ctx context.Context, s Store, now time.Time) error {
	if err := s.PutMiss(ctx, now, now.Add(-missWindow)); err != nil {
		return err
	}
	p.mu.Lock()
	p.misses = append(slices.DeleteFunc(slices.Clone(p.misses), func(at time.Time) bool { return !at.After(now.Add(-missWindow)) }), now)
	left := maxMisses
	for _, at := range p.misses {
		if !at.After(now.Add(skew)) {
			left--
		}
	}
	p.mu.Unlock()
	if left > 0 {
		return &ops.Error{
			Code: ops.CodeNotFound, Message: "there is no such code, or its hour is over",
			Hint: fmt.Sprintf("%d more wrong codes are taken within the hour; `gatewaytui people` lists who asked", left),
		}
	}
	p.o.Log.Warn("no codes are taken for an hour: too many were wrong", "event", ops.LogPairingLocked, "count", maxMisses)
	return &ops.Error{Code: ops.CodeNotFound, Message: "there is no such code, and it was the last try: no code is taken for an hour", Hint: "`gatewaytui people add ID` lets in a person by id"}
}
