package conversation

import (
	"context"
	"fmt"

	"gatewaytui/core/access"
	"gatewaytui/core/ops"
	"gatewaytui/core/session"
)

// mayUse reports whether the one who asks may use a chat command.
func mayUse(u use, name string) bool {
	return access.Decide(u.msg.Role, access.Command(name), session.Platform(u.key))
}

// notForYou says who may use a command.
func notForYou(u use, name string) string {
	switch {
	case u.msg.Role == ops.RoleOwner:
		return fmt.Sprintf("/%s is for people, and no program may use it here.", name)
	case access.Decide(ops.RoleMember, access.Command(name), session.Platform(u.key)):
		return fmt.Sprintf("/%s is for members, and you are a guest: talk to me, or use one of the commands in /help.", name)
	}
	return fmt.Sprintf("/%s is for owners of this gateway.", name)
}

// people is /people: who may speak, for owners.
func (c *Conversations) people(ctx context.Context, u use) (string, error) {
	return c.o.LetIn(ctx, session.Platform(u.key)+":"+session.PersonOf(u.msg.User), u.arg)
}
