package agent

import (
	"log/slog"
	"testing"

	"gatewaytui/core/model"
	"gatewaytui/core/ops"
)

func TestCV3_TheFirstRouteThatMatchesGivesASessionItsAgent(t *testing.T) {
	pool := model.NewPool(slog.New(slog.DiscardHandler), model.Spec{Name: "a", Provider: &models{}}, model.Spec{Name: "b", Provider: &models{}})
	r := NewRoster(pool, []Definition{{Name: "default", Models: []string{"a", "b"}}, {Name: "coder"}, {Name: "guide"}},
		[]Route{
			{Match: "telegram:group:-100:*", Agent: "coder"},
			{Match: "*", Role: ops.RoleGuest, Agent: "guide"},
			{Match: "telegram:dm:9", Role: ops.RoleOwner, Agent: "coder"},
			{Match: "telegram:*", Agent: "guide"},
			{Match: "telegram:dm:1", Agent: "coder"},
			{Match: "x:*", Agent: "missing"},
		})
	for _, c := range []struct {
		key, named, want string
		role             ops.Role
	}{
		{"api:user:a", "", "guide", ops.RoleGuest},
		{"telegram:dm:9", "", "coder", ops.RoleOwner},
		{"telegram:dm:9", "", "guide", ops.RoleMember},
		{"telegram:group:-100:topic:7", "", "coder", ops.RoleMember},
		{"telegram:group:-200", "", "guide", ops.RoleMember},
		{"telegram:dm:1", "", "guide", ops.RoleMember},
		{"api:user:a", "", "default", ops.RoleMember},
		{"api:user:a", "coder", "coder", ops.RoleMember},
		{"telegram:dm:1", "coder", "coder", ops.RoleMember},
		{"telegram:dm:1", "unknown", "guide", ops.RoleMember},
		{"x:1", "", "default", ops.RoleMember},
	} {
		if got := r.Pick(c.key, c.role, c.named).Name; got != c.want {
			t.Errorf("%s with the name %q: %s, want %s", c.key, c.named, got, c.want)
		}
	}
}
