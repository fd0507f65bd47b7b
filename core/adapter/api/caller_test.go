package api

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"os"
	"slices"
	"strings"
	"sync/atomic"
	"testing"

	"gatewaytui/core/adapter"
	"gatewaytui/core/ops"
)

// startAs is start with a kernel that says who asks.
func startAs(t testing.TB, o Options, r *toolGateway, kernel func() (adapter.Socket, error)) *fixture {
	t.Helper()
	return startWith(t, o, &r.gateway, r, func(p *Platform) {
		p.lookUp = func(context.Context, net.Conn) (adapter.Socket, error) { return kernel() }
	})
}

// toolGateway is a gateway that knows its tools.
type toolGateway struct {
	gateway
	asked atomic.Int64
	tool  func(adapter.Socket) (string, bool, error)

	refused []string // guarded by gateway.mu; who and what was recorded for the audit
}

func (g *toolGateway) ToolRefused(by ops.Actor, call string) {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.refused = append(g.refused, fmt.Sprint(by.Via, " uid ", by.UID, " tool ", by.Tool, " ", by.Session, ": ", call))
}

func (g *toolGateway) ToolSocket(_ context.Context, s adapter.Socket) (string, bool, error) {
	g.asked.Add(1)
	if g.tool == nil {
		return "", false, nil
	}
	return g.tool(s)
}

var localKey = Options{LocalKey: "the-local-key-0123456789", LocalKeyFile: "/home/of/gateway/api.key"}

func TestHF1_WithoutAKeyInTheConfigTheUIDDecides(t *testing.T) {
	us := os.Geteuid()
	other := us + 1000
	const right, wrong = "Bearer the-local-key-0123456789", "Bearer sk-anything"
	for _, tt := range []struct {
		name   string
		socket adapter.Socket
		err    error
		key    string
		code   string // of the refusal; empty: served
		by     ops.Caller
		says   string
	}{
		{name: "our own user", socket: adapter.Socket{UID: us, Inode: 1}, by: ops.Caller{UID: us, By: ops.ByKernel}},
		{name: "our own user with a key that means nothing", socket: adapter.Socket{UID: us, Inode: 1}, key: wrong, by: ops.Caller{UID: us, By: ops.ByKernel}},
		{name: "our own user with the key", socket: adapter.Socket{UID: us, Inode: 1}, key: right, by: ops.Caller{UID: us, By: ops.ByKey}},
		{name: "root", socket: adapter.Socket{UID: 0, Inode: 1}, by: ops.Caller{UID: 0, By: ops.ByKernel}},
		{name: "another user", socket: adapter.Socket{UID: other, Inode: 1}, code: "missing_api_key", says: "/home/of/gateway/api.key"},
		{name: "another user with another key", socket: adapter.Socket{UID: other, Inode: 1}, key: wrong, code: "invalid_api_key", says: "/home/of/gateway/api.key"},
		{name: "another user with the key", socket: adapter.Socket{UID: other, Inode: 1}, key: right, by: ops.Caller{UID: other, By: ops.ByKey}},
		{name: "a socket that is gone", err: errNoSocket, code: "missing_api_key", says: "/home/of/gateway/api.key"},
		{name: "a socket that is gone, with the key", err: errNoSocket, key: right, by: ops.Caller{UID: -1, By: ops.ByKey}},
		{name: "a kernel that does not answer", err: context.DeadlineExceeded, code: "missing_api_key", says: "deadline"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			r := &toolGateway{gateway: gateway{take: echo}}
			f := startAs(t, localKey, r, func() (adapter.Socket, error) { return tt.socket, tt.err })
			a := f.chat(saying("hi"), "Authorization", tt.key)
			if tt.code != "" {
				e := a.refused(t, http.StatusUnauthorized, tt.code)
				if !strings.Contains(*e.Message, tt.says) || strings.Contains(*e.Message, localKey.LocalKey) {
					t.Errorf("the message is %q", *e.Message)
				}
				if n := len(r.messages()); n != 0 {
					t.Errorf("the gateway got %d messages", n)
				}
				f.do(f.request(http.MethodGet, "/v1/models", "", "Authorization", tt.key)).refused(t, http.StatusUnauthorized, tt.code)
				return
			}
			a.whole(t)
			if got := r.messages()[0].Caller; got != tt.by {
				t.Errorf("the message came from %+v, want %+v", got, tt.by)
			}
		})
	}
}

func TestHF1_WithoutAKeyForOthersTheErrorSaysSo(t *testing.T) {
	r := &toolGateway{gateway: gateway{take: echo}}
	f := startAs(t, Options{LocalKeyFile: "/the/api.key"}, r, func() (adapter.Socket, error) { return adapter.Socket{UID: os.Geteuid() + 1, Inode: 1}, nil })
	e := f.chat(saying("hi"), "Authorization", "Bearer ").refused(t, http.StatusUnauthorized, "missing_api_key")
	if !strings.Contains(*e.Message, "/the/api.key") {
		t.Errorf("the message is %q", *e.Message)
	}
	f.chat(saying("hi"), "Authorization", "Bearer x").refused(t, http.StatusUnauthorized, "invalid_api_key")
}

func TestHF1_TheCallerIsLookedUpOncePerConnection(t *testing.T) {
	var looked atomic.Int64
	r := &toolGateway{gateway: gateway{take: echo}}
	f := startAs(t, localKey, r, func() (adapter.Socket, error) {
		looked.Add(1)
		return adapter.Socket{UID: os.Geteuid(), Inode: 7}, nil
	})
	f.do(f.request(http.MethodGet, "/health", ""))
	if n := looked.Load(); n != 0 {
		t.Errorf("/health looked %d callers up", n)
	}
	for range 5 {
		f.chat(saying("hi")).whole(t)
	}
	if looked.Load() != 1 || r.asked.Load() != 1 {
		t.Errorf("five requests over one connection cost %d looks at the kernel and %d at the processes", looked.Load(), r.asked.Load())
	}
	f.client.CloseIdleConnections()
	f.chat(saying("hi")).whole(t)
	if looked.Load() != 2 {
		t.Errorf("a second connection was looked up %d times", looked.Load()-1)
	}
}

func TestHF1_AToolIsRefusedWithAKeyOrWithout(t *testing.T) {
	us := os.Geteuid()
	is := func(adapter.Socket) (string, bool, error) { return "api:user:bob", true, nil }
	for _, tt := range []struct {
		name string
		o    Options
		uid  int
		key  string
	}{
		{"without a key", localKey, us, ""},
		{"with the key of the home", localKey, us, "Bearer the-local-key-0123456789"},
		{"of another user with the key of the home", localKey, us + 1, "Bearer the-local-key-0123456789"},
		{"without the key of the config", Options{Key: "the-key"}, us, ""},
		{"with the key of the config", Options{Key: "the-key"}, us, "Bearer the-key"},
		{"of another user with the key of the config", Options{Key: "the-key"}, us + 1, "Bearer the-key"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			r := &toolGateway{gateway: gateway{take: echo}, tool: is}
			f := startAs(t, tt.o, r, func() (adapter.Socket, error) { return adapter.Socket{UID: tt.uid, Inode: 1}, nil })
			for range 2 {
				e := f.chat(saying("hi"), "Authorization", tt.key).refused(t, http.StatusForbidden, "tool_caller")
				if *e.Type != "permission_error" || !strings.Contains(*e.Message, "api:user:bob") {
					t.Errorf("%s: %s", *e.Type, *e.Message)
				}
			}
			if n := len(r.messages()); n != 0 {
				t.Errorf("the gateway got %d messages", n)
			}
			row := fmt.Sprintf("api uid %d tool true api:user:bob: POST /v1/chat/completions", tt.uid)
			if !slices.Equal(r.refused, []string{row, row}) {
				t.Errorf("recorded for the audit: %q", r.refused)
			}
			if a := f.do(f.request(http.MethodGet, "/health", "")); a.status != http.StatusOK {
				t.Errorf("/health answered %d", a.status)
			}
		})
	}
	t.Run("an unidentified caller needs the key", func(t *testing.T) {
		r := &toolGateway{gateway: gateway{take: echo}, tool: func(adapter.Socket) (string, bool, error) { return "", false, errors.New("no look") }}
		f := startAs(t, localKey, r, func() (adapter.Socket, error) { return adapter.Socket{UID: us, Inode: 1}, nil })
		f.chat(saying("hi")).refused(t, http.StatusUnauthorized, "missing_api_key")
		f.chat(saying("hi"), "Authorization", "Bearer the-local-key-0123456789").whole(t)
	})
}

func TestTheAnswersOfOneUserAreNotThoseOfAnother(t *testing.T) {
	var uid atomic.Int64
	r := &toolGateway{gateway: gateway{take: echo}}
	f := startAs(t, localKey, r, func() (adapter.Socket, error) { return adapter.Socket{UID: int(uid.Load()), Inode: 1}, nil })
	send := func(as int) {
		uid.Store(int64(as))
		f.client.CloseIdleConnections()
		f.chat(saying("hi"), "Authorization", "Bearer the-local-key-0123456789", "Idempotency-Key", "once").whole(t)
	}
	send(4001)
	send(4001)
	if n := len(r.messages()); n != 1 {
		t.Errorf("one user's request that is sent again was %d turns", n)
	}
	send(4002)
	if n := len(r.messages()); n != 2 {
		t.Errorf("another user's was %d", n-1)
	}
}
