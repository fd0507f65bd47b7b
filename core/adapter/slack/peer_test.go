package slack

import (
	"net"
	"strconv"
	"strings"
	"testing"

	"gatewaytui/core/adapter"
	"gatewaytui/core/adapter/conformance"
	"gatewaytui/fixtures/npmtest"
)

// A Web API of other authors, without Socket Mode.
const (
	peer        = "emulate"
	peerVersion = "0.12.2"
)

// emulation is that Web API on a port, until its standard input ends.
const emulation = `
process.stdin.resume();
process.stdin.on('end', () => process.exit(0));
import('emulate').then(async ({ createEmulator }) => {
	const e = await createEmulator({ service: 'slack', port: Number(process.argv[1]) });
	console.log(e.url);
});
`

func TestAWebAPIOfOthersIsUnderstood(t *testing.T) {
	dir := npmtest.Install(t, peer, peerVersion)
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	port := l.Addr().(*net.TCPAddr).Port
	l.Close()
	base := npmtest.Serve(t, dir, emulation, strconv.Itoa(port))
	p := New(Options{AppToken: appToken, BotToken: botToken, BaseURL: base + "/api"})
	api, err := p.open()
	if err != nil {
		t.Fatal(err)
	}
	me, err := api.self(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	c := newConn(p, api, me, &conformance.Receiver{}) // it has no socket
	defer api.close()
	defer c.EndCalls()
	defer c.EndTasks()

	const general = "C000000001"
	buttons := [][]adapter.Button{{{Label: "Yes", Text: "/approve 1"}}}
	first, err := c.Send(t.Context(), adapter.Outgoing{Target: general, Text: "**bold**\n\n- one\n\n```\nx\n```", Markdown: true, Key: "01J", Buttons: buttons})
	if err != nil || len(first.IDs) != 1 || !isStamp(first.IDs[0]) {
		t.Fatalf("sent %+v: %v", first, err)
	}
	thread := general + "#" + first.IDs[0]
	reply, err := c.Send(t.Context(), adapter.Outgoing{Target: thread, Text: "in the thread"})
	if err != nil || len(reply.IDs) != 1 {
		t.Fatalf("sent %+v: %v", reply, err)
	}
	if _, err := c.Edit(t.Context(), reply.IDs[0], adapter.Outgoing{Target: thread, Text: "changed"}); err != nil {
		t.Errorf("an edit: %v", err)
	}
	for _, emoji := range []string{"👀", "👍", ""} {
		if err := c.React(t.Context(), general, first.IDs[0], emoji); err != nil {
			t.Errorf("the reaction %q: %v", emoji, err)
		}
	}
	if name := c.name(me.User); name == "" {
		t.Error("the name of a user is not understood")
	}
	if _, err := c.SendFile(t.Context(), thread, adapter.OutgoingFile{Name: "a.txt", Type: "text/plain", Content: []byte("content"), Caption: "look"}); err != nil {
		t.Errorf("a file: %v", err)
	}
	if err := c.Remove(t.Context(), thread, reply.IDs[0]); err != nil {
		t.Errorf("a removal: %v", err)
	}
	if _, err := c.Edit(t.Context(), reply.IDs[0], adapter.Outgoing{Target: thread, Text: "late"}); !is[*adapter.RefusedError](err) {
		t.Errorf("the edit of a message that is gone returned %v", err)
	}
	if _, err := c.Send(t.Context(), adapter.Outgoing{Target: "C999", Text: "x"}); !is[*adapter.RefusedError](err) || !strings.Contains(err.Error(), "channel_not_found") {
		t.Errorf("a channel that there is not returned %v", err)
	}
}
