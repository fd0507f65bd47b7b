package external

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	"gatewaytui/core/adapter"
)

func TestPL4_AnAttemptSaysWhyItFailsAndLeavesNoProgram(t *testing.T) {
	for name, tc := range map[string]struct {
		failed failed
		is     func(error) bool
		says   string
	}{
		"a credential":         {failed{Code: codeCredentials, Variable: "MATTERMOST_TOKEN", Text: "401"}, is[*adapter.CredentialsError], "MATTERMOST_TOKEN"},
		"a missing credential": {failed{Code: codeCredentials, Variable: "MATTERMOST_TOKEN"}, is[*adapter.CredentialsError], "MATTERMOST_TOKEN is not set"},
		"a credential without a name": {
			failed{Code: codeCredentials, Text: "401"}, is[*adapter.CredentialsError], "adapters.mattermost.env_pass",
		},
		"a conflict":           {failed{Code: codeConflict, Text: "replaced"}, is[*adapter.ConflictError], "replaced"},
		"a rate limit":         {failed{Code: codeRateLimit, RetryMS: 60_000}, func(err error) bool { return adapter.Pause(err, 0) == time.Minute }, "1m0s"},
		"another error":        {failed{Code: "error", Text: "connection \x1b[2Jrefused"}, func(err error) bool { return !strings.Contains(err.Error(), "\x1b") }, "refused"},
		"a code that is new":   {failed{Code: "weather", Text: "it rains"}, func(error) bool { return true }, "it rains"},
		"an error without all": {failed{}, func(error) bool { return true }, "without a reason"},
	} {
		t.Run(name, func(t *testing.T) {
			simulate(t, func(w *world) {
				w.there.denial = &tc.failed
				_, err := w.Connect(w.Context(), w.in)
				if err == nil || !tc.is(err) || !strings.Contains(err.Error(), tc.says) {
					w.Errorf("it returned %v (%T)", err, err)
				}
				w.there.over(w.T)
			})
		})
	}
}

func TestPL4_AnAttemptIsBounded(t *testing.T) {
	simulate(t, func(w *world) {
		w.there.fails("half-dead")
		began := time.Now()
		_, err := w.Connect(w.Context(), w.in)
		if took := time.Since(began); err == nil || !strings.Contains(err.Error(), "not ready within 25s") || took > readyMost+endMost+time.Second {
			w.Errorf("after %s it returned %v", took, err)
		}
		ctx, cancel := context.WithTimeout(w.Context(), time.Second)
		defer cancel()
		if _, err := w.Connect(ctx, w.in); !errors.Is(err, context.DeadlineExceeded) {
			w.Errorf("an attempt whose time is over returned %v", err)
		}
		w.there.over(w.T)
	})
}

func TestPL4_AProgramThatAnswersNoPingIsLeft(t *testing.T) {
	simulate(t, func(w *world) {
		w.up(func(c *conn) {
			w.after(10 * time.Minute)
			if c.Err() != nil || time.Since(c.LastInbound()) > pingEvery {
				w.Errorf("a program that answers: %v, it heard something %s ago", c.Err(), time.Since(c.LastInbound()))
			}
			w.there.mu.Lock()
			w.there.deaf = true
			w.there.mu.Unlock()
			w.after(2*pingEvery + time.Second)
			if err := c.Err(); err == nil || !strings.Contains(err.Error(), "does not answer a ping within 15s") {
				w.Errorf("the connection ended: %v", err)
			}
		})
	})
}

func TestPL4_AProgramSaysHowLongItsPlatformIsQuiet(t *testing.T) {
	simulate(t, func(w *world) {
		w.up(func(c *conn) {
			w.there.mu.Lock()
			w.there.quiet = time.Now()
			w.there.mu.Unlock()
			w.after(w.StaleAfter() + pingEvery)
			if quiet := time.Since(c.LastInbound()); quiet < w.StaleAfter() || c.Err() != nil {
				w.Errorf("it heard something %s ago, and the connection ended: %v", quiet, c.Err())
			}
			w.there.hear(direct(owner, "hello"))
			w.after(time.Second)
			if quiet := time.Since(c.LastInbound()); quiet > time.Second {
				w.Errorf("it heard something %s ago, a message came just now", quiet)
			}
		})
	})
}

func TestPL4_HelloHasWhatThePageSays(t *testing.T) {
	simulate(t, func(w *world) {
		w.up(func(*conn) {
			want := `{"type":"hello","version":1,"adapter":"mattermost","settings":{"url":"https://mattermost.example"},"groups":["g1"]}` + "\n"
			if got := w.there.writes[0]; got != want {
				w.Errorf("it is %q, want %q", got, want)
			}
		})
	})
}

func TestPL4_AbilitiesAndBoundsAreThoseOfTheProgram(t *testing.T) {
	r := ready{Type: typeReady, Version: version, Abilities: []string{"typing", "weather", "groups", "drafts", "typing"}, Bounds: bounds{Message: 4000, Messages: 7, TypingMS: 1, File: 1 << 40}}
	simulateWith(t, r, func(w *world) {
		if w.Abilities() != nil || w.Bounds("") != (adapter.Bounds{}) {
			w.Errorf("before the first run it can %v", w.Abilities())
		}
		w.up(func(*conn) {})
		want := adapter.Bounds{Message: 4000, Messages: 7, Typing: minTyping, File: maxFile}
		if got := w.Abilities(); len(got) != 2 || got[0] != adapter.AbilityGroups || got[1] != adapter.AbilityTyping || w.Bounds("") != want {
			w.Errorf("it can %v within %+v", got, w.Bounds(""))
		}
	})
}
