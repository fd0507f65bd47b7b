package store

import (
	"testing"
	"time"
)

// TR6: what may exist outside of the gateway is known to the next life, and how far it was made.
func TestTR6_AnEnvironmentIsKnownUntilItIsDropped(t *testing.T) {
	dir := t.TempDir()
	s := open(t, dir)
	at := time.UnixMilli(1_700_000_000_000)
	person(t, s, at) // has telegram:dm:47
	one := Environment{ID: "gatewaytui-l1-1", Kind: "container", Name: "box", Session: "telegram:dm:47", Program: "docker", Life: "l1", At: at}
	other := one
	other.ID = "gatewaytui-l1-2"
	must(t, s.PutEnvironment(t.Context(), one))
	must(t, s.PutEnvironment(t.Context(), other))
	one.Made = true
	must(t, s.PutEnvironment(t.Context(), one))
	must(t, s.Close(t.Context()))

	s = open(t, dir)
	got, err := s.Environments(t.Context())
	if err != nil || len(got) != 2 || !got[0].At.Equal(at) {
		t.Fatalf("the next life knows %+v, %v", got, err)
	}
	got[0].At, got[1].At = at, at
	if got[0] != one || got[1] != other {
		t.Errorf("it knows %+v, want %+v and %+v", got, one, other)
	}
	must(t, s.DropEnvironment(t.Context(), one.ID))
	if got, err := s.Environments(t.Context()); err != nil || len(got) != 1 || got[0].ID != other.ID {
		t.Errorf("after one was removed it knows %+v, %v", got, err)
	}
	f := Forgetting{Platform: "telegram", ID: "47", At: time.Now()}
	if n, err := s.Forget(t.Context(), f); err != nil || n["environments"] != 1 {
		t.Errorf("a deletion of its person changed %v, %v", n, err)
	}
	if got, err := s.Environments(t.Context()); err != nil || len(got) != 1 || got[0].Session != "" {
		t.Errorf("after the deletion of its person the row is %+v, %v; it keeps the name that removes it", got, err)
	}
}
