package model

import (
	"bytes"
	"context"
	"errors"
	"io"
	"log/slog"
	"math"
	"net"
	"net/http"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
)

// providerOver is a model whose requests answer gets.
func providerOver(t *testing.T, name string, answer roundTrip) (Provider, *fakeNet) {
	t.Helper()
	p, err := NewOpenAI(OpenAIOptions{BaseURL: "http://" + name + ".test/v1", Model: name, APIKey: testKey, Timeout: time.Minute, Window: 1000, Vision: name == "first"})
	if err != nil {
		t.Fatal(err)
	}
	fake := &fakeNet{answer: answer}
	p.(*openAI).http.Transport = fake
	return p, fake
}

// brokenBody is an answer that breaks off with an error.
func brokenBody(begin string) io.ReadCloser {
	return io.NopCloser(io.MultiReader(strings.NewReader(begin), errReader{}))
}

type errReader struct{}

func (errReader) Read([]byte) (int, error) { return 0, io.ErrUnexpectedEOF }

// The table is the promise: in which ways a model may fail so that the next one of the chain is asked.
func TestCV5_AFailureGoesToTheNextModelOrToTheCaller(t *testing.T) {
	answer := func(status int, header map[string]string, body string) roundTrip {
		return func(int, *http.Request) (*http.Response, error) { return respond(status, header, body), nil }
	}
	for name, tt := range map[string]struct {
		fails roundTrip
		next  bool
		kind  Kind
	}{
		"429":                                 {answer(429, nil, `{"error":{"message":"slow down"}}`), true, KindRateLimited},
		"429 with Retry-After":                {answer(429, map[string]string{"Retry-After": "30"}, `{}`), true, KindRateLimited},
		"429 of an account that is used up":   {answer(429, nil, `{"error":{"type":"insufficient_quota"}}`), true, KindQuota},
		"500":                                 {answer(500, nil, ``), true, KindUnavailable},
		"502 of a proxy":                      {answer(502, nil, `<html>nginx</html>`), true, KindUnavailable},
		"503":                                 {answer(503, nil, ``), true, KindUnavailable},
		"529, overloaded":                     {answer(529, nil, `{"error":{"type":"overloaded_error","message":"Overloaded"}}`), true, KindUnavailable},
		"an error in the stream, before text": {answer(200, nil, sse(`{"error":{"message":"engine died"}}`)), true, KindUnavailable},
		"no connection": {func(int, *http.Request) (*http.Response, error) {
			return nil, &net.OpError{Op: "dial", Err: errors.New("refused")}
		}, true, KindUnavailable},
		"a connection that breaks before text": {func(int, *http.Request) (*http.Response, error) {
			r := respond(200, nil, "")
			r.Body = brokenBody("data: {\"cho")
			return r, nil
		}, true, KindUnavailable},
		"no answer in time": {func(_ int, r *http.Request) (*http.Response, error) {
			<-r.Context().Done()
			return nil, r.Context().Err()
		}, true, KindTimeout},
		"a web page":                    {answer(200, map[string]string{"Content-Type": "text/html"}, `<html>hello</html>`), true, KindNotAModel},
		"an answer that cannot be read": {answer(200, nil, sse(`{"choices":}`)), true, KindBroken},
		"401, a bad key":                {answer(401, nil, `{"error":{"message":"bad key"}}`), false, KindAuth},
		"403":                           {answer(403, nil, `{}`), false, KindAuth},
		"404, no such model":            {answer(404, nil, `{"error":{"code":"model_not_found"}}`), false, KindNoModel},
		"400, too long":                 {answer(400, nil, `{"error":{"code":"context_length_exceeded"}}`), false, KindTooLong},
		"400, refused":                  {answer(400, nil, `{"error":{"message":"bad temperature"}}`), false, KindRefused},
		"a redirect":                    {answer(302, map[string]string{"Location": "http://else.test"}, ``), false, KindRedirected},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				first, asked := providerOver(t, "first", tt.fails)
				second, askedNext := providerOver(t, "second", answer(200, nil, sse(text("hello"), stopChunk, "[DONE]")))
				var log bytes.Buffer
				pool := NewPool(slog.New(slog.NewTextHandler(&log, nil)), Spec{Name: "first", Provider: first}, Spec{Name: "second", Provider: second})
				c := pool.Chain("first", "second").New()
				defer c.Close()
				if c.Name() != "first" {
					t.Errorf("before an answer the model is %q", c.Name())
				}
				resp, err := c.Complete(t.Context(), Request{}, nil)
				if n := asked.n.Load(); n < 1 || n > hastyAttempts {
					t.Errorf("the first model was asked %d times, want 1 to %d", n, hastyAttempts)
				}
				if tt.next {
					if err != nil || resp.Model != "second" || resp.Message.Content != "hello" || c.Name() != "second" || !slices.Equal(resp.Failed, []string{"first"}) {
						t.Errorf("%q from %q, %v", resp.Message.Content, resp.Model, err)
					}
					if !strings.Contains(log.String(), "event=model.fallback model=first next=second kind="+string(tt.kind)) {
						t.Errorf("the log says %q", log.String())
					}
					return
				}
				failed, is := errors.AsType[*Error](err)
				if !is || failed.Kind != tt.kind || askedNext.n.Load() != 0 || resp.Model != "first" {
					t.Errorf("%v of %q, and the next was asked %d times; want %s and never", err, resp.Model, askedNext.n.Load(), tt.kind)
				}
			})
		})
	}
}

func TestCV5_TextThatWasDeliveredIsNotSaidAgainByAnotherModel(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		first, _ := providerOver(t, "first", func(int, *http.Request) (*http.Response, error) {
			r := respond(200, nil, "")
			r.Body = brokenBody(sse(text("I begin")))
			return r, nil
		})
		second, asked := providerOver(t, "second", func(int, *http.Request) (*http.Response, error) {
			return respond(200, nil, sse(text("again"), stopChunk, "[DONE]")), nil
		})
		c := NewPool(slog.New(slog.DiscardHandler), Spec{Name: "first", Provider: first}, Spec{Name: "second", Provider: second}).Chain("first", "second").New()
		defer c.Close()
		var got strings.Builder
		_, err := c.Complete(t.Context(), Request{}, func(s string) { got.WriteString(s) })
		if failed, is := errors.AsType[*Error](err); !is || failed.Kind != KindUnavailable || got.String() != "I begin" || asked.n.Load() != 0 {
			t.Errorf("%v, delivered %q, the second model was asked %d times", err, got.String(), asked.n.Load())
		}
		// It rests: the next call goes to the other one at once.
		if resp, err := c.Complete(t.Context(), Request{}, nil); err != nil || resp.Model != "second" {
			t.Errorf("%q, %v", resp.Model, err)
		}
	})
}

func TestCV5_AModelThatFailedIsLeftAloneByAllAgentsForAWhile(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var fails bool
		var after string
		first, asked := providerOver(t, "first", func(int, *http.Request) (*http.Response, error) {
			if !fails {
				return respond(200, nil, sse(text("first"), stopChunk, "[DONE]")), nil
			}
			return respond(503, map[string]string{"Retry-After": after}, ""), nil
		})
		second, _ := providerOver(t, "second", func(int, *http.Request) (*http.Response, error) {
			return respond(200, nil, sse(text("second"), stopChunk, "[DONE]")), nil
		})
		pool := NewPool(slog.New(slog.DiscardHandler), Spec{Name: "first", Provider: first}, Spec{Name: "second", Provider: second})
		one, other := pool.Chain("first", "second").New(), pool.Chain("first", "second").New()
		defer one.Close()
		defer other.Close()
		who := func(c Client) string {
			t.Helper()
			resp, err := c.Complete(context.Background(), Request{}, nil)
			if err != nil {
				t.Fatal(err)
			}
			return resp.Model
		}
		asks := func(c Client) int32 {
			before := asked.n.Load()
			if got := who(c); got != "second" {
				t.Fatalf("%s answered", got)
			}
			return asked.n.Load() - before
		}
		if got := who(one); got != "first" {
			t.Fatalf("%s answered first", got)
		}
		fails, after = true, "40"
		if n := asks(one); n != 1 { // what the endpoint asks for is too long to wait for
			t.Errorf("asked %d times, want once", n)
		}
		time.Sleep(39 * time.Second)
		if n := asks(other); n != 0 {
			t.Errorf("another agent asked a model that rests %d times", n)
		}
		time.Sleep(2 * time.Second)
		after = ""
		if n := asks(other); n == 0 {
			t.Error("a model that has rested was not asked again")
		}
		// Without a time from the endpoint it rests longer with each failure in a row.
		time.Sleep(firstRest + time.Second)
		if n := asks(one); n != 0 {
			t.Errorf("after a second failure it rests no longer than after the first: asked %d times", n)
		}
		time.Sleep(mostRest)
		fails = false
		if got := who(one); got != "first" {
			t.Errorf("%s answered after the first works again", got)
		}
	})
}

func TestCV5_ACallIsNotRefusedBecauseAllModelsRest(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		down := true
		answer := func(_ int, r *http.Request) (*http.Response, error) {
			if down {
				return respond(500, nil, ""), nil
			}
			return respond(200, nil, sse(text(r.URL.Host), stopChunk, "[DONE]")), nil
		}
		first, _ := providerOver(t, "first", answer)
		second, _ := providerOver(t, "second", answer)
		c := NewPool(slog.New(slog.DiscardHandler), Spec{Name: "first", Provider: first}, Spec{Name: "second", Provider: second}).Chain("first", "second").New()
		defer c.Close()
		if _, err := c.Complete(t.Context(), Request{}, nil); err == nil {
			t.Fatal("no error while both are down")
		}
		down = false
		if _, err := c.Complete(t.Context(), Request{}, nil); err != nil {
			t.Errorf("%v, want an answer of a model that rests", err)
		}
	})
}

func TestCV5_WhatACallCostsIsWhatTheEndpointSaysElseThePricesElseUnknown(t *testing.T) {
	usage := func(u string) roundTrip {
		return func(int, *http.Request) (*http.Response, error) {
			return respond(200, nil, sse(text("x"), stopChunk, `{"choices":[],"usage":`+u+`}`, "[DONE]")), nil
		}
	}
	const plain = `{"prompt_tokens":1000,"completion_tokens":100,"prompt_tokens_details":{"cached_tokens":400}}`
	for name, tt := range map[string]struct {
		usage string
		spec  Spec
		want  Usage
	}{
		"what the endpoint says":        {`{"prompt_tokens":1000,"completion_tokens":100,"cost":0.25}`, Spec{In: 1, Out: 1}, Usage{In: 1000, Out: 100, Cost: 0.25, Priced: true}},
		"that it is free":               {`{"prompt_tokens":1000,"completion_tokens":100,"cost":0}`, Spec{In: 1, Out: 1}, Usage{In: 1000, Out: 100, Priced: true}},
		"prices":                        {plain, Spec{In: 10, Cached: 1, Out: 100}, Usage{In: 1000, Cached: 400, Out: 100, Cost: 0.006 + 0.0004 + 0.01, Priced: true}},
		"no price for the cache":        {plain, Spec{In: 10, Out: 100}, Usage{In: 1000, Cached: 400, Out: 100, Cost: 0.01 + 0.01, Priced: true}},
		"no prices":                     {plain, Spec{}, Usage{In: 1000, Cached: 400, Out: 100}},
		"another word for the cache":    {`{"prompt_tokens":10,"completion_tokens":1,"prompt_cache_hit_tokens":7}`, Spec{}, Usage{In: 10, Cached: 7, Out: 1}},
		"more from the cache than sent": {`{"prompt_tokens":10,"completion_tokens":-1,"prompt_cache_hit_tokens":70}`, Spec{}, Usage{In: 10, Cached: 10}},
	} {
		t.Run(name, func(t *testing.T) {
			tt.spec.Name = Default
			tt.spec.Provider, _ = providerOver(t, "first", usage(tt.usage))
			c := NewPool(slog.New(slog.DiscardHandler), tt.spec).Chain(Default).New()
			defer c.Close()
			resp, err := c.Complete(t.Context(), Request{}, nil)
			if diff := cmp.Diff(tt.want, resp.Usage, cmp.Comparer(func(a, b float64) bool { return math.Abs(a-b) < 1e-9 })); diff != "" || err != nil {
				t.Errorf("%v\n%s", err, diff)
			}
		})
	}
}

func TestCV5_PicturesGoToAModelThatCanSee(t *testing.T) {
	answer := func(int, *http.Request) (*http.Response, error) {
		return respond(200, nil, sse(text("x"), stopChunk, "[DONE]")), nil
	}
	seeing, _ := providerOver(t, "first", answer)
	blind, _ := providerOver(t, "second", answer)
	pool := NewPool(slog.New(slog.DiscardHandler), Spec{Name: "sees", Provider: seeing}, Spec{Name: "blind", Provider: blind})
	picture := Request{Messages: []Message{{Role: RoleUser, Images: []Image{{URL: "https://x.test/a.png"}}}}}
	for _, c := range []struct {
		chain []string
		req   Request
		want  string
	}{
		{[]string{"blind", "sees"}, picture, "sees"},
		{[]string{"blind", "sees"}, Request{}, "blind"},
		{[]string{"blind"}, picture, "blind"}, // its endpoint decides
	} {
		client := pool.Chain(c.chain...).New()
		resp, err := client.Complete(t.Context(), c.req, nil)
		client.Close()
		if err != nil || resp.Model != c.want {
			t.Errorf("%v: %q answered, %v; want %q", c.chain, resp.Model, err, c.want)
		}
	}
}

func TestCV9_AModelThatCannotSeeGetsResultsWithoutTheirPictures(t *testing.T) {
	var bodies []string
	answer := func(_ int, r *http.Request) (*http.Response, error) {
		body, err := io.ReadAll(r.Body)
		bodies = append(bodies, string(body))
		return respond(200, nil, sse(text("x"), stopChunk, "[DONE]")), err
	}
	seeing, _ := providerOver(t, "first", answer)
	blind, _ := providerOver(t, "second", answer)
	pool := NewPool(slog.New(slog.DiscardHandler), Spec{Name: "sees", Provider: seeing}, Spec{Name: "blind", Provider: blind})
	req := Request{Messages: []Message{
		{Role: RoleUser, Content: "look"},
		{Role: RoleAssistant, ToolCalls: []ToolCall{{ID: "a", Name: "look", Arguments: "{}"}}},
		{Role: RoleTool, ToolCallID: "a", Content: "[image saved as a.png]", Images: []Image{{URL: "data:image/png;base64,AA"}}},
	}}
	for i, chain := range [][]string{{"blind", "sees"}, {"sees", "blind"}} {
		client := pool.Chain(chain...).New()
		resp, err := client.Complete(t.Context(), req, nil)
		client.Close()
		if err != nil || resp.Model != chain[0] || strings.Contains(bodies[i], "base64,AA") != (chain[0] == "sees") || !strings.Contains(bodies[i], "saved as a.png") {
			t.Errorf("%v: %q answered, %v, to %s", chain, resp.Model, err, bodies[i])
		}
	}
	if len(req.Messages[2].Images) != 1 {
		t.Error("the messages of the caller have changed")
	}
}

func TestAChainHasTheWindowAndTheEyesOfItsFirstModel(t *testing.T) {
	first, _ := providerOver(t, "first", nil)
	second, _ := providerOver(t, "second", nil)
	pool := NewPool(slog.New(slog.DiscardHandler), Spec{Name: Default, Provider: first}, Spec{Name: "second", Provider: second})
	if c := pool.Chain(Default, "second"); c.Window() != 1000 || !c.Vision() || c.Name() != "first" {
		t.Errorf("window %d, vision %v, name %q", c.Window(), c.Vision(), c.Name())
	}
	if c := pool.Chain("second", "unknown"); c.Vision() || c.Name() != "second" {
		t.Errorf("vision %v, name %q", c.Vision(), c.Name())
	}
}
