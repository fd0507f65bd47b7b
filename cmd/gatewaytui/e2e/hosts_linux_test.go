package e2e

import (
	"strings"
	"testing"

	"gatewaytui/core/adapter/telegram/botapitest"
	"gatewaytui/core/ops"
	"gatewaytui/fixtures/eventually"
	"gatewaytui/fixtures/soak"
)

// TR3: a command of a sandbox with a list of hosts asks for another one, while it runs. What is allowed is not a host of the internet here, so
// that the proxy says that it is not found.
func TestTR3_AHostThatASandboxDoesNotListIsAsked(t *testing.T) {
	soak.Peer(t, "bwrap", "bubblewrap")
	soak.Peer(t, "curl", "curl")
	k := newAskerIn(t, "box", "[environments.box]\nkind = \"sandbox\"\nnetwork = [\"pypi.org\"]\n")
	idle := func() {
		t.Helper()
		eventually.True(t, "the turn ends", func() bool { return k.session("telegram:dm:7").State == ops.SessionIdle })
	}
	const command, host = "curl -sS http://new.invalid/page http://new.invalid/again", "new.invalid"
	item := k.asksFor(command, host)
	if text := k.card(item.ID); item.Kind != ops.InboxKind("host") || !strings.Contains(text, "wants to connect to a new host") || !strings.Contains(text, "environments.box.network does not list the host") || !strings.Contains(text, "curl -sS") {
		t.Errorf("the card of %+v is %q", item, text)
	}
	if row := k.session("telegram:dm:7"); row.State != ops.SessionWaitingApproval {
		t.Errorf("the session is %s", row.State)
	}
	if !k.bot.Press(7, 7, "Deny") {
		t.Fatal("there is no button")
	}
	eventually.True(t, "the command reads why", func() bool { return k.said("the host new.invalid was not allowed: a person refused this") })
	idle()
	k.asksFor(command, host)
	if !k.bot.Press(7, 7, "This session") {
		t.Fatal("there is no button")
	}
	eventually.True(t, "the host is tried", func() bool { return k.said("the host cannot be reached") })
	idle()
	asked := len(k.inbox())
	k.bot.Inject(botapitest.Update{User: 7, Text: "sh: curl -sS http://new.invalid/third; echo it was $?"})
	eventually.True(t, "the host is tried again", func() bool { return k.said("it was 0") })
	if n := len(k.inbox()); n != asked {
		t.Errorf("the session asks for the host again: %d requests, before %d", n, asked)
	}
	idle()
	waiting := k.asksFor("curl -sS http://other.invalid/", "other.invalid")
	k.bot.Inject(botapitest.Update{User: 7, Text: "/stop"})
	eventually.True(t, "the end of the turn withdraws the request", func() bool {
		for _, row := range k.inbox() {
			if row.ID == waiting.ID {
				return row.State == ops.InboxWithdrawn
			}
		}
		return false
	})
	if code, _ := k.stop(); code != 0 {
		t.Errorf("exit code %d", code)
	}
	k.leavesNothing()
}
