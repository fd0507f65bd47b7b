package external

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"gatewaytui/core/adapter"
)

func TestPL4_ASendHasWhatThePageSays(t *testing.T) {
	simulate(t, func(w *world) {
		w.up(func(c *conn) {
			buttons := [][]adapter.Button{{{Label: "Yes", Text: "/approve 1"}}}
			m := adapter.Outgoing{Target: "c%239#m#1", Text: strings.Repeat("word ", 150), Markdown: true, Key: "01M8", Passing: true, Buttons: buttons}
			sent, err := c.Send(w.Context(), m)
			if err != nil || !slices.Equal(sent.IDs, []string{"b1", "b2"}) {
				w.Fatalf("sent %+v: %v", sent, err)
			}
			got := w.there.lines(typeSend)
			first, second := got[0], got[1]
			if first.Chat != "c#9" || first.Reply != "m#1" || first.Key != "01M8" || !first.Markdown || !first.Passing || first.Buttons != nil {
				w.Errorf("the first part is %+v", first)
			}
			if second.Chat != "c#9" || second.Reply != "" || second.Key != "01M8/1" || len(second.Buttons) != 1 || second.Buttons[0][0] != (button{"Yes", "/approve 1"}) {
				w.Errorf("the second part is %+v", second)
			}
			m.Skip, m.Repeated, m.Text = 1, true, "one"
			if sent, err := c.Send(w.Context(), m); err != nil || len(sent.IDs) != 0 {
				w.Errorf("what has arrived is sent as %+v: %v", sent, err)
			}
			m.Skip, m.Key = 0, ""
			if _, err := c.Send(w.Context(), m); err != nil {
				w.Error(err)
			}
			if last := w.there.lines(typeSend)[2]; last.Text != adapter.RepeatMark+"\n\none" {
				w.Errorf("what may have arrived is %q", last.Text)
			}
			if _, err := c.Edit(w.Context(), "b1", adapter.Outgoing{Target: "c%239#m1", Text: strings.Repeat("word ", 150), Key: "k"}); err != nil {
				w.Error(err)
			}
			edit, rest := w.there.lines(typeEdit)[0], w.there.lines(typeSend)[3]
			if edit.Message != "b1" || edit.Key != "" || edit.Reply != "" || rest.Key != "k/1" {
				w.Errorf("a long edit is %+v and %+v", edit, rest)
			}
			if err := c.SetMenu(w.Context(), []adapter.MenuCommand{{Name: "new", About: "start fresh"}}); err != nil || w.there.menu[0] != (menuCommand{"new", "start fresh"}) {
				w.Errorf("the menu is %v: %v", w.there.menu, err)
			}
		})
	})
}

func TestPL4_AFenceThatIsCutIsAFenceInBothMessages(t *testing.T) {
	code := "```go\n" + strings.Repeat("x := 1\n", 40) + "```\nThe end."
	parts := split("Look:\n"+code, 200, true)
	for i, part := range parts {
		if strings.Count(part, "```")%2 != 0 || len(part) > 200 || i > 0 && i < len(parts)-1 && !strings.HasPrefix(part, "```go\n") {
			t.Errorf("part %d of %d is %q", i, len(parts), part)
		}
	}
	if len(parts) < 2 || strings.Count(strings.Join(parts, ""), "x := 1\n") != 40 {
		t.Errorf("the parts are %q", parts)
	}
	for text, want := range map[string]int{" \n": 0, "one": 1, strings.Repeat("x", 100): 1, strings.Repeat("x", 101): 2} {
		if got := split(text, 100, true); len(got) != want {
			t.Errorf("%q is %d messages, want %d", text, len(got), want)
		}
	}
	if got := split(strings.Repeat("x", 5000), 0, true); len(got) != 1 {
		t.Errorf("without a bound a text is %d messages", len(got))
	}
}

func FuzzSplit(f *testing.F) {
	f.Add("```go\nx := 1\n```\n", 100)
	f.Add("~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~ long\n\n```\n", 120)
	f.Add("\xff\U0001F600", 101)
	f.Fuzz(func(t *testing.T, text string, most int) {
		if most < minMessage || most > 1000 || len(text) > 20000 {
			t.Skip("runs with bounds that a program may have")
		}
		for _, part := range split(text, most, true) {
			if len(adapter.Split(part, most)) != 1 {
				t.Errorf("a part of %q is longer than %d: %q", text, most, part)
			}
		}
	})
}

func TestPL4_TheAnswerOfTheProgramIsTheErrorOfTheCall(t *testing.T) {
	for code, tc := range map[string]struct {
		failure failure
		is      func(error) bool
		arrived bool // it may have
	}{
		"refused":                    {failure{Code: codeRefused, Text: "gone"}, is[*adapter.RefusedError], false},
		"rate_limit":                 {failure{Code: codeRateLimit, RetryMS: 90_000}, func(err error) bool { return adapter.Pause(err, 0) == 90*time.Second }, false},
		"rate_limit without a time":  {failure{Code: codeRateLimit}, func(err error) bool { return adapter.Pause(err, 0) == usualRetry }, false},
		"rate_limit without sense":   {failure{Code: codeRateLimit, RetryMS: 1 << 62}, func(err error) bool { return adapter.Pause(err, 0) > 24*time.Hour }, false},
		"unsent":                     {failure{Code: codeUnsent}, is[*adapter.UnsentError], false},
		"a code that is not known":   {failure{Code: "weather"}, func(error) bool { return true }, true},
		"a text that would deceive":  {failure{Code: "error", Text: "\x1b[2J"}, func(err error) bool { return !strings.Contains(err.Error(), "\x1b") }, true},
		"a text of a whole page":     {failure{Code: "error", Text: strings.Repeat("x", 5000)}, func(err error) bool { return len(err.Error()) < 1000 }, true},
		"a text with the credential": {failure{Code: "error", Text: "401 c4naryc4nary"}, func(err error) bool { return !strings.Contains(err.Error(), "c4nary") }, true},
	} {
		t.Run(code, func(t *testing.T) {
			t.Setenv("EXTERNAL_TEST_TOKEN", "c4naryc4nary")
			simulate(t, func(w *world) {
				w.Platform.o.EnvPass = []string{"EXTERNAL_TEST_TOKEN"}
				w.there.denies = &tc.failure
				w.up(func(c *conn) {
					_, err := w.send(c, "hello")
					if err == nil || !tc.is(err) || adapter.MayHaveArrived(err) != tc.arrived {
						w.Errorf("it returned %v (%T)", err, err)
					}
				})
			})
		})
	}
}

func TestPL4_WhatTheProgramCannotDoIsNotAskedOfIt(t *testing.T) {
	simulateWith(t, ready{Type: typeReady, Version: version, Bounds: bounds{File: 5}}, func(w *world) {
		w.up(func(c *conn) {
			ctx, to := w.Context(), "d-"+owner
			_, edit := c.Edit(ctx, "b1", adapter.Outgoing{Target: to, Text: "x"})
			_, file := c.SendFile(ctx, to, adapter.OutgoingFile{Content: []byte("x")})
			_, fetch := c.Fetch(ctx, "f", 1)
			for name, err := range map[string]error{
				"edit": edit, "delete": c.Remove(ctx, to, "b1"), "typing": c.Typing(ctx, to), "react": c.React(ctx, to, "m1", "👍"), "file": file, "fetch": fetch, "menu": c.SetMenu(ctx, nil),
			} {
				if !errors.Is(err, adapter.ErrUnable) || len(w.there.lines(name)) != 0 {
					w.Errorf("%s returned %v", name, err)
				}
			}
			if _, err := c.Send(ctx, adapter.Outgoing{Target: to, Text: "*x*", Markdown: true, Buttons: [][]adapter.Button{{{Label: "a", Text: "b"}}}}); err != nil {
				w.Error(err)
			}
			if got := w.there.lines(typeSend)[0]; got.Markdown || got.Buttons != nil {
				w.Errorf("it was asked to send %+v", got)
			}
		})
	})
	simulateWith(t, ready{Type: typeReady, Version: version, Abilities: []string{"files in", "files out"}, Bounds: bounds{File: 5}}, func(w *world) {
		w.up(func(c *conn) {
			_, err := c.SendFile(w.Context(), "d1", adapter.OutgoingFile{Content: []byte("123456")})
			if !is[*adapter.RefusedError](err) || len(w.there.lines(typeFile)) != 0 {
				w.Errorf("a file over the bound returned %v", err)
			}
			w.there.content = [][]byte{[]byte("123456")}
			w.there.lies = true
			if content, err := c.Fetch(w.Context(), "file-0", 5); !is[*adapter.RefusedError](err) || content != nil {
				w.Errorf("a file of more than was asked for returned %q, %v", content, err)
			}
		})
	})
}

func TestPL4_TextsOfOneChatComeOneAfterAnotherAndAtMost31RequestsAreOpen(t *testing.T) {
	simulate(t, func(w *world) {
		w.there.dumb = []string{typeSend}
		w.up(func(c *conn) {
			ctx, cancel := context.WithTimeout(w.Context(), 10*time.Second)
			defer cancel()
			errs := make(chan error)
			for i := range 2 * maxOpen {
				go func() {
					_, err := c.Send(ctx, adapter.Outgoing{Target: fmt.Sprintf("c%d", i/2), Text: "hello"})
					errs <- err
				}()
			}
			go func() {
				_, err := c.Send(ctx, adapter.Outgoing{Target: "late", Text: "hello"})
				errs <- err
			}()
			synctest.Wait()
			if got := len(w.there.lines(typeSend)); got != maxOpen {
				w.Errorf("%d requests are open", got)
			}
			maybe := 0
			for range 2*maxOpen + 1 {
				if err := <-errs; err == nil || !errors.Is(err, context.DeadlineExceeded) {
					w.Errorf("a send without an answer returned %v", err)
				} else if adapter.MayHaveArrived(err) {
					maybe++
				}
			}
			synctest.Wait()
			if written := len(w.there.lines(typeSend)); maybe != written {
				w.Errorf("%d messages may have arrived, %d were written", maybe, written)
			}
			w.after(time.Minute)
			if err := c.Err(); err != nil {
				w.Errorf("the connection ended: %v", err)
			}
		})
	})
}

func TestPL4_ASendIntoAConnectionThatEndsSaysWhatIsKnown(t *testing.T) {
	simulate(t, func(w *world) {
		w.there.dumb = []string{typeSend}
		c := w.dialUp()
		sent := make(chan error)
		go func() { _, err := w.send(c, "hello"); sent <- err }()
		synctest.Wait()
		w.there.fails("gone")
		if err := <-sent; err == nil || !adapter.MayHaveArrived(err) || !strings.Contains(err.Error(), "the server closed the connection") {
			w.Errorf("one that was written returned %v", err)
		}
		w.there.fails("")
		if _, err := w.send(c, "hello"); !is[*adapter.UnsentError](err) {
			w.Errorf("one that was not written returned %v", err)
		}
		w.down(c)
		if _, err := w.send(c, "hello"); !errors.Is(err, adapter.ErrDisconnected) {
			w.Errorf("one after the teardown returned %v", err)
		}
		if got := w.there.writes[len(w.there.writes)-1]; got != "{\"type\":\"stop\"}\n" {
			w.Errorf("the last line to the program is %q", got)
		}
	})
}

func TestPL4_ALineThatIsTakenBackHoldsNoData(t *testing.T) {
	waits, goes := &outgoing{data: []byte("{}\n")}, &outgoing{data: []byte("{}\n")}
	goes.state.Store(lineGoes)
	if !waits.drop() || waits.data != nil {
		t.Errorf("a line that waited still has %q", waits.data)
	}
	if goes.drop() || goes.data == nil {
		t.Error("a line was taken back while it was being written")
	}
}
