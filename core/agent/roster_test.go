package agent

import (
	"log/slog"
	"testing"

	"gatewaytui/core/model"
)

func TestCV3_TheFirstRouteThatMatchesGivesASessionItsAgent(t *testing.T) {
	pool := model.NewPool(slog.New(slog.DiscardHandler), model.Spec{Name: "a", Provider: &models{}}, model.Spec{Name: "b", Provider: &models{}})
	r := NewRoster(pool, []Definition{{Name: "default", Models: []string{"a", "b"}}, {Name: "coder"}, {Name: "guide"}},
		[]Route{{"telegram:group:-100:*", "coder"}, {"telegram:*", "guide"}, {"telegram:dm:1", "coder"}, {"x:*", "missing"}})
	for _, c := range []struct{ key, named, want string }{
		{"telegram:group:-100:topic:7", "", "coder"},
		{"telegram:group:-200", "", "guide"},
		{"telegram:dm:1", "", "guide"},
		{"api:user:a", "", "default"},
		{"api:user:a", "coder", "coder"},
		{"telegram:dm:1", "coder", "coder"},
		{"telegram:dm:1", "unknown", "guide"},
		{"x:1", "", "default"},
	} {
		if got := r.Pick(c.key, c.named).Name; got != c.want {
			t.Errorf("%s with the name %q: %s, want %s", c.key, c.named, got, c.want)
		}
	}
}
