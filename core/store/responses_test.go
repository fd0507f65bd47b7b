package store

import (
	"testing"
	"time"
)

// CV2.
func TestCV2_AKeptResponseBelongsToItsCallerAndIsDeletedWithAge(t *testing.T) {
	s := open(t, t.TempDir())
	ctx := t.Context()
	r := Response{ID: "resp_1", Previous: "resp_0", Owner: "bob", At: noon, Messages: "[]", Body: "{}"}
	must(t, s.PutResponse(ctx, r))
	must(t, s.PutResponse(ctx, Response{ID: "resp_1", Owner: "eve", At: noon}))
	if got, found, err := s.Response(ctx, "resp_1", "bob"); err != nil || !found || got != r {
		t.Errorf("bob reads %+v, %v, %v", got, found, err)
	}
	if _, found, err := s.Response(ctx, "resp_1", "eve"); err != nil || found {
		t.Errorf("eve reads it: %v, %v", found, err)
	}
	if gone, err := s.DropResponse(ctx, "resp_1", "eve"); err != nil || gone {
		t.Errorf("eve deletes it: %v, %v", gone, err)
	}
	if p, err := s.Prune(ctx, Cutoffs{Rest: noon.Add(time.Second)}, 10); err != nil || p["responses"] != 1 {
		t.Errorf("pruned %v, %v", p, err)
	}
}
