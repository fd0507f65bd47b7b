package access

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"pgregory.net/rapid"

	"gatewaytui/core/ops"
	"gatewaytui/core/store"
)

func TestTR2_AnUnknownUserIsToldOnceAlsoInTheNextLife(t *testing.T) {
	d := newDisk()
	g := open(t, chat(UnknownTell), d)
	if text, code := g.greet(telegram("7")); !strings.Contains(text, "Your user id is 7;") || !strings.Contains(text, "gatewaytui people add telegram:7") || code != "" {
		t.Errorf("an unknown user hears %q", text)
	}
	next := open(t, chat(UnknownTell), d)
	for _, g := range []*gate{g, next} {
		if text, _ := g.greet(telegram("7")); text != "" {
			t.Errorf("the user hears it again: %q", text)
		}
	}
	if text, _ := next.greet(telegram("2")); text != "" || len(next.asked) != 0 {
		t.Errorf("a member hears %q", text)
	}
	silent := open(t, chat(UnknownIgnore), newDisk())
	if text, _ := silent.greet(telegram("7")); text != "" {
		t.Errorf("with ignore an unknown user hears %q", text)
	}
}

func TestTR2_UnknownUsersAreRememberedWithinABound(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d := newDisk()
		g := open(t, chat(UnknownTell), d)
		for i := range maxTold {
			g.greet(telegram(fmt.Sprint(10_000 + i)))
		}
		if text, err := g.Greet(t.Context(), telegram("7"), ""); text != "" || err != nil {
			t.Errorf("one too many hears %q (%v)", text, err)
		}
		time.Sleep(toldLeast + time.Second)
		if text, _ := g.greet(telegram("7")); text == "" || len(d.pairings) != maxTold {
			t.Errorf("a day later the user hears %q, and %d are remembered", text, len(d.pairings))
		}
	})
}

func TestTR2_ACodeLetsInItsPersonForAnHourAndOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d := newDisk()
		g := open(t, chat(UnknownPair), d)
		text, code := g.greet(telegram("7"))
		if len(code) != codeLength || !strings.Contains(text, "gatewaytui people approve "+code) || len(g.asked) != 1 {
			t.Fatalf("the user hears %q", text)
		}
		if kept := fmt.Sprint(d.pairings); strings.Contains(kept, code) {
			t.Errorf("the store has the code: %s", kept)
		}
		time.Sleep(CodeLasts - time.Second)
		if text, _ := g.greet(telegram("7")); text != "" {
			t.Errorf("within the hour the user hears it again: %q", text)
		}
		g = open(t, chat(UnknownPair), d)
		rows := slices.DeleteFunc(g.List(), func(v ops.Person) bool { return v.State != ops.PersonAsked })
		if len(rows) != 1 || rows[0].ID != "telegram:7" || rows[0].Name != "Name of 7" || rows[0].Role != "" {
			t.Errorf("those who ask are %+v", rows)
		}
		written := strings.ToLower(code[:4] + "-" + code[4:] + " ")
		if done, err := g.Approve(t.Context(), written, ops.RoleGuest, "uid 0"); err != nil || !strings.Contains(done, "telegram:7 (Name of 7) is guest") {
			t.Fatalf("the code was answered %q (%v)", done, err)
		}
		g.want(telegram("7"), ops.RoleGuest)
		if v := g.List()[2]; v.ID != "telegram:7" || v.Source != ops.FromPairing || v.By != "uid 0" {
			t.Errorf("the row is %+v", v)
		}
		_, err := g.Approve(t.Context(), code, ops.RoleOwner, "uid 0")
		g.refused(err, ops.CodeNotFound, "4 more wrong codes")
		g.want(telegram("7"), ops.RoleGuest)

		_, late := g.greet(telegram("8"))
		time.Sleep(CodeLasts)
		_, err = g.Approve(t.Context(), late, ops.RoleGuest, "uid 0")
		g.refused(err, ops.CodeNotFound, "its hour is over")
		if _, again := g.greet(telegram("8")); again == "" || again == late {
			t.Errorf("after an hour the user gets %q", again)
		}
	})
}

func TestTR2_AtMostThreeCodesOfAPlatformCount(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g := open(t, chat(UnknownPair), newDisk())
		for i := range 5 {
			_, code := g.greet(telegram(fmt.Sprint(70 + i)))
			if (code != "") != (i < maxOpen) {
				t.Errorf("user %d gets the code %q", i, code)
			}
		}
		if _, code := g.greet(Person{"discord", "70"}); code == "" {
			t.Error("another platform has codes of its own, and gives none")
		}
		time.Sleep(CodeLasts)
		if _, code := g.greet(telegram("74")); code == "" {
			t.Error("an hour later there is no code")
		}
	})
}

func TestTR2_FiveWrongCodesLockForAnHourAlsoInTheNextLife(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d := newDisk()
		g := open(t, chat(UnknownPair), d)
		_, code := g.greet(telegram("7"))
		_, err := g.Approve(t.Context(), "nothing", ops.RoleGuest, "")
		g.refused(err, ops.CodeInvalid, "that is not a code") // and no guess
		for i := range maxMisses {
			if i == 3 {
				g = open(t, chat(UnknownPair), d)
			}
			_, err := g.Approve(t.Context(), strings.Repeat("A", codeLength), ops.RoleGuest, "")
			g.refused(err, ops.CodeNotFound)
			time.Sleep(time.Minute)
		}
		for range 2 {
			_, err = g.Approve(t.Context(), code, ops.RoleGuest, "")
			g.refused(err, ops.CodeLimit, "none is taken for", "people add")
			g.want(telegram("7"), "")
			g = open(t, chat(UnknownPair), d)
		}
		time.Sleep(time.Hour - time.Minute)
		_, code = g.greet(telegram("7"))
		if _, err := g.Approve(t.Context(), code, ops.RoleGuest, ""); err != nil {
			t.Errorf("after the hour the right code is answered %v", err)
		}
	})
}

func TestTR2_AClockThatWasSetBackNeitherLocksNorKeepsACode(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d := newDisk()
		year := time.Now().Add(365 * 24 * time.Hour)
		d.misses = slices.Repeat([]time.Time{year}, maxMisses)
		code := newCode()
		d.pairings[telegram("7")] = store.Pairing{Platform: "telegram", ID: "7", State: store.PairingOpen, Code: hashed(telegram("7"), "salt", code), Asked: year, Expires: year.Add(CodeLasts)}
		g := open(t, chat(UnknownPair), d)
		_, err := g.Approve(t.Context(), code, ops.RoleGuest, "")
		g.refused(err, ops.CodeNotFound, "4 more wrong codes")
		if _, again := g.greet(telegram("7")); again == "" {
			t.Error("the user gets no new code")
		}
	})
}

func TestTR2_CodesHaveNoLookAlikes(t *testing.T) {
	for range 1000 {
		code := newCode()
		if read, formed := readCode(code); !formed || read != code || strings.ContainsAny(code, "0O1I2Z5S8BGU") {
			t.Fatalf("the code %q is read as %q", code, read)
		}
	}
}

// model is what a test knows of the codes.
type model struct {
	owner   map[string]Person // of each code that was ever given
	until   map[string]time.Time
	role    map[Person]ops.Role
	blocked map[Person]bool
	misses  []time.Time
}

// TR2: in any order of messages, approvals, guesses, removals, restarts and waits, a code lets in its own person, within its hour,
// once; not more than three count on a platform; and five wrong ones within an hour lock.
func TestTR2_CodesHoldInAnyOrder(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		synctest.Test(t, func(t *testing.T) {
			d := newDisk()
			g := open(t, chat(UnknownPair), d)
			m := model{owner: map[string]Person{}, until: map[string]time.Time{}, role: map[Person]ops.Role{}, blocked: map[Person]bool{}}
			people := []Person{telegram("70"), telegram("71"), telegram("72"), telegram("73"), {"discord", "70"}, {"discord", "71"}}
			var codes []string
			fail := func(format string, args ...any) { rt.Fatalf(format, args...) }
			for range rapid.IntRange(5, 60).Draw(rt, "steps") {
				who := rapid.SampledFrom(people).Draw(rt, "who")
				switch rapid.SampledFrom([]string{"greet", "greet", "approve", "approve", "guess", "remove", "restart", "wait", "add"}).Draw(rt, "step") {
				case "greet":
					text, err := g.Greet(t.Context(), who, "")
					found := shownCode.FindStringSubmatch(text)
					if err != nil || text != "" && found == nil {
						fail("%s hears %q (%v)", who, text, err)
					}
					if found == nil {
						continue
					}
					if _, used := m.owner[found[1]]; used || m.role[who] != "" || m.blocked[who] {
						fail("%s gets the code %s, which was used: %v", who, found[1], used)
					}
					m.owner[found[1]], m.until[found[1]] = who, time.Now().Add(time.Hour)
					codes = append(codes, found[1])
					open := 0
					for code, other := range m.owner {
						if other.Platform == who.Platform && m.until[code].After(time.Now()) {
							open++
						}
					}
					if open > maxOpen {
						fail("%d codes count", open)
					}
				case "approve", "guess":
					code := newCode()
					if len(codes) > 0 && rapid.Bool().Draw(rt, "known") {
						code = rapid.SampledFrom(codes).Draw(rt, "code")
					}
					m.misses = slices.DeleteFunc(m.misses, func(at time.Time) bool { return !at.After(time.Now().Add(-time.Hour)) })
					locked := len(m.misses) >= maxMisses
					before := map[Person]ops.Role{}
					for _, p := range people {
						before[p] = g.Role(p)
					}
					_, err := g.Approve(t.Context(), code, ops.RoleGuest, "")
					right := m.until[code].After(time.Now())
					if locked != ops.HasCode(err, ops.CodeLimit) || !locked && right != (err == nil) {
						fail("with the code %s (right: %v, locked: %v) the answer is %v", code, right, locked, err)
					}
					if err == nil {
						m.role[m.owner[code]], m.until[code] = ops.RoleGuest, time.Time{}
					} else if !locked {
						m.misses = append(m.misses, time.Now())
					}
					for _, p := range people {
						if changed := g.Role(p) != before[p]; changed && (err != nil || p != m.owner[code]) {
							fail("the code %s changed %s", code, p)
						}
					}
				case "remove", "add":
					var err error
					if m.role[who] == "" && rapid.Bool().Draw(rt, "add") {
						_, err = g.Add(t.Context(), who.String(), ops.RoleMember, "")
						m.role[who], m.blocked[who] = ops.RoleMember, false
					} else {
						_, err = g.Remove(t.Context(), who.String(), "")
						m.role[who], m.blocked[who] = "", true
					}
					if err != nil {
						fail("%v", err)
					}
					for code, other := range m.owner {
						if other == who {
							m.until[code] = time.Time{}
						}
					}
				case "restart":
					g = open(t, chat(UnknownPair), d)
				case "wait":
					time.Sleep(time.Duration(rapid.IntRange(1, 90).Draw(rt, "minutes")) * time.Minute)
				}
				for _, p := range people {
					if g.Role(p) != m.role[p] {
						fail("%s is %q, want %q", p, g.Role(p), m.role[p])
					}
				}
			}
		})
	})
}

// The same rows through the database, over restarts of it.
func TestTR2_PeopleAndCodesAreInTheStore(t *testing.T) {
	path := filepath.Join(t.TempDir(), "gateway.db")
	life := func(do func(g *gate)) {
		t.Helper()
		st, err := store.Open(t.Context(), store.Options{Path: path})
		if err != nil {
			t.Fatal(err)
		}
		defer func() {
			if err := st.Close(context.Background()); err != nil && !errors.Is(err, store.ErrClosed) {
				t.Error(err)
			}
		}()
		do(open(t, chat(UnknownPair), st))
	}
	var code, other string
	life(func(g *gate) {
		_, code = g.greet(telegram("7"))
		_, other = g.greet(telegram("8"))
		for range maxMisses - 1 {
			_, err := g.Approve(t.Context(), strings.Repeat("A", codeLength), ops.RoleGuest, "")
			g.refused(err, ops.CodeNotFound)
		}
	})
	life(func(g *gate) {
		if _, err := g.Approve(t.Context(), code, ops.RoleMember, "uid 0"); err != nil {
			t.Error(err)
		}
		_, err := g.Approve(t.Context(), code, ops.RoleMember, "uid 0")
		g.refused(err, ops.CodeNotFound, "the last try")
		if _, err := g.Remove(t.Context(), "telegram:2", "uid 0"); err != nil {
			t.Error(err)
		}
	})
	life(func(g *gate) {
		_, err := g.Approve(t.Context(), other, ops.RoleMember, "uid 0")
		g.refused(err, ops.CodeLimit)
		g.want(telegram("7"), ops.RoleMember)
		g.want(telegram("2"), "")
		if n, err := g.Forget(t.Context(), telegram("7"), time.Now()); n != 2 || err != nil {
			t.Errorf("%d rows were forgotten (%v)", n, err)
		}
	})
	life(func(g *gate) { g.want(telegram("7"), "") })
}
