package e2e

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"gatewaytui/core/adapter/telegram/botapitest"
)

// BenchmarkFirstToken is what the gateway adds to the first token over HTTP, with one client: for each turn the same stream is read
// from the model's endpoint directly. The endpoint answers at once, on the same machine.
func BenchmarkFirstToken(b *testing.B) {
	model := serve(b, endpoint(b, func(w http.ResponseWriter, _ *http.Request, _ string) {
		w.Header().Set("Content-Type", "text/event-stream")
		fmt.Fprint(w, `data: {"choices":[{"index":0,"delta":{"role":"assistant","content":"fine"}}]}`+"\n\n")
		_ = http.NewResponseController(w).Flush()
		fmt.Fprint(w, `data: {"choices":[{"index":0,"delta":{},"finish_reason":"stop"}]}`+"\n\ndata: [DONE]\n\n")
	}))
	g := start(b, newHome(b), modelAt(model.URL, ""))
	client := &http.Client{Transport: &http.Transport{}}
	body := `{"model":"any","stream":true,"messages":[{"role":"user","content":"hello"}]}`
	first := func(url string) time.Duration {
		began := time.Now()
		res, err := client.Post(url+"/v1/chat/completions", "application/json", strings.NewReader(body))
		if err != nil {
			b.Fatal(err)
		}
		defer res.Body.Close()
		lines := bufio.NewScanner(res.Body)
		for lines.Scan() {
			if strings.Contains(lines.Text(), `"content":"fine"`) {
				took := time.Since(began)
				_, _ = io.Copy(io.Discard, res.Body) // so that the connection can be used again
				return took
			}
		}
		b.Fatalf("%s: no token, %v", url, lines.Err())
		return 0
	}
	var added []time.Duration
	for b.Loop() {
		direct := first(model.URL)
		added = append(added, first("http://"+g.api)-direct)
	}
	slices.Sort(added)
	b.ReportMetric(float64(added[len(added)/2].Microseconds())/1000, "added-p50-ms")
	b.ReportMetric(float64(added[len(added)*99/100].Microseconds())/1000, "added-p99-ms")
	g.stop()
}

// BenchmarkFirstSignOfLife is from the moment at which a message of a chat reaches Telegram until the bot is seen to type there, while
// the model thinks.
func BenchmarkFirstSignOfLife(b *testing.B) {
	const token = "1:secret"
	bot := botapitest.New(token)
	b.Cleanup(bot.Close)
	dir := b.TempDir()
	tokenFile, script := filepath.Join(dir, "token"), filepath.Join(dir, "script.toml")
	for name, content := range map[string]string{tokenFile: token, script: writing} {
		if err := os.WriteFile(name, []byte(content), 0o600); err != nil {
			b.Fatal(err)
		}
	}
	g := start(b, newHome(b), quick+fmt.Sprintf("[model]\nscript = %q\n[adapters.telegram]\nenabled = true\ntoken_env = \"\"\ntoken_file = %q\nbase_url = %q\nallow_all = true\n", script, tokenFile, bot.URL))
	ctx, cancel := context.WithTimeout(b.Context(), patience)
	defer cancel()
	if err := bot.Await(ctx, func(s *botapitest.Server) bool { return s.Calls("getUpdates") > 0 }); err != nil {
		b.Fatal(err)
	}
	var took []time.Duration
	for user := int64(1001); b.Loop(); user++ {
		before := bot.Calls("sendChatAction")
		began := time.Now()
		bot.Inject(botapitest.Update{User: user, Text: fmt.Sprintf("write %d", user)})
		wait, done := context.WithTimeout(b.Context(), patience)
		if err := bot.Await(wait, func(s *botapitest.Server) bool { return s.Calls("sendChatAction") > before }); err != nil {
			b.Fatal(err)
		}
		done()
		took = append(took, time.Since(began))
	}
	slices.Sort(took)
	b.ReportMetric(float64(took[len(took)/2].Microseconds())/1000, "p50-ms")
	b.ReportMetric(float64(took[len(took)-1].Microseconds())/1000, "longest-ms")
	g.stop()
}
