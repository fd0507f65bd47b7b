// Package slacktest is a Slack for tests: the Web API and the Socket Mode that an app needs, in one handler.
//
// It keeps what was not acknowledged and delivers it again over the next connection, with a new envelope, as Slack does. It is strict
// where Slack is: with blocks, lengths and tokens. The clients @slack/web-api and @slack/socket-mode work against it; npm_test.go has
// that.
package slacktest

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"mime"
	"net/http"
	"net/http/httptest"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"
)

// Ids of what the server knows.
const (
	BotUser = "U900"
	BotID   = "B900"
	Team    = "T42"
	// Channel is a channel of the workspace. A channel whose id begins with D is one with a single person.
	Channel = "C4200"
)

// Fault is how a call is answered instead. The zero value of a field leaves it out.
type Fault struct {
	Status     int
	Error      string // with a status of 200
	RetryAfter int    // seconds, of a 429
	Hang       bool   // no answer until the call is given up
	Header     bool   // the header of an answer, and then nothing
	Times      int    // how many calls; 0 is all
	// Arrives means that the call has its effect before it fails.
	Arrives bool
}

// Message is a message of a bot as it stands in its channel now.
type Message struct {
	ID, Channel, Thread string
	// Text is what people see: that of the blocks, else the text. Fallback is the text as it was sent.
	Text, Fallback string
	Blocks         json.RawMessage
	Key            string // of its metadata
	Unfurls        bool
	// File and FileName are the content and the name of a file that came with it.
	File, FileName string
}

// Server is a Slack with one app in one workspace. Its methods may be called from any goroutine.
type Server struct {
	// URL is what a bot has as the base of the Web API.
	URL                string
	appToken, botToken string
	http               *httptest.Server

	life   context.Context
	end    context.CancelFunc
	serves sync.WaitGroup

	mu        sync.Mutex
	sockets   []*line // that have their hello, the oldest first
	tickets   map[string]bool
	unacked   []envelope // in the order of their events
	answers   []string   // the payloads of acknowledgements
	acked     int
	last      int
	sent      []Message
	calls     []Call
	faults    []fault // the one that was set last comes first
	opens     int
	files     map[string]upload
	said      map[string]fields   // the messages of people, by channel and time stamp
	reactions map[string][]string // of the bot, by message
	statuses  []string
	scopes    string
	deaf      bool
	mute      bool
	others    int // sockets of other programs
}

// Call is a call of the Web API.
type Call struct {
	Method string
	Form   url.Values
}

// upload is a file that a person sent, or that the bot does.
type upload struct{ name, content string }

type fields = map[string]any

// envelope is what Slack sends over the socket.
type envelope struct {
	kind    string
	payload fields
	id      string
	tries   int
}

// New returns a server on 127.0.0.1. Its owner closes it.
func New(appToken, botToken string) *Server {
	s := Unstarted(appToken, botToken)
	s.http = httptest.NewUnstartedServer(s)
	s.URL = "http://" + s.http.Listener.Addr().String() + "/api"
	s.http.Start()
	return s
}

// Unstarted returns a server that listens nowhere, for a network of the test, on which it is 127.0.0.1:80.
func Unstarted(appToken, botToken string) *Server {
	s := &Server{
		URL: "http://127.0.0.1:80/api", appToken: appToken, botToken: botToken, tickets: map[string]bool{}, last: 1000,
		files: map[string]upload{}, said: map[string]fields{}, reactions: map[string][]string{},
		scopes: "chat:write,im:history,im:write,channels:history,users:read,reactions:read,reactions:write,files:read,files:write",
	}
	s.life, s.end = context.WithCancel(context.Background())
	return s
}

// Close ends the server and every connection to it.
func (s *Server) Close() {
	s.end()
	if s.http != nil {
		s.http.Close()
	}
	s.serves.Wait()
}

// ServeHTTP implements http.Handler.
func (s *Server) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	switch {
	case r.URL.Path == "/link":
		s.link(w, r)
		return
	case strings.HasPrefix(r.URL.Path, "/files/"):
		s.download(w, r)
		return
	case strings.HasPrefix(r.URL.Path, "/upload/"):
		s.upload(w, r)
		return
	}
	method, ok := strings.CutPrefix(r.URL.Path, "/api/")
	if !ok {
		w.WriteHeader(http.StatusNotFound)
		return
	}
	form, err := read(r)
	if err != nil {
		answer(w, fields{"ok": false, "error": "invalid_form_data"})
		return
	}
	s.mu.Lock()
	s.calls = append(s.calls, Call{method, form})
	s.mu.Unlock()
	f, faulty := s.fault(method)
	if faulty && !f.Arrives {
		s.fail(w, r, f)
		return
	}
	w.Header().Set("X-OAuth-Scopes", s.scopes)
	result := s.perform(method, strings.TrimPrefix(r.Header.Get("Authorization"), "Bearer "), form)
	if faulty {
		s.fail(w, r, f)
		return
	}
	answer(w, result)
}

// read is the form of a call, which may be JSON.
func read(r *http.Request) (url.Values, error) {
	kind, _, _ := mime.ParseMediaType(r.Header.Get("Content-Type")) // none is a form
	if kind != "application/json" {
		err := r.ParseForm()
		return r.Form, err
	}
	var all map[string]any
	if err := json.NewDecoder(r.Body).Decode(&all); err != nil {
		return nil, err
	}
	form := url.Values{}
	for name, value := range all {
		if text, is := value.(string); is {
			form.Set(name, text)
		} else {
			form.Set(name, string(encode(value)))
		}
	}
	return form, nil
}

func (s *Server) fail(w http.ResponseWriter, r *http.Request, f Fault) {
	if f.Header {
		w.Header().Set("Content-Type", "application/json")
		w.WriteHeader(http.StatusOK)
		if flusher, is := w.(http.Flusher); is {
			flusher.Flush()
		}
	}
	switch {
	case f.Hang || f.Header:
		select {
		case <-r.Context().Done():
		case <-s.life.Done():
		}
	case f.Error != "":
		answer(w, fields{"ok": false, "error": f.Error})
	case f.Status == http.StatusTooManyRequests:
		w.Header().Set("Retry-After", strconv.Itoa(f.RetryAfter))
		w.WriteHeader(f.Status)
		_ = json.NewEncoder(w).Encode(fields{"ok": false, "error": "ratelimited"}) // a client may leave
	default:
		w.WriteHeader(f.Status)
		_, _ = io.WriteString(w, "<html>an outage</html>") // the same
	}
}

func answer(w http.ResponseWriter, result fields) {
	w.Header().Set("Content-Type", "application/json; charset=utf-8")
	_ = json.NewEncoder(w).Encode(result) // a client may leave
}

func wrong(code string) fields { return fields{"ok": false, "error": code} }

// perform makes a call with a token.
func (s *Server) perform(method, token string, in url.Values) fields {
	s.mu.Lock()
	defer s.mu.Unlock()
	want := s.botToken
	if method == "apps.connections.open" {
		want = s.appToken
	}
	switch {
	case token == "":
		return wrong("not_authed")
	case token != want:
		return wrong("invalid_auth")
	}
	switch method {
	case "auth.test":
		return fields{"ok": true, "url": "https://example.slack.com/", "team": "example", "user": "helper", "team_id": Team, "user_id": BotUser, "bot_id": BotID, "is_enterprise_install": false}
	case "apps.connections.open":
		s.opens++
		ticket := s.id("")
		s.tickets[ticket] = true
		return fields{"ok": true, "url": "ws" + strings.TrimPrefix(strings.TrimSuffix(s.URL, "/api"), "http") + "/link?ticket=" + ticket}
	case "users.info":
		return fields{"ok": true, "user": fields{"id": in.Get("user"), "name": "user", "profile": fields{"display_name": "Alice of " + in.Get("user")}}}
	case "conversations.open":
		return fields{"ok": true, "channel": fields{"id": "D" + in.Get("users")}}
	case "chat.postMessage":
		return s.post(in)
	case "chat.update", "chat.delete":
		return s.change(method, in)
	case "reactions.add", "reactions.remove", "reactions.get":
		return s.react(method, in)
	case "conversations.history", "conversations.replies":
		return s.history(in)
	case "assistant.threads.setStatus":
		if !stamp(in.Get("thread_ts")) {
			return wrong("invalid_thread_ts")
		}
		s.statuses = append(s.statuses, in.Get("channel_id")+" "+in.Get("thread_ts")+" "+in.Get("status"))
		return fields{"ok": true}
	}
	return s.filed(method, in)
}

// filed makes a call about files; the lock is held.
func (s *Server) filed(method string, in url.Values) fields {
	switch method {
	case "files.getUploadURLExternal":
		if n, err := strconv.Atoi(in.Get("length")); err != nil || n <= 0 || in.Get("filename") == "" {
			return wrong("invalid_arguments")
		}
		id := s.id("F")
		s.files[id] = upload{name: in.Get("filename")}
		return fields{"ok": true, "file_id": id, "upload_url": strings.TrimSuffix(s.URL, "/api") + "/upload/" + id}
	case "files.completeUploadExternal":
		return s.complete(in)
	case "files.info":
		f, ok := s.files[in.Get("file")]
		if !ok {
			return wrong("file_not_found")
		}
		return fields{"ok": true, "file": s.file(in.Get("file"), f)}
	}
	return wrong("unknown_method")
}

func (s *Server) post(in url.Values) fields {
	m := Message{Channel: in.Get("channel"), Thread: in.Get("thread_ts"), Unfurls: in.Get("unfurl_links") != "false" || in.Get("unfurl_media") != "false"}
	if code := m.fill(in, 40000); code != "" {
		return wrong(code)
	}
	if m.Thread != "" && !stamp(m.Thread) {
		return wrong("invalid_thread_ts")
	}
	var meta struct {
		Payload struct {
			Key string `json:"key"`
		} `json:"event_payload"`
	}
	if text := in.Get("metadata"); text != "" && json.Unmarshal([]byte(text), &meta) != nil {
		return wrong("invalid_metadata_format")
	}
	m.Key, m.ID = meta.Payload.Key, s.stamp()
	s.sent = append(s.sent, m)
	return fields{"ok": true, "channel": m.Channel, "ts": m.ID, "message": m.described()}
}

// fill sets what a message shows, or says what is wrong with it.
func (m *Message) fill(in url.Values, most int) (code string) {
	m.Fallback, m.Blocks = in.Get("text"), json.RawMessage(in.Get("blocks"))
	shown, err := shownBy(m.Blocks)
	switch {
	case m.Channel == "", strings.HasPrefix(m.Channel, "U"): // Slack takes a user here, and nowhere else
		return "channel_not_found"
	case err != nil:
		return "invalid_blocks"
	case strings.TrimSpace(shown) == "" && strings.TrimSpace(m.Fallback) == "":
		return "no_text"
	case len([]rune(m.Fallback)) > most:
		return "msg_too_long"
	}
	if m.Text = shown; shown == "" {
		m.Text = strings.NewReplacer("&lt;", "<", "&gt;", ">", "&amp;", "&").Replace(m.Fallback)
	}
	return ""
}

func (m Message) described() fields {
	d := fields{
		"type": "message", "user": BotUser, "bot_id": BotID, "text": m.Fallback, "ts": m.ID, "team": Team,
		"metadata": fields{"event_type": "sent_by_gatewaytui", "event_payload": fields{"key": m.Key}},
	}
	if len(m.Blocks) > 0 {
		d["blocks"] = m.Blocks
	}
	if m.Thread != "" {
		d["thread_ts"] = m.Thread
	}
	return d
}

func (s *Server) change(method string, in url.Values) fields {
	i := slices.IndexFunc(s.sent, func(m Message) bool { return m.ID == in.Get("ts") && m.Channel == in.Get("channel") })
	if i < 0 {
		return wrong("message_not_found")
	}
	if method == "chat.delete" {
		s.sent = slices.Delete(s.sent, i, i+1)
		return fields{"ok": true, "ts": in.Get("ts"), "channel": in.Get("channel")}
	}
	m := s.sent[i]
	if !in.Has("blocks") { // Slack keeps those that there are
		in.Set("blocks", string(m.Blocks))
	}
	if code := m.fill(in, 4000); code != "" {
		return wrong(code)
	}
	s.sent[i] = m
	return fields{"ok": true, "ts": m.ID, "channel": m.Channel, "text": m.Fallback, "message": m.described()}
}

func (s *Server) react(method string, in url.Values) fields {
	id, name := in.Get("timestamp"), in.Get("name")
	at := in.Get("channel") + " " + id
	own := slices.ContainsFunc(s.sent, func(m Message) bool { return m.Channel+" "+m.ID == at })
	has := slices.Contains(s.reactions[at], name)
	switch {
	case s.said[at] == nil && !own:
		return wrong("message_not_found")
	case method == "reactions.get":
		all := []any{fields{"name": "wave", "count": 1, "users": []string{"U1"}}}
		for _, name := range s.reactions[at] {
			all = append(all, fields{"name": name, "count": 1, "users": []string{BotUser}})
		}
		return fields{"ok": true, "type": "message", "channel": in.Get("channel"), "message": fields{"ts": id, "reactions": all}}
	case strings.ContainsFunc(name, func(r rune) bool { return r > 0x7f || r == ' ' }) || name == "":
		return wrong("invalid_name")
	case method == "reactions.add" && has:
		return wrong("already_reacted")
	case method == "reactions.remove" && !has:
		return wrong("no_reaction")
	case method == "reactions.remove":
		s.reactions[at] = slices.DeleteFunc(s.reactions[at], func(n string) bool { return n == name })
	default:
		s.reactions[at] = append(s.reactions[at], name)
	}
	return fields{"ok": true}
}

func (s *Server) history(in url.Values) fields {
	all := []any{}
	limit, _ := strconv.Atoi(in.Get("limit")) // 0 is Slack's own
	more := false
	for _, m := range s.sent {
		if m.Channel == in.Get("channel") && m.Thread == in.Get("ts") {
			d := m.described()
			if in.Get("include_all_metadata") != "true" {
				delete(d, "metadata")
			}
			if limit > 0 && len(all) == limit {
				more = true
				break
			}
			all = append(all, d)
		}
	}
	return fields{"ok": true, "messages": all, "has_more": more}
}

// id is a new id that begins with this letter; the lock is held.
func (s *Server) id(begin string) string {
	s.last++
	return begin + strconv.Itoa(s.last)
}

// stamp is a new time stamp; the lock is held.
func (s *Server) stamp() string {
	s.last++
	return fmt.Sprintf("%d.%06d", time.Now().Unix(), s.last)
}

func stamp(s string) bool {
	seconds, number, dotted := strings.Cut(s, ".")
	_, err := strconv.Atoi(seconds)
	return dotted && err == nil && number != ""
}

func encode(v any) json.RawMessage {
	out, err := json.Marshal(v)
	if err != nil {
		panic(err)
	}
	return out
}
