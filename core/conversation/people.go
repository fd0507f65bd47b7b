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

// mayUseTools reports whether the turn of a message may call tools. Its sender may have lost a role since the message came, and the
// error says so.
func (c *Conversations) mayUseTools(m session.Message, key string) (bool, error) {
	platform := session.Platform(key)
	if m.Operator {
		return true, nil
	}
	now := c.o.People.Role(access.Person{Platform: platform, ID: session.PersonOf(m.User)})
	if !access.Decide(now, access.Talk, platform) {
		return false, errNoRole
	}
	return access.Decide(m.Role, access.Tools, platform) && access.Decide(now, access.Tools, platform), nil
}

// errNoRole refuses a message whose sender was removed while it waited.
var errNoRole = &ops.Error{Code: ops.CodeForbidden, Message: "you may not speak to this gateway any more"}
