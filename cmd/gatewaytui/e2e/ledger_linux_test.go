package e2e

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"

	"gatewaytui/fixtures/eventually"
)

// recall is the message that mirror answers with the whole conversation.
const recall = "recall"

// mirror is a model endpoint that repeats the last message, answers recall with every message that the gateway sent of the
// conversation, a line each, as "role: content", and does not answer a message that begins with hang.
func mirror(t testing.TB) *httptest.Server {
	t.Helper()
	return serve(t, httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		var body struct {
			Messages []struct{ Role, Content string }
		}
		if err := json.NewDecoder(r.Body).Decode(&body); err != nil || len(body.Messages) == 0 {
			http.Error(w, "no messages", http.StatusBadRequest)
			return
		}
		last := body.Messages[len(body.Messages)-1].Content
		if strings.HasPrefix(last, "hang") {
			<-r.Context().Done()
			return
		}
		if last != recall {
			completed(w, "heard "+last, "stop")
			return
		}
		var all strings.Builder
		for _, m := range body.Messages {
			fmt.Fprintf(&all, "%s: %s\n", m.Role, m.Content)
		}
		completed(w, all.String(), "stop")
	})))
}

// ledger is what was acknowledged: for each user the messages that a gateway answered with 200. The model is mirror.
type ledger struct {
	mu    sync.Mutex
	users map[string][]string
	total int
	tried int // answered in any way
}

// count is how many messages were acknowledged.
func (l *ledger) count() int {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.total
}

// answers is how many messages were answered, refusals included.
func (l *ledger) answers() int {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.tried
}

// write sends messages of fresh users called name-N until gone is closed or the gateway does not answer any more. What is
// refused is not acknowledged, and is followed by the next message.
func (l *ledger) write(api, name string, gone <-chan struct{}) {
	const each = 20 // messages of a user: a conversation is sent to the model whole
	client := &http.Client{Timeout: patience, Transport: &http.Transport{}}
	defer client.CloseIdleConnections()
	for n := 0; ; n++ {
		select {
		case <-gone:
			return
		default:
		}
		user, text := fmt.Sprintf("%s-%d", name, n/each), fmt.Sprintf("message %d of %s", n, name)
		res, err := post(context.Background(), client, api, user, asking(text))
		if err != nil {
			return
		}
		var answer struct {
			Choices []struct{ Message struct{ Content string } }
		}
		err = json.NewDecoder(res.Body).Decode(&answer)
		res.Body.Close()
		l.mu.Lock()
		l.tried++
		l.mu.Unlock()
		if err != nil || res.StatusCode != http.StatusOK || len(answer.Choices) == 0 || answer.Choices[0].Message.Content != "heard "+text {
			continue
		}
		l.mu.Lock()
		l.users[user] = append(l.users[user], text)
		l.total++
		l.mu.Unlock()
	}
}

// load has clients write at once until the returned function is called, which waits for them.
func (l *ledger) load(api, name string, clients int) (end func()) {
	if l.users == nil {
		l.users = map[string][]string{}
	}
	gone := make(chan struct{})
	var all sync.WaitGroup
	for c := range clients {
		all.Go(func() { l.write(api, fmt.Sprintf("%s.%d", name, c), gone) })
	}
	return sync.OnceFunc(func() {
		close(gone)
		all.Wait()
	})
}

// lost asks g for the conversation of each user whose name begins with prefix, and returns what was acknowledged and is not
// in it, a line each.
func (l *ledger) lost(g *gateway, prefix string) (lines []string) {
	g.t.Helper()
	for user, texts := range l.users {
		if !strings.HasPrefix(user, prefix) {
			continue
		}
		all, status := g.chat(user, recall)
		if status != http.StatusOK {
			g.t.Fatalf("user %s asks for the conversation: %d %q", user, status, all)
		}
		for _, text := range texts {
			if !strings.Contains(all, "user: "+text+"\nassistant: heard "+text+"\n") {
				lines = append(lines, fmt.Sprintf("%s: %s", user, text))
			}
		}
	}
	return lines
}

// underLoad waits until n more messages were acknowledged.
func (l *ledger) underLoad(t testing.TB, n int) {
	t.Helper()
	want := l.count() + n
	if !eventually.Within(func() bool { return l.count() >= want }) {
		t.Fatalf("only %d messages were acknowledged, want %d", l.count(), want)
	}
}
