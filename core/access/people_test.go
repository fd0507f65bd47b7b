package access

import (
	"testing"
	"testing/synctest"
	"time"

	"gatewaytui/core/ops"
)

func TestTR1_TheConfigAlwaysCountsAndARemovalWins(t *testing.T) {
	d := newDisk()
	g := open(t, chat(UnknownTell), d)
	ctx := t.Context()
	must := func(_ string, err error) {
		t.Helper()
		if err != nil {
			t.Error(err)
		}
	}
	g.want(telegram("1"), ops.RoleOwner)
	g.want(telegram("2"), ops.RoleMember)
	g.want(telegram("3"), "")
	g.want(Person{"discord", "2"}, "") // the same number is another person there
	g.want(Person{"open", "x"}, ops.RoleMember)
	g.want(Person{"nowhere", "1"}, ops.RoleMember)

	must(g.Add(ctx, "telegram:3", ops.RoleGuest, "uid 0"))
	g.want(telegram("3"), ops.RoleGuest)
	must(g.SetRole(ctx, "telegram:3", ops.RoleOwner, "uid 0"))
	g.want(telegram("3"), ops.RoleOwner)
	must(g.Add(ctx, "telegram:2", ops.RoleOwner, "uid 0")) // more than the config gives
	g.want(telegram("2"), ops.RoleOwner)
	_, err := g.SetRole(ctx, "telegram:1", ops.RoleGuest, "uid 0")
	g.refused(err, ops.CodeConflict, "the config makes telegram:1 owner", "access.owners")
	_, err = g.SetRole(ctx, "telegram:9", ops.RoleGuest, "uid 0")
	g.refused(err, ops.CodeNotFound, "people add telegram:9 --role guest")

	for _, id := range []string{"1", "2", "3", "4"} {
		must(g.Remove(ctx, "telegram:"+id, "uid 0"))
		g.want(telegram(id), "")
	}
	must(g.Remove(ctx, "open:x", "uid 0"))
	g.want(Person{"open", "x"}, "")

	next := open(t, chat(UnknownTell), d) // the next life
	for _, id := range []string{"1", "2", "3", "4"} {
		next.want(telegram(id), "")
		if text, _ := next.greet(telegram(id)); text != "" {
			t.Errorf("a removed person heard %q", text)
		}
	}
	must(next.Add(ctx, "telegram:2", ops.RoleMember, "uid 0"))
	next.want(telegram("2"), ops.RoleMember)
	rows := map[string]ops.Person{}
	for _, v := range next.List() {
		v.At = ops.Time{}
		rows[v.ID] = v
	}
	for id, want := range map[string]ops.Person{
		"telegram:1": {State: ops.PersonBlocked, Source: ops.FromVerb, By: "uid 0"},
		"telegram:2": {Role: ops.RoleMember, State: ops.PersonAllowed, Source: ops.FromConfig},
		"telegram:3": {State: ops.PersonBlocked, Source: ops.FromVerb, By: "uid 0"},
	} {
		want.ID, want.Platform = id, "telegram"
		if rows[id] != want {
			t.Errorf("the row is %+v, want %+v", rows[id], want)
		}
	}
}

func TestTR1_APersonOfNoPlatformGetsNoRole(t *testing.T) {
	g := open(t, chat(UnknownTell), newDisk())
	for name, words := range map[string]string{
		"telegram:@maria": "is not an id of telegram", "telegram:0815": "is not an id of telegram", "matrix:@a:b": "there are: discord, open, telegram",
		"api:alice": "adapters.api.role", "4711": "does not name a person",
	} {
		_, err := g.Add(t.Context(), name, ops.RoleMember, "uid 0")
		g.refused(err, ops.CodeInvalid, words)
	}
	if len(g.rows) != 0 {
		t.Errorf("there are rows: %v", g.rows)
	}
}

func TestTR1_OwnersAnswerApprovals(t *testing.T) {
	g := open(t, chat(UnknownTell), newDisk())
	if _, err := g.Add(t.Context(), "telegram:3", ops.RoleOwner, "uid 0"); err != nil {
		t.Fatal(err)
	}
	for id, may := range map[string]bool{"1": true, "2": false, "3": true, "4": false} {
		if g.MayAnswer(telegram(id)) != may {
			t.Errorf("telegram:%s may answer: %v", id, !may)
		}
	}
	if got := g.Owners("telegram"); len(got) != 2 || got[0] != telegram("1") || got[1] != telegram("3") {
		t.Errorf("the owners are %v", got)
	}
	if _, err := g.Remove(t.Context(), "telegram:1", "uid 0"); err != nil || g.MayAnswer(telegram("1")) || len(g.Owners("telegram")) != 1 {
		t.Errorf("a removed owner still answers (%v)", err)
	}
}

func TestTR1_AChangeThatIsNotSavedDoesNotHold(t *testing.T) {
	d := newDisk()
	g := open(t, chat(UnknownTell), d)
	d.fails = true
	if _, err := g.Remove(t.Context(), "telegram:2", "uid 0"); err == nil {
		t.Error("a removal that is not saved has no error")
	}
	g.want(telegram("2"), ops.RoleMember)
	if _, err := g.Greet(t.Context(), telegram("5"), ""); err == nil || !g.Greets(telegram("5")) {
		t.Errorf("an unknown user counts as told though nothing was saved (%v)", err)
	}
}

func TestTR1_ForgettingKeepsARemovalFromTheConfigWithoutAName(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d := newDisk()
		g := open(t, chat(UnknownPair), d)
		_, code := g.greet(telegram("7"))
		for _, do := range []func() (string, error){
			func() (string, error) { return g.Approve(t.Context(), code, ops.RoleGuest, "uid 0") },
			func() (string, error) { return g.Remove(t.Context(), "telegram:2", "uid 0") },
			func() (string, error) { return g.Remove(t.Context(), "telegram:7", "uid 0") },
		} {
			if _, err := do(); err != nil {
				t.Fatal(err)
			}
		}
		g.greet(telegram("8"))
		time.Sleep(time.Second)
		for _, id := range []string{"2", "7", "8"} {
			if _, err := g.Forget(t.Context(), telegram(id), time.Now()); err != nil {
				t.Error(err)
			}
		}
		if len(d.people) != 1 || len(d.pairings) != 0 || d.people[telegram("2")].Name != "" {
			t.Errorf("kept are %v and %v, want the removal of telegram:2 alone", d.people, d.pairings)
		}
		g.want(telegram("2"), "")
		if n, err := g.Forget(t.Context(), telegram("2"), time.Now()); n != 0 || err != nil {
			t.Errorf("the second time %d rows were deleted (%v)", n, err)
		}
	})
}
