package api

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"sync"
	"sync/atomic"
	"testing"

	"gatewaytui/core/adapter"
)

// BenchmarkChatCompletions is the server's own share of a turn: 64 clients, each with a connection that it keeps, and a
// gateway that answers at once.
func BenchmarkChatCompletions(b *testing.B) {
	b.Run("clients=64", func(b *testing.B) { benchmark(b, saying("hello")) })
}

// BenchmarkChatCompletionsStream is the same for answers that are streamed.
func BenchmarkChatCompletionsStream(b *testing.B) {
	b.Run("clients=64", func(b *testing.B) { benchmark(b, streaming("hello")) })
}

func benchmark(b *testing.B, body string) {
	f := start(b, Options{}, echo)
	f.conn.receiver = &prompt{}
	b.ReportAllocs()
	b.ResetTimer()
	var next atomic.Int64
	var clients sync.WaitGroup
	for range 64 {
		clients.Go(func() {
			for next.Add(1) <= int64(b.N) {
				if err := once(f, body); err != nil {
					b.Error(err)
					return
				}
			}
		})
	}
	clients.Wait()
	b.ReportMetric(float64(b.N)/b.Elapsed().Seconds(), "req/s")
}

// prompt answers at once and notes nothing.
type prompt struct{ gateway }

func (*prompt) Receive(_ context.Context, m adapter.Inbound) (string, error) {
	m.Responder.Delta("Hello")
	m.Responder.Done("Hello there", nil)
	return "message", nil
}

func once(f *fixture, body string) error {
	resp, err := f.client.Do(f.request(http.MethodPost, "/v1/chat/completions", body))
	if err != nil {
		return err
	}
	defer resp.Body.Close()
	if _, err := io.Copy(io.Discard, resp.Body); err != nil {
		return err
	}
	if resp.StatusCode != http.StatusOK {
		return fmt.Errorf("answered %s", resp.Status)
	}
	return nil
}
