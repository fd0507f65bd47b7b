package doctor

import (
	"context"
	"slices"
	"strings"

	"gatewaytui/core/config"
	"gatewaytui/core/text"
)

// checkPeople says who answers approvals, and how many requests wait. Without an owner on a platform, its approvals are answered on
// the command line and in the console.
func (c *checkup) checkPeople(context.Context) {
	if c.status != nil && c.status.Counts.Inbox > 0 {
		c.warn("gatewaytui inbox lists them", "%s %s for a person", text.Count(c.status.Counts.Inbox, "request"), text.Plural(c.status.Counts.Inbox, "waits", "wait"))
	}
	if !c.valid {
		return
	}
	cfg := c.loaded.Config
	var chats, owned []string
	for _, b := range cfg.Adapters.Bots() {
		has := slices.ContainsFunc(cfg.Access.Owners, func(who string) bool { return strings.HasPrefix(who, b.Name+":") })
		switch {
		case has:
			owned = append(owned, b.Name)
		case b.Enabled:
			chats = append(chats, b.Name)
		}
	}
	asks := slices.ContainsFunc(config.Names(cfg.AgentsByName()), func(name string) bool {
		return cfg.AgentsByName()[name].Approvals != config.ApprovalsOff
	})
	const here = "approvals are answered on the command line (gatewaytui inbox) and in the console"
	switch {
	case !asks:
		c.ok("no agent asks for approvals (agents.*.approvals)")
	case len(owned) == 0: // the section security has it as well, where there are chats
		c.ok("the config has no owner: %s", here)
	case len(chats) > 0:
		c.warn(`name the people who may answer there, e.g. "`+chats[0]+`:ID" in access.owners`, "the config has no owner on %s: what is asked there is answered elsewhere; %s", strings.Join(chats, " and "), here)
	default:
		c.ok("%s in the config may answer approvals; %s as well", text.Count(len(cfg.Access.Owners), "owner"), here)
	}
}
