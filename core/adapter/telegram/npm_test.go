package telegram

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"net"
	"net/http"
	"testing"
	"time"

	"gatewaytui/core/adapter"
	"gatewaytui/fixtures/npmtest"
)

// peer is a Bot API server by other authors. It ignores the timeout and the offset of getUpdates, and hands each
// update out once.
const (
	peer        = "telegram-test-api"
	peerVersion = "4.2.1"
)

// serve runs the peer until its standard input ends, so that it cannot outlive this process.
const serve = `
const TelegramServer = require('telegram-test-api');
const server = new TelegramServer({host: '127.0.0.1', port: Number(process.argv[1])});
process.stdin.resume();
process.stdin.on('end', () => process.exit(0));
server.start().then(() => console.log('ready'), (e) => { console.error(String(e)); process.exit(1); });
`

// startPeer returns the peer's URL.
func startPeer(t *testing.T) string {
	t.Helper()
	dir := npmtest.Install(t, peer, peerVersion)
	free, err := net.Listen("tcp", "127.0.0.1:0") // the peer takes no 0
	if err != nil {
		t.Fatal(err)
	}
	port := free.Addr().(*net.TCPAddr).Port
	free.Close()
	if line := npmtest.Serve(t, dir, serve, fmt.Sprint(port)); line != "ready" {
		t.Fatalf("the peer said %q", line)
	}
	return fmt.Sprintf("http://127.0.0.1:%d", port)
}

// channel hands messages to a test.
type channel struct {
	adapter.Receiver
	got chan adapter.Inbound
}

func (c channel) Admits(u adapter.User) bool { return u.ID == fmt.Sprint(owner) }
func (c channel) Greets(adapter.User) bool   { return false }

func (c channel) Receive(ctx context.Context, m adapter.Inbound) (string, error) {
	select {
	case c.got <- m:
		return "id", nil
	case <-ctx.Done():
		return "", ctx.Err()
	}
}

func TestABotAPIServerOfOthersIsUnderstood(t *testing.T) {
	url := startPeer(t)
	defer http.DefaultClient.CloseIdleConnections()
	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Second)
	defer cancel()
	user := func(route string, message fields) {
		t.Helper()
		body, err := json.Marshal(message)
		if err != nil {
			t.Fatal(err)
		}
		req, err := http.NewRequestWithContext(ctx, http.MethodPost, url+route, bytes.NewReader(body))
		if err != nil {
			t.Fatal(err)
		}
		req.Header.Set("Content-Type", "application/json")
		resp, err := http.DefaultClient.Do(req)
		if err != nil {
			t.Fatal(err)
		}
		resp.Body.Close()
	}
	message := func(user, chat int64, kind, text string) fields {
		return fields{
			"botToken": token, "date": time.Now().Unix(), "text": text,
			"from": fields{"id": user, "first_name": "User", "username": "alice", "is_bot": false},
			"chat": fields{"id": chat, "type": kind},
		}
	}

	in := channel{got: make(chan adapter.Inbound, 16)}
	p := New(Options{Token: token, BaseURL: url, Groups: []int64{-100}})
	p.pace = 20 * time.Millisecond
	user("/sendMessage", message(owner, owner, "private", "before the bot came"))
	c, err := p.Connect(ctx, in)
	if err != nil {
		t.Fatal(err)
	}
	defer func() {
		if err := c.Disconnect(ctx); err != nil {
			t.Errorf("disconnect: %v", err)
		}
	}()
	want := func(session, text string) {
		t.Helper()
		select {
		case m := <-in.got:
			if m.Session != session || m.Text != text {
				t.Errorf("the gateway got %q in %s, want %q in %s", m.Text, m.Session, text, session)
			}
		case <-c.Done():
			t.Fatalf("the connection ended: %v", c.Err())
		case <-ctx.Done():
			t.Fatalf("%q did not arrive", text)
		}
	}
	want("telegram:dm:4711", "before the bot came")
	user("/sendMessage", message(other, -100, "group", "from an unknown user"))
	command := message(owner, owner, "private", "/status")
	command["entities"] = []any{fields{"type": "bot_command", "offset": 0, "length": 7}}
	user("/sendCommand", command)
	user("/sendCallback", fields{"botToken": token, "data": "pressed", "from": message(owner, 0, "", "")["from"], "message": message(owner, owner, "private", "x")})
	user("/sendMessage", message(owner, -100, "group", "in a group"))
	want("telegram:dm:4711", "/status")
	want("telegram:dm:4711", "pressed")
	want("telegram:group:-100:user:4711", "in a group")
	// The peer hands each part of an album out once, confirmed or not.
	for _, ref := range []string{"one", "two"} {
		part := message(owner, owner, "private", "")
		part["photo"], part["media_group_id"] = []any{fields{"file_id": ref}}, "9"
		user("/sendMessage", part)
	}
	select {
	case m := <-in.got:
		if len(m.Files) != 2 {
			t.Errorf("the album came as %+v", m)
		}
	case <-ctx.Done():
		t.Fatal("the album did not arrive")
	}
	if n := len(in.got); n != 0 {
		t.Errorf("%d more messages arrived", n)
	}
}
