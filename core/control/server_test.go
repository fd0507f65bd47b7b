package control

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"gatewaytui/core/ops"
	"gatewaytui/fixtures/golden"
)

// ask sends one raw request.
func (r *running) ask(t *testing.T, method, path, body string, header ...string) (int, string) {
	t.Helper()
	req, err := http.NewRequest(method, "http://gw"+path, strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	for i := 0; i+1 < len(header); i += 2 {
		req.Header.Set(header[i], header[i+1])
	}
	resp, err := r.client.http.Do(req)
	if err != nil {
		t.Fatalf("%s %s: %v", method, path, err)
	}
	defer resp.Body.Close()
	b, err := io.ReadAll(resp.Body)
	if err != nil {
		t.Fatalf("%s %s: %v", method, path, err)
	}
	return resp.StatusCode, string(b)
}

func TestShapesOnTheWireAreThoseOfTheContract(t *testing.T) {
	r := serve(t, newFake())
	for name, call := range map[string]struct {
		method, path string
		status       int
	}{
		"status":       {"GET", "/v1/status", 200},
		"snapshot":     {"GET", "/v1/snapshot", 200},
		"sessions":     {"GET", "/v1/sessions", 200},
		"agents":       {"GET", "/v1/agents", 200},
		"processes":    {"GET", "/v1/processes", 200},
		"adapters":     {"GET", "/v1/adapters", 200},
		"plan":         {"GET", "/v1/plan", 200},
		"what-if":      {"GET", "/v1/plan?if=drain=60s&if=hang=telegram", 200},
		"shutdown":     {"GET", "/v1/shutdown", 200},
		"history":      {"GET", "/v1/history", 200},
		"preview":      {"GET", "/v1/preview?verb=session.reset&target=a", 200},
		"request":      {"GET", "/v1/requests/r1", 200},
		"accepted":     {"POST", "/v1/sessions/api:user:alice/reset", 202},
		"environments": {"GET", "/v1/environments", 200},
		"inbox":        {"GET", "/v1/inbox", 200},
		"rules":        {"GET", "/v1/approvals/rules", 200},
		"usage":        {"GET", "/v1/usage?by=day&since=2026-11-01", 200},
		"budgets":      {"GET", "/v1/budgets", 200},
		"rates":        {"GET", "/v1/rates?span=6h", 200},
		"missing":      {"GET", "/v1/requests/none", 404},
		"nowhere":      {"GET", "/v1/statsu", 404},
		"method":       {"POST", "/v1/status", 405},
	} {
		t.Run(name, func(t *testing.T) {
			status, body := r.ask(t, call.method, call.path, "")
			if status != call.status {
				t.Fatalf("answered %d, promised %d: %s", status, call.status, body)
			}
			var pretty bytes.Buffer
			if err := json.Indent(&pretty, []byte(body), "", "  "); err != nil {
				t.Fatalf("no JSON: %v in %s", err, body)
			}
			golden.Check(t, filepath.Join("testdata", name+".json"), pretty.String())
		})
	}
}

func TestEveryVerbIsTakenAtItsPath(t *testing.T) {
	f := newFake()
	r := serve(t, f)
	for _, v := range ops.Verbs {
		cmd := ops.Command{Verb: v.Verb}
		if v.TakesTarget() {
			cmd.Target = "4711"
		}
		if v.Rest == ops.RestText {
			cmd.Text = "hi"
		}
		req, err := r.client.Do(context.Background(), cmd)
		if err != nil || req.Verb != v.Verb || req.ID != "r1" {
			t.Errorf("%s: got %+v, %v", v.Verb, req, err)
			continue
		}
		did := f.commands()
		got := did[len(did)-1]
		if got.Verb != cmd.Verb || got.Target != cmd.Target || got.Text != cmd.Text {
			t.Errorf("%s reached the console as %+v", v.Verb, got)
		}
	}
}

func TestBadRequestsAreRefusedWithOneSentenceAndAHint(t *testing.T) {
	f := newFake()
	r := serve(t, f)
	for _, tc := range []struct {
		name, method, path, body string
		status                   int
		want                     string
	}{
		{"an unknown field names the nearest", "POST", "/v1/stop", `{"raeson":"x"}`, 400, `\"reason\"`},
		{"a field in other letters is unknown", "POST", "/v1/stop", `{"Reason":"x"}`, 400, `\"reason\"`},
		{"a body that is not an object", "POST", "/v1/stop", `[1]`, 400, "one JSON object"},
		{"a body with trailing data", "POST", "/v1/stop", `{}{}`, 400, "one JSON object"},
		{"a field of the wrong type", "POST", "/v1/shutdown/extend", `{"by_ms":"30s"}`, 400, "by_ms"},
		{"a negative extension", "POST", "/v1/shutdown/extend", `{"by_ms":-1}`, 400, "from 0"},
		{"an unknown mode", "POST", "/v1/stop", `{"mode":"now"}`, 400, "graceful, fast or immediate"},
		{"a message without text", "POST", "/v1/sessions/a/message", `{}`, 400, "field text"},
		{"a body over its limit", "POST", "/v1/stop", `{"reason":"` + strings.Repeat("x", maxBody) + `"}`, 400, "more than 65536 bytes"},
		{"a text over its limit", "POST", "/v1/sessions/a/message", `{"text":"` + strings.Repeat("x", ops.MaxText+1) + `"}`, 400, "at most 1048576"},
		{"an invalid pid", "POST", "/v1/processes/1x/kill", "", 400, "not a process id"},
		{"a pid below one", "POST", "/v1/processes/0/kill", "", 400, "not a process id"},
		{"an unknown query parameter names the nearest", "GET", "/v1/sessions?limt=3", "", 400, `\"limit\"`},
		{"a limit that is not a number", "GET", "/v1/sessions?limit=many", "", 400, "whole number"},
		{"a negative limit", "GET", "/v1/sessions?limit=-1", "", 400, "whole number"},
		{"an invalid query string", "GET", "/v1/sessions?%zz", "", 400, "cannot be read"},
		{"a preview of no verb", "GET", "/v1/preview?verb=stpo", "", 400, `\"stop\"`},
		{"a preview without its target", "GET", "/v1/preview?verb=session.reset", "", 400, "needs a target"},
		{"a target where none is taken", "GET", "/v1/preview?verb=stop&target=x", "", 400, "takes no target"},
		{"an invalid place in the events", "GET", "/v1/events?after=x", "", 400, "sequence number"},
		{"an unknown path names the nearest", "GET", "/v1/sesions", "", 404, "GET /v1/sessions"},
		{"an unknown verb names the nearest", "POST", "/v1/sessions/a/rest", "", 404, "/reset"},
		{"an empty session key", "POST", "/v1/sessions//reset", "", 404, "nearest"},
		{"a target without end", "POST", "/v1/sessions/" + strings.Repeat("k", maxTarget+1) + "/reset", "", 400, "bytes"},
		{"a wrong method names the right one", "DELETE", "/v1/sessions", "", 405, "use GET"},
		{"a wrong wait", "GET", "/v1/requests/r1?wait_ms=1s", "", 400, "whole number"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			status, body := r.ask(t, tc.method, tc.path, tc.body)
			var f failure
			if err := json.Unmarshal([]byte(body), &f); err != nil || f.Error == nil {
				t.Fatalf("answered %d without an error: %.200s", status, body)
			}
			if status != tc.status || !strings.Contains(body, tc.want) {
				t.Errorf("answered %d %.300s; promised %d and %q", status, body, tc.status, tc.want)
			}
			if f.Error.Code == "" || f.Error.Message == "" || f.Error.Hint == "" {
				t.Errorf("an answer that says too little: %+v", f.Error)
			}
		})
	}
	if did := f.commands(); len(did) != 0 {
		t.Errorf("a refused command reached the console: %+v", did)
	}
}

func TestHostileTargetsReachTheConsoleAsTheyAre(t *testing.T) {
	f := newFake()
	r := serve(t, f)
	for _, key := range []string{
		"api:user:../x%2F\x1b", "..", ".", "/", "a/b", "a//b", "?x=1#y", "%", "%00", "\x00", "ä\u202e ü", "\xff\xfe", "+ &=;", strings.Repeat("k", maxTarget),
	} {
		if _, err := r.client.Do(context.Background(), ops.Command{Verb: ops.VerbReset, Target: key}); err != nil {
			t.Errorf("%q: %v", key, err)
			continue
		}
		if did := f.commands(); did[len(did)-1].Target != key {
			t.Errorf("%q arrived as %q", key, did[len(did)-1].Target)
		}
		if len(key) > 100 {
			continue
		}
		if _, err := r.client.Preview(context.Background(), ops.Command{Verb: ops.VerbReset, Target: key}); err != nil {
			t.Errorf("preview %q: %v", key, err)
		}
	}
}

func TestAMessageOfAMebibyteArrivesWithAnyCharacters(t *testing.T) {
	for name, unit := range map[string]string{"letters": "a", "newlines": "\n\n\nx", "markup": "<>&x", "controls": "\x01\x1b\x02x", "accents": "éé"} {
		t.Run(name, func(t *testing.T) {
			f := newFake()
			r := serve(t, f)
			text := strings.Repeat(unit, ops.MaxText/len(unit))
			if _, err := r.client.Do(context.Background(), ops.Command{Verb: ops.VerbMessage, Target: "cli:local", Text: text}); err != nil {
				t.Fatal(err)
			}
			if did := f.commands(); did[0].Text != text {
				t.Fatalf("%d bytes arrived changed: %.40q", len(did[0].Text), did[0].Text)
			}
			_, err := r.client.Do(context.Background(), ops.Command{Verb: ops.VerbMessage, Target: "cli:local", Text: text + strings.Repeat("y", 8)})
			if !ops.HasCode(err, ops.CodeInvalid) {
				t.Fatalf("a text over the limit gave %v", err)
			}
		})
	}
}

// TestI6_AReadOnlyClientChangesNothing holds I6: the server refuses, not the client's good manners.
func TestI6_AReadOnlyClientChangesNothing(t *testing.T) {
	f := newFake()
	r := serve(t, f)
	c := NewClient(r.path, ClientOptions{ReadOnly: true})
	defer c.Close()
	for _, v := range ops.Verbs {
		cmd := ops.Command{Verb: v.Verb, Text: "hi"}
		if v.TakesTarget() {
			cmd.Target = "4711"
		}
		if _, err := c.Do(context.Background(), cmd); !ops.HasCode(err, ops.CodeForbidden) {
			t.Errorf("%s gave %v, promised forbidden", v.Verb, err)
		}
		if _, err := c.Preview(context.Background(), cmd); err != nil {
			t.Errorf("preview of %s: %v", v.Verb, err)
		}
	}
	if _, err := c.Status(context.Background()); err != nil {
		t.Errorf("a read-only client may look: %v", err)
	}
	if did := f.commands(); len(did) != 0 {
		t.Errorf("%+v was done", did)
	}
}

func TestErrorsOfTheConsoleArriveAsTheyAre(t *testing.T) {
	f := newFake()
	want := &ops.Error{Code: ops.CodeBusy, Message: "agent is busy", Hint: "interrupt it first"}
	f.do = func(ops.Command) (ops.Request, error) { return ops.Request{}, want }
	r := serve(t, f)
	_, err := r.client.Do(context.Background(), ops.Command{Verb: ops.VerbEvict, Target: "k"})
	got, ok := errors.AsType[*ops.Error](err)
	if !ok || *got != *want {
		t.Fatalf("got %v, want %v", err, want)
	}
	f.snapshot = func(context.Context) (ops.Snapshot, error) { panic("boom") }
	if _, err := r.client.Snapshot(context.Background()); !ops.HasCode(err, ops.CodeInternal) {
		t.Fatalf("a panic gave %v, promised an internal error", err)
	}
	f.snapshot = func(context.Context) (ops.Snapshot, error) { return ops.Snapshot{}, context.DeadlineExceeded }
	if _, err := r.client.Snapshot(context.Background()); !ops.HasCode(err, ops.CodeUnavailable) {
		t.Fatalf("a timeout gave %v, promised unavailable", err)
	}
}

func TestQueriesReachTheConsole(t *testing.T) {
	f := newFake()
	r := serve(t, f)
	q := ops.Query{Limit: 7, Cursor: "c=1&", Filter: "ä b"}
	p, err := r.client.Sessions(context.Background(), q)
	if err != nil || p.Next != "c2" || len(p.Items) != 1 {
		t.Fatalf("got %+v, %v", p, err)
	}
	if _, err := r.client.History(context.Background(), ops.Query{Limit: 1 << 40}); err != nil {
		t.Fatal(err)
	}
	if want := []ops.Query{q, {Limit: ops.MaxLimit}}; !slices.Equal(f.queries, want) {
		t.Fatalf("the console was asked %+v, want %+v", f.queries, want)
	}
	cmd := ops.Command{Verb: ops.VerbExtend, Phase: "drain", Item: "a b", ByMS: 30_000, Reason: "r&", Expect: "e", Interrupt: true}
	if _, err := r.client.Preview(context.Background(), cmd); err != nil {
		t.Fatal(err)
	}
	got := f.previews[0]
	got.By = ops.Actor{}
	if got != cmd {
		t.Fatalf("previewed %+v, want %+v", got, cmd)
	}
}

// H13: probes are cheap, need no key, and say why in a sentence that shows nothing private.
func TestProbes(t *testing.T) {
	f := newFake()
	var dead, ready error
	r := serve(t, f, func(o *Options) {
		o.Ready = func(context.Context) error { return ready }
	})
	f.status = func(context.Context) (ops.Status, error) { return ops.Status{}, dead }
	f.snapshot = func(context.Context) (ops.Snapshot, error) {
		t.Error("a probe did real work (H13)")
		return ops.Snapshot{}, nil
	}
	for _, path := range []string{"/healthz", "/readyz"} {
		if status, body := r.ask(t, "GET", path, ""); status != 200 || body != "ok\n" {
			t.Errorf("%s: %d %q", path, status, body)
		}
	}
	dead, ready = errors.New("read /home/a/secret"), errors.New("draining")
	for path, want := range map[string]string{"/healthz": "the gateway gives no status", "/readyz": "draining"} {
		if status, body := r.ask(t, "GET", path, ""); status != 503 || !strings.Contains(body, want) || strings.Contains(body, "secret") {
			t.Errorf("%s: %d %q", path, status, body)
		}
	}
}

// H13, G6: liveness is not said of a gateway that stands still.
func TestAGatewayThatHangsIsNotSaidToLive(t *testing.T) {
	f := newFake()
	asked := make(chan struct{})
	f.status = func(ctx context.Context) (ops.Status, error) {
		close(asked)
		<-ctx.Done()
		return ops.Status{}, ctx.Err()
	}
	r := serve(t, f)
	ctx, leave := context.WithCancel(t.Context())
	go func() {
		select {
		case <-asked:
		case <-time.After(10 * time.Second): // the status was not asked for
		}
		leave()
	}()
	req, err := http.NewRequestWithContext(ctx, "GET", "http://gatewaytui/healthz", nil)
	if err != nil {
		t.Fatal(err)
	}
	if resp, err := r.client.http.Do(req); err == nil {
		resp.Body.Close()
		t.Errorf("it answered %s", resp.Status)
	}
}
