package access

import (
	"context"
	"errors"
	"log/slog"
	"maps"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"go.uber.org/goleak"

	"gatewaytui/core/ops"
	"gatewaytui/core/store"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// disk is a store in memory, which outlives the People of a test.
type disk struct {
	people   map[Person]store.Person
	pairings map[Person]store.Pairing
	misses   []time.Time
	fails    bool
}

var errDisk = errors.New("the disk is full")

func newDisk() *disk {
	return &disk{people: map[Person]store.Person{}, pairings: map[Person]store.Pairing{}}
}

func (d *disk) write(do func()) error {
	if d.fails {
		return errDisk
	}
	do()
	return nil
}

func (d *disk) People(context.Context) ([]store.Person, error) {
	return slices.Collect(maps.Values(d.people)), nil
}

func (d *disk) Pairings(context.Context) ([]store.Pairing, error) {
	return slices.Collect(maps.Values(d.pairings)), nil
}
func (d *disk) Misses(context.Context) ([]time.Time, error) { return slices.Clone(d.misses), nil }
func (d *disk) PutPerson(_ context.Context, v store.Person) error {
	return d.write(func() {
		d.people[Person{v.Platform, v.ID}] = v
		delete(d.pairings, Person{v.Platform, v.ID})
	})
}

func (d *disk) DropPerson(_ context.Context, platform, id string) error {
	return d.write(func() {
		delete(d.people, Person{platform, id})
		delete(d.pairings, Person{platform, id})
	})
}

func (d *disk) PutPairing(_ context.Context, v store.Pairing) error {
	return d.write(func() { d.pairings[Person{v.Platform, v.ID}] = v })
}

func (d *disk) DropPairing(_ context.Context, platform, id string) error {
	return d.write(func() { delete(d.pairings, Person{platform, id}) })
}

func (d *disk) Pair(_ context.Context, v store.Person, used store.Pairing) error {
	return d.write(func() { d.people[Person{v.Platform, v.ID}], d.pairings[Person{v.Platform, v.ID}] = v, used })
}

func (d *disk) PutMiss(_ context.Context, at, since time.Time) error {
	return d.write(func() {
		d.misses = append(slices.DeleteFunc(d.misses, func(at time.Time) bool { return at.Before(since) }), at)
	})
}

// gate is People on a disk, and what they asked.
type gate struct {
	*People
	t     testing.TB
	asked []Person
}

// open opens People with these rules on a disk, as a start does.
func open(t testing.TB, rules Rules, d Store) *gate {
	t.Helper()
	g := &gate{t: t}
	g.People = New(Options{Rules: rules, Log: slog.New(slog.DiscardHandler), Asked: func(p Person, _ string, _ time.Time) { g.asked = append(g.asked, p) }})
	if err := g.Open(context.Background(), d); err != nil {
		t.Fatal(err)
	}
	return g
}

// chat is the rules of a config with two platforms.
func chat(unknown Unknown) Rules {
	return Rules{Unknown: unknown, Owners: []Person{{"telegram", "1"}}, Platforms: map[string]Platform{
		"telegram": {Members: []string{"2"}, Numbers: true}, "discord": {Numbers: true}, "open": {All: true},
	}}
}

func telegram(id string) Person { return Person{"telegram", id} }

var shownCode = regexp.MustCompile(`for an hour: ([A-Z0-9]{8})\n`)

// greet is what an unknown user hears, and the code in it.
func (g *gate) greet(who Person) (text, code string) {
	g.t.Helper()
	may := g.Greets(who)
	text, err := g.Greet(context.Background(), who, "Name of "+who.ID)
	if err != nil {
		g.t.Fatal(err)
	}
	if may != (text != "") {
		g.t.Errorf("Greets says %v of %s, who hears %q", may, who, text)
	}
	if m := shownCode.FindStringSubmatch(text); m != nil {
		code = m[1]
	}
	return text, code
}

func (g *gate) want(who Person, role ops.Role) {
	g.t.Helper()
	if got := g.Role(who); got != role {
		g.t.Errorf("%s is %q, want %q", who, got, role)
	}
}

// refused fails unless err has a code and says these words.
func (g *gate) refused(err error, code ops.Code, words ...string) {
	g.t.Helper()
	if !ops.HasCode(err, code) {
		g.t.Errorf("the answer is %v, want %s", err, code)
		return
	}
	for _, w := range words {
		if !strings.Contains(err.Error(), w) {
			g.t.Errorf("the answer is %q, want the words %q", err, w)
		}
	}
}
