package conversation

import (
	"context"
	"fmt"
	"strings"

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

// roleOf is the role with which a turn works on a message: that of its sender when the message came, or now if that is less. The
// error says that the sender has none any more.
func (c *Conversations) roleOf(m session.Message, key string) (ops.Role, error) {
	if m.Operator {
		return m.Role, nil
	}
	platform, who := session.Platform(key), session.PersonOf(m.User)
	if m.Job != "" { // a person of another platform made it
		platform, who, _ = strings.Cut(m.User, ":")
	}
	now := c.o.People.Role(access.Person{Platform: platform, ID: who})
	switch {
	case !access.Decide(now, access.Talk, platform):
		return "", errNoRole
	case now.AtLeast(m.Role):
		return m.Role, nil
	}
	return now, nil
}

// errNoRole refuses a message whose sender was removed while it waited.
var errNoRole = &ops.Error{Code: ops.CodeForbidden, Message: "you may not speak to this gateway any more"}
