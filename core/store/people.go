package store

import (
	"context"
	"time"

	"gatewaytui/core/ops"
)

// Person is a row about who may speak. Platform and ID name the person; Role is owner, member or guest, and empty for a blocked one.
type Person struct {
	Platform, ID string
	Role         ops.Role
	State        ops.PersonState
	Source       ops.PersonSource
	// By is who said so, Name what the person was called then.
	By, Name string
	At       time.Time
}

const personColumns = `platform, id, role, state, source, by, name, at`

func (v *Person) fields() []any {
	return []any{&v.Platform, &v.ID, (*string)(&v.Role), (*string)(&v.State), (*string)(&v.Source), &v.By, &v.Name, (*stamp)(&v.At)}
}

var putPerson = insertion("INSERT INTO people", personColumns, `ON CONFLICT (platform, id) DO UPDATE SET
	role = excluded.role, state = excluded.state, source = excluded.source, by = excluded.by, name = excluded.name, at = excluded.at`)

// PutPerson writes who may speak. The person asks no more: a code of theirs is deleted.
func (s *Store) PutPerson(ctx context.Context, v Person) error {
	return s.write(ctx, "write the person "+v.Platform+":"+v.ID, func(t *tx) error {
		if err := t.do(putPerson, v.fields()...); err != nil {
			return err
		}
		return t.do(dropPairing, v.Platform, v.ID)
	})
}

// DropPerson deletes what PutPerson and PutPairing wrote about a person.
func (s *Store) DropPerson(ctx context.Context, platform, id string) error {
	return s.write(ctx, "drop the person "+platform+":"+id, func(t *tx) error {
		if err := t.do(`DELETE FROM people WHERE platform = ? AND id = ?`, platform, id); err != nil {
			return err
		}
		return t.do(dropPairing, platform, id)
	})
}

// People are all rows about who may speak.
func (s *Store) People(ctx context.Context) ([]Person, error) {
	return list[Person](ctx, s, "read the people", `SELECT `+personColumns+` FROM people ORDER BY platform, id`)
}

// Pairing is an unknown user who wrote at Asked. Code is a hash, which counts until Expires.
type Pairing struct {
	Platform, ID, Name string
	Code               string
	State              PairingState
	Asked, Expires     time.Time
}

// PairingState is what became of an unknown user.
type PairingState string

// The states. PairingUsed is a code that was approved: the row stays, so that there is no second one within the hour.
const (
	PairingTold PairingState = "told"
	PairingOpen PairingState = "open"
	PairingUsed PairingState = "used"
)

const (
	pairingColumns = `platform, id, name, code, state, asked, expires`
	dropPairing    = `DELETE FROM pairings WHERE platform = ? AND id = ?`
)

func (v *Pairing) fields() []any {
	return []any{&v.Platform, &v.ID, &v.Name, &v.Code, (*string)(&v.State), (*stamp)(&v.Asked), (*stamp)(&v.Expires)}
}

var putPairing = insertion("INSERT INTO pairings", pairingColumns, `ON CONFLICT (platform, id) DO UPDATE SET
	name = excluded.name, code = excluded.code, state = excluded.state, asked = excluded.asked, expires = excluded.expires`)

// PutPairing writes what an unknown user heard.
func (s *Store) PutPairing(ctx context.Context, v Pairing) error {
	return s.change(ctx, "write that "+v.Platform+":"+v.ID+" asked", putPairing, v.fields()...)
}

// DropPairing deletes it.
func (s *Store) DropPairing(ctx context.Context, platform, id string) error {
	return s.change(ctx, "drop that "+platform+":"+id+" asked", dropPairing, platform, id)
}

// Pairings are all of them, the oldest first.
func (s *Store) Pairings(ctx context.Context) ([]Pairing, error) {
	return list[Pairing](ctx, s, "read who asked to be let in", `SELECT `+pairingColumns+` FROM pairings ORDER BY asked`)
}

// Pair lets in the person of a code, in one commit with the end of that code.
func (s *Store) Pair(ctx context.Context, v Person, used Pairing) error {
	return s.write(ctx, "let in "+v.Platform+":"+v.ID, func(t *tx) error {
		if err := t.do(putPairing, used.fields()...); err != nil {
			return err
		}
		return t.do(putPerson, v.fields()...)
	})
}

// PutMiss writes that a code was given at a time that there is not, and deletes those from before the time since.
func (s *Store) PutMiss(ctx context.Context, at, since time.Time) error {
	return s.write(ctx, "write a wrong code", func(t *tx) error {
		if err := t.do(`DELETE FROM pairing_misses WHERE at IS NULL OR at < ?`, stamp(since)); err != nil {
			return err
		}
		return t.do(`INSERT INTO pairing_misses (at) VALUES (?)`, stamp(at))
	})
}

// miss is a row of pairing_misses.
type miss struct{ at time.Time }

func (m *miss) fields() []any { return []any{(*stamp)(&m.at)} }

// Misses are the times at which a wrong code was given, the oldest first.
func (s *Store) Misses(ctx context.Context) (at []time.Time, err error) {
	all, err := list[miss](ctx, s, "read the wrong codes", `SELECT at FROM pairing_misses ORDER BY seq`)
	for _, m := range all {
		at = append(at, m.at)
	}
	return at, err
}
