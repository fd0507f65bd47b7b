package e2e

import (
	"bytes"
	"encoding/json"
	"fmt"
	"image"
	"image/png"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"gatewaytui/core/adapter/discord/discordtest"
	"gatewaytui/core/adapter/telegram/botapitest"
	"gatewaytui/fixtures/eventually"
)

// eye is a model endpoint that keeps what it was shown. Asked to send a file it calls send_file, and says "done" then.
type eye struct {
	*httptest.Server
	mu    sync.Mutex
	texts []string
	shown []int // how many pictures each request has
}

func newEye(t *testing.T) *eye {
	e := &eye{}
	e.Server = serve(t, httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, q *http.Request) {
		var body struct {
			Messages []struct {
				Role    string
				Content json.RawMessage
			}
		}
		if err := json.NewDecoder(q.Body).Decode(&body); err != nil {
			http.Error(w, err.Error(), http.StatusBadRequest)
			return
		}
		last := body.Messages[len(body.Messages)-1]
		e.mu.Lock()
		defer e.mu.Unlock()
		shown := 0
		for _, m := range body.Messages {
			shown += strings.Count(string(m.Content), `"data:image/png;base64,`)
		}
		e.texts, e.shown = append(e.texts, last.Role+" "+said(last.Content)), append(e.shown, shown)
		if path, asked := strings.CutPrefix(said(last.Content), "send "); asked && last.Role == "user" {
			arguments, _ := json.Marshal(map[string]string{"path": path, "caption": "here it is"})
			w.Header().Set("Content-Type", "application/json")
			_ = json.NewEncoder(w).Encode(map[string]any{"choices": []any{map[string]any{
				"index": 0, "finish_reason": "tool_calls", "message": map[string]any{"role": "assistant", "tool_calls": []any{map[string]any{
					"id": "c1", "type": "function", "function": map[string]any{"name": "send_file", "arguments": string(arguments)},
				}}},
			}}})
			return
		}
		completed(w, fmt.Sprint("answer ", len(e.texts)), "stop")
	})))
	return e
}

// said is the text of a message's content, which may have parts.
func said(content json.RawMessage) string {
	var text string
	var parts []struct{ Text string }
	if json.Unmarshal(content, &text) == nil {
		return text
	}
	if err := json.Unmarshal(content, &parts); err != nil || len(parts) == 0 {
		return string(content)
	}
	return parts[0].Text
}

// last is the last request: the text of its last message, and how many pictures it has.
func (e *eye) last() (calls int, text string, shown int) {
	e.mu.Lock()
	defer e.mu.Unlock()
	if len(e.texts) == 0 {
		return 0, "", 0
	}
	return len(e.texts), e.texts[len(e.texts)-1], e.shown[len(e.shown)-1]
}

// drawn is a picture.
func drawn(t *testing.T) string {
	t.Helper()
	var b bytes.Buffer
	if err := png.Encode(&b, image.NewGray(image.Rect(0, 0, 2, 2))); err != nil {
		t.Fatal(err)
	}
	return b.String()
}

// CV9: a photo and a document on Discord reach a model that can see, and are in the work folder. What the model sends arrives
// once, also over a SIGKILL after Discord took it.
func TestCV9_FilesOnDiscordReachTheModelAndItsFileArrivesOnce(t *testing.T) {
	const token = "c4nary.c4naryc4nary.c4naryc4nary"
	bot := discordtest.New(token)
	t.Cleanup(bot.Close)
	model := newEye(t)
	home := newHome(t)
	tokenFile := filepath.Join(t.TempDir(), "token")
	if err := os.WriteFile(tokenFile, []byte(token), 0o600); err != nil {
		t.Fatal(err)
	}
	config := quick + modelAt(model.URL, "vision = true\n") + fmt.Sprintf("[adapters.discord]\nenabled = true\ntoken_env = \"\"\ntoken_file = %q\nbase_url = %q\nallow = [4711]\n", tokenFile, bot.URL)
	g := start(t, home, config)
	eventually.True(t, "the bot is there", func() bool { return len(bot.Identifies()) == 1 })

	bot.Say(discordtest.Says{User: "4711", Name: "alice", Text: "what is it?", Files: map[string]string{"../photo.png": drawn(t), "report.pdf": "%PDF-1.7\x00\x01"}})
	eventually.True(t, "the answer is there", func() bool { return len(bot.Sent()) == 1 })
	_, text, shown := model.last()
	if shown != 1 || !strings.HasPrefix(text, "user what is it?\n\n[") || !strings.Contains(text, "photo.png in your work folder. You see it with this message") ||
		!strings.Contains(text, `File "report.pdf" (application/pdf, 10 bytes), saved as received/`) {
		t.Errorf("the model sees %d pictures and reads\n%s", shown, text)
	}
	for _, name := range []string{"photo.png", "report.pdf"} {
		if found, err := filepath.Glob(filepath.Join(home, "work", "received", "*", name)); err != nil || len(found) != 1 {
			t.Errorf("the work folder has %q, %v", found, err)
		}
	}
	bot.Say(discordtest.Says{User: "4711", Name: "alice", Text: "and now?"})
	eventually.True(t, "the next answer is there", func() bool { return len(bot.Sent()) == 2 })
	if _, text, shown := model.last(); shown != 0 || text != "user and now?" {
		t.Errorf("a later turn sees %d pictures and reads %s", shown, text)
	}

	if err := os.WriteFile(filepath.Join(home, "work", "out.csv"), []byte("a,b\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	posts := func() int { return len(bot.Calls("POST /channels/74711/messages")) }
	before := posts()
	bot.Fail("POST /channels/74711/messages", discordtest.Fault{Arrives: true, Hang: true})
	bot.Say(discordtest.Says{User: "4711", Name: "alice", Text: "send out.csv"})
	eventually.True(t, "Discord has the file", func() bool { return posts() == before+1 })
	eventually.True(t, "the turn has its answer", func() bool { calls, _, _ := model.last(); return calls == 4 })
	if err := os.Remove(filepath.Join(home, "work", "out.csv")); err != nil {
		t.Fatal(err)
	}
	if err := g.cmd.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	g.exit()
	bot.Heal()
	next := start(t, home, config)
	eventually.True(t, "the file is sent again, and the answer after it", func() bool { return len(bot.Sent()) == 4 })
	sent := bot.Sent()[2:]
	if sent[0].FileName != "out.csv" || sent[0].File != "a,b\n" || !strings.HasPrefix(sent[0].Text, "here it is") || sent[1].Text == "" || sent[1].FileName != "" {
		t.Errorf("Discord has %+v", sent)
	}
	if _, text, _ := model.last(); !strings.HasPrefix(text, `tool {"queued":"out.csv","bytes":4}`) {
		t.Errorf("the model reads %s", text)
	}
	if code, _ := next.stop(); code != 0 {
		t.Fatalf("exit code %d", code)
	}
}

// CV9: a photo on Telegram is fetched by the next life if this one is killed while it fetches. A model without vision learns where
// it is.
func TestCV9_APhotoOnTelegramIsFetchedAgainAfterAKill(t *testing.T) {
	bot := botapitest.New(botToken)
	t.Cleanup(bot.Close)
	model := newEye(t)
	home := newHome(t)
	config := modelAt(model.URL, "") + withBot(t, bot)
	g := start(t, home, config)
	bot.Fail("getFile", botapitest.Fault{Hang: true})
	bot.Inject(botapitest.Update{User: 4711, Message: map[string]any{"photo": bot.Photo(drawn(t)), "caption": "what is it?"}})
	eventually.True(t, "the photo is being fetched", func() bool { return bot.Calls("getFile") > 0 })
	var page struct{ Items []struct{ Doing string } }
	g.socket(http.MethodGet, "/v1/sessions", nil, &page)
	if len(page.Items) != 1 || page.Items[0].Doing != "fetching a photo" {
		t.Errorf("the sessions are %+v", page.Items)
	}
	if err := g.cmd.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	g.exit()
	bot.Heal()
	next := start(t, home, config)
	eventually.True(t, "the answer is there", func() bool { return len(bot.Sent()) == 1 })
	if calls, text, shown := model.last(); calls != 1 || shown != 0 || !strings.HasPrefix(text, "user what is it?\n\n[Picture ") || !strings.Contains(text, "You cannot see it") {
		t.Errorf("after %d calls the model sees %d pictures and reads\n%s", calls, shown, text)
	}
	if found, err := filepath.Glob(filepath.Join(home, "work", "received", "*", "*")); err != nil || len(found) != 1 {
		t.Errorf("the work folder has %q, %v", found, err)
	}
	if code, _ := next.stop(); code != 0 {
		t.Fatalf("exit code %d", code)
	}
}
