package botapitest_test

import (
	"bytes"
	"context"
	"encoding/json"
	"net/http"
	"testing"
	"time"

	"go.uber.org/goleak"

	"gatewaytui/core/adapter/telegram/botapitest"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// reply is an answer of the Bot API.
type reply struct {
	OK          bool            `json:"ok"`
	Result      json.RawMessage `json:"result"`
	Code        int             `json:"error_code"`
	Description string          `json:"description"`
	Parameters  struct {
		RetryAfter int   `json:"retry_after"`
		Migrate    int64 `json:"migrate_to_chat_id"`
	} `json:"parameters"`
}

func start(t *testing.T) *botapitest.Server {
	t.Helper()
	s := botapitest.New("1:t")
	t.Cleanup(func() {
		http.DefaultClient.CloseIdleConnections()
		s.Close()
	})
	return s
}

func call(ctx context.Context, s *botapitest.Server, path string, args any) (r reply, err error) {
	body, err := json.Marshal(args)
	if err != nil {
		return r, err
	}
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, s.URL+"/bot"+path, bytes.NewReader(body))
	if err != nil {
		return r, err
	}
	req.Header.Set("Content-Type", "application/json")
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		return r, err
	}
	defer resp.Body.Close()
	return r, json.NewDecoder(resp.Body).Decode(&r)
}

func must(t *testing.T, s *botapitest.Server, path string, args any) reply {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 10*time.Second)
	defer cancel()
	r, err := call(ctx, s, path, args)
	if err != nil {
		t.Fatalf("%s: %v", path, err)
	}
	return r
}

func TestAnUpdateComesUntilAHigherOffsetConfirmsIt(t *testing.T) {
	s := start(t)
	id := s.Inject(botapitest.Update{User: 7, Text: "hello"})
	for range 2 {
		var us []struct {
			ID      int64 `json:"update_id"`
			Message struct {
				Text string `json:"text"`
			} `json:"message"`
		}
		r := must(t, s, "1:t/getUpdates", map[string]any{"offset": id})
		if err := json.Unmarshal(r.Result, &us); err != nil || len(us) != 1 || us[0].ID != id || us[0].Message.Text != "hello" {
			t.Fatalf("got %s (%v), want the update that was injected", r.Result, err)
		}
	}
	if r := must(t, s, "1:t/getUpdates", map[string]any{"offset": id + 1}); string(r.Result) != "[]" || s.Unconfirmed() != 0 {
		t.Fatalf("after the confirmation: %s, %d left, want none", r.Result, s.Unconfirmed())
	}
}

func TestAPollIsHeldUntilAnUpdateComesOrAnotherPollBegins(t *testing.T) {
	s := start(t)
	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Second)
	defer cancel()
	poll := func() <-chan reply {
		n, got := s.Calls("getUpdates"), make(chan reply, 1)
		go func() {
			r, err := call(ctx, s, "1:t/getUpdates", map[string]any{"timeout": 60})
			if err != nil {
				t.Errorf("getUpdates: %v", err)
			}
			got <- r
		}()
		if err := s.Await(ctx, func(s *botapitest.Server) bool { return s.Holding() && s.Calls("getUpdates") > n }); err != nil {
			t.Fatal(err)
		}
		return got
	}
	first := poll()
	second := poll()
	if r := <-first; r.Code != 409 {
		t.Errorf("the poll that another one cut off was answered %+v, want 409", r)
	}
	s.Inject(botapitest.Update{User: 7, Text: "hello"})
	if r := <-second; !r.OK {
		t.Errorf("the poll that was held was answered %+v, want the update", r)
	}
}

func TestSentMessagesAreKept(t *testing.T) {
	s := start(t)
	must(t, s, "1:t/sendMessage", map[string]any{"chat_id": -100, "message_thread_id": 7, "text": "hi"})
	if got := s.Sent(); len(got) != 1 || got[0] != (botapitest.Sent{ChatID: -100, ThreadID: 7, Text: "hi"}) {
		t.Fatalf("kept %+v", got)
	}
	for name, text := range map[string]string{"blank": " \n", "too long": string(make([]rune, 4097))} {
		if r := must(t, s, "1:t/sendMessage", map[string]any{"chat_id": 1, "text": text}); r.Code != 400 {
			t.Errorf("a %s text was answered %+v, want 400", name, r)
		}
	}
}

func TestFaults(t *testing.T) {
	for _, tc := range []struct {
		name  string
		fault botapitest.Fault
		want  []int // error codes of the calls in turn; 0: no error, -1: no answer
	}{
		{"a code", botapitest.Fault{Code: 500}, []int{500, 500, 500}},
		{"a code for two calls", botapitest.Fault{Code: 429, RetryAfter: 3, Times: 2}, []int{429, 429, 0}},
		{"a code after one call", botapitest.Fault{Code: 403, After: 1, Times: 1}, []int{0, 403, 0}},
		{"a connection that drops once", botapitest.Fault{Drop: true, Times: 1}, []int{-1, 0}},
		{"a call that hangs once", botapitest.Fault{Hang: true, Times: 1}, []int{-1, 0}},
	} {
		t.Run(tc.name, func(t *testing.T) {
			s := start(t)
			s.Fail("getMe", tc.fault)
			for i, want := range tc.want {
				limit := 10 * time.Second
				if want < 0 {
					limit = 300 * time.Millisecond
				}
				ctx, cancel := context.WithTimeout(t.Context(), limit)
				r, err := call(ctx, s, "1:t/getMe", map[string]any{})
				cancel()
				got := r.Code
				if err != nil {
					got = -1
				}
				if got != want || r.Code == 429 && r.Parameters.RetryAfter != tc.fault.RetryAfter {
					t.Errorf("call %d: %d %+v (%v), want %d", i+1, got, r, err, want)
				}
			}
		})
	}
}

func TestWhatHangsIsAnsweredOnceHealed(t *testing.T) {
	s := start(t)
	s.Fail("getMe", botapitest.Fault{Hang: true})
	got := make(chan reply, 1)
	go func() {
		r, err := call(t.Context(), s, "1:t/getMe", map[string]any{})
		if err != nil {
			t.Errorf("getMe: %v", err)
		}
		got <- r
	}()
	if err := s.Await(t.Context(), func(s *botapitest.Server) bool { return s.Calls("getMe") == 1 }); err != nil {
		t.Fatal(err)
	}
	s.Heal()
	if r := <-got; !r.OK {
		t.Errorf("answered %+v, want who the bot is", r)
	}
}

func TestAnotherTokenIsNotKnown(t *testing.T) {
	if r := must(t, start(t), "2:x/getMe", map[string]any{}); r.Code != 401 {
		t.Errorf("answered %+v, want 401", r)
	}
}

func TestAWebhookIsAConflictUntilItIsDeleted(t *testing.T) {
	s := start(t)
	s.SetWebhook()
	if r := must(t, s, "1:t/getUpdates", map[string]any{}); r.Code != 409 {
		t.Errorf("answered %+v, want 409", r)
	}
	must(t, s, "1:t/deleteWebhook", map[string]any{})
	if r := must(t, s, "1:t/getUpdates", map[string]any{}); !r.OK {
		t.Errorf("answered %+v, want no update", r)
	}
}
