package e2e

import (
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
	"sync/atomic"
	"testing"

	"gatewaytui/fixtures/npmtest"
)

// impatient asks with a timeout that the turn outlasts, and prints how the answer came as a line of JSON.
const impatient = `
const OpenAI = require('openai');
const client = new OpenAI({ baseURL: process.argv[1], apiKey: 'none', timeout: 1500, maxRetries: 20 });
client.chat.completions.create({ model: 'any', user: 'maria', messages: [{ role: 'user', content: 'slow 4' }] })
  .then(r => console.log(JSON.stringify({ text: r.choices[0].message.content })))
  .catch(e => console.log(JSON.stringify({ error: String(e) })));
process.stdin.resume();
process.stdin.on('end', () => process.exit());
`

// TF7: the client of OpenAI gives up after 1.5 s and asks again, as it does by default; the turn takes 4 s. It is one turn.
func TestTF7_AnImpatientClientRunsItsTurnOnce(t *testing.T) {
	t.Parallel() // it mostly waits
	dir := npmtest.Install(t, "openai", "7.55.0")
	g := start(t, newHome(t), "")
	var got struct{ Text, Error string }
	if err := json.Unmarshal([]byte(npmtest.Serve(t, dir, impatient, "http://"+g.api+"/v1")), &got); err != nil || got.Error != "" || got.Text == "" {
		t.Fatalf("the client got %+v (%v)", got, err)
	}
	if code, _ := g.stop(); code != 0 { // the log is whole when the gateway has ended
		t.Fatalf("the stop ended with %d", code)
	}
	turns, joined := 0, 0
	for _, l := range g.log() {
		switch l.text("msg") {
		case "turn started":
			turns++
		case "api request joins the turn of an earlier one":
			joined++
		}
	}
	if turns != 1 || joined == 0 {
		t.Errorf("%d turns ran, and %d requests joined one; want one turn that the retries joined", turns, joined)
	}
}

// TF7: a stream that is closed ends its turn, at the model too.
func TestTF7_AStreamThatIsClosedEndsItsTurn(t *testing.T) {
	var gone atomic.Int64
	s := serve(t, endpoint(t, func(w http.ResponseWriter, r *http.Request, _ string) {
		w.Header().Set("Content-Type", "text/event-stream")
		fmt.Fprint(w, "data: {\"choices\":[{\"index\":0,\"delta\":{\"content\":\"Hel\"}}]}\n\n")
		_ = http.NewResponseController(w).Flush()
		<-r.Context().Done()
		gone.Add(1)
	}))
	g := start(t, newHome(t), modelAt(s.URL, ""))
	body := `{"user":"maria","stream":true,"messages":[{"role":"user","content":"hello"}]}`
	res, err := http.Post("http://"+g.api+"/v1/chat/completions", "application/json", strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	res.Body.Close() // the stream is not read to its end: the connection is closed
	ended := g.await("the end of the turn", func(l line) bool { return l.text("msg") == "turn ended" })
	if ended.text("state") != "interrupted" || !strings.Contains(ended.text("error"), "client has left") {
		t.Errorf("the turn ended with %v", ended)
	}
	if code, _ := g.stop(); code != 0 || gone.Load() != 1 {
		t.Errorf("the stop ended with %d; %d calls ended at the model", code, gone.Load())
	}
}
