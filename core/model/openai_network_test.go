package model

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
)

// silences are the places where an endpoint may say nothing.
var silences = map[string]roundTrip{
	"before the answer": func(_ int, req *http.Request) (*http.Response, error) {
		<-req.Context().Done()
		return nil, req.Context().Err()
	},
	"inside the stream": func(_ int, req *http.Request) (*http.Response, error) {
		r, w := io.Pipe()
		context.AfterFunc(req.Context(), func() { w.CloseWithError(req.Context().Err()) })
		go io.WriteString(w, sse(text("half")))
		resp := respond(200, nil, "")
		resp.Body = r
		return resp, nil
	},
	"inside an error": func(_ int, req *http.Request) (*http.Response, error) {
		r, w := io.Pipe()
		context.AfterFunc(req.Context(), func() { w.CloseWithError(req.Context().Err()) })
		resp := respond(500, nil, "")
		resp.Body = r
		return resp, nil
	},
	"inside a backoff": func(int, *http.Request) (*http.Response, error) {
		return respond(429, map[string]string{"Retry-After": "50"}, ""), nil
	},
}

func TestACallEndsWhereverTheEndpointIsSilent(t *testing.T) {
	for place, answer := range silences {
		for cause, tt := range map[string]struct {
			timeout time.Duration
			end     func(c Client, cancel context.CancelFunc)
			want    func(error) bool
		}{
			"its context": {time.Hour, func(_ Client, cancel context.CancelFunc) { cancel() }, func(err error) bool { return err == context.Canceled }},
			"Close":       {time.Hour, func(c Client, _ context.CancelFunc) { c.Close() }, func(err error) bool { return err == ErrClosed }},
			"the timeout": {time.Minute, nil, func(err error) bool {
				e, ok := errors.AsType[*Error](err)
				return ok && (e.Kind == KindTimeout || place == "inside a backoff" && e.Kind == KindRateLimited)
			}},
		} {
			t.Run(place+" through "+cause, func(t *testing.T) {
				synctest.Test(t, func(t *testing.T) {
					c, _ := clientOver(t, tt.timeout, answer)
					ctx, cancel := context.WithCancel(t.Context())
					defer cancel()
					limit := tt.timeout
					if tt.end != nil {
						limit = 10 * time.Second
						time.AfterFunc(limit, func() { tt.end(c, cancel) })
					}
					start := time.Now()
					_, err := c.Complete(ctx, hi, nil)
					if !tt.want(err) || time.Since(start) > limit {
						t.Errorf("ended after %s with %v", time.Since(start), err)
					}
				})
			})
		}
	}
}

// overNetwork serves a model on a real socket: what net/http does with it is part of the promise.
func overNetwork(t *testing.T, handler http.HandlerFunc) (Provider, *httptest.Server) {
	t.Helper()
	server := httptest.NewUnstartedServer(handler)
	server.Start()
	t.Cleanup(server.Close)
	p, err := NewOpenAI(OpenAIOptions{BaseURL: server.URL + "/v1/", Model: "m", Timeout: time.Minute})
	if err != nil {
		t.Fatal(err)
	}
	return p, server
}

func TestCallsOneAfterAnotherShareAConnection(t *testing.T) {
	peers := map[string]bool{}
	p, _ := overNetwork(t, func(w http.ResponseWriter, r *http.Request) {
		peers[r.RemoteAddr] = true
		if r.URL.Path != "/v1/chat/completions" {
			t.Errorf("the call goes to %s", r.URL.Path) // the base URL of overNetwork ends with a slash
		}
		w.Header().Set("Content-Type", "text/event-stream")
		for _, piece := range []string{text("ok"), stopChunk, "[DONE]"} {
			io.WriteString(w, sse(piece))
			w.(http.Flusher).Flush()
		}
	})
	c := p.New()
	defer c.Close()
	for range 3 {
		if _, err := c.Complete(t.Context(), hi, nil); err != nil {
			t.Fatal(err)
		}
	}
	if len(peers) != 1 {
		t.Errorf("3 calls used %d connections, want 1", len(peers))
	}
}

// Each round has all its calls on the network at once: the endpoint answers none of them before it has the last one.
func TestManyCallsAtOnceReuseTheirConnections(t *testing.T) {
	const calls, rounds = 96, 3
	for _, tc := range []struct {
		name, proto string
		http2       bool
		connections int
		// spare is how many connections may be replaced. A slow machine can miss drainPatience, which closes a connection.
		// Without reuse rounds * calls connections are made.
		spare int
	}{
		{"over HTTP/1.1 a round has a connection for each call, and the next round the same ones", "HTTP/1.1", false, calls, calls / 4},
		{"over HTTP/2 all calls of all rounds share one connection", "HTTP/2.0", true, 1, 0},
	} {
		t.Run(tc.name, func(t *testing.T) {
			var mu sync.Mutex
			peers := map[string]int{}
			at, all := 0, make(chan struct{})
			server := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				mu.Lock()
				peers[r.RemoteAddr]++
				if r.Proto != tc.proto {
					t.Errorf("a call came over %s, want %s", r.Proto, tc.proto)
				}
				round := all
				if at++; at == calls {
					at, all = 0, make(chan struct{})
					close(round)
				}
				mu.Unlock()
				select {
				case <-round:
				case <-r.Context().Done():
					return
				}
				w.Header().Set("Content-Type", "text/event-stream")
				for _, piece := range []string{text("ok"), stopChunk, "[DONE]"} {
					io.WriteString(w, sse(piece))
					w.(http.Flusher).Flush()
				}
			}))
			server.EnableHTTP2 = tc.http2
			server.StartTLS()
			t.Cleanup(server.Close)
			provider, err := NewOpenAI(OpenAIOptions{BaseURL: server.URL + "/v1", Model: "m", Timeout: time.Minute, Calls: calls})
			if err != nil {
				t.Fatal(err)
			}
			roots := x509.NewCertPool()
			roots.AddCert(server.Certificate())
			provider.(*openAI).http.Transport.(*http.Transport).TLSClientConfig = &tls.Config{RootCAs: roots}
			kept := provider.New() // as long as a client is open the idle connections are kept
			defer kept.Close()
			for range rounds {
				var group sync.WaitGroup
				for range calls {
					group.Go(func() {
						c := provider.New()
						defer c.Close()
						if _, err := c.Complete(t.Context(), hi, nil); err != nil {
							t.Error(err)
						}
					})
				}
				group.Wait()
			}
			if n := len(peers); n < tc.connections || n > tc.connections+tc.spare {
				t.Errorf("%d rounds of %d calls used %d connections, want %d and at most %d more", rounds, calls, n, tc.connections, tc.spare)
			}
		})
	}
}

func TestAServerThatAcceptsAndNeverAnswersIsLeft(t *testing.T) {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer listener.Close()
	p, err := NewOpenAI(OpenAIOptions{BaseURL: "http://" + listener.Addr().String(), Model: "m"})
	if err != nil {
		t.Fatal(err)
	}
	c := p.New()
	defer c.Close()
	ctx, cancel := context.WithTimeout(t.Context(), 100*time.Millisecond)
	defer cancel()
	start := time.Now()
	if _, err := c.Complete(ctx, hi, nil); err != context.DeadlineExceeded || time.Since(start) > 30*time.Second {
		t.Errorf("after %s: %v, want the context's error soon after 100ms", time.Since(start), err)
	}
}

func TestCloseEndsACallOnTheNetworkAndDropsItsConnection(t *testing.T) {
	arrived, gone := make(chan struct{}), make(chan struct{})
	p, _ := overNetwork(t, func(w http.ResponseWriter, r *http.Request) {
		io.Copy(io.Discard, r.Body)
		close(arrived)
		<-r.Context().Done()
		close(gone)
	})
	c := p.New()
	ended := make(chan error, 1)
	go func() {
		_, err := c.Complete(t.Context(), hi, nil)
		ended <- err
	}()
	<-arrived
	c.Close()
	if err := <-ended; err != ErrClosed {
		t.Errorf("Complete = %v, want ErrClosed", err)
	}
	<-gone
}

// A model that thinks, or writes a long tool call, moves although it says nothing: its turn is not stuck (TF16).
func TestAThoughtIsNotSilence(t *testing.T) {
	const body = "data: {\"choices\":[{\"index\":0,\"delta\":{\"reasoning_content\":\"hm\"}}]}\n\n" +
		"data: {\"choices\":[{\"index\":0,\"delta\":{\"reasoning_content\":\"so\"}}]}\n\n" +
		"data: {\"choices\":[{\"index\":0,\"delta\":{\"content\":\"yes\"},\"finish_reason\":\"stop\"}]}\n\ndata: [DONE]\n\n"
	c, _ := clientOver(t, time.Minute, func(int, *http.Request) (*http.Response, error) {
		return respond(200, map[string]string{"Content-Type": "text/event-stream"}, body), nil
	})
	var deltas []string
	got, err := c.Complete(t.Context(), hi, func(s string) { deltas = append(deltas, s) })
	if err != nil || got.Message.Content != "yes" {
		t.Fatalf("%+v, %v", got, err)
	}
	if diff := cmp.Diff([]string{"", "", "yes"}, deltas); diff != "" {
		t.Errorf("deltas (-want +got):\n%s", diff)
	}
}
