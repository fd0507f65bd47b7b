package conversation

import (
	"cmp"
	"context"
	"fmt"
	"strings"

	"gatewaytui/core/ops"
	"gatewaytui/core/session"
	"gatewaytui/core/term"
)

// whoami is /whoami: who the person is to the gateway, and what it does with this chat.
func (c *Conversations) whoami(_ context.Context, u use) (string, error) {
	var b strings.Builder
	platform, id := session.Platform(u.key), session.PersonOf(u.msg.User)
	switch {
	case u.msg.Operator:
		fmt.Fprintf(&b, "You are an operator of this gateway (%s).\n", term.Clean(u.msg.User, 80))
	case u.msg.Caller.By == ops.ByKey:
		fmt.Fprintf(&b, "You are a program that has the key of %s.\n", term.Clean(platform, 40))
	case u.msg.Caller.By == ops.ByKernel:
		fmt.Fprintf(&b, "You are a program of the user with the uid %d, on %s.\n", u.msg.Caller.UID, term.Clean(platform, 40))
	case id == "":
		fmt.Fprintf(&b, "You are on %s.\n", term.Clean(platform, 40))
	default:
		fmt.Fprintf(&b, "You are %s on %s. Your id is %s; in the config: adapters.%s.allow = [%s]\n",
			term.Clean(u.msg.User, 80), term.Clean(platform, 40), term.Clean(id, 80), term.Clean(platform, 40), term.Clean(id, 80))
	}
	fmt.Fprintf(&b, "Your role: %s (%s)\n", u.msg.Role, roleWords[u.msg.Role])
	fmt.Fprintf(&b, "Session: %s\n", term.Clean(u.key, 256))
	set := c.now()
	d := set.Roster.Pick(session.Owner(u.key), u.msg.Role, u.msg.Agent)
	s, _ := c.o.Table.Get(u.key)
	fmt.Fprintf(&b, "Agent: %s, model: %s\n", d.Name, term.Clean(cmp.Or(c.choice(set.Roster, u.key), s.Model, set.Roster.Models(d, "").Name()), 120))
	b.WriteString("Route: " + term.Clean(set.Route(session.Owner(u.key), u.msg.Role), 300))
	return b.String(), nil
}

// roleWords say what each role may do.
var roleWords = map[ops.Role]string{
	ops.RoleOwner:  "you talk, use tools, approve, and let others in",
	ops.RoleMember: "you talk and use tools",
	ops.RoleGuest:  "you talk; tools are for members",
}
